//! When ticks are due.

use crate::profile::{Nanos, Spread, Timestamp};

/// Plans ticks on a grid with a jitter of up to a quarter of the interval to either side: the mean
/// is kept, and a target that does something periodic is not always met at the same point.
#[derive(Debug)]
pub(super) struct Clock {
    start: Timestamp,
    interval: Nanos,
    next: u64,
    seed: u64,
    /// No tick before this: the target is to run.
    rest_until: Timestamp,
    /// The target is to be held for this share of the time at most.
    pub(super) max_overhead: Option<f64>,
    /// The interval asked for: it is never shorter.
    asked: Nanos,
    /// The last holds, until they are judged.
    holds: Vec<Nanos>,
}

/// After a tick, the target runs for so many times as long as it was held, at least: sprof holds
/// it for a quarter of the time at most, whatever rate was asked for.
const REST: u64 = 3;
/// So many holds say what one takes.
const JUDGED_HOLDS: usize = 16;
/// A hold that seems longer was one in which sprof itself, or the machine, was stopped.
const LONGEST_HOLD: Nanos = Nanos(1_000_000_000);

/// A tick that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) index: u64,
    pub(super) planned: Timestamp,
    /// Ticks before it that are too late to be taken.
    pub(super) skipped: u64,
}

impl Clock {
    /// A grid whose tick 0 is one interval after `start`.
    pub(super) fn new(start: Timestamp, interval: Nanos, seed: u64) -> Clock {
        Clock {
            start: start + interval,
            interval: Nanos(interval.0.max(1)),
            next: 0,
            seed,
            rest_until: Timestamp(0),
            max_overhead: None,
            asked: Nanos(interval.0.max(1)),
            holds: Vec::new(),
        }
    }

    /// Takes note that the target was held for so long, until now; answers the new interval where
    /// ticks are to be further apart from now on, or may be nearer again.
    pub(super) fn held(&mut self, stop: Nanos, now: Timestamp) -> Option<Nanos> {
        let stop = Nanos(stop.0.min(LONGEST_HOLD.0));
        self.rest_until = now + Nanos(stop.0 * REST);
        self.holds.push(stop);
        if self.holds.len() < JUDGED_HOLDS {
            return None;
        }
        // The usual hold: one that took long is the machine's affair.
        let usual = Spread::of(&mut std::mem::take(&mut self.holds))?.p50;
        let interval = self.fitting_interval(usual)?;
        // The grid goes on from the tick that was due next.
        let next = self.planned(self.next).max(now);
        self.interval = interval;
        let passed = self.next.saturating_mul(interval.0);
        self.start = Timestamp(next.0.saturating_sub(passed));
        Some(interval)
    }

    /// The interval to change to where holds usually take so long: one that keeps to the bound, with
    /// a tenth to spare, as soon as the present one does not; a shorter one only where it can be
    /// half as long, so that it settles.
    fn fitting_interval(&self, usual: Nanos) -> Option<Nanos> {
        let needed = usual.0 as f64 / self.max_overhead?;
        let fitting = Nanos((needed * 1.1) as u64).max(self.asked);
        let is_too_short = needed > self.interval.0 as f64;
        let is_too_long = fitting.0 * 2 < self.interval.0;
        (is_too_short || is_too_long).then_some(fitting)
    }

    /// Takes no note of the ticks that were due up to `now`; answers the number of the next.
    pub(super) fn resume(&mut self, now: Timestamp) -> u64 {
        while self.planned(self.next) < now {
            let behind = now.since(self.planned(self.next)).0 / self.interval.0;
            self.next += behind.max(1);
        }
        self.next
    }

    /// Makes a tick that was not taken the next one again.
    pub(super) fn give_back(&mut self, due: Due) {
        self.next = due.index;
    }

    /// When the tick after that of the last [`next`](Self::next) is due.
    pub(super) fn following(&self) -> Timestamp {
        self.planned(self.next)
    }

    /// The next tick. One that is later than half an interval is skipped, not replayed: the ticks
    /// that are taken stay even.
    pub(super) fn next(&mut self, now: Timestamp) -> Due {
        let late = now.since(self.start + Nanos(self.interval.0 / 2 + 1));
        let first_in_time = late.0 / self.interval.0;
        let mut index = self.next.max(first_in_time);
        while self.planned(index) + Nanos(self.interval.0 / 2) < now
            || self.planned(index) < self.rest_until
        {
            index += 1;
        }
        let skipped = index - self.next;
        self.next = index + 1;
        Due {
            index,
            planned: self.planned(index),
            skipped,
        }
    }

    fn planned(&self, index: u64) -> Timestamp {
        let quarter = self.interval.0 / 4;
        let jitter = scramble(self.seed.wrapping_add(index)) % (2 * quarter + 1);
        self.start + Nanos(index.saturating_mul(self.interval.0)) + Nanos(jitter) - Nanos(quarter)
    }
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014): neighbours become independent.
fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
