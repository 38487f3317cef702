//! Threads that take the CPUs away from the target for an instant.
//!
//! One real-time thread a CPU sleeps. Waking it takes the CPU from whatever runs there, as any
//! real-time thread does: no signal, no stop, nothing to undo. It gives it back when it is told to,
//! and by itself after [`LIMIT`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};

use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use super::BarrierError;
use crate::process;
use crate::profile::{Nanos, Timestamp};
use crate::sys;

/// A CPU is held for so long at most, and waited for so long…
pub(super) const LIMIT: Nanos = Nanos(100_000);
/// …and so much longer where the rest of deep stacks is read.
pub(super) const READ_LIMIT: Nanos = Nanos(300_000);
/// A holder that sleeps for the tick wakes by itself. If it has not so long after, it is woken.
const LATE: Nanos = Nanos(15_000);

/// The holders of all CPUs.
#[derive(Debug)]
pub(super) struct Holders {
    shared: Arc<Shared>,
    threads: Vec<(Thread, JoinHandle<()>)>,
    /// Number of the hold that began last.
    number: u64,
}

#[derive(Debug)]
struct Shared {
    seats: Vec<Seat>,
    /// Holds up to this number are over.
    released: AtomicU64,
    /// The hold that is on is over after so many nanoseconds.
    limit: AtomicU64,
    is_over: AtomicBool,
}

/// What a holder and the tracer tell each other.
#[derive(Debug)]
struct Seat {
    /// Wanted for the hold of this number.
    wanted: AtomicU64,
    /// Is to wake by itself at this time for the next hold; 0: not.
    alarm: AtomicU64,
    /// Came for the hold of this number…
    arrived: AtomicU64,
    /// …at this time.
    arrived_at: AtomicU64,
}

impl Holders {
    /// Starts one holder a CPU. The calling thread must be real-time, as those it starts become.
    ///
    /// # Errors
    /// The first CPU that none of ours may run on; the system's, where there can be no more threads.
    pub(super) fn start(cpus: &[u32]) -> Result<Holders, BarrierError> {
        let seats = cpus.iter().map(|_| Seat {
            wanted: AtomicU64::new(0),
            alarm: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            arrived_at: AtomicU64::new(0),
        });
        let shared = Arc::new(Shared {
            seats: seats.collect(),
            released: AtomicU64::new(0),
            limit: AtomicU64::new(LIMIT.0),
            is_over: AtomicBool::new(false),
        });
        let mut holders = Holders {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
            number: 0,
        };
        let (ready, is_pinned) = std::sync::mpsc::channel();
        for (index, &cpu) in cpus.iter().enumerate() {
            let (shared, ready) = (Arc::clone(&shared), ready.clone());
            let thread = sys::start_thread(move || {
                let may_run_there = sys::pin_to(cpu);
                let _ = ready.send(may_run_there.then_some(()).ok_or(cpu));
                // The one that counts waits until nobody can send any more.
                drop(ready);
                if may_run_there {
                    shared.serve(&shared.seats[index]);
                }
            })
            .map_err(BarrierError::NoThread)?;
            holders.threads.push((thread.thread().clone(), thread));
        }
        drop(ready);
        is_pinned
            .iter()
            .collect::<Result<(), u32>>()
            .map_err(BarrierError::CpuNotOurs)?;
        Ok(holders)
    }

