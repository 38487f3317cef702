//! How processes ended: known a moment after they are gone.

use std::os::fd::OwnedFd;

use crate::engine::TreeEvent;
use crate::process;
use crate::profile::{ExitStatus, Nanos, Pid, Timestamp};
use crate::sys;

/// Ended processes whose status is still to come.
#[derive(Debug, Default)]
pub(super) struct Exits {
    /// The launched command, a child of ours.
    pub(super) command: Option<Pid>,
    waiting: Vec<Ended>,
}

#[derive(Debug)]
struct Ended {
    pid: Pid,
    time: Timestamp,
    end: Option<OwnedFd>,
}

/// A status that has not come so long after the end is given up. The kernel records the end of a
/// thread before it has torn the process down, which takes a while where it has much memory.
const PATIENCE: Nanos = Nanos(2_000_000_000);

impl Exits {
    /// A process has ended; `end` tells how, where someone opened it in time.
    pub(super) fn add(&mut self, pid: Pid, time: Timestamp, end: Option<OwnedFd>) {
        self.waiting.push(Ended { pid, time, end });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Reports the ends whose status has come, or never will.
    pub(super) fn report(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        if self.waiting.is_empty() {
            return;
        }
        let command = self.command;
        let now = process::now();
        self.waiting.retain(|ended| {
            let (status, may_come) = match &ended.end {
                _ if Some(ended.pid) == command => (sys::reap(ended.pid), true),
                Some(end) => (
                    sys::exit_status(end).or_else(|| status_of_zombie(ended.pid)),
                    true,
                ),
                None => (None, false),
            };
            let is_over = status.is_some() || !may_come || now.since(ended.time) > PATIENCE;
            if is_over {
                report(TreeEvent::ProcessEnd {
                    pid: ended.pid,
                    time: ended.time,
                    status,
                });
            }
            !is_over
        });
    }

    /// A new process bears the number of an ended one: that one's end is told first.
    pub(super) fn reused(&mut self, pid: Pid, report: &mut dyn FnMut(TreeEvent)) {
        if self.waiting.iter().any(|ended| ended.pid == pid) {
            self.give_up(report);
        }
    }

    /// Reports all ends, with what is known now.
    pub(super) fn give_up(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        self.report(report);
        for Ended { pid, time, .. } in self.waiting.drain(..) {
            let status: Option<ExitStatus> = None;
            report(TreeEvent::ProcessEnd { pid, time, status });
        }
    }
}

/// How a process ended that its parent has not asked for: nobody else can have its number yet.
fn status_of_zombie(pid: Pid) -> Option<ExitStatus> {
    let code = process::read_stat(pid)?.exit_code?;
    Some(ExitStatus::from_wait(code))
}
