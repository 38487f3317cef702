//! What a command that failed says, and the code it ends with.

use std::io;
use std::path::Path;

use crate::term::Hint;

/// sprof itself failed while a launched command's own status was to be passed on. This and the
/// next two are those of `env` and `timeout`.
pub(super) const RECORD_FAILED: u8 = 125;
/// The command to launch could not be executed.
pub(super) const CANNOT_EXECUTE: u8 = 126;
/// The command to launch was not found.
pub(super) const NOT_FOUND: u8 = 127;
/// Any other failure.
pub(super) const FAILED: u8 = 1;
/// The command line cannot be understood.
pub(super) const USAGE: u8 = 2;

/// A failure: what failed, on what and why, what to do about it, and the exit code.
#[derive(Debug)]
pub(super) struct Failure {
    error: anyhow::Error,
    hint: Option<Hint>,
    code: u8,
}

impl Failure {
    pub(super) fn new(error: anyhow::Error, hint: impl Into<Option<Hint>>) -> Failure {
        Failure {
            error,
            hint: hint.into(),
            code: FAILED,
        }
    }

    pub(super) fn with_code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }

    pub(super) fn code(&self) -> u8 {
        self.code
    }

    /// The reader of our output has gone, having seen all that it wanted: no failure at all.
    pub(super) fn is_broken_pipe(&self) -> bool {
        self.error.chain().any(|cause| {
            cause
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
        })
    }

    /// One line for what failed, and one for the hint.
    pub(super) fn text(&self) -> String {
        let failed = format!("sprof: {}", without_numbers(&format!("{:#}", self.error)));
        match &self.hint {
            Some(hint) => format!("{failed}\nhint: {hint}"),
            None => failed,
        }
    }
}

/// What can be done where `path` cannot be written to for this reason.
pub(super) fn output_hint(path: &Path, error: &io::Error) -> Option<Hint> {
    let folder = folder_of(path);
    Some(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Hint::DiskFull,
        io::ErrorKind::FileTooLarge => Hint::FileTooLarge,
        io::ErrorKind::AlreadyExists if path.is_dir() => Hint::IsFolder,
        io::ErrorKind::AlreadyExists => Hint::OutputExists,
        io::ErrorKind::IsADirectory => Hint::IsFolder,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !folder.is_dir() => {
            Hint::FolderMissing
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Hint::FolderDenied,
        _ => return limits_hint(error),
    })
}

/// Where a file of this name stands.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What can be done where a limit of the system's was met.
pub(super) fn limits_hint(error: &io::Error) -> Option<Hint> {
    let errno = error.raw_os_error().map(nix::errno::Errno::from_raw)?;
    matches!(errno, nix::errno::Errno::EMFILE | nix::errno::Errno::ENFILE)
        .then_some(Hint::TooManyFiles)
}

/// Error numbers say nothing that their texts do not.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(part.split_once(')').map_or("", |(_, rest)| rest));
    }
    shown
}
