//! Why a file could not be written or read.

use std::io;

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The file is something else.
    #[error("not a sprof recording: it {looks_like}")]
    NotSprof {
        /// What it looks like, as the end of "it …".
        looks_like: &'static str,
    },
    /// It begins as a recording and goes no further, or its first chunk is damaged.
    #[error("nothing can be read of this recording: {why}")]
    NothingReadable {
        /// What is wrong with its beginning.
        why: &'static str,
    },
    /// A newer sprof wrote it.
    #[error("the recording has format version {found}; this sprof reads versions up to {known}")]
    NewerVersion {
        /// Version of the file.
        found: u64,
        /// The newest version that this reader knows.
        known: u32,
    },
    /// It holds a chunk that must be understood and is not.
    #[error(
        "the recording holds a chunk of unknown type {kind} at byte {offset}, without which the \
         rest would be misread"
    )]
    UnknownChunk {
        /// Type of the chunk.
        kind: u8,
        /// Where the chunk begins, in bytes from the start of the file.
        offset: u64,
    },
    /// A chunk of ticks that was there when the file was opened cannot be read now, or says
    /// something impossible.
    #[error("the ticks at byte {offset} of the recording cannot be read: {why}")]
    BadTicks {
        /// Where the chunk begins, in bytes from the start of the file.
        offset: u64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Nothing can be appended to a recording that did not end as it should.
    #[error("the recording is not whole: it is cut, damaged or still being written")]
    NotWhole,
    /// An event or tick breaks a rule or a limit of the format. Nothing of it was written, and the
    /// writer can go on.
    #[error("cannot be recorded: {0}")]
    Refused(&'static str),
    /// A write failed before, perhaps in the middle of a chunk: nothing behind it could be read.
    #[error("the recording is broken by a write that failed before")]
    Broken,
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
