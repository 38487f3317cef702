//! The recording while it is being converted: its passes, and how far they are.

use super::ConvertError;
use crate::profile::{Profile, Recording, StackTable, Tick};

/// A recording and the count of ticks gone through in all passes.
pub(super) struct Source<'a> {
    recording: &'a dyn Recording,
    progress: &'a mut dyn FnMut(u64),
    ticks_done: u64,
}

impl<'a> Source<'a> {
    pub(super) fn new(recording: &'a dyn Recording, progress: &'a mut dyn FnMut(u64)) -> Self {
        Source {
            recording,
            progress,
            ticks_done: 0,
        }
    }

    pub(super) fn profile(&self) -> &'a Profile {
        self.recording.profile()
    }

    /// One pass. An error of `visit` comes back as it was: the recording's interface would hide
    /// whether reading or writing failed.
    pub(super) fn each_tick(
        &mut self,
        visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        let mut failed = None;
        let outcome = self.recording.each_tick(&mut |tick, table| {
            visit(tick, table).map_err(|error| {
                failed = Some(error);
                "stopped by the converter"
            })?;
            self.ticks_done += 1;
            (self.progress)(self.ticks_done);
            Ok(())
        });
        match failed {
            Some(error) => Err(error),
            None => outcome.map_err(ConvertError::Read),
        }
    }
}
