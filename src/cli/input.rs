//! Recordings named on the command line.

use std::fs;
use std::io;
use std::path::Path;

use super::failure::{Failure, limits_hint};
use crate::format::{FormatError, Reader};
use crate::profile::{LossKind, Profile, Recording, RecordingError};
use crate::record::symbolize_recording;
use crate::term::{self, Hint, Progress, Work};

/// Opens a recording; says so where its end is missing.
pub(super) fn open(path: &Path) -> Result<Reader<fs::File>, Failure> {
    let reader = Reader::open(path).map_err(|error| {
        let hint = hint(path, &error);
        Failure::new(
            anyhow::Error::new(error).context(format!("cannot read {}", path.display())),
            hint,
        )
    })?;
    let (ticks, samples) = (reader.tick_count(), reader.sample_count());
    log::info!("{} has {ticks} ticks, {samples} samples", path.display());
    if let Some(why) = end_missing(reader.profile()) {
        term::message(&format!(
            "sprof: the end of {} is missing: {why}",
            path.display()
        ));
    }
    Ok(reader)
}

/// Why a recording has no end, where it has none: it is cut, or whoever wrote it has not ended it.
fn end_missing(profile: &Profile) -> Option<&str> {
    let mut losses = profile.losses.iter();
    match losses.find(|loss| loss.kind == LossKind::FileCut) {
        Some(loss) => Some(&loss.detail),
        None if profile.finished.is_none() => Some("sprof was killed, or is still recording"),
        None => None,
    }
}

/// Why a recording could not be gone through once it was open.
pub(super) fn read_failed(what: impl std::fmt::Display, error: RecordingError) -> Failure {
    let error = anyhow::Error::from_boxed(error);
    Failure::new(error.context(format!("cannot read {what}")), None)
}

/// Looks up names, of files that are still there.
pub(super) fn named<'a>(
    recording: &'a dyn Recording,
) -> Result<Box<dyn Recording + 'a>, RecordingError> {
    let mut shown = Progress::new("symbolizing", Work::Unknown);
    symbolize_recording(recording, &mut |done, total| {
        shown.set_work(Work::Count(total));
        shown.set(done);
    })
}

/// Calls `read` with the recording, with names where it was made or cut without any.
pub(super) fn with_names<T>(
    path: &Path,
    reader: &Reader<fs::File>,
    read: impl FnOnce(&dyn Recording) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if reader.profile().symbols.is_empty() {
        let recording = named(reader).map_err(|error| read_failed(path.display(), error))?;
        read(&*recording)
    } else {
        read(reader)
    }
}

fn hint(path: &Path, error: &FormatError) -> Option<Hint> {
    match error {
        FormatError::Io(error) => match error.kind() {
            io::ErrorKind::NotFound => Some(Hint::InputMissing),
            io::ErrorKind::PermissionDenied => Some(Hint::InputDenied),
            io::ErrorKind::IsADirectory => Some(Hint::IsFolder),
            _ => limits_hint(error),
        },
        FormatError::NotSprof { .. } => match fs::metadata(path) {
            Ok(there) if there.is_dir() => Some(Hint::IsFolder),
            Ok(there) if there.is_file() && there.len() == 0 => Some(Hint::InputEmpty),
            _ => Some(Hint::NotARecording),
        },
        FormatError::NothingReadable { .. } => Some(Hint::CutAtTheStart),
        FormatError::NewerVersion { .. } | FormatError::UnknownChunk { .. } => Some(Hint::TooNew),
        _ => None,
    }
}
