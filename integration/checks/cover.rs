//! Is a thread seen in every tick of its life?

use std::collections::HashSet;

use crate::recording::Recording;

/// Ticks within a span of time, and how many of them have a sample of the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Ticks in the span.
    pub ticks: usize,
    /// Those with a sample of the thread.
    pub seen: usize,
}

impl Cover {
    /// Of a thread that lived from `begin` to `end`.
    pub fn of(recording: &Recording, pid: u32, tid: u32, begin: u64, end: u64) -> Cover {
        let samples = recording.samples_of(pid, tid);
        let seen: HashSet<u64> = samples.map(|sample| sample.tick).collect();
        let ticks = recording.ticks.iter();
        let within = ticks.filter(|tick| (begin..=end).contains(&tick.time_ns));
        let mut cover = Cover { ticks: 0, seen: 0 };
        for tick in within {
            cover.ticks += 1;
            cover.seen += usize::from(seen.contains(&tick.number));
        }
        cover
    }

    /// Ticks without a sample of the thread.
    pub fn missed(self) -> usize {
        self.ticks - self.seen
    }
}
