//! Stacks that are deeper than what is recorded at a switch.
//!
//! The rest of such a stack is read from the target's memory while its thread has no CPU. A read
//! of another process's memory can wait for locks that the target holds, and who is held for an
//! instant must never wait for that: so another thread reads, and the hold ends at its limit whether
//! the read is done or not. A read that was done by then, of a thread that did not run meanwhile,
//! is true.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::BarrierEngine;
use super::holders::READ_LIMIT;
use super::task::{Stack, Task};
use crate::engine::records::{Kind, Records, StackPlace};
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
    /// The stacks that threads have left for the one they were on at their last sample.
    others: HashMap<Tid, Range<Address>>,
    /// What was read in this tick.
    read: Request,
    /// Empty but while a tick is looked at, as the next.
    wanted: Wanted,
    ahead: Vec<(Tid, StackPlace)>,
}

/// The parts of its stacks that are to be read of each thread, and its stack pointer.
type Wanted = HashMap<Tid, (Address, [Range<Address>; 2])>;

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
            others: HashMap::new(),
            read: Request::with_room(),
            wanted: HashMap::new(),
            ahead: Vec::new(),
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
            self.others.retain(|tid, _| alive.contains_key(tid));
        }
    }

    /// The rest of a thread's stack, behind `len` bytes from its stack pointer on, where it was
    /// read.
    pub(super) fn rest(&self, tid: Tid, sp: Address, len: usize) -> &[u8] {
        let recorded_to = Address(sp.0.saturating_add(len as u64));
        self.read_from(tid, sp, recorded_to).unwrap_or_default()
    }

    /// Takes note of what is to be read of a thread whose stack was recorded there last.
    fn want(&self, tid: Tid, place: &StackPlace, records: &Records, wanted: &mut Wanted) {
        wanted.remove(&tid);
        let Some(registers) = records.registers(place) else {
            return;
        };
        let sp = registers.sp();
        let recorded_to = Address(sp.0.saturating_add(u64::from(place.stack_len)));
        let end = self.ends.get(&tid).copied().unwrap_or_default();
        let mut other = self.others.get(&tid).cloned().unwrap_or_default();
        // A handler's stack can lie above the one it has left, in one mapping.
        if other.contains(&sp) {
            other.end = sp;
        }
        if end > recorded_to || !other.is_empty() {
            wanted.insert(tid, (sp, [recorded_to..end, other]));
        }
    }

    /// The stack that a thread has left for the one it is on, where it was read.
    pub(super) fn other(&self, tid: Tid, sp: Address) -> Option<(Address, &[u8])> {
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

    /// Has the requested ranges read, and waits for that until `limit`.
    fn run(&mut self, limit: Timestamp) {
        let request = std::mem::take(&mut self.read);
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
    /// With all memory it will ever need, and that touched: a page that is not there yet costs more
    /// than one that is copied.
    fn with_room() -> Request {
        Request {
            bytes: vec![1; MOST as usize],
            ..Request::default()
        }
    }

    fn read(&mut self) {
        for (read, range) in self.reads.iter().zip(&mut self.ranges) {
            sys::read_ranges(read.tid, std::slice::from_mut(range), &mut self.bytes);
        }
        self.finished = process::now();
    }
}

impl BarrierEngine {
    /// Reads the rest of the stacks that are deeper than what was recorded, while the CPUs are held
    /// since `end`.
    pub(super) fn read_deep(&mut self, end: Timestamp) {
        let deep = &mut self.deep;
        deep.collect();
        deep.read.reads.clear();
        deep.read.ranges.clear();
        if deep.is_busy {
            return;
        }
        self.records.look();
        let mut wanted = std::mem::take(&mut deep.wanted);
        for tid in &self.tasks.fresh {
            if let Some(Task {
                stack: Stack::InRing(place),
                is_fresh: true,
                ..
            }) = self.tasks.by_tid.get(tid)
            {
                deep.want(*tid, place, &self.records, &mut wanted);
            }
        }
        let mut ahead = std::mem::take(&mut deep.ahead);
        self.records.ahead(end, |record| {
            if let Kind::Stack(place) = record.kind {
                ahead.push((record.tid, place));
            }
        });
        for (tid, place) in ahead.drain(..) {
            deep.want(tid, &place, &self.records, &mut wanted);
        }
        deep.ahead = ahead;
        let mut total = 0;
        for (tid, (sp, parts)) in wanted.drain() {
            for part in parts {
                let len = part.end.0.saturating_sub(part.start.0);
                if len == 0 || total + len > MOST {
                    continue;
                }
                deep.read.reads.push(DeepRead { tid, sp });
                deep.read.ranges.push(RemoteRange {
                    address: part.start,
                    at: total as usize,
                    len: len as usize,
                });
                total += len;
            }
        }
        deep.wanted = wanted;
        if total > 0 {
            self.holders.hold_longer();
            deep.run(end + READ_LIMIT);
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
