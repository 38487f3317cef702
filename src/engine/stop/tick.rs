//! One tick: interrupt all, collect, copy, resume; then what could wait.

use std::fs::File;

use super::StopEngine;
use super::calls::{Call, is_blocked, state_of};
use super::collect::Held;
use super::sleepers::{Known, Need, Plan};
use super::tracee::{Phase, Tracee};
use crate::engine::{Snapshot, TickBuffer, TreeEvent};
use crate::process::{self, cpu_time};
use crate::profile::{Address, Nanos, RunState, StackEnd};
use crate::sys::{self, RemoteRange, Stop};

impl StopEngine {
    pub(super) fn take_tick(&mut self, buffer: &mut TickBuffer, report: &mut dyn FnMut(TreeEvent)) {
        for (tid, end) in buffer.stack_ends.drain(..) {
            if let Some(&index) = self.by_tid.get(&tid) {
                self.tracees[index].stack_end = Some(end);
            }
        }
        for tid in buffer.registers_wanted.drain(..) {
            if let Some(&index) = self.by_tid.get(&tid) {
                let tracee = &mut self.tracees[index];
                if tracee.need == Need::Nothing {
                    tracee.need = Need::Look;
                    self.is_still = false;
                }
            }
        }
        for (tid, outer) in buffer.outer_stacks.drain(..) {
            if let Some(&index) = self.by_tid.get(&tid) {
                self.tracees[index].outer = Some(outer).filter(|outer| !outer.is_empty());
            }
        }
        let threads = if self.is_still { 0 } else { self.tracees.len() };
        buffer.restart(threads);
        if self.stays_still(buffer) {
            return;
        }
        self.prepare(report);
        self.plan(buffer);

        let begin = process::now();
        self.hold.set(true);
        self.interrupt_all(buffer);
        // Threads on a CPU stop within microseconds of their interrupt, the others stood still
        // before: the middle of the interrupts is nearest to all of them.
        buffer.time = begin + Nanos(process::now().since(begin).0 / 2);
        self.revise(buffer);
        let patience = self.patience(begin);
        self.collect(begin, patience);
        buffer.skew = process::now().since(begin);
        self.copy(buffer);
        self.resume_all();
        self.hold.set(false);
        buffer.stop = process::now().since(begin);
        if buffer.stops == 0 && self.held.is_empty() {
            // Nobody was held.
            (buffer.stop, buffer.skew) = (Nanos(0), Nanos(0));
        }
        self.spend(buffer.stop);
        self.note_pauses(begin, buffer);

        self.snapshot_held(buffer);
        self.snapshot_sleepers(buffer);
        buffer.perturbed = std::mem::take(&mut self.perturbed);
        self.snapshot_others(buffer);
        self.is_still = self.leaves_all_alone() && buffer.is_quiet();
        self.serve_rest(report);
        self.clear_reports();
    }

    /// Takes a tick for which nothing need be done: no thread has run since the one before.
    fn stays_still(&mut self, buffer: &mut TickBuffer) -> bool {
        if !self.is_still {
            return false;
        }
        buffer.time = process::now();
        self.is_still = !self.look_at_switches();
        if self.is_still {
            // What is left of the extra time is left for the ticks to come.
            self.patience(buffer.time);
            buffer.carries = true;
            (buffer.stop, buffer.skew) = (Nanos(0), Nanos(0));
        }
        self.is_still
    }

    fn leaves_all_alone(&self) -> bool {
        self.tracees.iter().all(|tracee| {
            let is_left = matches!(tracee.plan, Plan::Carry | Plan::Ignore);
            is_left && tracee.phase == Phase::Free && tracee.need != Need::Look
        })
    }

    /// What a tick needs and need not be done while the target is held.
    fn prepare(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        for index in 0..self.tracees.len() {
            let tracee = &mut self.tracees[index];
            if tracee.schedstat.is_none() && matches!(tracee.phase, Phase::Free | Phase::Starting) {
                let path = format!("/proc/{}/task/{}/schedstat", tracee.pid, tracee.tid);
                tracee.schedstat = File::open(path).ok();
                self.read_name(index, report);
            }
        }
        self.waiting.clear();
        self.waiting.reserve(self.tracees.len());
        self.held.clear();
        self.held.reserve(self.tracees.len());
        self.ranges.clear();
        self.ranges.reserve(2 * self.tracees.len());
    }

    fn interrupt_all(&mut self, buffer: &mut TickBuffer) {
        for index in 0..self.tracees.len() {
            let tracee = &self.tracees[index];
            match tracee.phase {
                Phase::Free
                    if matches!(tracee.plan, Plan::Carry | Plan::Read(_) | Plan::Ignore) => {}
                Phase::Free => self.interrupt(index, buffer),
                Phase::Starting => self.waiting.push(index),
                // Its last interrupt may have been swallowed by another stop. Nobody waits for it.
                Phase::Late => drop(sys::interrupt(tracee.tid)),
                Phase::Gated | Phase::GroupStopped | Phase::Vforking | Phase::Exiting => {}
            }
        }
    }

