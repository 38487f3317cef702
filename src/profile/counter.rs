//! Numbers over time.

use super::{CounterId, CpuNumber, ProcessId, ThreadId, Timestamp};

/// A series of numbers over time: a track beside those of the threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// This counter.
    pub id: CounterId,
    /// What it is called: `sprof memory`.
    pub name: String,
    /// Whose it is.
    pub subject: CounterSubject,
    /// What its values mean.
    pub kind: CounterKind,
    /// What they are counted in.
    pub unit: CounterUnit,
    /// The values in order of time.
    pub values: Vec<CounterValue>,
}

/// A counter's value at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterValue {
    /// When it was read.
    pub time: Timestamp,
    /// In the counter's unit.
    pub value: u64,
}

/// Whose a counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterSubject {
    /// The whole recording's.
    Session,
    /// A process's.
    Process(ProcessId),
    /// A thread's.
    Thread(ThreadId),
    /// A CPU's.
    Cpu(CpuNumber),
}

/// What the values of a counter mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterKind {
    /// What it was at that time: a height.
    Level,
    /// What came together from the value before, or from the start of the recording, to that time.
    Amount,
}

/// What a counter counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CounterUnit {
    /// Things.
    Count,
    /// Nanoseconds.
    Nanos,
    /// Bytes.
    Bytes,
}

impl CounterKind {
    /// The stable word for it, used in exports.
    pub fn name(self) -> &'static str {
        match self {
            CounterKind::Level => "level",
            CounterKind::Amount => "amount",
        }
    }
}

impl CounterUnit {
    /// The stable word for it, used in exports.
    pub fn name(self) -> &'static str {
        match self {
            CounterUnit::Count => "count",
            CounterUnit::Nanos => "ns",
            CounterUnit::Bytes => "bytes",
        }
    }
}
