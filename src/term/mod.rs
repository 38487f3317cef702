//! The only place that prints: results to stdout; progress, messages and hints to stderr.
//!
//! Nothing here colours its output, so `NO_COLOR` is honoured by construction.

mod hint;
mod logger;
mod output;
mod progress;

pub use hint::Hint;
pub use logger::start_logging;
pub use output::{Stdout, message, print, stdout};
pub use progress::{Progress, Work};

#[cfg(test)]
mod tests;
