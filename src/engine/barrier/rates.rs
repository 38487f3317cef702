//! Whether a target switches its threads so often that recording it costs too much.

use crate::process;
use crate::profile::{Nanos, Timestamp};

/// Recording one switch takes about 2.7 us of the CPU it happens on; so many a second take 8 % of
/// it. A target that switches more than that is recorded by stopping it.
const MOST_A_SECOND: u64 = 30_000;
/// Switches are counted over this time.
const WINDOW: Nanos = Nanos(500_000_000);

/// How often threads leave each CPU.
#[derive(Debug)]
pub(super) struct Rates {
    since: Timestamp,
    /// Switches on each CPU up to then.
    before: Vec<u64>,
    /// The highest rate of a CPU in the last window, a second.
    highest: u64,
}

impl Rates {
    pub(super) fn new(cpus: usize) -> Rates {
        Rates {
            since: process::now(),
            before: vec![0; cpus],
            highest: 0,
        }
    }

    /// Takes note of the switches on each CPU up to now.
    pub(super) fn count(&mut self, now: Timestamp, switches: impl Iterator<Item = u64>) {
        let passed = now.since(self.since);
        if passed < WINDOW {
            return;
        }
        self.highest = 0;
        for (before, count) in self.before.iter_mut().zip(switches) {
            let new = u128::from(count - std::mem::replace(before, count));
            let rate = new * 1_000_000_000 / u128::from(passed.0);
            self.highest = self.highest.max(rate as u64);
        }
        self.since = now;
    }

    /// Why they are too many, in words.
    pub(super) fn too_high(&self) -> Option<String> {
        (self.highest > MOST_A_SECOND).then(|| {
            let rate = self.highest;
            format!("its threads left one CPU {rate} times a second, and each of it is recorded")
        })
    }
}

/// Whether threads end so often that nobody is to wait for the rings. The kernel wakes whoever does at
/// each end of a thread, once for each CPU, although there is no input.
#[derive(Debug)]
pub(super) struct Ends {
    since: Timestamp,
    /// Threads that had ended by then.
    before: u64,
    are_many: bool,
}

/// Ends a second that are many: looking at the rings costs less than as many wakes.
const MANY_ENDS: u64 = 500;
/// Ends are counted over this time.
const ENDS_WINDOW: Nanos = Nanos(20_000_000);

impl Ends {
    pub(super) fn new() -> Ends {
        Ends {
            since: process::now(),
            before: 0,
            are_many: false,
        }
    }

    /// Whether they are many, where so many threads have ended ever.
    pub(super) fn are_many(&mut self, now: Timestamp, ended: u64) -> bool {
        let passed = now.since(self.since);
        if passed >= ENDS_WINDOW {
            let new = ended - std::mem::replace(&mut self.before, ended);
            self.are_many = new * 1_000_000_000 / passed.0 > MANY_ENDS;
            self.since = now;
        }
        self.are_many
    }
}

#[cfg(test)]
mod tests {
    use super::{Ends, Rates};
    use crate::profile::Timestamp;

    #[test]
    fn ends_are_many_as_long_as_they_are() {
        let mut ends = Ends::new();
        let start = ends.since;
        let at = |ms: u64| Timestamp(start.0 + ms * 1_000_000);
        assert!(!ends.are_many(at(19), 1000));
        assert!(ends.are_many(at(20), 11));
        assert!(ends.are_many(at(30), 11));
        assert!(!ends.are_many(at(40), 21));
        assert!(ends.are_many(at(1040), 522));
    }

    #[test]
    fn only_what_one_cpu_does_for_half_a_second_counts() {
        let mut rates = Rates::new(2);
        let start = rates.since;
        let at = |ms: u64| Timestamp(start.0 + ms * 1_000_000);
        rates.count(at(100), [9_000, 0].into_iter());
        assert_eq!(rates.too_high(), None);
        rates.count(at(500), [14_000, 14_000].into_iter());
        assert_eq!(rates.too_high(), None);
        rates.count(at(1_000), [14_000, 30_000].into_iter());
        assert!(
            rates
                .too_high()
                .is_some_and(|why| why.contains("32000 times"))
        );
        rates.count(at(1_500), [14_000, 30_001].into_iter());
        assert_eq!(rates.too_high(), None);
    }
}
