//! What to record, what came of it, and why it could not be.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::engine::barrier::BarrierError;
use crate::engine::{AttachError, Scope};
use crate::format::FormatError;
use crate::profile::{ExitStatus, Nanos, Pid, Spread};
use crate::sys::{Errno, Scheduling};

/// What to record, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whom.
    pub target: Target,
    /// Wanted mean time between two ticks.
    pub interval: Nanos,
    /// For how long; `None`: until the target or someone ends it.
    pub duration: Option<Duration>,
    /// The file; `None`: a new one in the working folder, named after the target.
    pub output: Option<PathBuf>,
    /// Whether to look up names at the end.
    pub symbolize: bool,
    /// How to take ticks.
    pub engine: EngineChoice,
    /// Which of the tree's processes and threads.
    pub scope: Scope,
    /// No tick before this time has passed.
    pub delay: Duration,
    /// No tick before a signal says so.
    pub paused: bool,
    /// The target is to be held for this share of the time at most.
    pub max_overhead: Option<f64>,
}

impl Config {
    /// What is chosen of the tree and of time, in the words of the command line.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            options.extend(
                value
                    .map(|value| [name.to_owned(), value])
                    .into_iter()
                    .flatten(),
            );
        };
        let pattern = |pattern: &Option<regex::Regex>| pattern.as_ref().map(ToString::to_string);
        add("--threads", pattern(&self.scope.threads));
        add("--processes", pattern(&self.scope.processes));
        add("--follow", (!self.scope.follow).then(|| "none".to_owned()));
        let seconds = self.delay.as_secs_f64();
        add("--delay", (seconds > 0.0).then(|| format!("{seconds}s")));
        let share = |share: f64| format!("{}%", share * 100.0);
        add("--max-overhead", self.max_overhead.map(share));
        if self.paused {
            options.push("--paused".to_owned());
        }
        options
    }
}

/// Which engine is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The best that is permitted.
    #[default]
    Auto,
    /// Taking the CPUs away for an instant, or none.
    Barrier,
    /// Stopping threads, but for those that are known not to have run.
    Stop,
    /// Stopping all threads.
    StopAll,
}

/// Which engine took the ticks.
#[derive(Clone, Copy, Debug)]
pub struct EngineUsed {
    /// The word for it: `barrier`, `stop`, or `stop, of all threads`.
    pub name: &'static str,
    /// What the thread that takes ticks runs as.
    pub scheduling: Scheduling,
    /// Why it is not the better one.
    pub instead_of_barrier: Option<BarrierError>,
}

/// Whom to record, with all that is below.
#[derive(Clone, Debug)]
pub enum Target {
    /// A new process: program and arguments.
    Launch(Vec<OsString>),
    /// Running processes.
    Attach(Vec<Pid>),
}

/// Is told how the recording goes.
pub trait Observer {
    /// Called some times a second, and when something changes.
    fn progress(&mut self, progress: Progress<'_>);
}

/// How the recording goes.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Recording.
    Recording {
        /// Ticks taken so far.
        ticks: u64,
        /// No ticks are taken just now, as asked.
        is_paused: bool,
    },
    /// Fewer ticks are kept than were asked for; told once.
    TooFast {
        /// The share that was kept in the last seconds.
        kept: f64,
    },
    /// Looking up names.
    Symbolizing {
        /// Addresses done.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// All is saved; the command runs on.
    Waiting {
        /// The command's pid.
        pid: Pid,
        /// The recording.
        output: &'a std::path::Path,
    },
}

/// What a recording holds.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The recording.
    pub output: PathBuf,
    /// How the launched command ended; `None`: attached, or the command still runs.
    pub exit: Option<ExitStatus>,
    /// The signal that made sprof leave a command that still runs.
    pub left_by_signal: Option<i32>,
    /// Ticks in the file.
    pub ticks: u64,
    /// Ticks that were due and are not in the file.
    pub ticks_missed: u64,
    /// Samples in the file.
    pub samples: u64,
    /// Process lives.
    pub processes: u64,
    /// Thread lives.
    pub threads: u64,
    /// Stops that hit a system call which answers them with `EINTR`.
    pub perturbed: u64,
    /// Stops of threads that had not run, for registers that only a stop shows.
    pub idle_stops: u64,
    /// How long ticks held the target.
    pub pauses: Option<Spread>,
    /// For so long there were no ticks, as asked.
    pub paused: Nanos,
    /// The interval that was kept to instead of the one asked for, so as not to hold the target for
    /// too long.
    pub longer_interval: Option<Nanos>,
    /// CPU time of sprof itself while it recorded.
    pub own_cpu: Nanos,
    /// The most memory that sprof itself had in RAM then, in bytes.
    pub own_memory: u64,
    /// Bytes written.
    pub bytes: u64,
    /// From the first tick to the last.
    pub duration: Nanos,
    /// Processes of the tree that could not be recorded, and why: the first ones.
    pub not_traceable: Vec<String>,
    /// How many more there were.
    pub more_not_traceable: u64,
    /// Which engine took the ticks.
    pub engine: Option<EngineUsed>,
    /// Why the engine that stops has taken over, where it has.
    pub engine_changed: Option<String>,
    /// Looking up names was given up.
    pub symbolizing_stopped: bool,
}

/// Why nothing, or not all, was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no such program.
    #[error("cannot run {0}: no such program")]
    ProgramNotFound(String),
    /// It is there and cannot be run.
    #[error("cannot run {program}: {}", why.desc())]
    CannotExecute {
        /// The program.
        program: String,
        /// The system's reason.
        why: Errno,
    },
    /// The target may not be traced.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The engine asked for cannot be had.
    #[error("cannot use the barrier engine: {0}")]
    NoBarrier(BarrierError),
    /// The output file could not be made.
    #[error("cannot create {}: {error}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The output file could not be written to the end. What was written before is readable.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: FormatError,
    },
    /// `/proc` is missing, or that of another PID namespace: what it says is of other processes.
    #[error("/proc does not show this PID namespace")]
    ForeignProc,
    /// The system has no more of something that sprof needs.
    #[error("cannot {what}: {why}")]
    System {
        /// What sprof wanted to do.
        what: &'static str,
        /// The reason.
        why: Errno,
    },
}

impl RecordError {
    /// A system call that failed, told by what it was for.
    pub(super) fn system(what: &'static str) -> impl FnOnce(Errno) -> RecordError {
        move |why| RecordError::System { what, why }
    }
}
