//! What has been recorded, in numbers.

use std::sync::Arc;

use super::pace::Tally;
use crate::engine::TickBuffer;
use crate::profile::{ExitStatus, Lengths, Nanos, Pid, Timestamp};

/// What has been recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) ticks: u64,
    pub(super) ticks_missed: u64,
    pub(super) samples: u64,
    pub(super) perturbed: u64,
    pub(super) idle_stops: u64,
    /// How long each tick held the target.
    pub(super) stops: Lengths,
    /// Ticks, for who is to know of them at once.
    tally: Arc<Tally>,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Timestamp,
    /// Processes that could not be traced: the first, and how many more.
    pub(super) not_traceable: Vec<String>,
    pub(super) more_not_traceable: u64,
    pub(super) engine_changed: Option<String>,
    pub(super) longer_interval: Option<Nanos>,
    /// For so long there were no ticks, as asked.
    pub(super) paused: Nanos,
    /// The launched command, and how it ended.
    command: Option<Pid>,
    pub(super) exit: Option<ExitStatus>,
}

/// So many processes that could not be traced are named at the end; the file has them all.
const NAMED: usize = 10;

impl Counts {
    pub(super) fn new(command: Option<Pid>, tally: Arc<Tally>) -> Counts {
        Counts {
            tally,
            command,
            ..Counts::default()
        }
    }

    pub(super) fn tick(&mut self, buffer: &TickBuffer, samples: usize) {
        self.ticks += 1;
        self.tally.keep();
        self.samples += samples as u64;
        self.perturbed += u64::from(buffer.perturbed);
        self.idle_stops += u64::from(buffer.idle_stops);
        self.stops.add(buffer.stop);
        self.first.get_or_insert(buffer.time);
        self.last = buffer.time;
    }

    pub(super) fn ended(&mut self, pid: Pid, status: ExitStatus) {
        // Its number is not used again before sprof has asked how it ended.
        if self.command == Some(pid) {
            self.exit = Some(status);
        }
    }

    pub(super) fn not_traceable(&mut self, what: String) {
        if self.not_traceable.len() < NAMED {
            self.not_traceable.push(what);
        } else {
            self.more_not_traceable += 1;
        }
    }

    pub(super) fn missed(&mut self, ticks: u64) {
        self.ticks_missed += ticks;
        self.tally.miss(ticks);
    }
}