    /// Begins a hold of the CPUs that `is_wanted` says, and waits until it has begun; answers when
    /// the first of them was taken. One that cannot be taken in time is left alone: the records
    /// tell.
    pub(super) fn hold(
        &mut self,
        begin: Timestamp,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Timestamp {
        self.number += 1;
        let number = self.number;
        let mut first = begin;
        for pass in 0..2 {
            for (index, seat) in self.shared.seats.iter().enumerate() {
                if !is_wanted(index) {
                    continue;
                }
                let is_armed = seat.alarm.load(Ordering::Relaxed) != 0;
                if pass == 0 && !is_armed {
                    seat.wanted.store(number, Ordering::Release);
                    self.threads[index].0.unpark();
                }
            }
            let patience = if pass == 0 { LATE } else { LIMIT };
            let is_complete = self.wait(begin + patience, number, &is_wanted, &mut first);
            if is_complete {
                return first;
            }
            if pass == 0 {
                self.wake_armed(number, &is_wanted);
            }
        }
        first
    }

    fn wake_armed(&self, number: u64, is_wanted: impl Fn(usize) -> bool) {
        for (index, seat) in self.shared.seats.iter().enumerate() {
            if is_wanted(index) && seat.arrived.load(Ordering::Acquire) < number {
                seat.wanted.store(number, Ordering::Release);
                self.threads[index].0.unpark();
            }
        }
    }

    fn wait(
        &self,
        until: Timestamp,
        number: u64,
        is_wanted: impl Fn(usize) -> bool,
        first: &mut Timestamp,
    ) -> bool {
        loop {
            let mut is_complete = true;
            for (index, seat) in self.shared.seats.iter().enumerate() {
                if !is_wanted(index) {
                    continue;
                }
                if seat.arrived.load(Ordering::Acquire) < number {
                    is_complete = false;
                } else {
                    let at = Timestamp(seat.arrived_at.load(Ordering::Relaxed));
                    *first = at.min(*first);
                }
            }
            if is_complete || process::now() > until {
                return is_complete;
            }
            std::hint::spin_loop();
        }
    }

    /// Lets a tick pass without a hold.
    pub(super) fn skip(&mut self) {
        self.number += 1;
        self.release(Timestamp(0), |_| false);
    }

    /// Ends the hold. The holders of CPUs that `is_armed` says wake by themselves at `next`.
    pub(super) fn release(&mut self, next: Timestamp, is_armed: impl Fn(usize) -> bool) {
        for (index, seat) in self.shared.seats.iter().enumerate() {
            let alarm = if is_armed(index) { next.0 } else { 0 };
            seat.alarm.store(alarm, Ordering::Relaxed);
        }
        self.shared.released.store(self.number, Ordering::Release);
        // A holder that sees this sees that it is released, too.
        self.shared.limit.store(LIMIT.0, Ordering::Release);
    }

    /// Lets the hold that is on last for a read of memory.
    pub(super) fn hold_longer(&self) {
        let limit = LIMIT + READ_LIMIT;
        self.shared.limit.store(limit.0, Ordering::Relaxed);
    }
}

impl Shared {
    /// What a holder does all its life.
    fn serve(&self, seat: &Seat) {
        let mut last = 0;
        let mut last_alarm = 0;
        while !self.is_over.load(Ordering::Acquire) {
            let alarm = seat.alarm.load(Ordering::Relaxed);
            // An alarm counts once: if its hold did not begin, the next one wakes by hand.
            let number = if alarm > last_alarm {
                last_alarm = alarm;
                sleep_until(Timestamp(alarm));
                self.released.load(Ordering::Acquire) + 1
            } else {
                std::thread::park();
                last_alarm = seat.alarm.load(Ordering::Relaxed);
                seat.wanted.load(Ordering::Acquire)
            };
            if number <= last {
                continue;
            }
            let now = process::now();
            seat.arrived_at.store(now.0, Ordering::Relaxed);
            seat.arrived.store(number, Ordering::Release);
            let is_over_at = || now + Nanos(self.limit.load(Ordering::Acquire));
            while self.released.load(Ordering::Acquire) < number && process::now() < is_over_at() {
                std::hint::spin_loop();
            }
            if self.released.load(Ordering::Acquire) < number {
                // The tracer is late: it will call again.
                seat.arrived.store(0, Ordering::Release);
            } else {
                last = number;
            }
        }
    }
}

fn sleep_until(time: Timestamp) {
    let time = TimeSpec::nanoseconds(time.0 as i64);
    // Woken early: the hold is shorter by that.
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &time,
    );
}

impl Drop for Holders {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        self.shared.released.store(u64::MAX, Ordering::Release);
        for (thread, handle) in self.threads.drain(..) {
            thread.unpark();
            // Sleeps until its alarm at the longest.
            let _ = handle.join();
        }
    }
}
