//! How many wrong ones among so many are still what was promised.

/// The most of `judged` that may be wrong where the promise is that at most `share` are.
///
/// The number of wrong ones in a recording that just keeps the promise is Poisson distributed
/// with mean `m = judged * share` and standard deviation `sqrt(m)`. The bound is
/// `m + 4 * sqrt(m)`, rounded up: such a recording passes it in at least 998 of 1000 runs,
/// whatever `m` is. One wrong one is always allowed: so few samples prove no share.
pub fn wrong_max(judged: usize, share: f64) -> usize {
    let mean = judged as f64 * share;
    (mean + 4.0 * mean.sqrt()).ceil() as usize
}
