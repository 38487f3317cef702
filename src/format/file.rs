//! Recordings as files.

use std::fs::{File, OpenOptions};
use std::path::Path;

use super::ids::Ids;
use super::{FormatError, Limits, Reader, Writer};
use crate::profile::Recording;

/// Makes the file for a new recording. A device or pipe that is there is written to.
///
/// # Errors
/// Those of the system; a file that is there is never overwritten.
pub fn create(path: &Path) -> Result<File, FormatError> {
    let mut options = OpenOptions::new();
    let is_stream = path
        .metadata()
        .is_ok_and(|there| !there.is_file() && !there.is_dir());
    options.write(true).create_new(!is_stream);
    Ok(options.open(path)?)
}

/// A writer that goes on behind the end of a whole recording, to add symbols to it. End it with
/// [`Writer::close`].
///
/// # Errors
/// `NotWhole` for a recording that was cut or did not end as it should: perhaps it is still being
/// written. Those of [`Reader::new`], and of the system.
pub fn append(path: &Path) -> Result<Writer<File>, FormatError> {
    let file = OpenOptions::new().read(true).append(true).open(path)?;
    let reader = Reader::new(&file)?;
    if !reader.is_whole() {
        return Err(FormatError::NotWhole);
    }
    let ids = Ids::of(reader.profile());
    drop(reader);
    Writer::resume(file, ids, Limits::default())
}
