//! The `stop` engine: ptrace stops the whole tree.
//!
//! `PTRACE_SEIZE` and `PTRACE_INTERRUPT` only: nothing is ever sent to the target that it could
//! see, and when sprof dies, however it dies, the kernel lets every thread run on. A thread can
//! report any kind of stop at any time, so no stop is ever expected to be of one kind: each is
//! served for what it is, in a tick or between ticks. An interrupt can be swallowed by another stop
//! or outlive it; so it is sent again at each tick, and a stop that nobody waits for is resumed.

mod attach;
mod calls;
mod collect;
mod pauses;
mod rescan;
mod serve;
mod sleepers;
mod tick;
mod tracee;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signalfd::SignalFd;

use super::{Engine, HoldFlag, Scope, Served, TickBuffer, TreeEvent};
use crate::process;
use crate::profile::{Nanos, Pid, Tid, Timestamp};
use crate::sys::{self, Wake};
use collect::Held;
use rescan::Rescan;
use sleepers::Reading;
use tracee::Tracee;
use watch::Switches;

/// All traced threads and what they report.
#[derive(Debug)]
pub struct StopEngine {
    scope: Arc<Scope>,
    tracees: Vec<Tracee>,
    by_tid: HashMap<Tid, usize>,
    /// Number of traced threads of each traced process.
    processes: HashMap<Pid, usize>,
    reports: SignalFd,
    /// A signal told of stops that may not have been waited for.
    has_reports: bool,
    /// When all threads were last asked for stops.
    asked: Timestamp,
    hold: Arc<HoldFlag>,
    /// All were left alone at the last tick, and nothing was heard of any since.
    is_still: bool,
    /// `None`: not permitted.
    switches: Option<Switches>,
    rescan: Rescan,
    /// Whose name is read next.
    next_name: usize,
    /// Names that are due: threads times nanoseconds.
    name_debt: u64,
    /// Stops since the last tick that hit a call which answers them with `EINTR`.
    perturbed: u32,
    last_begin: Timestamp,
    /// Hold time beyond the usual that may still be spent.
    extra: Nanos,
    // Kept from tick to tick for their memory.
    waiting: Vec<usize>,
    held: Vec<Held>,
    readings: Vec<Reading>,
    /// Threads that woke in this tick and were stopped so that others could be.
    quelled: u32,
    ranges: Vec<sys::RemoteRange>,
}

/// Threads are asked for stops this often although no signal told of one.
const LONGEST_UNASKED: Nanos = Nanos(250_000_000);

impl StopEngine {
    /// An engine that traces nothing yet, and sets `hold` while it holds the target. `elide`: from
    /// the second tick on, threads that have not run are left alone where that can be proven. The
    /// calling thread becomes the tracer; the signals of [`sys::child_signals`] must be blocked in
    /// all threads.
    ///
    /// # Errors
    /// The system's, when it has no more file descriptors.
    pub fn new(
        hold: Arc<HoldFlag>,
        elide: bool,
        scope: Arc<Scope>,
    ) -> Result<StopEngine, sys::Errno> {
        Ok(StopEngine {
            scope,
            tracees: Vec::new(),
            by_tid: HashMap::new(),
            processes: HashMap::new(),
            reports: sys::signal_source(&sys::child_signals())?,
            has_reports: true,
            asked: Timestamp(0),
            hold,
            is_still: false,
            switches: elide.then(Switches::new).flatten(),
            rescan: Rescan::new(process::now()),
            next_name: 0,
            name_debt: 0,
            perturbed: 0,
            last_begin: process::now(),
            extra: collect::MAX_EXTRA,
            waiting: Vec::new(),
            held: Vec::new(),
            readings: Vec::new(),
            quelled: 0,
            ranges: Vec::new(),
        })
    }

    /// What it does, in a word or some.
    pub fn name(&self) -> &'static str {
        if self.elides() {
            "stop"
        } else {
            "stop, of all threads"
        }
    }

    /// Number of threads traced now.
    pub fn thread_count(&self) -> usize {
        self.tracees.len()
    }

    /// Takes in the signals that told of stops.
    fn clear_reports(&mut self) {
        while let Ok(Some(_)) = self.reports.read_signal() {
            self.has_reports = true;
        }
    }

    /// Serves all stops that are there, or those up to `until`. The kernel goes through all threads
    /// to find one, so they are asked where a signal says so; and now and then, because the end of
    /// a process need not be told by one.
    fn serve_stops(&mut self, until: Timestamp, report: &mut dyn FnMut(TreeEvent)) {
        self.clear_reports();
        let now = process::now();
        if !self.has_reports && now.since(self.asked) < LONGEST_UNASKED {
            return;
        }
        self.asked = now;
        while let Ok(Some((tid, stop))) = sys::wait_any() {
            self.serve_stop(tid, stop, report);
            if process::now() >= until {
                return;
            }
        }
        self.has_reports = false;
    }
}

impl Engine for StopEngine {
    fn serve(
        &mut self,
        until: Timestamp,
        wake: &Wake,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Served {
        use std::os::fd::AsFd;
        loop {
            self.serve_stops(until, report);
            if self.tracees.is_empty() {
                return Served::NobodyLeft;
            }
            let left = until.since(process::now());
            if left.0 == 0 {
                return Served::Due;
            }
            let sources = [self.reports.as_fd(), wake.as_fd()];
            if let [_, true] = sys::wait_for_input(sources, Some(Duration::from_nanos(left.0))) {
                return Served::Woken;
            }
        }
    }

    fn tick(&mut self, buffer: &mut TickBuffer, report: &mut dyn FnMut(TreeEvent)) {
        let passed = process::now().since(self.last_begin);
        self.take_tick(buffer, report);
        self.read_some_names(passed, report);
        self.rescan(report);
    }

    fn threads(&self) -> Vec<(Pid, Tid)> {
        let tracees = self.tracees.iter();
        tracees.map(|tracee| (tracee.pid, tracee.tid)).collect()
    }
}

#[cfg(test)]
mod tests;
