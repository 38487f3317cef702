//! One run of `sprof record`.

use super::{Nanos, Pid, Timestamp};

/// What was recorded, how, and on which machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The version of sprof that recorded.
    pub version: String,
    /// The command that was launched; empty when sprof attached.
    pub command: Vec<String>,
    /// The processes at the root of the recorded tree.
    pub roots: Vec<Pid>,
    /// Wanted mean time between two ticks.
    pub interval: Nanos,
    /// How ticks were taken: `stop`, later also `barrier` and `perf`.
    pub engine: String,
    /// The scheduling that sprof's tracer got, or what it was refused: `SCHED_FIFO 1`, `nice -20`…
    pub scheduling: String,
    /// Host name.
    pub host: String,
    /// The kernel's random id of this boot: recordings of one boot share their clocks.
    pub boot_id: String,
    /// Kernel release.
    pub kernel: String,
    /// Machine architecture, as `uname -m` has it.
    pub arch: String,
    /// Bytes a page.
    pub page_size: u64,
    /// Number of CPUs online.
    pub cpus: u32,
    /// The clocks at the start.
    pub clocks: Clocks,
    /// What was chosen of the tree and of time, in the words of the command line: `--threads`, `^io`….
    pub options: Vec<String>,
}

/// The three clocks, read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// `CLOCK_MONOTONIC`.
    pub monotonic: Timestamp,
    /// `CLOCK_BOOTTIME`, nanoseconds.
    pub boottime_ns: u64,
    /// `CLOCK_REALTIME`, nanoseconds since 1970.
    pub realtime_ns: u64,
    /// The clocks were read within this time of each other.
    pub error: Nanos,
}