    /// Has one thread stop in this tick.
    pub(super) fn interrupt(&mut self, index: usize, buffer: &mut TickBuffer) {
        let tracee = &mut self.tracees[index];
        tracee.activity.is_sampled = false;
        tracee.interrupted = process::now();
        if sys::interrupt(tracee.tid).is_ok() {
            buffer.stops += 1;
            buffer.idle_stops += u32::from(tracee.plan == Plan::InterruptIdle);
            self.waiting.push(index);
        } else {
            tracee.phase = Phase::Exiting;
        }
    }

    /// Registers, CPU times and stack bytes of all that stand.
    fn copy(&mut self, buffer: &mut TickBuffer) {
        // One read a process: its threads must stand together.
        let tracees = &self.tracees;
        self.held
            .sort_unstable_by_key(|held| tracees[held.index].pid);
        for held in &mut self.held {
            let tracee = &self.tracees[held.index];
            if matches!(held.stop, Stop::Ended(_)) {
                continue;
            }
            held.raw = sys::registers(tracee.tid).ok();
            let Some(raw) = held.raw else { continue };
            if !is_blocked(&raw) {
                held.cpu_total = tracee.schedstat.as_ref().and_then(cpu_time);
            }
            if raw.is_64_bit && tracee.quelled.is_none() {
                let address = raw.registers.stack_start();
                let bytes = buffer.reserve_bytes(tracee.stack_bytes(address, tracees.len()));
                held.range = Some(self.ranges.len());
                self.ranges.push(RemoteRange {
                    address,
                    at: bytes.start,
                    len: bytes.len(),
                });
                if let Some((address, len)) = tracee.outer_bytes(address, bytes.len()) {
                    let bytes = buffer.reserve_bytes(len);
                    held.outer = Some(self.ranges.len());
                    self.ranges.push(RemoteRange {
                        address,
                        at: bytes.start,
                        len: bytes.len(),
                    });
                }
            }
        }
        let (mut first, mut next) = (0, 0);
        while let Some(leader) = self.held.get(first) {
            let (pid, tid) = (
                self.tracees[leader.index].pid,
                self.tracees[leader.index].tid,
            );
            let same = |held: &&Held| self.tracees[held.index].pid == pid;
            let group = self.held[first..].iter().take_while(same);
            let (threads, ranges) = group.fold((0, 0), |(n, r), held| {
                let ranges = [held.range, held.outer];
                (n + 1, r + ranges.into_iter().flatten().count())
            });
            sys::read_ranges(
                tid,
                &mut self.ranges[next..next + ranges],
                buffer.bytes_mut(),
            );
            first += threads;
            next += ranges;
        }
    }

    /// Lets go all that were only interrupted or are to get a signal. Those stopped for an event
    /// of their own have work to be done first.
    fn resume_all(&mut self) {
        for at in 0..self.held.len() {
            let Held {
                index, stop, raw, ..
            } = self.held[at];
            match stop {
                Stop::Interrupted => self.go_on_in_call(index, None, raw),
                Stop::Signal(signal) => self.go_on_in_call(index, Some(signal), raw),
                _ => continue,
            }
            self.held[at].let_go = Some(process::now());
        }
    }

    fn snapshot_held(&mut self, buffer: &mut TickBuffer) {
        for held in &self.held {
            let tracee = &mut self.tracees[held.index];
            if tracee.quelled.is_some() || tracee.plan == Plan::Ignore {
                continue;
            }
            let call = held.raw.and_then(|raw| Call::of(&raw, tracee.call));
            tracee.call = call.or(tracee.call);
            let (registers, state) = match held.raw {
                Some(raw) if !raw.is_64_bit => (Err(StackEnd::ForeignArchitecture), state_of(&raw)),
                Some(raw) => (Ok(raw.registers), state_of(&raw)),
                None => (Err(StackEnd::Gone), RunState::Unknown),
            };
            let cpu_total = held
                .cpu_total
                .or_else(|| tracee.schedstat.as_ref().and_then(cpu_time));
            let [range, outer] =
                [held.range, held.outer].map(|range| range.map(|range| self.ranges[range]));
            let stack = range.map_or(0..0, |range| range.at..range.at + range.len);
            if let (true, Some(raw)) = (tracee.need != Need::Nothing, held.raw)
                && is_blocked(&raw)
            {
                let known = Known::new(raw.registers, &buffer.bytes_mut()[stack.clone()]);
                tracee.known = Some(Box::new(known));
            }
            buffer.snapshots.push(Snapshot {
                pid: tracee.pid,
                tid: tracee.tid,
                state,
                syscall: call.map(|call| call.number),
                cpu: None,
                asleep_since: None,
                cpu_total,
                is_carried: false,
                registers,
                stack_start: registers.map_or(Address(0), |registers| registers.stack_start()),
                stack,
                outer: outer.map(|range| (range.address, range.at..range.at + range.len)),
            });
        }
    }

