//! Results that go to a file: there when they are whole, and not before.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag};

use super::failure::{Failure, folder_of, output_hint};
use crate::term::Hint;

/// A file being written, without a name until [`finish`](OutputFile::finish). Dropped before that,
/// or left by a sprof that is killed, it is no more. Where a file system knows no files without a
/// name it has another one meanwhile, which only a killed sprof leaves behind.
#[derive(Debug)]
pub(super) struct OutputFile {
    file: File,
    /// The name it is to have.
    path: PathBuf,
    name: Name,
}

/// The name a file has while it is written.
#[derive(Debug)]
enum Name {
    /// The one it is to have: a device or a pipe, written to as it is, or a file that is whole.
    Final,
    /// None, until it is linked as this.
    Linked(PathBuf),
    /// This one.
    Part(PathBuf),
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
                let name = Name::Final;
                Ok(OutputFile { file, path, name })
            }
            there => {
                // A link stays one: what it points to is replaced.
                let target = match there {
                    Some(_) => fs::canonicalize(path).map_err(failed)?,
                    None => path.to_owned(),
                };
                let part = part_name(&target);
                // Whatever speaks against a file without a name, one with a name says it better.
                let (file, name) = match create_nameless(&part) {
                    Ok(file) => (file, Name::Linked(part)),
                    Err(_) => (File::create_new(&part).map_err(failed)?, Name::Part(part)),
                };
                let path = target;
                Ok(OutputFile { file, path, name })
            }
        }
    }

    /// Gives the file its name.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            let hint = output_hint(&self.path, &error);
            Failure::new(anyhow!(error).context(cannot_write(&self.path)), hint)
        };
        // No call links over an older file of the name: it takes a name beside it first.
        if let Name::Linked(part) = &self.name {
            link(&self.file, part).map_err(failed)?;
            self.name = Name::Part(part.clone());
        }
        if let Name::Part(part) = &self.name {
            fs::rename(part, &self.path).map_err(failed)?;
            self.name = Name::Final;
        }
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
        if let Name::Part(part) = &self.name
            && let Err(error) = fs::remove_file(part)
        {
            log::warn!("cannot remove {}: {error}", part.display());
        }
    }
}

/// A file without a name, on the file system of `beside`.
fn create_nameless(beside: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .mode(0o666)
        .custom_flags(OFlag::O_TMPFILE.bits())
        .open(folder_of(beside))
}

/// Gives a file without a name this one. Only by its entry in `/proc` may its owner do so without
/// privileges (`open(2)`, `O_TMPFILE`).
fn link(file: &File, name: &Path) -> io::Result<()> {
    let open_file = format!("/proc/self/fd/{}", file.as_raw_fd());
    let follow = AtFlags::AT_SYMLINK_FOLLOW;
    nix::unistd::linkat(AT_FDCWD, open_file.as_str(), AT_FDCWD, name, follow)?;
    Ok(())
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
