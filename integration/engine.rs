//! The engines under test, and what may be asked of each.

use std::path::Path;
use std::process::Command;

use crate::sprof;

/// A way of taking ticks. All cases hold for every one of them; where an engine cannot do what
/// another can, the case asks for what is written here.
#[derive(Debug)]
pub struct Engine {
    /// As the recording names it.
    pub name: &'static str,
    /// What chooses it on the command line.
    pub options: &'static [&'static str],
    /// A thread that sleeps is left asleep.
    pub leaves_sleepers: bool,
    /// It needs to be the tracer of each thread: what another program traces is not recorded.
    pub must_trace: bool,
    /// What lies beyond the top of a stack it reads while nobody waits for it: where it has not
    /// learnt yet where that is, or is not done in time, the stack is cut, and says so.
    pub may_cut: bool,
    /// It shows stacks of some megabytes.
    pub shows_huge_stacks: bool,
    /// Rows of `eintr_matrix` that may be answered `EINTR`, or early, or never end.
    pub disturbs: &'static [&'static str],
}

/// All engines.
pub const ENGINES: &[Engine] = &[
    Engine {
        name: "barrier",
        options: &["--engine", "barrier"],
        leaves_sleepers: true,
        must_trace: false,
        may_cut: true,
        shows_huge_stacks: false,
        disturbs: &[],
    },
    Engine {
        name: "stop",
        options: &["--engine", "stop"],
        leaves_sleepers: true,
        must_trace: true,
        may_cut: false,
        shows_huge_stacks: true,
        // A call that has begun to fill its buffer when it is met by a stop answers with a part.
        disturbs: &["recv_waitall"],
    },
];

impl Engine {
    /// `sprof record -r RATE -o FILE` by this engine, to be followed by `-p PID` or `-- CMD`.
    pub fn record(&self, rate: u32, file: &Path) -> Command {
        let mut record = sprof::record(rate, file);
        record.args(self.options);
        record
    }
}

/// Runs a case for each engine.
pub fn each(case: impl Fn(&Engine)) {
    for engine in ENGINES {
        eprintln!("engine {}", engine.name);
        case(engine);
    }
}
