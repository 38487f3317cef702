//! The `.sprof` file, written and read. `FORMAT.md` is its specification.
//!
//! A [`Writer`] appends whole chunks, so every prefix of a file is a recording; a [`Reader`] goes
//! through whatever is there, says what is missing, and never trusts a byte of it.

// The bytes of a file may come from anybody: nothing here may panic on an index.
#![forbid(clippy::indexing_slicing)]

mod chunk;
mod column;
mod decode;
mod encode;
mod error;
mod event;
mod file;
mod ids;
mod reader;
mod wire;
mod writer;

pub use error::FormatError;
pub use file::{append, create};
pub use reader::Reader;
pub use writer::{Limits, Writer};

/// The newest version of the format, which this sprof writes. `FORMAT.md` has their story.
pub const VERSION: u32 = 2;
