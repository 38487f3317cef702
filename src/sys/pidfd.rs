//! A process's end, as input to wait for.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

use crate::profile::{ExitStatus, Pid};

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

/// `struct pidfd_info` in its first version (`include/uapi/linux/pidfd.h`, Linux 6.13).
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    /// Process, thread group, parent, and eight user and group ids.
    ids: [u32; 11],
    exit_code: i32,
}

/// Asks for how the process ended (`PIDFD_INFO_EXIT`, Linux 6.15).
const INFO_EXIT: u64 = 1 << 3;

nix::ioctl_readwrite!(get_info, 0xff, 11, Info);

/// How a process ended that need not be a child of ours; `None`: it has not, or nobody has asked
/// for its end yet, or the kernel is too old to tell.
pub fn exit_status(pidfd: &OwnedFd) -> Option<ExitStatus> {
    let mut info = Info {
        mask: INFO_EXIT,
        ..Info::default()
    };
    // SAFETY: `info` is valid for the call and has the layout that goes with the request.
    unsafe { get_info(pidfd.as_raw_fd(), &raw mut info) }.ok()?;
    (info.mask & INFO_EXIT != 0).then(|| ExitStatus::from_wait(info.exit_code))
}
