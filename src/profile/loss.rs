//! What we know we do not know.

use super::{ProcessId, ThreadId, Timestamp};

/// Something that is missing from the recording, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When.
    pub time: Timestamp,
    /// The tick concerned, where it is one.
    pub tick: Option<u64>,
    /// What is missing.
    pub kind: LossKind,
    /// Whose.
    pub subject: LossSubject,
    /// How many.
    pub count: u64,
    /// More, in words, for people; may be empty.
    pub detail: String,
}

/// Kinds of loss. The list is closed: every count shown to people comes from here or from
/// [`StackEnd`](super::StackEnd) and [`SymbolReason`](super::SymbolReason).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LossKind {
    /// Ticks that were due and not taken, because an earlier one or the machine was late, or because
    /// the target had been held for long and was to run.
    TickSkipped,
    /// Ticks that were taken and dropped, because unwinding or writing fell behind.
    TickDropped,
    /// A process or thread that could not be traced.
    NotTraceable,
    /// A process whose mappings could not be read.
    NoMappings,
    /// The end of the recording is missing (a cut file, found on reading).
    FileCut,
    /// The kernel dropped records of who ran when: what they would have told is not known.
    RecordsLost,
    /// Ticks are taken at another interval from here on, so that the target is not held for too
    /// long: the detail says at which.
    IntervalChanged,
    /// Recording was paused as asked: no ticks were due. The count is its length in nanoseconds.
    Paused,
    /// Ticks were taken in another way from here on.
    EngineChanged,
}

impl LossKind {
    /// The stable word for it, used in exports.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::TickSkipped => "tick-skipped",
            LossKind::TickDropped => "tick-dropped",
            LossKind::NotTraceable => "not-traceable",
            LossKind::NoMappings => "no-mappings",
            LossKind::FileCut => "file-cut",
            LossKind::RecordsLost => "records-lost",
            LossKind::IntervalChanged => "interval-changed",
            LossKind::Paused => "paused",
            LossKind::EngineChanged => "engine-changed",
        }
    }
}

/// Whose a loss is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossSubject {
    /// The whole recording's.
    Session,
    /// A process's.
    Process(ProcessId),
    /// A thread's.
    Thread(ThreadId),
}