    /// Those that were not stopped: because they stand still anyway, or because they would not.
    fn snapshot_others(&mut self, buffer: &mut TickBuffer) {
        for &index in &self.waiting {
            // Nobody waits for the stop of one whose stack is known.
            if self.tracees[index].quelled.is_none() {
                self.tracees[index].phase = Phase::Late;
            }
        }
        buffer.stops += std::mem::take(&mut self.quelled);
        let wanted = |tracee: &&Tracee| tracee.plan != Plan::Ignore;
        for tracee in self.tracees.iter().filter(wanted) {
            let mut snapshot = Snapshot {
                pid: tracee.pid,
                tid: tracee.tid,
                state: RunState::Unknown,
                syscall: None,
                cpu: None,
                asleep_since: None,
                cpu_total: None,
                is_carried: false,
                registers: Err(StackEnd::NotStopped),
                stack_start: Address(0),
                stack: 0..0,
                outer: None,
            };
            match tracee.phase {
                Phase::Late => snapshot.state = process::sleeping_state(tracee.pid, tracee.tid),
                Phase::GroupStopped => snapshot.state = RunState::Stopped,
                Phase::Vforking => snapshot.state = RunState::Disk,
                Phase::Exiting if buffer.carries && !tracee.is_end_reported => {
                    snapshot.registers = Err(StackEnd::Gone);
                }
                Phase::Gated | Phase::Starting | Phase::Free | Phase::Exiting => continue,
            }
            snapshot.cpu_total = tracee.schedstat.as_ref().and_then(cpu_time);
            if let Some(kept) = &tracee.kept {
                snapshot.is_carried = true;
                snapshot.registers = Err(StackEnd::ForeignArchitecture);
                if kept.is_64_bit {
                    snapshot.registers = Ok(kept.registers);
                    snapshot.stack_start = kept.registers.stack_start();
                    snapshot.stack = buffer.reserve_bytes(kept.stack.len());
                    let bytes = &mut buffer.bytes_mut()[snapshot.stack.clone()];
                    bytes.copy_from_slice(&kept.stack[..bytes.len()]);
                }
            }
            buffer.snapshots.push(snapshot);
        }
    }

    /// Stops that ask for more than to go on, and the names whose turn it is.
    fn serve_rest(&mut self, report: &mut dyn FnMut(TreeEvent)) {
        let rest = std::mem::take(&mut self.held);
        // By number: serving one can move the others.
        let numbers = rest
            .iter()
            .map(|held| self.tracees[held.index].tid)
            .collect::<Vec<_>>();
        for (held, tid) in rest.iter().zip(numbers) {
            if !matches!(held.stop, Stop::Interrupted | Stop::Signal(_)) {
                self.serve_stop(tid, held.stop, report);
            }
        }
        self.held = rest;
        self.serve_exiting(report);
    }

    /// Whether a thread can bear another name than the one read last, or may have been given one long
    /// ago: nearly all name themselves.
    fn is_name_due(&self, index: usize) -> bool {
        self.tracees.get(index).is_some_and(|tracee| {
            let activity = &tracee.activity;
            let has_slept = activity.is_watched
                && !activity.may_run
                && activity.last_switch < tracee.named
                && self.elides();
            !has_slept || process::now().since(tracee.named) > LONGEST_UNNAMED
        })
    }

    /// Reads as many names as are due after this much time: each ten times a second where threads are
    /// few, once where they are many.
    pub(super) fn read_some_names(&mut self, passed: Nanos, report: &mut dyn FnMut(TreeEvent)) {
        let threads = self.tracees.len() as u64;
        let names_a_second = threads.max((10 * threads).min(400));
        self.name_debt += names_a_second * passed.0.min(SECOND);
        while self.name_debt >= SECOND {
            self.name_debt -= SECOND;
            self.next_name += 1;
            if self.next_name >= self.tracees.len() {
                self.next_name = 0;
            }
            if self.is_name_due(self.next_name) {
                self.read_name(self.next_name, report);
            }
        }
    }
}

/// The name of a thread that does not run is read again after this time.
const LONGEST_UNNAMED: Nanos = Nanos(10 * SECOND);

/// In nanoseconds.
const SECOND: u64 = 1_000_000_000;
