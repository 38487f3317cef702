//! Threads that wait: read where they are, without a stop.
//!
//! Of a blocked thread the kernel shows the stack pointer, the instruction pointer and the call's
//! arguments. Its stack cannot change while it is blocked, and the records of switches prove
//! afterwards that it was. What cannot be unwound so is stopped once, where the call takes no harm.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use super::StopEngine;
use super::calls::takes_no_harm;
use super::tracee::{Phase, Tracee};
use crate::engine::{Snapshot, TickBuffer};
use crate::memory::Registers;
use crate::process::{self, Blocked, cpu_time};
use crate::profile::{Address, RunState, StackEnd, Timestamp};
use crate::sys;

/// What becomes of a thread in a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// It is stopped: what it does is not known, or it runs.
    Interrupt,
    /// It is stopped; it was on a CPU or ready to run when the tick began, so a call that the stop
    /// meets has only just begun.
    InterruptRunning,
    /// It is stopped although it has not run, for its registers.
    InterruptIdle,
    /// It has not run: its last sample holds.
    Carry,
    /// Nobody wants it recorded.
    Ignore,
    /// It was read: the number of its reading.
    Read(usize),
}

/// What unwinding a thread takes besides what is shown of it while it is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// All its registers; it is to be looked at for them although it has not run.
    Look,
    /// All its registers.
    Registers,
}

/// The stack of a blocked thread.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    registers: Registers,
    state: RunState,
    syscall: Option<u64>,
    /// Its bytes in the buffer, from [`Registers::stack_start`] on.
    stack: Range<usize>,
    end: Timestamp,
}

/// The registers of a thread that was stopped while it was blocked, and what it looked like then.
/// Such a stop makes it run for a moment: as long as it looks the same afterwards, they hold.
#[derive(Debug)]
pub(super) struct Known {
    registers: Registers,
    stack: u64,
}

/// Files of so many threads are kept open between reads: where there are more, all the files that
/// are allowed could be.
const MOST_KEPT_OPEN: usize = 1024;

/// Of a 32-bit program the stack lies below; nothing else is known of a thread never stopped.
const LOWEST_64_BIT_STACK: Address = Address(1 << 32);

impl Known {
    pub(super) fn new(registers: Registers, stack: &[u8]) -> Known {
        let stack = hash(stack);
        Known { registers, stack }
    }

    /// The registers, where the thread is in the same place with the same stack.
    pub(super) fn still(&self, blocked: &Registers, stack: &[u8]) -> Option<Registers> {
        let place = |registers: &Registers| (registers.sp(), registers.ip);
        let is_same = place(&self.registers) == place(blocked) && self.stack == hash(stack);
        is_same.then_some(self.registers)
    }
}

/// Of the live bytes: those of the red zone in front may be anything.
fn hash(stack: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(stack.get(128..).unwrap_or_default());
    hasher.finish()
}

impl StopEngine {
    /// Decides who is to be stopped, and reads who is not.
    pub(super) fn plan(&mut self, buffer: &mut TickBuffer) {
        self.readings.clear();
        self.look_at_switches();
        for tracee in &mut self.tracees {
            tracee.activity.first_in = None;
            tracee.quelled = None;
            tracee.plan = Plan::Interrupt;
        }
        // Where somebody is left out, nobody may be taken for ended.
        buffer.carries = self.elides();
        if self.elides() {
            for index in 0..self.tracees.len() {
                self.plan_thread(index, buffer);
            }
        }
        if self.scope.selects() {
            for tracee in self.tracees.iter_mut().filter(|it| !it.is_selected) {
                tracee.plan = Plan::Ignore;
                // If it is wanted one day, there is no sample of it that could hold.
                tracee.activity.is_sampled = false;
            }
        }
    }

    fn plan_thread(&mut self, index: usize, buffer: &mut TickBuffer) {
        let tracee = &mut self.tracees[index];
        let activity = tracee.activity;
        let is_wanted = tracee.need == Need::Look;
        if is_wanted {
            tracee.need = Need::Registers;
        }
        let plan = match tracee.phase {
            Phase::Free if !activity.is_watched => Plan::Interrupt,
            Phase::Free if activity.may_run => Plan::InterruptRunning,
            Phase::Free if activity.is_sampled && !is_wanted => Plan::Carry,
            Phase::Free => self.read_sleeper(index, buffer),
            _ => Plan::Interrupt,
        };
        self.tracees[index].plan = plan;
    }

