//! What a recording says besides its ticks, in the order of time.

use super::{
    Address, Clocks, Counter, CounterId, CounterValue, ExitStatus, Image, Loss, Mapping, Module,
    ModuleId, ModuleOffset, Process, ProcessId, Session, Symbolized, Thread, ThreadId, ThreadName,
    Timestamp,
};

/// One thing that happened, or became known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The recording begins. The first event of every recording, and only the first.
    Session(Box<Session>),
    /// The clocks again, to see how they drift.
    Clocks(Clocks),
    /// A process begins, or is there at attach. Its `images` hold what is known by then.
    ProcessStarted(Process),
    /// A process runs a new program: its mappings before this time are void.
    Exec {
        /// The process.
        process: ProcessId,
        /// The program.
        image: Image,
    },
    /// A process ended.
    ProcessEnded {
        /// The process.
        process: ProcessId,
        /// When.
        time: Timestamp,
        /// How, where that is known.
        status: Option<ExitStatus>,
    },
    /// A thread begins, or is there at attach.
    ThreadStarted(Thread),
    /// A thread bears a new name.
    ThreadNamed {
        /// The thread.
        thread: ThreadId,
        /// The name.
        name: ThreadName,
    },
    /// A thread ended.
    ThreadEnded {
        /// The thread.
        thread: ThreadId,
        /// When.
        time: Timestamp,
    },
    /// A module is seen for the first time.
    Module(Module),
    /// A mapping is seen.
    Mapped(Mapping),
    /// The mapping of a process that begins at this address is no more.
    Unmapped {
        /// The process.
        process: ProcessId,
        /// First address of the mapping.
        start: Address,
        /// When it was missed.
        time: Timestamp,
    },
    /// Something is missing.
    Loss(Loss),
    /// Names for an address of a module.
    Symbol {
        /// The module.
        module: ModuleId,
        /// The lookup address in it.
        offset: ModuleOffset,
        /// What was found.
        found: Symbolized,
    },
    /// The recording ended as it should; the last event.
    Finished(Clocks),
    /// A counter begins. Its values hold what is known by then.
    Counter(Counter),
    /// A counter's next value.
    Counted {
        /// The counter.
        counter: CounterId,
        /// The value.
        value: CounterValue,
    },
}
