//! The judges: pure functions from a recording and a program's own account to a verdict.

mod bound;
mod cover;
mod inside;
mod spans;
mod tests;

pub use bound::wrong_max;
pub use cover::Cover;
pub use inside::{Inside, Verdict};
pub use spans::{History, SpansVerdict, judge_spans};
