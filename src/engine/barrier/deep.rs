//! Stacks that are deeper than what is recorded at a switch.
//!
//! The rest of such a stack is read from the target's memory while its thread has no CPU. A read
//! of another process's memory can wait for locks that the target holds, and who is held for an
//! instant must never wait for that: so another thread reads, and the hold ends at its limit whether
//! the read is done or not. A read that was done by then, of a thread that did not run meanwhile,
//! is true.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::BarrierEngine;
use super::holders::READ_LIMIT;
use super::task::{Stack, Task};
use crate::engine::records::{Kind, StackPlace};
use crate::process;
use crate::profile::{Address, Tid, Timestamp};
use crate::sys::{self, Errno, RemoteRange};

/// Reads memory for the tracer.
#[derive(Debug)]
pub(super) struct DeepReader {
    ask: Option<Sender<Request>>,
    answers: Receiver<Request>,
    thread: Option<JoinHandle<()>>,
    /// It has not answered a request that nobody waits for any more.
    is_busy: bool,
    /// Where the stacks of threads end, as far as is known.
    ends: HashMap<Tid, Address>,
    /// Threads whose last stack went beyond what was recorded.
    deep: HashSet<Tid>,
    /// The stacks that threads have left for the one they were on at their last sample.
    others: HashMap<Tid, Range<Address>>,
    /// What was read in this tick.
    read: Request,
}

/// Ranges to read, and what was read.
#[derive(Debug, Default)]
struct Request {
    reads: Vec<DeepRead>,
    ranges: Vec<RemoteRange>,
    bytes: Vec<u8>,
    finished: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct DeepRead {
    tid: Tid,
    /// Of the thread as it left its CPU.
    sp: Address,
}

/// The most that is read in one hold: it takes a few hundredths of a millisecond.
const MOST: u64 = 512 << 10;
/// Ended threads that are not yet forgotten, besides one for each that lives.
const MANY_ENDED: usize = 64;

impl DeepReader {
    /// Starts the thread that reads. The calling thread must be real-time, as the one it starts
    /// becomes: it must get a CPU while all of them are held.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn start() -> Result<DeepReader, Errno> {
        let (ask, asked) = channel::<Request>();
        let (answer, answers) = channel();
        let thread = sys::start_thread(move || {
            sys::outrank_holders();
            for mut request in asked {
                request.read();
                if answer.send(request).is_err() {
                    return;
                }
            }
        })?;
        Ok(DeepReader {
            ask: Some(ask),
            answers,
            thread: Some(thread),
            is_busy: false,
            ends: HashMap::new(),
            deep: HashSet::new(),
            others: HashMap::new(),
            read: Request::default(),
        })
    }

    /// Takes note of where the stacks of threads end, and of other stacks that they have; forgets
    /// those of threads that have ended.
    pub(super) fn note(
        &mut self,
        ends: impl Iterator<Item = (Tid, Address)>,
        others: impl Iterator<Item = (Tid, Range<Address>)>,
        alive: &HashMap<Tid, Task>,
    ) {
        self.ends.extend(ends);
        self.others.extend(others);
        // An empty one says that it is needed no more.
        self.others.retain(|_, other| !other.is_empty());
        if self.ends.len() > 2 * alive.len() + MANY_ENDED {
            self.ends.retain(|tid, _| alive.contains_key(tid));
            self.deep.retain(|tid| alive.contains_key(tid));
            self.others.retain(|tid, _| alive.contains_key(tid));
        }
    }

    /// The rest of a thread's stack, behind `len` bytes from its stack pointer on, where it was
    /// read. Where it was not and there is one, it will be at the next tick.
    pub(super) fn rest(&mut self, tid: Tid, sp: Address, len: usize) -> &[u8] {
        let recorded_to = Address(sp.0.saturating_add(len as u64));
        if self.ends.get(&tid).is_some_and(|&end| end > recorded_to) {
            self.deep.insert(tid);
        } else {
            self.deep.remove(&tid);
        }
        self.read_from(tid, sp, recorded_to).unwrap_or_default()
    }

    /// The stack that a thread has left for the one it is on, where it was read.
    pub(super) fn other(&mut self, tid: Tid, sp: Address) -> Option<(Address, &[u8])> {
        let start = self.others.get(&tid)?.start;
        let bytes = self.read_from(tid, sp, start)?;
        Some((start, bytes))
    }

