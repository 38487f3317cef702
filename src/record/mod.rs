//! The clock, the loop, the tree and the writer: one run of `sprof record`.
//!
//! Two threads work beside the caller's: the *tracer*, which owns the engine and does nothing but
//! take ticks; and the *unwinder*, which turns snapshots into samples and writes
//! them. Between them runs one stream of messages, in the order of time.

mod channel;
mod clock;
mod config;
mod control;
mod counts;
mod lanes;
mod launch;
mod losses;
mod modules;
mod names;
mod notice;
mod own;
mod pace;
mod run;
mod samples;
mod space;
mod tracer;
mod tree;

pub use config::{
    Config, EngineChoice, EngineUsed, Observer, Progress, RecordError, Summary, Target,
};
pub use names::symbolize_recording;
pub use run::{dump, record};

#[cfg(test)]
mod tests;
