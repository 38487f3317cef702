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

/// How long the tree is held for threads that do not stop.
const PATIENCE: Nanos = Nanos(1_000_000);
/// How long the tracer asks again and again before it gives up its CPU: on it, a thread may wait
/// that has yet to run into its stop.
const SPIN: Nanos = Nanos(150_000);
/// How long it sleeps then, at most, between two rounds.
const NAP: Duration = Duration::from_micros(100);

impl StopEngine {
    /// Moves the threads of `self.waiting` to `self.held` as they stop. Those that have not
    /// stopped in time stay behind.
    pub(super) fn collect(&mut self, begin: Timestamp) {
        loop {
            let before = self.waiting.len();
            self.collect_round();
            if self.waiting.is_empty() {
                return;
            }
            let waited = process::now().since(begin);
            if waited > PATIENCE {
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