    /// What was read of a thread from this address on.
    fn read_from(&self, tid: Tid, sp: Address, address: Address) -> Option<&[u8]> {
        let mut reads = self.read.reads.iter().zip(&self.read.ranges);
        let is_it = |read: &DeepRead, range: &RemoteRange| {
            read.tid == tid && read.sp == sp && range.address == address
        };
        let (_, range) = reads.find(|(read, range)| is_it(read, range))?;
        self.read.bytes.get(range.at..range.at + range.len)
    }

    /// Whether there is something to read at the next tick.
    pub(super) fn has_work(&self) -> bool {
        let has_stacks = !self.deep.is_empty() || !self.others.is_empty();
        has_stacks && !self.is_busy
    }

    /// Has the requested ranges read, and waits for that until `limit`.
    fn run(&mut self, request: Request, limit: Timestamp) {
        self.is_busy = self
            .ask
            .as_ref()
            .is_some_and(|ask| ask.send(request).is_ok());
        while self.is_busy && process::now() < limit {
            self.collect();
            std::hint::spin_loop();
        }
    }

    fn collect(&mut self) {
        if let Ok(answer) = self.answers.try_recv() {
            self.read = answer;
            self.is_busy = false;
        }
    }
}

impl Request {
    fn read(&mut self) {
        for (read, range) in self.reads.iter().zip(&mut self.ranges) {
            sys::read_ranges(read.tid, std::slice::from_mut(range), &mut self.bytes);
        }
        self.finished = process::now();
    }
}

impl BarrierEngine {
    /// Reads the rest of the stacks that are known to be deep, while the CPUs are held since `end`.
    pub(super) fn read_deep(&mut self, end: Timestamp) {
        let deep = &mut self.deep;
        deep.collect();
        deep.read.reads.clear();
        deep.read.ranges.clear();
        if !deep.has_work() {
            return;
        }
        self.records.look();
        let mut latest: HashMap<Tid, StackPlace> = HashMap::new();
        for &tid in deep.deep.iter().chain(deep.others.keys()) {
            let task = self.tasks.by_tid.get(&tid).filter(|task| task.is_fresh);
            if let Some(Task {
                stack: Stack::InRing(place),
                ..
            }) = task
            {
                latest.insert(tid, *place);
            }
        }
        self.records.ahead(end, |record| {
            if let Kind::Stack(place) = record.kind
                && (deep.deep.contains(&record.tid) || deep.others.contains_key(&record.tid))
            {
                latest.insert(record.tid, place);
            }
        });
        let mut request = std::mem::take(&mut deep.read);
        let mut total = 0;
        for (tid, place) in latest {
            let Some(registers) = self.records.registers(&place) else {
                continue;
            };
            let sp = registers.sp();
            let address = Address(sp.0 + u64::from(place.stack_len));
            let rest = deep
                .ends
                .get(&tid)
                .map_or(0, |end| end.0.saturating_sub(address.0));
            let other = deep.others.get(&tid).map_or((Address(0), 0), |other| {
                // A handler's stack can lie above the one it has left, in one mapping.
                let end = if other.contains(&sp) { sp } else { other.end };
                (other.start, end.0.saturating_sub(other.start.0))
            });
            for (address, len) in [(address, rest), other] {
                if len == 0 || total + len > MOST {
                    continue;
                }
                request.reads.push(DeepRead { tid, sp });
                request.ranges.push(RemoteRange {
                    address,
                    at: total as usize,
                    len: len as usize,
                });
                total += len;
            }
        }
        if total > 0 {
            request.bytes.resize(total as usize, 0);
            deep.run(request, end + READ_LIMIT);
        }
    }

    /// Drops what was read of threads that may have run before the read was done.
    pub(super) fn verify_deep(&mut self) {
        let read = &mut self.deep.read;
        if read.reads.is_empty() {
            return;
        }
        self.records.look();
        let finished = read.finished;
        self.records.ahead(finished, |record| {
            if record.kind != Kind::SwitchIn {
                return;
            }
            for (read, range) in read.reads.iter().zip(&mut read.ranges) {
                if read.tid == record.tid {
                    range.len = 0;
                }
            }
        });
    }
}

impl Drop for DeepReader {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            // It reads for a moment at most, unless the target's own locks keep it.
            let _ = thread.join();
        }
    }
}
