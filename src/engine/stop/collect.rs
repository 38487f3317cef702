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
    /// Where its stack bytes are to be found: its entry in the ranges that are read.
    pub(super) range: Option<usize>,
}

/// How long the tree is held for threads that do not stop, at least and at most. On a busy machine
/// a thread that is ready to run must get a CPU before it can run into its stop.
const PATIENCE: (Nanos, Nanos) = (Nanos(1_000_000), Nanos(5_000_000));
/// One part in so many of the time that passes may be spent on being patient.
const PATIENCE_SHARE: u64 = 20;
/// How long the tracer asks again and again before it gives up its CPU: on it, a thread may wait
/// that has yet to run into its stop.
const SPIN: Nanos = Nanos(150_000);
/// How long it sleeps then, at most, between two rounds.
const NAP: Duration = Duration::from_micros(100);

impl StopEngine {
    /// How long this tick may hold the target: what ticks before it have saved of their share.
    pub(super) fn patience(&mut self, begin: Timestamp) -> Nanos {
        let passed = begin.since(self.last_begin).0 / PATIENCE_SHARE;
        self.last_begin = begin;
        self.saved = Nanos((self.saved.0 + passed).min(PATIENCE.1.0));
        self.saved.max(PATIENCE.0)
    }

    /// Takes note of how long the target was held.
    pub(super) fn spend(&mut self, held: Nanos) {
        self.saved = Nanos(self.saved.0.saturating_sub(held.0));
    }

    /// Moves the threads of `self.waiting` to `self.held` as they stop. Those that have not
    /// stopped in time stay behind.
    pub(super) fn collect(&mut self, begin: Timestamp, patience: Nanos) {
        loop {
            let before = self.waiting.len();
            self.collect_round();
            if self.waiting.is_empty() {
                return;
            }
            let waited = process::now().since(begin);
            if waited > patience {
                return;
            }
            if waited > SPIN && self.waiting.len() == before {
                self.clear_reports();
                sys::wait_for_input([self.reports.as_fd()], Some(NAP));
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
                        range: None,
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
