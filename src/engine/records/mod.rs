//! What the kernel records of the target's threads, in order of time.
//!
//! A thread that is not on a CPU cannot change its stack. The records say when each thread came to
//! a CPU and left it; so a thread without a record since the last tick has not run.

mod decode;

use std::os::fd::{AsFd, BorrowedFd};

pub(super) use decode::{Kind, Record, StackPlace, decode};

use crate::memory::Registers;
use crate::profile::Timestamp;
use crate::sys::{Errno, PerfRing};

/// The rings of all CPUs, read as one stream.
#[derive(Debug)]
pub(super) struct Records {
    cursors: Vec<Cursor>,
    /// For records that do not fit elsewhere.
    scratch: Vec<u8>,
}

/// Where reading stands in one ring.
#[derive(Debug)]
struct Cursor {
    ring: PerfRing,
    /// Of the next record.
    position: u64,
    head: u64,
    next: Option<Record>,
}

/// Bytes of the rings of all CPUs together, and of one: at least and at most.
const RINGS: usize = 64 << 20;
const RING: (usize, usize) = (256 << 10, 8 << 20);

/// 100000 switches a second, with 16 KiB of stack each, fill as much in 2.5 ms.
const ROOMY: usize = 4 << 20;

const SMALL_RING: usize = 64 << 10;

/// Heads are read again until none has moved, but no more often than this: a record that is seen
/// must not lack the one on another CPU that came before it.
const MAX_PASSES: usize = 20;

