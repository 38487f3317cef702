//! Looking for what raises no event: processes and threads made with `CLONE_UNTRACED`.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::StopEngine;
use crate::engine::{Refusal, TreeEvent};
use crate::process::{self, descendants, read_stat, threads};
use crate::profile::{Nanos, Pid, Tid, Timestamp};
use crate::sys;

/// From one look at the tree to the next.
const PAUSE: Nanos = Nanos(1_000_000_000);

/// All threads of the processes asked for and of what is below them.
type Found = Vec<(Pid, Vec<Tid>)>;

/// Looks at the tree each second, on a thread of its own: on a machine with thousands of processes
/// that takes longer than a tick may be late.
#[derive(Debug)]
pub(super) struct Rescan {
    next: Timestamp,
    looker: Option<(Sender<Vec<Pid>>, Receiver<Found>)>,
    /// Processes that refused, and when they began (in the kernel's clock ticks): another one may
    /// come to bear the number.
    refused: HashMap<Pid, u64>,
}

impl Rescan {
    pub(super) fn new(now: Timestamp) -> Rescan {
        Rescan {
            next: now + PAUSE,
            looker: None,
            refused: HashMap::new(),
        }
    }

    /// Whether it is the first time that this process refuses.
    pub(super) fn is_news(&mut self, pid: Pid) -> bool {
        let start = read_stat(pid).map_or(0, |stat| stat.start_ticks);
        self.refused.insert(pid, start) != Some(start)
    }

    /// What the last look found, when it has come back; then starts the next one when it is due.
    fn look(&mut self, now: Timestamp, traced: &HashMap<Pid, usize>) -> Found {
        let found = self.looker.as_ref().map(|(_, found)| found.try_recv());
        if now >= self.next {
            self.next = now + PAUSE;
            self.refused.retain(|pid, start| {
                read_stat(*pid).is_some_and(|stat| stat.start_ticks == *start)
            });
            let (ask, _) = self.looker.get_or_insert_with(start_looker);
            // What refused may have children that do not; and a child may have been given to
            // sprof, which launched its maker (`CLONE_PARENT`).
            let own = Pid(std::process::id() as i32);
            let roots = traced.keys().chain(self.refused.keys()).copied();
            let _ = ask.send(roots.chain([own]).collect());
        }
        found.and_then(Result::ok).unwrap_or_default()
    }
}

fn start_looker() -> (Sender<Vec<Pid>>, Receiver<Found>) {
    let (ask, asked) = channel::<Vec<Pid>>();
    let (answer, answers) = channel();
    let own = Pid(std::process::id() as i32);
    std::thread::spawn(move || {
        // Ends with the engine, which holds the other ends.
        for mut roots in asked {
            roots.extend(descendants(&roots));
            let all = roots.into_iter().filter(|&pid| pid != own);
            if answer
                .send(all.map(|pid| (pid, threads(pid))).collect())
                .is_err()
            {
                return;
            }
        }
    });
    (ask, answers)
}

impl StopEngine {
    /// Traces what is in the tree and has not been announced.
    pub(super) fn rescan(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        let found = self.rescan.look(process::now(), &self.processes);
        if found.is_empty() {
            return;
        }
        let clocks = process::read_clocks();
        for (pid, tids) in found {
            let is_traced = self.processes.contains_key(&pid);
            if !is_traced && self.scope.follow && self.is_below_ours(pid) {
                if let Err(refusal) = self.attach_process(pid, &clocks, report) {
                    self.report_refusal(pid, &refusal, report);
                }
            } else if is_traced && tids.iter().any(|tid| !self.by_tid.contains_key(tid)) {
                self.attach_threads(pid, &clocks, report);
            }
        }
    }

    /// Whether a process is the child of one that is traced, or that refused, or of sprof.
    fn is_below_ours(&self, pid: Pid) -> bool {
        let own = Pid(std::process::id() as i32);
        read_stat(pid).is_some_and(|stat| {
            self.processes.contains_key(&stat.parent)
                || self.rescan.refused.contains_key(&stat.parent)
                || stat.parent == own
        })
    }

    /// Reports a process of the tree that cannot be traced, once.
    pub(super) fn report_refusal(
        &mut self,
        pid: Pid,
        refusal: &Refusal,
        report: &mut dyn FnMut(TreeEvent),
    ) {
        if !is_worth_telling(refusal) || !self.rescan.is_news(pid) {
            return;
        }
        let (time, why) = (process::now(), refusal.to_string());
        report(TreeEvent::NotTraceable { pid, time, why });
    }
}

/// What has ended is not missed; what sprof traces already will report itself.
pub(super) fn is_worth_telling(refusal: &Refusal) -> bool {
    let own = Pid(std::process::id() as i32);
    match refusal {
        Refusal::NoSuchProcess | Refusal::Zombie => false,
        // The kernel names the tracing thread, not its process (fs/proc/array.c, task_state).
        Refusal::AlreadyTraced { tracer, .. } => !sys::is_thread_of(Tid(tracer.0), own),
        _ => true,
    }
}
