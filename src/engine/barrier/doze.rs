//! Threads that sleep: what they sleep in, and the stacks of those that slept already when they were
//! met.
//!
//! The kernel shows both without waking them. What is read is used at a later tick, and only if no
//! record says that the thread has run since: so it was true, whenever it was read.

use std::collections::VecDeque;

use super::BarrierEngine;
use super::task::{Place, Stack};
use crate::engine::{Amendment, TickBuffer, TreeEvent};
use crate::process;
use crate::profile::{Nanos, Tid, Timestamp};
use crate::sys;

/// What is known of threads that sleep.
#[derive(Debug)]
pub(super) struct Dozing {
    /// Asleep since the first time, and at a tick of the second: worth a look if they still are.
    candidates: VecDeque<(Tid, Timestamp, Timestamp)>,
    /// Looked at: valid as long as they sleep since then.
    seen: Vec<(Tid, Timestamp, Amendment)>,
    last: Timestamp,
    /// Time that may be spent on looking.
    budget: Nanos,
}

/// One part in so many of the time that passes may be spent on looking at sleepers…
const SHARE: u64 = 200;
/// …and so much at once.
const MOST: Nanos = Nanos(100_000);
/// So many are remembered before those that have woken are forgotten.
const MANY: usize = 4096;
/// What one look takes, about.
const LOOK: Nanos = Nanos(25_000);

/// Bytes of stack read of a thread that slept when it was met.
const STACK_BYTES: usize = 16 << 10;
/// After beginning to watch, threads that are ready to run are waited for so long, until each has
/// had a CPU once: before that, nothing is known of their stacks.
const SETTLE: Nanos = Nanos(250_000_000);
const SETTLE_PAUSE: std::time::Duration = std::time::Duration::from_millis(2);

impl Dozing {
    pub(super) fn new() -> Dozing {
        Dozing {
            candidates: VecDeque::new(),
            seen: Vec::new(),
            last: process::now(),
            budget: Nanos(0),
        }
    }

    /// A thread that has been asleep for some time is so at this tick.
    pub(super) fn note(&mut self, tid: Tid, since: Timestamp, tick: Timestamp) {
        self.candidates.push_back((tid, since, tick));
    }
}

impl BarrierEngine {
    /// Tells what was seen of threads that still sleep; looks at those that have slept for a tick.
    pub(super) fn look_at_sleepers(&mut self, buffer: &mut TickBuffer) {
        let dozing = &mut self.dozing;
        let tasks = &self.tasks.by_tid;
        let sleeps = |tid: Tid, since: Timestamp| {
            let task = tasks.get(&tid)?;
            (task.place == Place::Asleep && task.since == since).then_some(task.pid)
        };
        for (tid, since, amendment) in dozing.seen.drain(..) {
            if sleeps(tid, since).is_some() {
                buffer.amendments.push(amendment);
            }
        }
        let now = process::now();
        let earned = Nanos(now.since(dozing.last).0 / SHARE);
        dozing.last = now;
        dozing.budget = Nanos((dozing.budget + earned).0.min(MOST.0));
        if dozing.candidates.len() > MANY {
            let candidates = &mut dozing.candidates;
            candidates.retain(|&(tid, since, _)| sleeps(tid, since).is_some());
        }
        // The earliest first: those noted at this tick stay for the next.
        while dozing.budget >= LOOK
            && let Some(&(tid, since, at)) = dozing.candidates.front()
            && at < buffer.time
        {
            dozing.candidates.pop_front();
            let Some(pid) = sleeps(tid, since) else {
                continue;
            };
            dozing.budget = Nanos(dozing.budget.0 - LOOK.0);
            let amendment = Amendment {
                tid,
                state: process::sleeping_state(pid, tid),
                syscall: process::blocked(pid, tid).and_then(|blocked| blocked.syscall),
            };
            dozing.seen.push((tid, since, amendment));
        }
    }

    /// Finds out where all threads are that were met alive: who runs, by taking all CPUs once; who
    /// sleeps, by looking; who is ready, by waiting until it has run.
    pub(super) fn settle(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        let begin = process::now();
        let seat = self.seat;
        self.holders.hold(begin, |cpu| cpu != seat);
        self.holders.release(Timestamp(0), |_| false);
        self.make_room(report);
        loop {
            self.look_at_unknown();
            self.make_room(report);
            let mut tasks = self.tasks.by_tid.values();
            let is_settled = tasks.all(|task| task.place != Place::Unknown);
            if is_settled || process::now().since(begin) > SETTLE {
                return;
            }
            std::thread::sleep(SETTLE_PAUSE);
        }
    }

    /// The stacks of threads that sleep and of which nothing is known. If one runs meanwhile, a
    /// record says so, and is taken in before this is used.
    pub(super) fn look_at_unknown(&mut self) {
        for (&tid, task) in &mut self.tasks.by_tid {
            if task.place != Place::Unknown {
                continue;
            }
            let Some(blocked) = process::blocked(task.pid, tid) else {
                continue;
            };
            let mut bytes = vec![0; STACK_BYTES];
            let got = sys::read_memory(tid, blocked.registers.sp(), &mut bytes);
            bytes.truncate(got);
            task.stack = Stack::Copied(Some(blocked.registers), bytes.into_boxed_slice());
            task.place = Place::Asleep;
            task.asleep_as = process::sleeping_state(task.pid, tid);
            task.syscall = blocked.syscall;
            if !std::mem::replace(&mut task.is_fresh, true) {
                self.tasks.fresh.push(tid);
            }
            self.dozing.note(tid, task.since, task.since);
        }
    }
}
