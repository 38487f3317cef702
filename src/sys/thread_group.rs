//! Which process a thread belongs to, without reading `/proc`.
#![allow(unsafe_code)]

use nix::libc;

use crate::profile::{Pid, Tid};

/// Whether the thread is one of this process.
pub fn is_thread_of(tid: Tid, pid: Pid) -> bool {
    // SAFETY: plain numbers; signal 0 checks for existence and sends nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, pid.0, tid.0, 0) == 0 }
}
