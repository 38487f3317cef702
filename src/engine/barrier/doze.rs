//! Threads that sleep: what they sleep in, and the stacks of those that slept already when they were
//! met.
//!
//! The kernel shows both without waking them. What is read is used at a later tick, and only if no
//! record says that the thread has run since: so it was true, whenever it was read.
//!
//! The record of the switch tells neither. The registers in it are those of user space, where the
//! kernel puts the number of a system call out of their reach (`orig_ax`, and -ENOSYS into `ax`:
//! `arch/x86/entry/entry_64.S`); the instructions in front of the call show it in most programs, and
//! prove it in none. Wake-ups are told by a tracepoint that fires for who wakes, not for who is woken:
//! it would have to watch the whole machine. The time a thread waited for a CPU
//! (`/proc/PID/task/TID/schedstat`) is told when it has got one, of ticks that are long written.

use std::collections::VecDeque;

use super::BarrierEngine;
use super::task::{Asleep, Place, Stack};
use crate::engine::{Amendment, TickBuffer, TreeEvent};
use crate::process;
use crate::profile::{Nanos, Tid, Timestamp};
use crate::sys;

/// What is known of threads that sleep.
#[derive(Debug)]
pub(super) struct Dozing {
    /// Asleep since the first time, and at a tick of the second: worth a look if they still are.
    candidates: VecDeque<(Tid, Timestamp, Timestamp)>,
    /// With so many, those that have woken are forgotten.
    many: usize,
    /// Looked at: valid as long as they sleep since then.
    seen: Vec<(Tid, Timestamp, Amendment)>,
    /// The looks up to now are paid for by then.
    rest_until: Timestamp,
}

/// One part in so many of the time that passes may be spent on looking at sleepers…
const SHARE: u64 = 200;
/// …and what was not spent, later, as far as it is of this last time.
const SAVED: Nanos = Nanos(20_000_000);
/// So many candidates are no reason to forget any.
const MANY: usize = 4096;

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
            many: MANY,
            seen: Vec::new(),
            rest_until: process::now(),
        }
    }

    /// A thread that has been asleep for some time is so at this tick.
    pub(super) fn note(&mut self, tid: Tid, since: Timestamp, tick: Timestamp) {
        self.candidates.push_back((tid, since, tick));
    }

    /// Forgets candidates where that is worth going through all: most of them may sleep on.
    fn forget(&mut self, mut is_vain: impl FnMut(Tid, Timestamp) -> bool) {
        if self.candidates.len() > self.many {
            self.candidates
                .retain(|&(tid, since, _)| !is_vain(tid, since));
            self.many = MANY.max(2 * self.candidates.len());
        }
    }

    /// The next thread to look at: the earliest of those noted before this tick, if there is time
    /// to spend.
    fn next(&mut self, now: Timestamp, tick: Timestamp) -> Option<(Tid, Timestamp)> {
        let &(tid, since, noted) = self.candidates.front()?;
        if now < self.rest_until || noted >= tick {
            return None;
        }
        self.candidates.pop_front();
        Some((tid, since))
    }

    /// Takes note of the time that a look took.
    fn spent(&mut self, begin: Timestamp, end: Timestamp) {
        let earliest = Timestamp(begin.0.saturating_sub(SAVED.0));
        self.rest_until = self.rest_until.max(earliest) + Nanos(end.since(begin).0 * SHARE);
    }
}

impl BarrierEngine {
    /// Tells what was seen of threads that still sleep; looks at those that have slept for a tick.
    pub(super) fn look_at_sleepers(&mut self, buffer: &mut TickBuffer) {
        let (dozing, tasks) = (&mut self.dozing, &mut self.tasks.by_tid);
        for (tid, since, amendment) in dozing.seen.drain(..) {
            if let Some(task) = tasks.get_mut(&tid).filter(|task| task.sleeps(since)) {
                let (state, syscall) = (amendment.state, amendment.syscall);
                task.asleep = Some(Asleep { state, syscall });
                buffer.amendments.push(amendment);
            }
        }
        let sleeper = |tid: Tid, since: Timestamp| {
            let task = tasks.get(&tid).filter(|task| task.sleeps(since))?;
            task.asleep.is_none().then_some(task.pid)
        };
        dozing.forget(|tid, since| sleeper(tid, since).is_none());
        let mut now = process::now();
        // The earliest first: those noted at this tick stay for the next.
        while let Some((tid, since)) = dozing.next(now, buffer.time) {
            let Some(pid) = sleeper(tid, since) else {
                continue;
            };
            let amendment = Amendment {
                tid,
                state: process::sleeping_state(pid, tid),
                syscall: process::blocked(pid, tid).and_then(|blocked| blocked.syscall),
            };
            dozing.seen.push((tid, since, amendment));
            let begin = std::mem::replace(&mut now, process::now());
            dozing.spent(begin, now);
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
            task.asleep = Some(Asleep {
                state: process::sleeping_state(task.pid, tid),
                syscall: blocked.syscall,
            });
            if !std::mem::replace(&mut task.is_fresh, true) {
                self.tasks.fresh.push(tid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dozing, MANY, SAVED, SHARE};
    use crate::profile::{Nanos, Tid, Timestamp};

    #[test]
    fn a_look_is_paid_for_before_the_next() {
        let mut dozing = Dozing::new();
        let start = dozing.rest_until + Nanos(1_000_000_000);
        let later = start + Nanos(10_000_000_000);
        for tid in 1..=9 {
            dozing.note(Tid(tid), Timestamp(0), start);
        }
        // Noted at this very tick.
        assert_eq!(dozing.next(start, start), None);
        let look = Nanos(50_000);
        let pay = Nanos(look.0 * SHARE);
        let mut now = start;
        let mut looks = 0;
        while dozing.next(now, later).is_some() {
            dozing.spent(now, now + look);
            now = now + look;
            looks += 1;
        }
        // What was saved, and one on credit.
        assert_eq!(looks, SAVED.0 / pay.0 + 1);
        let paid = start + Nanos(looks * pay.0 - SAVED.0);
        assert_eq!(dozing.next(Timestamp(paid.0 - 1), later), None);
        assert!(dozing.next(paid, later).is_some());
    }

    #[test]
    fn who_sleeps_on_is_not_gone_through_each_time() {
        let mut dozing = Dozing::new();
        let mut asked = 0;
        let noted = 8 * MANY;
        for tid in 0..noted as i32 {
            dozing.note(Tid(tid), Timestamp(0), Timestamp(0));
            dozing.forget(|tid, _| {
                asked += 1;
                tid.0 < MANY as i32
            });
        }
        assert_eq!(dozing.candidates.len(), noted - MANY);
        assert!(asked < 2 * noted, "{asked}");
    }
}
