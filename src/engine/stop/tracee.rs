//! One traced thread.

use std::fs::File;
use std::ops::Range;

use super::StopEngine;
use super::calls::Call;
use super::sleepers::{Known, Need, Plan};
use super::watch::Activity;
use crate::engine::TreeEvent;
use crate::memory::Registers;
use crate::process;
use crate::profile::{Address, ExitStatus, Pid, Tid, Timestamp};
use crate::sys;

/// What the engine knows of a thread.
#[derive(Debug)]
pub(super) struct Tracee {
    pub(super) tid: Tid,
    pub(super) pid: Pid,
    pub(super) phase: Phase,
    /// Its end has been reported: its track is over.
    pub(super) is_end_reported: bool,
    /// It was stopped with its process; the signal that ended that may still be to come.
    pub(super) awaits_continue: bool,
    /// When it was interrupted last.
    pub(super) interrupted: Timestamp,
    /// The call it was last seen to be blocked in.
    pub(super) call: Option<Call>,
    /// Open from the first tick on.
    pub(super) schedstat: Option<File>,
    /// The end of the mapping its stack lies in, where known: all live bytes lie before it.
    pub(super) stack_end: Option<Address>,
    /// Shows what it waits in; open from its first wait on.
    pub(super) syscall: Option<File>,
    pub(super) activity: Activity,
    /// What becomes of it in this tick.
    pub(super) plan: Plan,
    /// Its name is among those wanted.
    pub(super) is_selected: bool,
    /// When it woke in this tick and was stopped so that others could be.
    pub(super) quelled: Option<Timestamp>,
    pub(super) need: Need,
    /// What they were when it was last stopped for them.
    pub(super) known: Option<Box<Known>>,
    /// Live frames on another stack than the one it stood on.
    pub(super) outer: Option<Range<Address>>,
    /// The last name reported.
    pub(super) name: String,
    /// When its name was read last.
    pub(super) named: Timestamp,
    /// Its stack, taken when it began to stand still for long.
    pub(super) kept: Option<Box<Kept>>,
}

/// Where a thread is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// sprof's own child, before it becomes the command to record.
    Gated,
    /// Just born: its first stop is still to come.
    Starting,
    /// Runs, or sleeps of its own will.
    Free,
    /// Was interrupted and did not stop in time; its stop may still come.
    Late,
    /// In a group stop; `kept` is its stack.
    GroupStopped,
    /// Waits in the kernel for its vfork child; `kept` is its stack.
    Vforking,
    /// About to end, or ended and not yet reported by the kernel.
    Exiting,
}

/// A stack taken outside a tick, of a thread that stands still.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) registers: Registers,
    pub(super) is_64_bit: bool,
    pub(super) stack: Vec<u8>,
}

/// Stack bytes copied of all threads whose stacks' ends are not known yet, shared among them…
const FIRST_COPIES: usize = 1 << 20;
/// …and of one, at least and at most.
const FIRST_COPY: (usize, usize) = (16 << 10, 512 << 10);
/// Stack bytes copied of one thread at most.
const MAX_COPY: u64 = 16 << 20;

impl Tracee {
    pub(super) fn new(pid: Pid, tid: Tid, phase: Phase) -> Tracee {
        Tracee {
            tid,
            pid,
            phase,
            is_end_reported: false,
            awaits_continue: false,
            interrupted: Timestamp(0),
            call: None,
            schedstat: None,
            stack_end: None,
            syscall: None,
            activity: Activity::unproven(process::now()),
            plan: Plan::Interrupt,
            is_selected: false,
            quelled: None,
            need: Need::Nothing,
            known: None,
            outer: None,
            name: String::new(),
            named: Timestamp(0),
            kept: None,
        }
    }

    /// Bytes of its stack to copy, from `start` on, when so many threads are traced.
    pub(super) fn stack_bytes(&self, start: Address, threads: usize) -> usize {
        let live = match self.stack_end {
            Some(end) if end > start && end.0 - start.0 <= MAX_COPY => end.0 - start.0,
            Some(end) if end > start && end.0 - start.0 <= 64 * MAX_COPY => MAX_COPY,
            _ => return (FIRST_COPIES / threads.max(1)).clamp(FIRST_COPY.0, FIRST_COPY.1),
        };
        live as usize
    }