impl Records {
    /// Rings for these CPUs, as large as the memory that may be locked allows. They have input when
    /// they are half full.
    ///
    /// # Errors
    /// `EPERM`: not even the smallest. `EACCES`, `ENOSYS`: the kernel has no perf events for us.
    pub(super) fn new(cpus: &[u32]) -> Result<Records, Errno> {
        let share = (RINGS / cpus.len().max(1)).next_power_of_two();
        let mut size = share.clamp(RING.0, RING.1);
        loop {
            let rings = cpus
                .iter()
                .map(|&cpu| PerfRing::new(cpu, size, (size / 2) as u32));
            match rings.collect::<Result<Vec<_>, _>>() {
                Ok(rings) => return Ok(Records::over(rings)),
                Err(Errno::EPERM | Errno::ENOMEM) if size > RING.0 => size /= 2,
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Small rings for rare records, which have input at each of them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn of_rare(cpus: &[u32]) -> Result<Records, Errno> {
        let rings = cpus.iter().map(|&cpu| PerfRing::new(cpu, SMALL_RING, 1));
        rings.collect::<Result<_, _>>().map(Records::over)
    }

    fn over(rings: Vec<PerfRing>) -> Records {
        let cursors = rings.into_iter().map(|ring| Cursor {
            ring,
            position: 0,
            head: 0,
            next: None,
        });
        Records {
            cursors: cursors.collect(),
            scratch: Vec::new(),
        }
    }

    /// The rings, one a CPU.
    pub(super) fn rings(&self) -> impl ExactSizeIterator<Item = &PerfRing> {
        self.cursors.iter().map(|cursor| &cursor.ring)
    }

    /// Descriptors that have input when a ring fills up.
    pub(super) fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.rings().map(AsFd::as_fd)
    }

    /// Whether there is a record that was not taken. One that was seen and left, because it was later
    /// than what was asked for, is news to come.
    pub(super) fn has_news(&self) -> bool {
        self.cursors
            .iter()
            .any(|cursor| cursor.ring.head() != cursor.position)
    }

    /// Whether each ring is so large that it does not fill up within two milliseconds.
    pub(super) fn are_roomy(&self) -> bool {
        self.rings().all(|ring| ring.size() >= ROOMY)
    }

    /// Whether a ring is half full.
    pub(super) fn are_filling(&self) -> bool {
        self.cursors
            .iter()
            .any(|cursor| cursor.ring.head() - cursor.position > cursor.ring.size() as u64 / 2)
    }

    /// Takes note of all records that are there by now: [`next`](Self::next) goes so far.
    pub(super) fn look(&mut self) {
        for _ in 0..MAX_PASSES {
            let mut has_moved = false;
            for cursor in &mut self.cursors {
                let head = cursor.ring.head();
                has_moved |= head != cursor.head;
                cursor.head = head;
            }
            if !has_moved {
                return;
            }
        }
    }

    /// The earliest record not yet taken, if it is not later than `until`.
    pub(super) fn next(&mut self, until: Timestamp) -> Option<Record> {
        let mut earliest: Option<(usize, Timestamp)> = None;
        for (index, cursor) in self.cursors.iter_mut().enumerate() {
            let Some(record) = cursor.peek(index, &mut self.scratch) else {
                continue;
            };
            if record.time <= until && earliest.is_none_or(|(_, time)| record.time < time) {
                earliest = Some((index, record.time));
            }
        }
        let cursor = &mut self.cursors[earliest?.0];
        let record = cursor.next.take()?;
        cursor.position += u64::from(record.size);
        Some(record)
    }

    /// The records not yet taken, up to a time, without taking them: from one CPU after the other.
    pub(super) fn ahead(&mut self, until: Timestamp, mut look_at: impl FnMut(&Record)) {
        for (index, cursor) in self.cursors.iter_mut().enumerate() {
            let mut position = cursor.position;
            while position < cursor.head {
                let record = decode_at(
                    &cursor.ring,
                    position,
                    cursor.head,
                    index,
                    &mut self.scratch,
                );
                let Some(record) = record.filter(|record| record.time <= until) else {
                    break;
                };
                look_at(&record);
                position += u64::from(record.size);
            }
        }
    }

    /// Lets the kernel overwrite all records taken. Stacks that were not copied are lost then.
    pub(super) fn release(&mut self) {
        for cursor in &mut self.cursors {
            let position = cursor.position;
            cursor.ring.consume(position);
        }
    }

    /// The user registers of a stack record; `None`: not those of a 64-bit program.
    pub(super) fn registers(&self, place: &StackPlace) -> Option<Registers> {
        let mut bytes = [0; decode::REGISTER_BYTES];
        let cursor = self.cursors.get(place.ring)?;
        cursor.ring.copy(place.registers_at?, &mut bytes);
        Some(decode::registers(&bytes))
    }

    /// Copies the bytes of a stack record, from the stack pointer on, into the front of `into`.
    pub(super) fn stack(&self, place: &StackPlace, into: &mut [u8]) {
        if let Some(cursor) = self.cursors.get(place.ring) {
            let wanted = into.len().min(place.stack_len as usize);
            cursor.ring.copy(place.stack_at, &mut into[..wanted]);
        }
    }
}

impl Cursor {
    fn peek(&mut self, index: usize, scratch: &mut Vec<u8>) -> Option<&Record> {
        if self.next.is_none() && self.position < self.head {
            self.next = decode_at(&self.ring, self.position, self.head, index, scratch);
            if self.next.is_none() {
                // Not a record of a kind there can be: nothing behind it can be found.
                self.position = self.head;
            }
        }
        self.next.as_ref()
    }
}

fn decode_at(
    ring: &PerfRing,
    position: u64,
    head: u64,
    index: usize,
    scratch: &mut Vec<u8>,
) -> Option<Record> {
    let mut header = [0; decode::HEADER];
    ring.copy(position, &mut header);
    let (size, wanted) = decode::lengths(header)?;
    if position + u64::from(size) > head {
        return None;
    }
    scratch.resize(wanted, 0);
    ring.copy(position, scratch);
    let mut record = decode(scratch)?;
    if let Kind::Stack(place) = &mut record.kind {
        place.ring = index;
        place.locate(position, u64::from(size), |at| {
            let mut word = [0; 8];
            ring.copy(at, &mut word);
            u64::from_le_bytes(word)
        });
    }
    Some(record)
}

#[cfg(test)]
mod tests;
