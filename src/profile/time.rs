//! Points in time and lengths of time, both in nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in time: nanoseconds of the target machine's `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Timestamp {
    /// The time from `earlier` to `self`; zero when `earlier` is not earlier.
    pub fn since(self, earlier: Timestamp) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    /// This length in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Three significant digits and a unit, as people are shown it: `12.3 ms`, `4.56 s`, `3 min 05 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")];
        let whole_seconds = self.0.saturating_add(500_000_000) / 1_000_000_000;
        let text = match whole_seconds {
            0..100 => {
                // The next unit begins where three digits would be rounded up to four.
                let unit = UNITS.iter().find(|unit| (self.0 as f64) < unit.0 * 999.5);
                let (size, name) = *unit.unwrap_or(&UNITS[3]);
                let value = self.0 as f64 / size;
                let decimals = match value {
                    _ if name == "ns" => 0,
                    value if value < 9.995 => 2,
                    value if value < 99.95 => 1,
                    _ => 0,
                };
                format!("{value:.decimals$} {name}")
            }
            100..6000 => format!("{} min {:02} s", whole_seconds / 60, whole_seconds % 60),
            _ => {
                let minutes = (whole_seconds + 30) / 60;
                format!("{} h {:02} min", minutes / 60, minutes % 60)
            }
        };
        f.pad(&text)
    }
}

impl Add<Nanos> for Timestamp {
    type Output = Timestamp;
    fn add(self, length: Nanos) -> Timestamp {
        Timestamp(self.0.saturating_add(length.0))
    }
}

impl Sub<Nanos> for Timestamp {
    type Output = Timestamp;
    fn sub(self, length: Nanos) -> Timestamp {
        Timestamp(self.0.saturating_sub(length.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(lengths: I) -> Nanos {
        lengths.fold(Nanos(0), Add::add)
    }
}
