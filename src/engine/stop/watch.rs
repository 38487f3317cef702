//! Whose stack cannot have changed: what the kernel records of switches tells.
//!
//! A thread that is not on a CPU cannot change its stack. So one that the kernel has not put on a
//! CPU since its last sample need not be looked at, and one that blocks can be read where it is.
//! A thread comes to a CPU before it runs, and its record is there by then: whoever looks after an
//! instant and sees no switch knows that nothing ran before it.

use std::os::fd::OwnedFd;

use super::StopEngine;
use crate::engine::records::{Kind, Record, Records};
use crate::process;
use crate::profile::{Tid, Timestamp};
use crate::sys::{self, Errno, Watch};

/// The switches of all traced threads.
#[derive(Debug)]
pub(super) struct Switches {
    records: Records,
    /// One for each CPU and each thread that was met alive. Closing one would end the records of
    /// all that its thread has started.
    events: Vec<OwnedFd>,
}

/// What the records say of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// Its switches are recorded. Of one that was born or runs a new program, the first record
    /// after that proves it: a program with privileges of its own drops the events.
    pub(super) is_watched: bool,
    /// Records from then on prove it.
    pub(super) watched_from: Timestamp,
    /// It is on a CPU, or was made to leave one.
    pub(super) may_run: bool,
    /// When it first came to a CPU since the engine began to look at it in this tick.
    pub(super) first_in: Option<Timestamp>,
    /// When it last came to a CPU or left one.
    pub(super) last_switch: Timestamp,
    /// It has not run since its last sample, which has its stack.
    pub(super) is_sampled: bool,
}

impl Activity {
    /// That of a thread whose switches may be recorded from `time` on.
    pub(super) fn unproven(time: Timestamp) -> Activity {
        Activity {
            watched_from: time,
            ..Activity::default()
        }
    }

    /// Records were lost, perhaps some of the thread: it may have run at any time.
    pub(super) fn lose_sight(&mut self) {
        self.may_run = false;
        self.is_sampled = false;
        self.first_in = Some(Timestamp(0));
        self.last_switch = process::now();
    }

    /// Whether it ran between the beginning of this tick's look and `end`.
    pub(super) fn has_run_by(&self, end: Timestamp) -> bool {
        self.first_in.is_some_and(|first| first <= end)
    }

    /// Takes a record of the thread in.
    pub(super) fn take(&mut self, record: &Record) {
        self.may_run = match record.kind {
            Kind::SwitchIn => true,
            Kind::SwitchOut { is_ready } => is_ready,
            _ => return,
        };
        if record.kind == Kind::SwitchIn {
            self.first_in.get_or_insert(record.time);
        }
        self.last_switch = record.time;
        self.is_watched |= record.time >= self.watched_from;
        self.is_sampled = false;
    }
}

impl StopEngine {
    /// Whether threads that have not run are left alone: the kernel records switches for us.
    pub fn elides(&self) -> bool {
        self.switches.is_some()
    }

    /// Has the switches of a thread recorded that was met alive, and of all that it starts. Where
    /// that is refused, as many descriptors as it takes are not allowed, or the kernel keeps such
    /// records from us, no thread is left alone: then all are stopped.
    pub(super) fn watch_thread(&mut self, tid: Tid) {
        let Some(switches) = &mut self.switches else {
            return;
        };
        let rings = switches.records.rings();
        let events: Result<Vec<_>, _> = rings
            .map(|ring| sys::watch(tid, ring, Watch::Switches, false))
            .collect();
        match events {
            Ok(events) => switches.events.extend(events),
            // It has ended.
            Err(Errno::ESRCH) => return,
            Err(_) => {
                self.switches = None;
                return;
            }
        }
        if let Some(&index) = self.by_tid.get(&tid) {
            self.tracees[index].activity.is_watched = true;
        }
    }

    /// Takes in what was recorded by now; answers whether there was anything.
    pub(super) fn look_at_switches(&mut self) -> bool {
        let Some(switches) = self.switches.as_mut().filter(|s| s.records.has_news()) else {
            return false;
        };
        switches.records.look();
        while let Some(record) = switches.records.next(Timestamp(u64::MAX)) {
            if let Kind::Lost(_) = record.kind {
                for tracee in &mut self.tracees {
                    tracee.activity.lose_sight();
                }
            } else if let Some(&index) = self.by_tid.get(&record.tid) {
                self.tracees[index].activity.take(&record);
            }
        }
        switches.records.release();
        true
    }
}

impl Switches {
    /// `None`: the kernel keeps no such records for us.
    pub(super) fn new() -> Option<Switches> {
        let records = Records::new(&process::online_cpus()).ok()?;
        Some(Switches {
            records,
            events: Vec::new(),
        })
    }
}
