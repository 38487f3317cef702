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

#[cfg(test)]
mod tests {
    use super::Rates;
    use crate::profile::Timestamp;

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
