//! Whether ticks are taken at the rate that was asked for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Ticks so far, counted by one thread and read by another.
#[derive(Debug, Default)]
pub(super) struct Tally {
    kept: AtomicU64,
    missed: AtomicU64,
}

impl Tally {
    pub(super) fn keep(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn miss(&self, ticks: u64) {
        self.missed.fetch_add(ticks, Ordering::Relaxed);
    }

    /// Ticks that are in the recording, and that were due and are not.
    pub(super) fn get(&self) -> (u64, u64) {
        let missed = self.missed.load(Ordering::Relaxed);
        (self.kept.load(Ordering::Relaxed), missed)
    }
}

/// Looks at a recording's ticks again and again, and tells once when too few are kept.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the stretch began that is looked at, and the ticks kept and missed up to then.
    begun: (Duration, u64, u64),
    has_told: bool,
}

/// A stretch is judged when it is so long and so many ticks were due in it: what the machine does
/// once is not worth a word.
const STRETCH: (Duration, u64) = (Duration::from_secs(5), 20);
/// Of the ticks that are due, this part at least is to be kept.
const ENOUGH: f64 = 0.9;

impl Pace {
    /// Takes note of the ticks up to now; the share that was kept, where that is too small and was
    /// not told before.
    pub(super) fn judge(&mut self, now: Duration, (kept, missed): (u64, u64)) -> Option<f64> {
        let (begun, kept_before, missed_before) = self.begun;
        let kept_now = kept.saturating_sub(kept_before);
        let due = kept_now + missed.saturating_sub(missed_before);
        if now.saturating_sub(begun) < STRETCH.0 || due < STRETCH.1 {
            return None;
        }
        self.begun = (now, kept, missed);
        let share = kept_now as f64 / due as f64;
        let is_news = share < ENOUGH && !self.has_told;
        self.has_told |= is_news;
        is_news.then_some(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_ticks_are_told_once() {
        let mut pace = Pace::default();
        let second = Duration::from_secs;
        // A moment is not judged, nor are few ticks.
        assert_eq!(pace.judge(second(4), (10, 300)), None);
        let mut rare = Pace::default();
        assert_eq!(rare.judge(second(9), (1, 18)), None);
        assert_eq!(rare.judge(second(10), (5, 15)), Some(0.25));
        // Nine of ten are enough.
        assert_eq!(pace.judge(second(5), (900, 100)), None);
        // What was before does not count.
        assert_eq!(pace.judge(second(9), (900, 1000)), None);
        assert_eq!(pace.judge(second(10), (1300, 700)), Some(0.4));
        assert_eq!(pace.judge(second(15), (1300, 9000)), None);
    }
}
