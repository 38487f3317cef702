//! Starting a program that waits at a gate until the profiler is ready for its first instruction.
#![allow(unsafe_code)]

use std::ffi::{CString, OsStr};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::{ForkResult, fork, pipe2};

use crate::profile::Pid;

/// A child that has not yet become the program.
#[derive(Debug)]
pub struct Gated {
    /// The child.
    pub pid: Pid,
    gate: OwnedFd,
    failure: OwnedFd,
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum GatedError {
    /// No such program.
    #[error("no such program")]
    NotFound,
    /// It is there and cannot be run.
    #[error("{0}")]
    CannotExecute(Errno),
    /// No process could be made for it.
    #[error("cannot fork: {0}")]
    Fork(Errno),
}

/// Forks a child that waits to become `command`; it has the standard streams, the environment,
/// the signal mask `mask` and the signal dispositions that sprof itself was started with.
///
/// # Errors
/// [`GatedError::NotFound`] when no such program is to be found, and the system's for the fork.
pub fn spawn_gated<S: AsRef<OsStr>>(command: &[S], mask: &SigSet) -> Result<Gated, GatedError> {
    let program = command.first().ok_or(GatedError::NotFound)?.as_ref();
    let path = find_program(program).ok_or(GatedError::NotFound)?;
    let path = to_c(path.as_os_str())?;
    let arguments = command
        .iter()
        .map(|word| to_c(word.as_ref()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut argument_pointers: Vec<_> = arguments.iter().map(|word| word.as_ptr()).collect();
    argument_pointers.push(std::ptr::null());
    let (gate_read, gate) = pipe2(OFlag::O_CLOEXEC).map_err(GatedError::Fork)?;
    let (failure, failure_write) = pipe2(OFlag::O_CLOEXEC).map_err(GatedError::Fork)?;
    // SAFETY: the child only makes async-signal-safe calls on what was prepared above, then
    // becomes the program or ends.
    match unsafe { fork() }.map_err(GatedError::Fork)? {
        ForkResult::Parent { child } => Ok(Gated {
            pid: Pid(child.as_raw()),
            gate,
            failure,
        }),
        ForkResult::Child => {
            drop(gate);
            let (gate, failure) = (gate_read.as_raw_fd(), failure_write.as_raw_fd());
            become_program(&path, &argument_pointers, mask, gate, failure)
        }
    }
}

fn become_program(
    path: &CString,
    arguments: &[*const libc::c_char],
    mask: &SigSet,
    gate: RawFd,
    failure: RawFd,
) -> ! {
    let mut byte = 0_u8;
    // SAFETY: `byte` is valid for one byte.
    let opened = unsafe { libc::read(gate, (&raw mut byte).cast(), 1) };
    if opened == 1 {
        super::signals::restore_dispositions();
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(mask), None);
        // SAFETY: both are null-terminated and outlive the call; on success it does not return.
        unsafe { libc::execv(path.as_ptr(), arguments.as_ptr()) };
        let error = Errno::last_raw().to_ne_bytes();
        // SAFETY: `error` is valid for its length.
        unsafe { libc::write(failure, error.as_ptr().cast(), error.len()) };
    }
    // SAFETY: ends the child without running anything of the parent's.
    unsafe { libc::_exit(127) }
}

impl Gated {
    /// Opens the gate: the child becomes the program. Returns once it has, or has failed to.
    /// Whoever traces the child must serve its stops meanwhile: call this from another thread.
    ///
    /// # Errors
    /// [`GatedError::CannotExecute`] with the system's reason.
    pub fn open(self) -> Result<(), GatedError> {
        let Gated { gate, failure, .. } = self;
        let mut error = [0; 4];
        let opened = std::fs::File::from(gate).write_all(&[1]);
        let got = std::fs::File::from(failure).read(&mut error).unwrap_or(0);
        match (opened, got) {
            (Ok(()), 4) => Err(GatedError::CannotExecute(Errno::from_raw(
                i32::from_ne_bytes(error),
            ))),
            _ => Ok(()),
        }
    }
}

/// The file that a shell would run: a name with a slash as it stands, else the first executable
/// file of that name in `PATH`.
fn find_program(program: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Path::new(program).exists().then(|| PathBuf::from(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let candidates = || std::env::split_paths(&path).map(|folder| folder.join(program));
    let is_executable = |file: &PathBuf| {
        file.is_file() && nix::unistd::access(file, nix::unistd::AccessFlags::X_OK).is_ok()
    };
    candidates()
        .find(is_executable)
        .or_else(|| candidates().find(|file| file.is_file()))
}

fn to_c(word: &OsStr) -> Result<CString, GatedError> {
    CString::new(word.as_bytes()).map_err(|_| GatedError::CannotExecute(Errno::EINVAL))
}