    /// Reads a thread that is not on a CPU; if it is on one after all, or cannot be read so, it is
    /// to be stopped.
    fn read_sleeper(&mut self, index: usize, buffer: &mut TickBuffer) -> Plan {
        let threads = self.tracees.len();
        let tracee = &mut self.tracees[index];
        if tracee.syscall.is_none() {
            let path = format!("/proc/{}/task/{}/syscall", tracee.pid, tracee.tid);
            tracee.syscall = File::open(path).ok();
        }
        let Some(file) = &tracee.syscall else {
            return Plan::Interrupt;
        };
        let blocked = process::read_blocked(file);
        if threads > MOST_KEPT_OPEN {
            tracee.syscall = None;
        }
        let Some(Blocked { syscall, registers }) = blocked else {
            return Plan::InterruptRunning;
        };
        if registers.sp() < LOWEST_64_BIT_STACK {
            return Plan::Interrupt;
        }
        let start = registers.stack_start();
        let place = buffer.reserve_bytes(tracee.stack_bytes(start, threads));
        let stack = &mut buffer.bytes_mut()[place.clone()];
        let got = sys::read_memory(tracee.tid, start, stack);
        let state = process::sleeping_state(tracee.pid, tracee.tid);
        let known = tracee.known.as_ref();
        let known = known.and_then(|known| known.still(&registers, &stack[..got]));
        if known.is_none() && tracee.need != Need::Nothing && takes_no_harm(syscall) {
            return if tracee.activity.is_sampled {
                Plan::InterruptIdle
            } else {
                Plan::Interrupt
            };
        }
        tracee.activity.is_sampled = true;
        self.readings.push(Reading {
            registers: known.unwrap_or(registers),
            state,
            syscall,
            stack: place.start..place.start + got,
            end: process::now(),
        });
        Plan::Read(self.readings.len() - 1)
    }

    /// Looks again at who ran since the plan was made, up to the instant of the tick.
    pub(super) fn revise(&mut self, buffer: &mut TickBuffer) {
        self.look_at_switches();
        for index in 0..self.tracees.len() {
            let tracee = &mut self.tracees[index];
            let is_left = matches!(tracee.plan, Plan::Carry | Plan::Read(_));
            if !is_left || !tracee.activity.has_run_by(buffer.time) {
                continue;
            }
            tracee.activity.first_in = None;
            self.plan_thread(index, buffer);
            // What is read now is of after the instant: it may not stand for the ticks to come.
            self.tracees[index].activity.is_sampled = false;
            if !matches!(self.tracees[index].plan, Plan::Carry | Plan::Read(_)) {
                self.interrupt(index, buffer);
            }
        }
    }

    /// Stops those that were left alone and have woken since: while they run, those that were told
    /// to stop get no CPU to do it on. What they were doing at the instant is known already.
    pub(super) fn quell(&mut self) {
        if !self.elides() {
            return;
        }
        self.look_at_switches();
        for index in 0..self.tracees.len() {
            let tracee = &mut self.tracees[index];
            let has_woken = matches!(tracee.plan, Plan::Carry | Plan::Read(_))
                && tracee.phase == Phase::Free
                && tracee.activity.first_in.is_some()
                && tracee.activity.may_run;
            if has_woken && tracee.quelled.is_none() && sys::interrupt(tracee.tid).is_ok() {
                tracee.quelled = Some(process::now());
                self.quelled += 1;
                self.waiting.push(index);
            }
        }
    }

    /// Snapshots of all that were read.
    pub(super) fn snapshot_sleepers(&mut self, buffer: &mut TickBuffer) {
        self.look_at_switches();
        for tracee in &mut self.tracees {
            let Plan::Read(number) = tracee.plan else {
                continue;
            };
            if tracee.phase == Phase::Free {
                let reading = &self.readings[number];
                buffer.snapshots.push(tracee.snapshot_of(reading));
            }
        }
    }
}

impl Tracee {
    fn snapshot_of(&self, reading: &Reading) -> Snapshot {
        // It ran while it was read: what was read may be of no one instant.
        let is_void = self.activity.has_run_by(reading.end);
        Snapshot {
            pid: self.pid,
            tid: self.tid,
            state: reading.state,
            syscall: reading.syscall,
            cpu: None,
            asleep_since: None,
            cpu_total: self.schedstat.as_ref().and_then(cpu_time),
            is_carried: false,
            registers: if is_void {
                Err(StackEnd::NotStopped)
            } else {
                Ok(reading.registers)
            },
            stack_start: reading.registers.stack_start(),
            stack: reading.stack.clone(),
            outer: None,
        }
    }
}