    /// Which bytes of its other stack to copy, beside `len` bytes from `start` on of the one it
    /// stands on; `None`: it has no other, or is back on it.
    pub(super) fn outer_bytes(&self, start: Address, len: usize) -> Option<(Address, usize)> {
        let mut outer = self.outer.clone()?;
        if (start.0..start.0.saturating_add(len as u64)).contains(&outer.start.0) {
            return None;
        }
        if outer.contains(&start) {
            // A signal's stack can lie above the one it interrupted, in one mapping.
            outer.end = start;
        }
        let live = outer.end.0.saturating_sub(outer.start.0).min(MAX_COPY);
        (live > 0).then_some((outer.start, live as usize))
    }
}

impl StopEngine {
    /// Begins to keep track of a thread; its process too, where that is new.
    pub(super) fn add(&mut self, pid: Pid, tid: Tid, phase: Phase) {
        let tracee = Tracee::new(pid, tid, phase);
        self.is_still = false;
        self.by_tid.insert(tid, self.tracees.len());
        self.tracees.push(tracee);
        *self.processes.entry(pid).or_default() += 1;
    }

    /// Forgets a thread, and reports its end where that has not been done; after the last one of
    /// a process, the process's.
    pub(super) fn remove(
        &mut self,
        tid: Tid,
        time: Timestamp,
        status: Option<ExitStatus>,
        report: &mut dyn FnMut(TreeEvent),
    ) {
        let Some(index) = self.by_tid.remove(&tid) else {
            return;
        };
        let tracee = self.tracees.swap_remove(index);
        if let Some(moved) = self.tracees.get(index) {
            self.by_tid.insert(moved.tid, index);
        }
        if !tracee.is_end_reported {
            report(TreeEvent::ThreadEnd { tid, time });
        }
        let pid = tracee.pid;
        if let Some(count) = self.processes.get_mut(&pid) {
            *count -= 1;
            if *count == 0 {
                self.processes.remove(&pid);
                report(TreeEvent::ProcessEnd { pid, time, status });
            }
        }
    }

    /// Reads a thread's name and reports it if it is a new one.
    pub(super) fn read_name(&mut self, index: usize, report: &mut dyn FnMut(TreeEvent)) {
        let tracee = &mut self.tracees[index];
        tracee.named = process::now();
        let Some(name) = process::thread_name(tracee.pid, tracee.tid) else {
            return;
        };
        if name != tracee.name {
            tracee.name.clone_from(&name);
            self.select(index, report);
            let tracee = &self.tracees[index];
            report(TreeEvent::Name {
                tid: tracee.tid,
                time: process::now(),
                name,
            });
        }
    }

    /// A thread has got a name: it, and where it is the first one its whole process, may be wanted
    /// from now on, or no longer.
    fn select(&mut self, index: usize, report: &mut dyn FnMut(TreeEvent)) {
        if !self.scope.selects() {
            return;
        }
        let (pid, tid) = (self.tracees[index].pid, self.tracees[index].tid);
        let first = self.by_tid.get(&Tid(pid.0));
        let process = first.map_or(String::new(), |&first| self.tracees[first].name.clone());
        let is_first = tid.0 == pid.0;
        self.is_still = false;
        for tracee in &mut self.tracees {
            if tracee.tid == tid || (is_first && tracee.pid == pid) {
                let is_wanted = self.scope.wants(&process, &tracee.name);
                if std::mem::replace(&mut tracee.is_selected, is_wanted) && !is_wanted {
                    report(TreeEvent::LeftOut { tid: tracee.tid });
                }
            }
        }
    }

    /// Takes the stack of a stopped thread that will not move for some time.
    pub(super) fn keep_stack(&mut self, index: usize) {
        let threads = self.tracees.len();
        let tracee = &mut self.tracees[index];
        tracee.kept = sys::registers(tracee.tid).ok().map(|raw| {
            let start = raw.registers.stack_start();
            let mut stack = vec![0; tracee.stack_bytes(start, threads)];
            let got = sys::read_memory(tracee.tid, start, &mut stack);
            stack.truncate(got);
            Box::new(Kept {
                registers: raw.registers,
                is_64_bit: raw.is_64_bit,
                stack,
            })
        });
    }
}
