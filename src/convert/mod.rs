//! A recording to the formats of other viewers, one file each.
//!
//! A converter sees the recording through [`Recording`] alone: no process, no clock, no file path.
//! It goes through the ticks as often as it needs and keeps tables of distinct functions and
//! stacks, never the samples.
//!
//! What all of them hold to:
//! - A sample is a point in time. A *span* runs over consecutive samples with the same function at
//!   the same depth under the same callers.
//! - Where ticks are missing, the time between is shown as unknown (see `stretches`); no span
//!   bridges it.
//! - A stack that is not whole gets a frame `<cut: reason>` in place of its missing callers, a
//!   sample without frames shows `<no stack: reason>`: nothing is hidden, nothing is guessed.
//! - Threads that were alive at no tick have no track, except in [`Format::Jsonl`], which lists all.

mod chrome;
mod collapsed;
mod counters;
mod firefox;
mod json;
mod jsonl;
mod perfetto;
mod rows;
mod source;
mod spans;
mod speedscope;
mod stacks;
mod stretches;
mod titles;

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::profile::{Recording, RecordingError};
use source::Source;

/// The formats a recording can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One JSON object a line, for scripts: everything that is known.
    Jsonl,
    /// speedscope: one flame chart a thread.
    Speedscope,
    /// Firefox Profiler: all threads on one timeline, call tree, flame graph.
    Firefox,
    /// Perfetto: all threads on one timeline, SQL.
    Perfetto,
    /// Chrome trace events, read by many viewers.
    Chrome,
    /// Collapsed stacks for flame graphs; time is lost.
    Collapsed,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 6] = [
        Format::Jsonl,
        Format::Speedscope,
        Format::Firefox,
        Format::Perfetto,
        Format::Chrome,
        Format::Collapsed,
    ];

    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Jsonl => "jsonl",
            Format::Speedscope => "speedscope",
            Format::Firefox => "firefox",
            Format::Perfetto => "perfetto",
            Format::Chrome => "chrome",
            Format::Collapsed => "collapsed",
        }
    }

    /// The format of this name.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that a file name asks for, by its ending, in any case:
    ///
    /// | ending | format |
    /// |---|---|
    /// | `.jsonl` `.ndjson` | [`Format::Jsonl`] |
    /// | `.speedscope.json` `.speedscope` | [`Format::Speedscope`] |
    /// | `.trace.json` `.chrome.json` | [`Format::Chrome`] |
    /// | `.firefox.json`, any other `.json` | [`Format::Firefox`] |
    /// | `.pftrace` `.perfetto-trace` `.perfetto` | [`Format::Perfetto`] |
    /// | `.folded` `.collapsed` `.txt` | [`Format::Collapsed`] |
    ///
    /// speedscope takes a name ending in `.chrome.json` for a profile of Chrome's own and shows
    /// nothing, so `.trace.json` is the better of the two.
    ///
    /// A bare `.json` means Firefox Profiler: of the readers of JSON it shows all threads at once.
    pub fn from_path(path: &Path) -> Option<Format> {
        const ENDINGS: [(&str, Format); 14] = [
            (".jsonl", Format::Jsonl),
            (".ndjson", Format::Jsonl),
            (".speedscope.json", Format::Speedscope),
            (".speedscope", Format::Speedscope),
            (".chrome.json", Format::Chrome),
            (".trace.json", Format::Chrome),
            (".firefox.json", Format::Firefox),
            (".json", Format::Firefox),
            (".pftrace", Format::Perfetto),
            (".perfetto-trace", Format::Perfetto),
            (".perfetto", Format::Perfetto),
            (".folded", Format::Collapsed),
            (".collapsed", Format::Collapsed),
            (".txt", Format::Collapsed),
        ];
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let found = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|(_, format)| *format)
    }
}

/// Why a conversion ended early. What was written by then is not a whole file.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The recording could not be gone through.
    #[error("the recording could not be read")]
    Read(#[source] RecordingError),
    /// The output could not be written.
    #[error("the output could not be written")]
    Write(#[from] std::io::Error),
}

impl From<serde_json::Error> for ConvertError {
    fn from(error: serde_json::Error) -> ConvertError {
        ConvertError::Write(error.into())
    }
}

/// Writes `recording` to `out` in `format`. `out` is buffered here and flushed at the end.
///
/// `progress` is called after each tick with the number of ticks gone through. Formats that need
/// several passes count on, so that the number only grows; it can end at a multiple of the
/// recording's ticks.
///
/// # Errors
/// [`ConvertError::Read`] with the recording's own error, [`ConvertError::Write`] with that of
/// `out` (a broken pipe shows there).
pub fn convert(
    recording: &dyn Recording,
    format: Format,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<(), ConvertError> {
    let mut source = Source::new(recording, progress);
    let mut out = BufWriter::with_capacity(1 << 16, out);
    match format {
        Format::Jsonl => jsonl::write(&mut source, &mut out)?,
        Format::Speedscope => speedscope::write(&mut source, &mut out)?,
        Format::Firefox => firefox::write(&mut source, &mut out)?,
        Format::Perfetto => perfetto::write(&mut source, &mut out)?,
        Format::Chrome => chrome::write(&mut source, &mut out)?,
        Format::Collapsed => collapsed::write(&mut source, &mut out)?,
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests;
