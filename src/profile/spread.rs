//! How lengths of time spread.

use super::Nanos;

/// Median, 99th percentile, largest and sum of some lengths of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Half of the lengths are no longer than this.
    pub p50: Nanos,
    /// 99 of 100 are no longer than this.
    pub p99: Nanos,
    /// The longest.
    pub max: Nanos,
    /// All of them together.
    pub sum: Nanos,
}

impl Spread {
    /// The spread of `lengths`, which it puts in another order; `None` when there are none.
    ///
    /// Percentiles are by nearest rank: the smallest length that at least so large a part of all
    /// does not exceed. So each is one of the lengths, never a value between two of them.
    pub fn of(lengths: &mut [Nanos]) -> Option<Spread> {
        let max = *lengths.iter().max()?;
        let sum = lengths.iter().copied().sum();
        let mut percentile = |percent: usize| {
            let rank = (lengths.len() * percent).div_ceil(100);
            *lengths.select_nth_unstable(rank - 1).1
        };
        Some(Spread {
            p50: percentile(50),
            p99: percentile(99),
            max,
            sum,
        })
    }
}

/// Any number of lengths of time, in a few kilobytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// How many fell into each class, up to the last that has any.
    classes: Vec<u64>,
    count: u64,
    max: Nanos,
    sum: Nanos,
}

/// Classes between a power of two and the next, as a power of two: the widths of classes are a 32nd
/// of the lengths in them at most.
const CLASS_BITS: u32 = 5;

impl Lengths {
    /// Adds one.
    pub fn add(&mut self, length: Nanos) {
        let class = class(length.0);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.count += 1;
        self.max = self.max.max(length);
        self.sum += length;
    }

    /// Their spread; `None` when there are none. Its percentiles may be too large by one part in 32,
    /// and are never too small.
    pub fn spread(&self) -> Option<Spread> {
        let percentile = |percent: u64| {
            let rank = (self.count * percent).div_ceil(100);
            let mut passed = 0;
            let reaches = |&in_class: &u64| {
                passed += in_class;
                passed >= rank
            };
            let class = self.classes.iter().position(reaches);
            class.map_or(self.max, |class| self.max.min(Nanos(largest(class))))
        };
        (self.count > 0).then(|| Spread {
            p50: percentile(50),
            p99: percentile(99),
            max: self.max,
            sum: self.sum,
        })
    }
}

/// The class of a length: its bits behind the leading one, cut, behind its size.
fn class(length: u64) -> usize {
    let size = (u64::BITS - length.leading_zeros()).saturating_sub(CLASS_BITS + 1);
    ((u64::from(size) << CLASS_BITS) + (length >> size)) as usize
}

/// The largest length of a class.
fn largest(class: usize) -> u64 {
    let class = class as u64;
    let size = (class >> CLASS_BITS).saturating_sub(1);
    let cut = class - (size << CLASS_BITS);
    ((cut + 1) << size).wrapping_sub(1)
}
