//! Why a process cannot be traced.

use crate::process::{read_stat, read_status, read_thread_stat, threads};
use crate::profile::{Pid, Tid};
use crate::sys::Errno;

/// Tracing `pid` was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot record process {pid}: {refusal}")]
pub struct AttachError {
    /// The process.
    pub pid: Pid,
    /// Why.
    pub refusal: Refusal,
}

/// The facts of a refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is none of this number.
    #[error("no such process")]
    NoSuchProcess,
    /// It has ended and waits for its parent to notice.
    #[error("it has ended (a zombie)")]
    Zombie,
    /// It is a part of the kernel.
    #[error("it is a kernel thread")]
    KernelThread,
    /// Another program traces it; a process can have one tracer.
    #[error("it is already traced by {tracer_name} (pid {tracer})")]
    AlreadyTraced {
        /// The tracer.
        tracer: Pid,
        /// The tracer's name.
        tracer_name: String,
    },
    /// It is sprof itself, or the parent of it.
    #[error("sprof itself runs below it and would stop with it")]
    OwnAncestor,
    /// The kernel does not permit it.
    #[error("not permitted")]
    NotPermitted {
        /// Yama's `kernel.yama.ptrace_scope`, where there is one.
        ptrace_scope: Option<u8>,
        /// It runs as the same user as sprof.
        same_user: bool,
    },
    /// Another answer of the kernel's.
    #[error("{0}")]
    Other(Errno),
}

/// Finds out why the kernel answered `errno` to tracing `pid`.
pub(super) fn explain(pid: Pid, errno: Errno) -> Refusal {
    let (Some(stat), Some(status)) = (read_stat(pid), read_status(pid)) else {
        return Refusal::NoSuchProcess;
    };
    // One whose first thread has ended, while others run, is as alive as any.
    if matches!(stat.state, 'Z' | 'X') && threads(pid).iter().all(|tid| has_ended(pid, *tid)) {
        return Refusal::Zombie;
    }
    if stat.is_kernel_thread {
        return Refusal::KernelThread;
    }
    if status.tracer != 0 {
        let tracer = Pid(status.tracer);
        let tracer_name = read_stat(tracer).map_or_else(|| "?".to_owned(), |stat| stat.name);
        return Refusal::AlreadyTraced {
            tracer,
            tracer_name,
        };
    }
    match errno {
        Errno::ESRCH => Refusal::NoSuchProcess,
        Errno::EPERM | Errno::EACCES => Refusal::NotPermitted {
            ptrace_scope: std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
                .ok()
                .and_then(|text| text.trim().parse().ok()),
            same_user: status.user == nix::unistd::getuid().as_raw(),
        },
        errno => Refusal::Other(errno),
    }
}

fn has_ended(pid: Pid, tid: Tid) -> bool {
    let stat = (tid.0 != pid.0)
        .then(|| read_thread_stat(pid, tid))
        .flatten();
    stat.is_none_or(|stat| matches!(stat.state, 'Z' | 'X'))
}
