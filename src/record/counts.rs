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
    pub(super) not_traceable: Vec<String>,
    pub(super) engine_changed: Option<String>,
    pub(super) longer_interval: Option<Nanos>,
    /// For so long there were no ticks, as asked.
    pub(super) paused: Nanos,
    /// How processes ended, by the pids asked for.
    pub(super) exits: Vec<(Pid, ExitStatus)>,
}

impl Counts {
    pub(super) fn new(tally: Arc<Tally>) -> Counts {
        Counts {
            tally,
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

    pub(super) fn missed(&mut self, ticks: u64) {
        self.ticks_missed += ticks;
        self.tally.miss(ticks);
    }
}
