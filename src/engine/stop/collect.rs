//! Waiting until all interrupted threads stand, within a bound.

use std::os::fd::AsFd;
use std::time::Duration;

use super::StopEngine;
use super::tracee::Phase;
use crate::process;
use crate::profile::{Nanos, Timestamp};
use crate::sys::{self, Errno, RawRegisters, Stop};

/// A thread that stands in this tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) index: usize,
    pub(super) stop: Stop,
    pub(super) raw: Option<RawRegisters>,
    pub(super) cpu_total: Option<Nanos>,
    /// When it was let go; `None`: it has not been, by its tick.
    pub(super) let_go: Option<Timestamp>,
    /// Where its stack bytes are to be found: its entry in the ranges that are read.
    pub(super) range: Option<usize>,
    /// The same for the part of another stack.
    pub(super) outer: Option<usize>,
}

/// How long the tree is held after the last thread that stopped. On a busy machine a thread that
/// is ready to run must get a CPU before it can run into its stop; many take their turns.
const PATIENCE: Nanos = Nanos(1_000_000);
/// How long it is held for all of them.
const LIMIT: Nanos = Nanos(25_000_000);
/// Beyond that, one part in so many of the time that passes may be spent on being patient…
const EXTRA_SHARE: u64 = 50;
/// …and so much at once, at most.
pub(super) const MAX_EXTRA: Nanos = Nanos(10_000_000);

/// So few threads are waited for by their signals, which wake the tracer at once; more of them
/// would wake it all the time, and keep each other from the CPU.
const FEW: usize = 4;
/// The tracer first asks again and again for so long: a thread on another CPU stops meanwhile.
const SPIN: Nanos = Nanos(25_000);
/// It sleeps for so long at most while it waits for few threads…
const LONGEST_WAIT: Duration = Duration::from_micros(100);
/// …and for so long for each of many, within bounds. On its CPU, they run into their stops.
const NAP_PER_THREAD: u64 = 4_000;
const NAP: (u64, u64) = (30_000, 100_000);

impl StopEngine {
    /// How long this tick may hold the target: what ticks before it have left of the extra time
    /// comes on top.
    pub(super) fn patience(&mut self, begin: Timestamp) -> Nanos {
        let passed = begin.since(self.last_begin).0 / EXTRA_SHARE;
        self.last_begin = begin;
        self.extra = Nanos((self.extra.0 + passed).min(MAX_EXTRA.0));
        PATIENCE + self.extra
    }

    /// Takes note of how long the target was held.
    pub(super) fn spend(&mut self, held: Nanos) {
        let beyond = held.0.saturating_sub(PATIENCE.0);
        self.extra = Nanos(self.extra.0.saturating_sub(beyond));
    }

    /// Moves the threads of `self.waiting` to `self.held` as they stop. Those that have not
    /// stopped in time stay behind.
    pub(super) fn collect(&mut self, begin: Timestamp, patience: Nanos) {
        let mut last_stop = begin;
        while !self.waiting.is_empty() {
            let before = self.waiting.len();
            let many = self.waiting.len() > FEW;
            if many {
                let nap = (self.waiting.len() as u64 * NAP_PER_THREAD).clamp(NAP.0, NAP.1);
                std::thread::sleep(Duration::from_nanos(nap));
            }
            self.collect_round();
            self.quell();
            let now = process::now();
            if self.waiting.len() < before {
                last_stop = now;
            }
            let waited = now.since(begin);
            let is_vain = now.since(last_stop) > patience || waited > LIMIT;
            let mut waiting = self.waiting.iter();
            if waiting.all(|&index| self.tracees[index].quelled.is_some()) || is_vain {
                return;
            }
            if !many && waited > SPIN {
                self.clear_reports();
                sys::wait_for_input([self.reports.as_fd()], Some(LONGEST_WAIT));
            }
        }
    }

    /// Asks each thread that is waited for once.
    pub(super) fn collect_round(&mut self) {
        let mut next = 0;
        while let Some(&index) = self.waiting.get(next) {
            let tracee = &mut self.tracees[index];
            match sys::wait_for(tracee.tid) {
                Ok(None) => {
                    next += 1;
                    continue;
                }
                Ok(Some(stop)) => {
                    let held = Held {
                        index,
                        stop,
                        raw: None,
                        cpu_total: None,
                        let_go: None,
                        range: None,
                        outer: None,
                    };
                    self.held.push(held);
                }
                // Gone without a word: exec by another thread of its process.
                Err(Errno::ECHILD) => tracee.phase = Phase::Exiting,
                Err(_) => {}
            }
            self.waiting.swap_remove(next);
        }
    }
}
