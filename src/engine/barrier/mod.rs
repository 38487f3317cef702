//! The `barrier` engine: takes the CPUs away from the target for an instant, and stops nothing.
//!
//! The kernel is asked to record each switch away from a thread of the target, with its registers
//! and the top of its stack. At a tick a real-time thread takes each CPU that runs the target: so
//! the thread there leaves its CPU, is recorded, and no thread of the target is on a CPU. At that
//! instant all their stacks stand still, and the last record of each is its stack. Preemption is no
//! signal: no call is cut short, no sleeper wakes, and there is nothing to undo.

mod attach;
mod deep;
mod doze;
mod exits;
mod holders;
mod instant;
mod rates;
mod task;
mod tick;
mod untold;
mod witness;

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use super::records::Records;
use super::{Engine, Served, TickBuffer, TreeEvent};
use crate::process;
use crate::profile::{Nanos, Pid, Tid, Timestamp};
use crate::sys::{self, Affinity, Errno, Gathered, Wake};
pub use attach::BarrierRefusal;
use deep::DeepReader;
use doze::Dozing;
use holders::Holders;
use rates::{Ends, Rates};
use task::Tasks;

/// Why this engine cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BarrierError {
    /// No thread of ours may be real-time.
    #[error("SCHED_FIFO is not permitted")]
    NotRealTime,
    /// None of our threads may run there, but the target may.
    #[error("CPU {0} may not be used")]
    CpuNotOurs(u32),
    /// There can be no more threads.
    #[error("no thread can be started: {0}")]
    NoThread(Errno),
    /// The kernel does not record switches with stacks for us.
    #[error("recording of context switches is not permitted")]
    NotPermitted,
    /// The kernel has no means left, or none of this kind.
    #[error("context switches cannot be recorded: {0}")]
    NoRecords(Errno),
}

/// All threads watched, and what the kernel records of them.
#[derive(Debug)]
pub struct BarrierEngine {
    cpus: Vec<u32>,
    records: Records,
    holders: Holders,
    tasks: Tasks,
    /// Has input when a ring fills up.
    fill: Gathered,
    deep: DeepReader,
    dozing: Dozing,
    rates: Rates,
    ends: Ends,
    /// As long as these are open, the kernel records.
    events: Vec<OwnedFd>,
    /// Where the tracer ran before it took a seat.
    before: Affinity,
    /// The index of the CPU that the tracer sits on.
    seat: usize,
    /// Ticks since the target was on that CPU, while it was on others.
    astray: u32,
    switches: Vec<instant::Switch>,
}

/// Where threads end all the time, nobody waits for the rings; they are looked at this often.
const SLICE: Nanos = Nanos(1_500_000);
/// The records are looked at this often, also where ticks are further apart.
const LONGEST_WAIT: Nanos = Nanos(50_000_000);

impl Engine for BarrierEngine {
    fn serve(
        &mut self,
        until: Timestamp,
        wake: &Wake,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Served {
        let mut looked = process::now();
        loop {
            self.tasks.exits.report(report);
            if self.tasks.is_over() {
                return Served::NobodyLeft;
            }
            let now = process::now();
            let left = until.since(now);
            if left.0 == 0 {
                return Served::Due;
            }
            let is_blind = self.ends.are_many(now, self.tasks.ended) && self.records.are_roomy();
            let patience = left.min(if is_blind { SLICE } else { LONGEST_WAIT });
            let patience = Duration::from_nanos(patience.0);
            let (is_filling, is_woken) = if is_blind {
                let [is_woken] = sys::wait_for_input([wake.as_fd()], Some(patience));
                (self.records.are_filling(), is_woken)
            } else {
                let sources = [self.fill.as_fd(), wake.as_fd()];
                let [is_filling, is_woken] = sys::wait_for_input(sources, Some(patience));
                (is_filling, is_woken)
            };
            if is_woken {
                return Served::Woken;
            }
            let now = process::now();
            // Where the next tick is far, ends are to be noticed before.
            let is_long = now.since(looked) >= LONGEST_WAIT && now < until;
            if is_filling && until <= now {
                // The record of who had to go for this very tick can be the one that fills a ring:
                // it is left to the tick, which reads what lies beyond it.
                self.fill.clear();
            } else if is_filling || is_long {
                self.make_room(report);
                looked = now;
            }
        }
    }

    fn tick(&mut self, buffer: &mut TickBuffer, report: &mut dyn FnMut(TreeEvent)) {
        self.take_tick(buffer, report);
    }

    fn too_costly(&self) -> Option<String> {
        self.rates.too_high()
    }

    fn finish(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        self.catch_up(report);
        self.tasks.exits.give_up(report);
    }

    fn threads(&self) -> Vec<(Pid, Tid)> {
        let tasks = self.tasks.by_tid.iter();
        tasks.map(|(&tid, task)| (task.pid, tid)).collect()
    }
}

impl Drop for BarrierEngine {
    fn drop(&mut self) {
        self.before.restore();
    }
}

impl BarrierEngine {
    /// Takes in what the rings hold, before they are full.
    fn make_room(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        self.fill.clear();
        self.catch_up(report);
        self.tasks.rescue_stacks(&self.records);
        self.records.release();
        let switches = self.tasks.cpus.iter().map(|cpu| cpu.switches);
        self.rates.count(process::now(), switches);
    }

    /// Takes in all records that are there by now.
    fn catch_up(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        let now = process::now();
        self.records.look();
        while let Some(record) = self.records.next(now) {
            self.tasks.take(record, report);
        }
        self.watch_dropped(report);
    }
}

#[cfg(test)]
mod tests;
