//! What the records do not tell: births and deaths among records that were lost, and processes that
//! the kernel ceases to watch.

use std::collections::HashSet;

use super::BarrierEngine;
use super::attach::watch;
use super::task::{Place, Stack, Tasks};
use crate::engine::TreeEvent;
use crate::process::{self, read_maps, read_stat};
use crate::profile::{Pid, Tid};

impl Tasks {
    /// After records were lost, nothing is known of where threads are until they are heard of again.
    pub(super) fn forget_places(&mut self, count: u64) {
        self.has_lost = true;
        self.lost_now += count;
        self.is_unsure = true;
        for cpu in &mut self.cpus {
            cpu.on = None;
        }
        for (&tid, task) in &mut self.by_tid {
            task.place = Place::Unknown;
            task.stack = Stack::None;
            if !std::mem::replace(&mut task.is_fresh, true) {
                self.fresh.push(tid);
            }
        }
    }

    /// After records were lost: who has been born and who has ended meanwhile.
    pub(super) fn reconcile(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        let now = process::now();
        let mut pids: Vec<Pid> = self.processes.keys().copied().collect();
        pids.extend(process::descendants(&pids));
        pids.sort_unstable();
        pids.dedup();
        let mut alive = HashSet::new();
        for pid in pids {
            for tid in process::threads(pid) {
                alive.insert(tid);
                self.born((Pid(0), Tid(0)), (pid, tid), now, report);
                self.read_name(tid, report);
            }
        }
        let ended = self.by_tid.keys().filter(|tid| !alive.contains(tid));
        for tid in ended.copied().collect::<Vec<_>>() {
            self.exit(tid, now, report);
        }
    }
}

impl BarrierEngine {
    /// Watches again what the kernel has ceased to watch, and is alive.
    pub(super) fn watch_dropped(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        for pid in std::mem::take(&mut self.tasks.dropped) {
            let tids = process::threads(pid);
            let events = &mut self.events;
            let watched = tids
                .iter()
                .all(|&tid| watch(&self.records, events, tid, false).is_ok());
            let time = process::now();
            if !watched {
                let why = "it became another user's, and may not be watched".to_owned();
                report(TreeEvent::NotTraceable { pid, time, why });
                self.tasks.exit(Tid(pid.0), time, report);
                continue;
            }
            // What it mapped meanwhile was not told, nor where it ran.
            let entries = read_maps(pid).unwrap_or_default().into_iter();
            for entry in entries.filter(|entry| entry.is_executable) {
                report(TreeEvent::Mapped { pid, time, entry });
            }
            self.tasks.is_unsure = true;
            if let Some(task) = self.tasks.by_tid.get_mut(&Tid(pid.0)) {
                task.place = Place::Unknown;
                task.stack = Stack::None;
            }
        }
    }
}

/// Whether a process goes on although the kernel has told of its end as it began a program: it tells
/// that also when it ceases to watch, as that program runs as another user than who started it
/// (`begin_new_exec` in `fs/exec.c`).
pub(super) fn goes_on(pid: Pid) -> bool {
    read_stat(pid).is_some_and(|stat| !stat.is_exiting && !matches!(stat.state, 'Z' | 'X'))
}
