//! A recording to text for the terminal.
//!
//! Pure: a recording goes in, text comes out. Lines fit 100 columns where names allow it; nothing
//! is coloured, and control characters in names are shown as such, so that no name of a target can
//! speak to the terminal.

mod columns;
mod functions;
mod gather;
mod head;
mod losses;
mod own;
mod stacks;
mod tracks;
mod waits;

pub use columns::counted;
pub use stacks::stacks;

use crate::profile::{Recording, RecordingError};

/// How long lists are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The most important entries, and a count of the rest.
    Short,
    /// Everything.
    All,
}

impl Length {
    /// How many of `count` entries are shown where a short list has `short`.
    fn limit(self, short: usize, count: usize) -> usize {
        match self {
            // One line that says "1 more" is no shorter than that one.
            Length::Short if count > short + 1 => short,
            _ => count,
        }
    }
}

/// The text of a recording: what was recorded, how exactly, who ran, what threads waited in,
/// where the time went, what is missing, and what sprof itself cost.
///
/// # Errors
/// The recording's own, when its ticks cannot be read.
pub fn report(recording: &dyn Recording, length: Length) -> Result<String, RecordingError> {
    let gathered = gather::gather(recording)?;
    let profile = recording.profile();
    let mut out = String::new();
    head::write(&mut out, profile, &gathered);
    tracks::write(&mut out, profile, &gathered, length);
    waits::write(&mut out, profile, &gathered, length);
    functions::write(&mut out, &gathered, length);
    losses::write(&mut out, profile, &gathered, length);
    own::write(&mut out, profile, &gathered);
    Ok(out)
}

#[cfg(test)]
mod tests;
