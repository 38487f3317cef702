//! A recording that can be gone through, wherever it is kept.

use super::{Profile, StackTable, Tick};

/// A recording: its [`Profile`] at once, its ticks one after another, as often as wanted.
///
/// Converters and reports see recordings through this, and never hold all ticks.
pub trait Recording {
    /// Everything but the ticks.
    fn profile(&self) -> &Profile;

    /// Calls `visit` with each tick, in order of time, and the table its stacks are in.
    /// The table of one tick may not be that of the next.
    ///
    /// # Errors
    /// The recording's own, when it cannot be read again, and the first that `visit` answers.
    fn each_tick(
        &self,
        visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError>;
}

/// Why going through a recording ended early.
pub type RecordingError = Box<dyn std::error::Error + Send + Sync>;
