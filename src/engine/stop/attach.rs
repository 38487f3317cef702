//! Beginning to trace: a command that waits at its gate, or processes that run.

use std::collections::HashMap;

use super::StopEngine;
use super::rescan::is_worth_telling;
use super::tracee::Phase;
use crate::engine::refusal::explain;
use crate::engine::{AttachError, Refusal, TreeEvent};
use crate::process::{self, ancestors, descendants, read_stat, read_thread_stat, threads};
use crate::profile::{Clocks, Pid, Tid, Timestamp};
use crate::sys::{self, Errno};

impl StopEngine {
    /// Traces the gated child `pid` of sprof. It is not sampled before it becomes its command.
    ///
    /// # Errors
    /// When even one's own child may not be traced.
    pub fn attach_gated(
        &mut self,
        pid: Pid,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Result<(), AttachError> {
        let tid = Tid(pid.0);
        sys::seize(tid, self.scope.follow).map_err(|errno| AttachError {
            pid,
            refusal: explain(pid, errno),
        })?;
        let start = process::now();
        self.add(pid, tid, Phase::Gated);
        self.watch_thread(tid);
        TreeEvent::gated(pid, start).into_iter().for_each(report);
        Ok(())
    }

    /// Traces the processes `roots` and all that is below them. What is below and refuses is
    /// reported and left alone.
    ///
    /// # Errors
    /// When one of the roots refuses; what was traced by then is let go when the tracer ends.
    pub fn attach(
        &mut self,
        roots: &[Pid],
        report: &mut dyn FnMut(TreeEvent),
    ) -> Result<(), AttachError> {
        let clocks = process::read_clocks();
        let own = Pid(std::process::id() as i32);
        for &pid in roots {
            if pid == own || ancestors().contains(&pid) {
                return Err(AttachError {
                    pid,
                    refusal: Refusal::OwnAncestor,
                });
            }
            self.attach_process(pid, &clocks, report)
                .map_err(|refusal| AttachError { pid, refusal })?;
        }
        let mut refused = Vec::new();
        // A process that was not yet traced may have forked meanwhile: until a pass is empty.
        loop {
            let mut found = descendants(roots);
            found.retain(|pid| !self.processes.contains_key(pid) && !refused.contains(pid));
            if found.is_empty() {
                return Ok(());
            }
            for pid in found {
                if let Err(refusal) = self.attach_process(pid, &clocks, report) {
                    refused.push(pid);
                    self.report_refusal(pid, &refusal, report);
                }
            }
        }
    }

    /// Traces processes that another engine has watched until now, and all that is below them. Of
    /// those that refuse, nothing is recorded from now on.
    pub fn take_over(&mut self, pids: &[Pid], report: &mut dyn FnMut(TreeEvent)) {
        for pid in pids {
            if let Err(AttachError { pid, refusal }) = self.attach(&[*pid], report)
                && !matches!(refusal, Refusal::NoSuchProcess | Refusal::Zombie)
            {
                let (time, why) = (process::now(), refusal.to_string());
                report(TreeEvent::NotTraceable { pid, time, why });
            }
        }
    }

    /// Traces all threads of a process, also those that it starts meanwhile.
    pub(super) fn attach_process(
        &mut self,
        pid: Pid,
        clocks: &Clocks,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Result<(), Refusal> {
        let stat = read_stat(pid).ok_or(Refusal::NoSuchProcess)?;
        if self.processes.contains_key(&pid) {
            return Ok(());
        }
        let start = process::start_time(stat.start_ticks, clocks);
        self.attach_all(pid, Some(start), clocks, report)
    }

    /// Traces the threads of a traced process that are not.
    pub(super) fn attach_threads(
        &mut self,
        pid: Pid,
        clocks: &Clocks,
        report: &mut dyn FnMut(TreeEvent),
    ) {
        // Whether any was left to be traced is known to the caller alone.
        let _ = self.attach_all(pid, None, clocks, report);
    }

    /// Traces threads until a pass finds no more; with the first of them reports the process too,
    /// where its start says that this has not been done.
    fn attach_all(
        &mut self,
        pid: Pid,
        process_start: Option<Timestamp>,
        clocks: &Clocks,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Result<(), Refusal> {
        let mut refusal = explain(pid, Errno::ESRCH);
        let mut refused = HashMap::new();
        let mut unreported = process_start;
        let mut is_any = process_start.is_none();
        loop {
            let mut is_new = false;
            for tid in threads(pid) {
                if self.by_tid.contains_key(&tid) {
                    continue;
                }
                if let Err(errno) = sys::seize(tid, self.scope.follow) {
                    // A first thread that has ended while others run says EPERM: go on.
                    refusal = explain(Pid(tid.0), errno);
                    refused.insert(tid, refusal.clone());
                    continue;
                }
                is_new = true;
                is_any = true;
                if let Some(start) = unreported.take() {
                    report(TreeEvent::Process {
                        pid,
                        forked_by: None,
                        start,
                        is_gated: false,
                    });
                }
                let start = read_thread_stat(pid, tid).map_or(clocks.monotonic, |stat| {
                    process::start_time(stat.start_ticks, clocks)
                });
                self.add(pid, tid, Phase::Free);
                self.watch_thread(tid);
                report(TreeEvent::Thread {
                    pid,
                    tid,
                    start,
                    is_new: false,
                });
            }
            if !is_new && is_any {
                self.report_refused(pid, &refused, report);
                return Ok(());
            }
            if !is_new {
                return Err(refusal);
            }
        }
    }

    /// Single threads of a process that refuse while others do not: what another program traces.
    /// One that was born while we attached is traced by sprof already.
    fn report_refused(
        &mut self,
        pid: Pid,
        refused: &HashMap<Tid, Refusal>,
        report: &mut dyn FnMut(TreeEvent),
    ) {
        for (tid, refusal) in refused {
            if is_worth_telling(refusal) && self.rescan.is_news(Pid(tid.0)) {
                let (time, why) = (process::now(), format!("thread {tid}: {refusal}"));
                report(TreeEvent::NotTraceable { pid, time, why });
            }
        }
    }
}
