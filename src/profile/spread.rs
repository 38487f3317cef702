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
