//! What happens to the tree, in the kernel's own numbers.

use crate::process::MapEntry;
use crate::profile::{ExitStatus, Pid, Tid, Timestamp};

/// A birth, a death or a change in the target's tree. Numbers are valid at this point of the
/// stream only: the kernel uses them again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEvent {
    /// A process is there. Its threads follow.
    Process {
        /// Its number.
        pid: Pid,
        /// The one that forked it, when sprof saw the fork.
        forked_by: Option<Pid>,
        /// When it began.
        start: Timestamp,
        /// It has not yet become the command that is to be recorded.
        is_gated: bool,
    },
    /// A thread is there.
    Thread {
        /// Its process.
        pid: Pid,
        /// Its number.
        tid: Tid,
        /// When it began.
        start: Timestamp,
        /// It began under sprof's eyes; else it was met alive.
        is_new: bool,
    },
    /// A thread bears this name.
    Name {
        /// The thread.
        tid: Tid,
        /// First seen at.
        time: Timestamp,
        /// The name.
        name: String,
    },
    /// A process runs a new program; of its threads, only the first is left.
    Exec {
        /// The process.
        pid: Pid,
        /// When.
        time: Timestamp,
        /// Path of the executable.
        exe: String,
        /// Arguments.
        argv: Vec<String>,
        /// The text of its maps file, read before its first instruction; `None`: its mappings are
        /// told one by one.
        maps: Option<Vec<u8>>,
    },
    /// A process maps code.
    Mapped {
        /// The process.
        pid: Pid,
        /// When.
        time: Timestamp,
        /// What, and where; what was there before is gone.
        entry: MapEntry,
    },
    /// A thread is no longer to be recorded: it bears another name now.
    LeftOut {
        /// The thread.
        tid: Tid,
    },
    /// A thread ended.
    ThreadEnd {
        /// The thread.
        tid: Tid,
        /// When.
        time: Timestamp,
    },
    /// A process ended.
    ProcessEnd {
        /// The process.
        pid: Pid,
        /// When.
        time: Timestamp,
        /// How; `None`: not known.
        status: Option<ExitStatus>,
    },
    /// A process or thread of the tree that cannot be recorded, or not as it would run untraced.
    NotTraceable {
        /// Its process.
        pid: Pid,
        /// When.
        time: Timestamp,
        /// Why, in words.
        why: String,
    },
}

impl TreeEvent {
    /// What there is to tell of a command that waits at its gate.
    pub(super) fn gated(pid: Pid, start: Timestamp) -> [TreeEvent; 2] {
        [
            TreeEvent::Process {
                pid,
                forked_by: None,
                start,
                is_gated: true,
            },
            TreeEvent::Thread {
                pid,
                tid: Tid(pid.0),
                start,
                is_new: true,
            },
        ]
    }
}
