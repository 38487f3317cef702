//! What a traced thread reports, decoded once. `nix` refuses stops by real-time signals, so the
//! raw status is decoded here (ptrace(2), "Stopped states").
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;

use crate::profile::{ExitStatus, Pid, Tid};

/// Why a traced thread stands still, or that it is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// By our own interrupt, at the start of a traced life, or at the end of a group stop.
    Interrupted,
    /// With its whole process, by one of the job control signals.
    Group(GroupStop),
    /// A signal is about to be delivered.
    Signal(i32),
    /// It created a thread or process; the event message is the new tid.
    Clone,
    /// It forked.
    Fork,
    /// It forked and sleeps until the child runs a program or ends.
    Vfork,
    /// The sleep after a vfork is over.
    VforkDone,
    /// A new program was loaded; the event message is the tid that called exec.
    Exec,
    /// It is about to end.
    Exiting,
    /// It ended, and for a process's first thread the process with it.
    Ended(ExitStatus),
}

/// The signal of a group stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupStop(pub i32);

/// Asks whether a thread has something to report; does not block.
///
/// # Errors
/// `ECHILD`: there is no such child or traced thread.
pub fn wait_for(tid: Tid) -> Result<Option<Stop>, Errno> {
    Ok(wait(tid.0)?.map(|(_, stop)| stop))
}

/// Asks whether any child or traced thread has something to report; does not block.
///
/// # Errors
/// `ECHILD`: there is none left.
pub fn wait_any() -> Result<Option<(Tid, Stop)>, Errno> {
    wait(-1)
}

fn wait(which: i32) -> Result<Option<(Tid, Stop)>, Errno> {
    let mut status: libc::c_int = 0;
    // SAFETY: `status` is valid for the call; waitpid writes one int.
    let tid = unsafe { libc::waitpid(which, &raw mut status, libc::__WALL | libc::WNOHANG) };
    match Errno::result(tid)? {
        0 => Ok(None),
        tid => Ok(Some((Tid(tid), decode(status)))),
    }
}

fn decode(status: libc::c_int) -> Stop {
    if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
        return Stop::Ended(ExitStatus::from_wait(status));
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        libc::PTRACE_EVENT_FORK => Stop::Fork,
        libc::PTRACE_EVENT_VFORK => Stop::Vfork,
        libc::PTRACE_EVENT_VFORK_DONE => Stop::VforkDone,
        libc::PTRACE_EVENT_CLONE => Stop::Clone,
        libc::PTRACE_EVENT_EXEC => Stop::Exec,
        libc::PTRACE_EVENT_EXIT => Stop::Exiting,
        libc::PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Stop::Interrupted,
        libc::PTRACE_EVENT_STOP => Stop::Group(GroupStop(signal)),
        _ => Stop::Signal(signal),
    }
}

impl ExitStatus {
    /// From the number that wait(2) has for an ended process.
    pub fn from_wait(status: libc::c_int) -> ExitStatus {
        if libc::WIFSIGNALED(status) {
            ExitStatus::Signal(libc::WTERMSIG(status))
        } else {
            ExitStatus::Code(libc::WEXITSTATUS(status))
        }
    }

    /// The status a shell would show: the code, or 128 and the signal.
    pub fn shell_code(self) -> u8 {
        match self {
            ExitStatus::Code(code) => code as u8,
            ExitStatus::Signal(signal) => (128 + signal) as u8,
        }
    }
}

/// How a child process that has ended did so; `None`: it runs, or its end was asked for before.
pub fn reap(pid: Pid) -> Option<ExitStatus> {
    match wait_for(Tid(pid.0)) {
        Ok(Some(Stop::Ended(status))) => Some(status),
        _ => None,
    }
}
