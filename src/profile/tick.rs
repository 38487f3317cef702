//! One instant of the whole tree, and each thread in it.

use super::{CpuNumber, Nanos, ProcessId, StackEnd, StackId, SyscallNumber, ThreadId, Timestamp};

/// One stop of the whole tree at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// Number of the tick on the planned grid; numbers that are missing were skipped.
    pub index: u64,
    /// The instant that all samples of this tick stand for.
    pub time: Timestamp,
    /// When it was due.
    pub planned: Timestamp,
    /// From the first thread held to the last one let go.
    pub stop: Nanos,
    /// All threads were stopped within this time of each other (an upper bound).
    pub skew: Nanos,
    /// Number of threads that were made to stop.
    pub stops: u32,
    /// How many of these stops hit a system call that answers a stop with `EINTR`.
    pub perturbed: u32,
    /// How long each process was held, from its first thread held to its last one let go, in order
    /// of their ids. Who was not held is not in it.
    pub pauses: Vec<(ProcessId, Nanos)>,
    /// One sample a live thread, in order of their ids.
    pub samples: Vec<Sample>,
}

/// One thread at one tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The thread.
    pub thread: ThreadId,
    /// What it was doing.
    pub state: RunState,
    /// The system call it is blocked in, or was entering or leaving when it was put to sleep;
    /// `None`: in none, or not known.
    pub syscall: Option<SyscallNumber>,
    /// Exactly since when it has been off its CPU, where the kernel's records tell. Where they do
    /// not, it is known to sleep since the sample before when it is `carried`, and no earlier.
    pub since: Option<Timestamp>,
    /// The CPU it runs on, or ran on last.
    pub cpu_number: Option<CpuNumber>,
    /// CPU time it used since its sample before, or since its birth; `None`: not known.
    pub cpu: Option<Nanos>,
    /// Proven not to have run since the last tick: this stack is the same invocation.
    pub carried: bool,
    /// Its stack in the tick's table; `None`: no frame could be had, `end` says why.
    pub stack: Option<StackId>,
    /// Why the stack ends where it does.
    pub end: StackEnd,
}

impl Sample {
    /// A running thread of which no more is known; for `..Sample::of(thread)`.
    pub fn of(thread: ThreadId) -> Sample {
        Sample {
            thread,
            state: RunState::Running,
            syscall: None,
            since: None,
            cpu_number: None,
            cpu: None,
            carried: false,
            stack: None,
            end: StackEnd::Root,
        }
    }

    /// What it was doing, and where it waited.
    pub fn doing(&self) -> Doing {
        Doing {
            state: self.state,
            syscall: self.syscall,
        }
    }

    /// For how long exactly it has been off its CPU at `time`, which is its tick's, where that is
    /// known.
    pub fn asleep_for(&self, time: Timestamp) -> Option<Nanos> {
        self.since.map(|since| time.since(since))
    }
}

/// A state and the system call it is in; shown as `sleeping in futex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Doing {
    /// The state.
    pub state: RunState,
    /// The system call, where the thread is blocked in a known one.
    pub syscall: Option<SyscallNumber>,
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.syscall {
            Some(syscall) => write!(f, "{} in {syscall}", self.state.name()),
            None => f.write_str(self.state.name()),
        }
    }
}

/// What a thread was doing at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// In user or kernel code, and it got CPU time since its last sample.
    Running,
    /// Ready to run, and it got no CPU time since its last sample.
    Runnable,
    /// Blocked in a system call; or, by an engine that stops nobody, woken from there and not yet on
    /// a CPU.
    Sleeping,
    /// Blocked where nothing wakes it (kernel state D).
    Disk,
    /// Stopped by a signal, as without sprof.
    Stopped,
    /// Could not be told.
    Unknown,
}

impl RunState {
    /// All states.
    pub const ALL: [RunState; 6] = [
        RunState::Running,
        RunState::Runnable,
        RunState::Sleeping,
        RunState::Disk,
        RunState::Stopped,
        RunState::Unknown,
    ];

    /// The stable word for it, used in exports.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Runnable => "runnable",
            RunState::Sleeping => "sleeping",
            RunState::Disk => "disk",
            RunState::Stopped => "stopped",
            RunState::Unknown => "unknown",
        }
    }
}
