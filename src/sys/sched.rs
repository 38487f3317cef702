//! Being on time: the scheduling of the thread that stops the target.
#![allow(unsafe_code)]

use nix::libc;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::unistd;

/// The scheduling a thread got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// Real-time, ahead of all normal threads.
    Fifo,
    /// Normal, with the best nice value there is.
    Nice(i32),
    /// As any other program.
    Normal,
}

impl std::fmt::Display for Scheduling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scheduling::Fifo => write!(f, "SCHED_FIFO 1"),
            Scheduling::Nice(nice) => write!(f, "nice {nice}"),
            Scheduling::Normal => write!(f, "normal"),
        }
    }
}

/// Makes the calling thread real-time, and the threads it starts from now on. `false`: not
/// permitted.
pub fn become_real_time() -> bool {
    set_fifo(1, 0)
}

/// Makes the calling thread get a CPU before those that [`become_real_time`] made real-time.
pub fn outrank_holders() -> bool {
    set_fifo(2, 0)
}

/// Undoes [`become_real_time`] for the calling thread.
pub fn become_normal() -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameters` is valid for the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) == 0 }
}

fn set_fifo(sched_priority: i32, flags: i32) -> bool {
    let parameters = libc::sched_param { sched_priority };
    let policy = libc::SCHED_FIFO | flags;
    // SAFETY: `parameters` is valid for the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

/// Ties the calling thread to one CPU. `false`: it may not run there.
pub fn pin_to(cpu: u32) -> bool {
    let mut set = CpuSet::new();
    let only_this = set.set(cpu as usize);
    only_this.is_ok() && sched_setaffinity(unistd::Pid::from_raw(0), &set).is_ok()
}

/// The CPUs that a thread may run on.
#[derive(Clone, Copy, Debug)]
pub struct Affinity(Option<CpuSet>);

impl Affinity {
    /// Those of the calling thread.
    pub fn of_this_thread() -> Affinity {
        Affinity(sched_getaffinity(unistd::Pid::from_raw(0)).ok())
    }

    /// Lets the calling thread run on these.
    pub fn restore(self) {
        if let Some(set) = self.0 {
            // Refused where none of them is left: then it stays where it is.
            let _ = sched_setaffinity(unistd::Pid::from_raw(0), &set);
        }
    }
}

/// The CPU the calling thread runs on.
pub fn current_cpu() -> u32 {
    sched_getcpu().unwrap_or(0) as u32
}

/// Gives the calling thread the best scheduling that is permitted: without it, each thread that is
/// let go may take the CPU from the one that still has others to let go (64 busy threads on two
/// CPUs: 32 ms instead of 0.35 ms). Children do not inherit it.
pub fn raise_priority() -> Scheduling {
    if set_fifo(1, libc::SCHED_RESET_ON_FORK) {
        return Scheduling::Fifo;
    }
    // SAFETY: plain number. Timers of this thread may be this many nanoseconds late (default
    // 50 000; real-time threads have none).
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    raise_niceness()
}

/// Gives the calling thread the best share of the CPUs that a normal thread may have.
pub fn raise_niceness() -> Scheduling {
    for nice in [-20, -10, -5] {
        // SAFETY: plain numbers; 0 is the calling thread (Linux: nice is a thread's).
        if unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } == 0 {
            return Scheduling::Nice(nice);
        }
    }
    Scheduling::Normal
}
