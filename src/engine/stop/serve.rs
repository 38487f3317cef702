//! One stop, served: the target goes on as it would have without a tracer.

use nix::libc;

use super::StopEngine;
use super::calls::{is_cut_short, waits_forever};
use super::sleepers::{Need, Plan};
use super::tracee::{Phase, Tracee};
use super::watch::Activity;
use crate::engine::TreeEvent;
use crate::process;
use crate::profile::{ExitStatus, Pid, Tid};
use crate::sys::{self, RawRegisters, Stop};

impl StopEngine {
    /// Does what a stop asks for and lets the thread run on.
    pub(super) fn serve_stop(&mut self, tid: Tid, stop: Stop, report: &mut dyn FnMut(TreeEvent)) {
        self.is_still = false;
        if let Stop::Ended(status) = stop {
            self.end(tid, status, report);
            return;
        }
        if !self.by_tid.contains_key(&tid) {
            // A new thread can be seen before the event of the one that created it.
            self.adopt(tid, report);
        }
        let Some(&index) = self.by_tid.get(&tid) else {
            return;
        };
        match stop {
            // Nobody waits for an interrupt any more that outlived its tick; or a group stop ends.
            Stop::Interrupted => self.go_on_in_call(index, None, sys::registers(tid).ok()),
            Stop::Signal(signal) => {
                self.go_on_in_call(index, Some(signal), sys::registers(tid).ok());
            }
            Stop::VforkDone | Stop::Ended(_) => self.go_on(index, 0),
            Stop::Group(_) => {
                self.keep_stack(index);
                let tracee = &mut self.tracees[index];
                tracee.phase = Phase::GroupStopped;
                tracee.awaits_continue = true;
                // Fails when it was killed meanwhile; its end is reported next.
                let _ = sys::listen(tid);
            }
            Stop::Clone | Stop::Fork => {
                self.add_child(index, report);
                self.go_on(index, 0);
            }
            Stop::Vfork => {
                self.add_child(index, report);
                self.keep_stack(index);
                self.tracees[index].phase = Phase::Vforking;
                let _ = sys::resume(tid, 0);
            }
            Stop::Exec => self.exec(index, report),
            Stop::Exiting => {
                self.read_name(index, report);
                self.go_on(index, 0);
                let tracee = &mut self.tracees[index];
                tracee.phase = Phase::Exiting;
                tracee.is_end_reported = true;
                report(TreeEvent::ThreadEnd {
                    tid,
                    time: process::now(),
                });
            }
        }
    }

    /// Lets a stopped thread run on, with a signal or without (0).
    pub(super) fn go_on(&mut self, index: usize, signal: i32) {
        let tracee = &mut self.tracees[index];
        if !matches!(tracee.phase, Phase::Gated | Phase::Exiting) {
            tracee.phase = Phase::Free;
            tracee.kept = None;
        }
        // Fails when it was killed meanwhile; its end is reported next.
        let _ = sys::resume(tracee.tid, signal);
    }

    /// Lets a thread run on that was interrupted, or is to get a signal, perhaps in a blocked call.
    ///
    /// A tracer gets to see signals that the program ignores, and the call they met answers `EINTR`
    /// although no signal comes: taken up again, it does so only where a handler runs.
    pub(super) fn go_on_in_call(
        &mut self,
        index: usize,
        signal: Option<i32>,
        raw: Option<RawRegisters>,
    ) {
        let is_cut_by_us =
            raw.as_ref().is_some_and(is_cut_short) && !self.is_part_of_group_stop(index, signal);
        if is_cut_by_us {
            let (tid, pid) = (self.tracees[index].tid, self.tracees[index].pid);
            let tracee = &self.tracees[index];
            // One that has woken since the plan was made has run, too.
            let has_run = tracee.plan == Plan::InterruptRunning || tracee.quelled.is_some();
            let began_now = signal.is_none() && has_run;
            if began_now || raw.as_ref().is_some_and(waits_forever) {
                // Fails when it was killed meanwhile; its end is reported next.
                let _ = sys::restart_call(tid);
            } else if signal.is_none_or(|signal| !process::catches(pid, signal)) {
                self.perturbed += 1;
            }
        }
        self.go_on(index, signal.unwrap_or(0));
    }

