//! One tick as an engine hands it out, in memory that is used again.

use std::ops::Range;

use crate::memory::{MemoryCopy, Registers};
use crate::profile::{Address, Nanos, Pid, RunState, StackEnd, Tid, Timestamp};

/// Snapshots of all threads at one instant.
#[derive(Debug, Default)]
pub struct TickBuffer {
    /// Number on the planned grid.
    pub index: u64,
    /// When it was due.
    pub planned: Timestamp,
    /// The instant it stands for.
    pub time: Timestamp,
    /// From the first thread held to the last one let go.
    pub stop: Nanos,
    /// All threads were stopped within this time of each other.
    pub skew: Nanos,
    /// Threads that were made to stop.
    pub stops: u32,
    /// Stops that hit a system call which answers them with `EINTR`.
    pub perturbed: u32,
    /// Records of the kernel's that had no room since the last tick.
    pub records_lost: u64,
    /// When the next tick is due, as it seems.
    pub next: Timestamp,
    /// Threads without a snapshot have not run since the last tick: all is as it was. Else there is
    /// one of each live thread.
    pub carries: bool,
    /// How long each process was held, from its first thread held to its last one let go.
    pub pauses: Vec<(Pid, Nanos)>,
    /// Of threads.
    pub snapshots: Vec<Snapshot>,
    /// What has been found out of threads without a snapshot.
    pub amendments: Vec<Amendment>,
    /// For the engine: where the stacks of these threads end, so that it copies all of them next
    /// time. Filled in by whoever unwinds, on the buffer's way back.
    pub stack_ends: Vec<(Tid, Address)>,
    /// For the engine: threads whose stacks could not be unwound without registers that it did not
    /// have. On the buffer's way back, too.
    pub registers_wanted: Vec<Tid>,
    /// Stops of threads that had not run.
    pub idle_stops: u32,
    /// For the engine: where these threads have live frames on a stack that they do not stand on,
    /// as when a signal is handled on a stack of its own. Goes the same way.
    pub outer_stacks: Vec<(Tid, Range<Address>)>,
    bytes: Vec<u8>,
    used: usize,
}

/// What a thread that sleeps on was found to be doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amendment {
    /// The thread.
    pub tid: Tid,
    /// How it sleeps.
    pub state: RunState,
    /// Number of the system call it sleeps in; `None`: in none.
    pub syscall: Option<u64>,
}

/// One thread at the instant.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Its process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
    /// What it was doing.
    pub state: RunState,
    /// Number of the system call it is blocked in; `None`: in none, or not known.
    pub syscall: Option<u64>,
    /// The CPU it runs on, or ran on last; `None`: not known.
    pub cpu: Option<u16>,
    /// Exactly since when it has been off its CPU; `None`: not known.
    pub asleep_since: Option<Timestamp>,
    /// CPU time since its birth; `None`: could not be read.
    pub cpu_total: Option<Nanos>,
    /// It has not run since the last tick, proven.
    pub is_carried: bool,
    /// Its registers; `Err`: there is no stack, and why.
    pub registers: Result<Registers, StackEnd>,
    /// Address of the first of its stack bytes.
    pub stack_start: Address,
    /// Where its stack bytes lie in the buffer.
    pub stack: Range<usize>,
    /// A part of another stack of its, of which the engine had been told: its first address, and
    /// where its bytes lie.
    pub outer: Option<(Address, Range<usize>)>,
}

/// Bytes of stacks a tick holds at most; what does not fit is cut, with its reason.
const MAX_BYTES: usize = 256 << 20;
/// Bytes it begins with.
const MIN_BYTES: usize = 128 << 10;

impl TickBuffer {
    /// Empties the buffer and keeps its memory; makes room for `threads` snapshots.
    pub fn restart(&mut self, threads: usize) {
        // What a first tick needed, before it was known where stacks end, later ones do not.
        if self.used * 4 < self.bytes.len() && self.bytes.len() > MIN_BYTES {
            self.bytes.truncate((self.used * 2).max(MIN_BYTES));
            self.bytes.shrink_to_fit();
        }
        self.pauses.clear();
        self.snapshots.clear();
        self.amendments.clear();
        self.snapshots.reserve(threads);
        self.stack_ends.clear();
        self.outer_stacks.clear();
        self.used = 0;
        self.carries = false;
        self.records_lost = 0;
        self.stops = 0;
        self.perturbed = 0;
        self.idle_stops = 0;
        self.registers_wanted.clear();
    }

    /// Takes over what an older buffer has for the engine.
    pub fn take_hints(&mut self, older: &mut TickBuffer) {
        older.stack_ends.append(&mut self.stack_ends);
        older.outer_stacks.append(&mut self.outer_stacks);
        older.registers_wanted.append(&mut self.registers_wanted);
        std::mem::swap(&mut self.stack_ends, &mut older.stack_ends);
        std::mem::swap(&mut self.outer_stacks, &mut older.outer_stacks);
        std::mem::swap(&mut self.registers_wanted, &mut older.registers_wanted);
    }

    /// A tick of which [`is_quiet`](Self::is_quiet) holds.
    pub fn quiet(index: u64, planned: Timestamp, time: Timestamp) -> TickBuffer {
        TickBuffer {
            index,
            planned,
            time,
            carries: true,
            ..TickBuffer::default()
        }
    }

    /// Whether there is nothing to tell: no thread has run or was held, and nothing was found out.
    pub fn is_quiet(&self) -> bool {
        let is_free = self.stop.0 == 0 && self.skew.0 == 0 && self.stops == 0;
        let has_news = self.records_lost > 0 || self.perturbed > 0 || !self.pauses.is_empty();
        let has_samples = !self.snapshots.is_empty() || !self.amendments.is_empty();
        self.carries && is_free && !has_news && !has_samples
    }

    /// The stack bytes of a snapshot: the part it stands on, then the part of another stack, empty
    /// where there is none.
    pub fn stacks(&self, snapshot: &Snapshot) -> [MemoryCopy<'_>; 2] {
        let outer = snapshot.outer.clone().unwrap_or((Address(0), 0..0));
        let own = (snapshot.stack_start, snapshot.stack.clone());
        [own, outer].map(|(start, bytes)| MemoryCopy {
            start,
            bytes: self.bytes.get(bytes).unwrap_or_default(),
        })
    }

    /// Reserves `len` bytes, or fewer when the buffer is full.
    pub(super) fn reserve_bytes(&mut self, len: usize) -> Range<usize> {
        let end = (self.used + len).min(MAX_BYTES);
        if end > self.bytes.len() {
            // Grows rarely: the memory stays for the ticks to come.
            self.bytes.resize((end * 3 / 2).max(MIN_BYTES), 0);
        }
        let start = std::mem::replace(&mut self.used, end);
        start..end
    }

    /// Bytes of memory it keeps for stacks.
    pub fn capacity(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes, to read into.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}
