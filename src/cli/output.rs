//! Results that go to a file: there when they are whole, and not before.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::failure::{Failure, output_hint};
use crate::term::Hint;

/// A file being written, under another name until [`finish`](OutputFile::finish). Dropped before
/// that, it leaves nothing behind.
#[derive(Debug)]
pub(super) struct OutputFile {
    file: File,
    /// The name it is to have.
    path: PathBuf,
    /// The name it has; `None` for a device or a pipe, which is written to as it is.
    part: Option<PathBuf>,
}

impl OutputFile {
    /// Begins to write what shall replace `path`, unless that is `input` itself or a folder.
    pub(super) fn create(path: &Path, input: &Path) -> Result<OutputFile, Failure> {
        let failed = |error: io::Error| {
            let hint = output_hint(path, &error);
            Failure::new(anyhow!(error).context(cannot_write(path)), hint)
        };
        let there = fs::metadata(path).ok();
        if let (Some(there), Ok(input)) = (&there, fs::metadata(input))
            && (there.dev(), there.ino()) == (input.dev(), input.ino())
        {
            let error = anyhow!("it is the recording itself").context(cannot_write(path));
            return Err(Failure::new(error, Hint::OutputIsInput));
        }
        match there {
            Some(there) if there.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
            Some(there) if !there.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                let path = path.to_owned();
                Ok(OutputFile {
                    file,
                    path,
                    part: None,
                })
            }
            there => {
                // A link stays one: what it points to is replaced.
                let target = match there {
                    Some(_) => fs::canonicalize(path).map_err(failed)?,
                    None => path.to_owned(),
                };
                let part = part_name(&target);
                let file = File::create_new(&part).map_err(failed)?;
                Ok(OutputFile {
                    file,
                    path: target,
                    part: Some(part),
                })
            }
        }
    }

    /// Gives the file its name.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let Some(part) = &self.part else {
            return Ok(());
        };
        fs::rename(part, &self.path)
            .with_context(|| cannot_write(&self.path))
            .map_err(|error| Failure::new(error, None))?;
        self.part = None;
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part
            && let Err(error) = fs::remove_file(part)
        {
            log::warn!("cannot remove {}: {error}", part.display());
        }
    }
}

/// What failed, for the message.
pub(super) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// A name beside `path`, of this process alone.
fn part_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}