    /// Whether a stop is one of those that a group stop consists of: it makes the same calls answer
    /// `EINTR` without a tracer.
    fn is_part_of_group_stop(&mut self, index: usize, signal: Option<i32>) -> bool {
        let tracee = &mut self.tracees[index];
        match signal {
            None => tracee.phase == Phase::GroupStopped,
            Some(libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => true,
            Some(libc::SIGCONT) => std::mem::take(&mut tracee.awaits_continue),
            Some(_) => false,
        }
    }

    /// Takes in the new thread or process that the event of tracee `index` tells of.
    fn add_child(&mut self, index: usize, report: &mut dyn FnMut(TreeEvent)) {
        let (creator, pid) = (self.tracees[index].tid, self.tracees[index].pid);
        let Ok(message) = sys::event_message(creator) else {
            return;
        };
        let child = Tid(message as i32);
        // Where it is gone, it has been waited for: it reported, and ended, before its creator did.
        if self.by_tid.contains_key(&child) || !process::exists(child) {
            return;
        }
        let start = process::now();
        if sys::is_thread_of(child, pid) {
            self.add(pid, child, Phase::Starting);
            report(TreeEvent::Thread {
                pid,
                tid: child,
                start,
                is_new: true,
            });
        } else {
            self.add_process(Pid(child.0), Some(pid), report);
        }
    }

    fn add_process(&mut self, pid: Pid, forked_by: Option<Pid>, report: &mut dyn FnMut(TreeEvent)) {
        let start = process::now();
        self.add(pid, Tid(pid.0), Phase::Starting);
        report(TreeEvent::Process {
            pid,
            forked_by,
            start,
            is_gated: false,
        });
        report(TreeEvent::Thread {
            pid,
            tid: Tid(pid.0),
            start,
            is_new: true,
        });
    }

    /// Takes in a thread that reported before its creator did.
    fn adopt(&mut self, tid: Tid, report: &mut dyn FnMut(TreeEvent)) {
        let Some(status) = process::read_status(Pid(tid.0)) else {
            return;
        };
        let pid = Pid(status.process);
        if pid.0 == tid.0 {
            let parent = process::read_stat(pid).map(|stat| stat.parent);
            let forked_by = parent.filter(|parent| self.processes.contains_key(parent));
            self.add_process(pid, forked_by, report);
        } else {
            self.add(pid, tid, Phase::Starting);
            report(TreeEvent::Thread {
                pid,
                tid,
                start: process::now(),
                is_new: true,
            });
        }
    }

    /// A new program: all other threads are gone without a word of their own, and the one that
    /// called exec bears the number of the first.
    fn exec(&mut self, index: usize, report: &mut dyn FnMut(TreeEvent)) {
        let (first, pid) = (self.tracees[index].tid, self.tracees[index].pid);
        let time = process::now();
        let others = self
            .tracees
            .iter()
            .filter(|t| t.pid == pid && t.tid != first);
        for tid in others.map(|tracee| tracee.tid).collect::<Vec<_>>() {
            self.remove(tid, time, None, report);
        }
        let Some(&index) = self.by_tid.get(&first) else {
            return;
        };
        let tracee = &mut self.tracees[index];
        if std::mem::take(&mut tracee.is_end_reported) {
            report(TreeEvent::Thread {
                pid,
                tid: first,
                start: time,
                is_new: true,
            });
        }
        tracee.phase = Phase::Free;
        tracee.stack_end = None;
        tracee.outer = None;
        tracee.schedstat = None;
        tracee.syscall = None;
        tracee.activity = Activity::unproven(time);
        tracee.need = Need::Nothing;
        tracee.known = None;
        tracee.name.clear();
        report(TreeEvent::Exec {
            pid,
            time,
            exe: process::executable(pid),
            argv: process::arguments(pid),
            maps: Some(std::fs::read(format!("/proc/{pid}/maps")).unwrap_or_default()),
        });
        if process::lacks_rights_of_program(pid) {
            let why = "runs without the rights of its set-user-id program, as traced ones do";
            let why = why.to_owned();
            report(TreeEvent::NotTraceable { pid, time, why });
        }
        self.read_name(index, report);
        self.go_on(index, 0);
    }

    /// A thread is no more; the kernel reports a process's first thread last.
    fn end(&mut self, tid: Tid, status: ExitStatus, report: &mut dyn FnMut(TreeEvent)) {
        self.remove(tid, process::now(), Some(status), report);
    }

    /// Asks after threads that should have ended: one that is gone without a word is forgotten.
    pub(super) fn serve_exiting(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        let is_exiting = |tracee: &&Tracee| tracee.phase == Phase::Exiting;
        let exiting = self
            .tracees
            .iter()
            .filter(is_exiting)
            .map(|tracee| tracee.tid);
        for tid in exiting.collect::<Vec<_>>() {
            match sys::wait_for(tid) {
                Ok(Some(stop)) => self.serve_stop(tid, stop, report),
                Err(sys::Errno::ECHILD) => self.remove(tid, process::now(), None, report),
                Ok(None) | Err(_) => {}
            }
        }
    }
}
