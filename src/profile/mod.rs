//! The nouns of a recording: ids, times, processes, threads, modules, frames, stacks, ticks,
//! samples, losses, counters. Everything here is a value; nothing reads a file, a process or a clock.

mod builder;
mod counter;
mod date;
mod event;
mod frame;
mod id;
mod loss;
mod module;
mod named;
mod recording;
mod session;
mod spread;
mod stack;
mod symbol;
mod syscall;
mod tick;
mod time;
mod track;

pub use builder::Profile;
pub use counter::{Counter, CounterKind, CounterSubject, CounterUnit, CounterValue};
pub use date::Utc;
pub use event::Event;
pub use frame::{CodeAddress, Frame, Marker, StackEnd};
pub use id::{CounterId, CpuNumber, ModuleId, Pid, ProcessId, StackId, ThreadId, Tid};
pub use loss::{Loss, LossKind, LossSubject};
pub use module::{Address, BuildId, Mapping, Module, ModuleKind, ModuleOffset};
pub use named::{FrameKind, NamedFrame};
pub use recording::{Recording, RecordingError};
pub use session::{Clocks, Session};
pub use spread::{Lengths, Spread};
pub use stack::StackTable;
pub use symbol::{SymbolFrame, SymbolReason, Symbolized, Symbols};
pub use syscall::SyscallNumber;
pub use tick::{Doing, RunState, Sample, Tick};
pub use time::{Nanos, Timestamp};
pub use track::{ExitStatus, Image, Process, Thread, ThreadName};

#[cfg(test)]
mod tests;
