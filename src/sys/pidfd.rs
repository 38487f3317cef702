//! A process's end, as input to wait for.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

use crate::profile::Pid;

/// A file descriptor that has input when the process has ended (`pidfd_open(2)`).
///
/// # Errors
/// `ESRCH`: no such process.
pub fn open_pidfd(pid: Pid) -> Result<OwnedFd, Errno> {
    // SAFETY: plain numbers.
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.0, 0) };
    let fd = Errno::result(answer)? as i32;
    // SAFETY: the kernel just made it for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
