//! One tick: take the CPUs, note the time, give them back; then read what was recorded.

use super::BarrierEngine;
use super::deep::DeepReader;
use super::instant::{self, Switch};
use super::task::{Place, Stack, Task};
use crate::engine::records::{Kind, Records};
use crate::engine::{Snapshot, TickBuffer, TreeEvent};
use crate::process;
use crate::profile::{Address, Nanos, RunState, StackEnd, Tid, Timestamp};
use crate::sys;

/// A thread that left its CPU so shortly before the first one was taken was made to by us: the
/// tracer itself takes one before it can look at the time.
const OWN_PREEMPTION: Nanos = Nanos(50_000);
/// A holder sleeps for the next tick if that is not later than this: else it is woken by hand.
const LONGEST_ALARM: Nanos = Nanos(50_000_000);
/// The tracer moves to a CPU of the target's after so many ticks away from it.
const ASTRAY: u32 = 16;

impl BarrierEngine {
    pub(super) fn take_tick(&mut self, buffer: &mut TickBuffer, report: &mut dyn FnMut(TreeEvent)) {
        let ends = buffer.stack_ends.drain(..);
        let others = buffer.outer_stacks.drain(..);
        self.deep.note(ends, others, &self.tasks.by_tid);
        buffer.restart(self.tasks.fresh.len());
        buffer.carries = true;
        let begin = process::now();
        if !self.records.has_news() && !self.tasks.may_run() && self.tasks.fresh.is_empty() {
            self.holders.skip();
            (buffer.time, buffer.stop, buffer.skew) = (begin, Nanos(0), Nanos(0));
            self.look_at_sleepers(buffer);
            return;
        }
        self.records.look();
        while let Some(record) = self.records.next(begin) {
            self.tasks.take(record, report);
        }
        let lost = std::mem::take(&mut self.tasks.lost_now);
        if lost > 0 {
            self.tasks.reconcile(report);
            buffer.records_lost = lost;
        }
        self.watch_dropped(report);
        let used = self.used_cpu(begin);
        let first = self.hold(begin);
        let end = process::now();
        self.read_deep(end);
        self.release(begin, buffer.next);
        buffer.stop = process::now().since(first);

        buffer.time = self.choose_instant(begin, end);
        while let Some(record) = self.records.next(buffer.time) {
            self.tasks.take(record, report);
        }
        self.verify_deep();
        self.tasks.is_unsure = false;
        self.snapshot(buffer, first);
        // Of one that is just leaving its CPU, the stack can be recorded and the leave not yet.
        self.tasks.rescue_stacks(&self.records);
        self.records.release();
        if lost > 0 {
            self.look_at_unknown();
        }
        self.look_at_sleepers(buffer);
        let switches = self.tasks.cpus.iter().map(|cpu| cpu.switches);
        self.rates.count(process::now(), switches);
        self.tasks.exits.report(report);
        self.follow_target(used);
    }

    /// Takes all CPUs that run the target; the tracer has its own already.
    fn hold(&mut self, begin: Timestamp) -> Timestamp {
        let (seat, tasks) = (self.seat, &self.tasks);
        self.holders.hold(begin, |cpu| {
            cpu != seat && (tasks.is_unsure || tasks.cpus[cpu].on.is_some())
        })
    }

    fn release(&mut self, begin: Timestamp, next: Timestamp) {
        let is_soon = next.since(process::now()) < LONGEST_ALARM;
        let (seat, tasks) = (self.seat, &self.tasks);
        self.holders.release(next, |cpu| {
            // One that came by its alarm has taken its CPU before we could see who was on it.
            let was_used =
                tasks.cpus[cpu].on.is_some() || begin.since(tasks.cpus[cpu].left) < OWN_PREEMPTION;
            is_soon && cpu != seat && was_used
        });
    }

    fn choose_instant(&mut self, begin: Timestamp, end: Timestamp) -> Timestamp {
        self.records.look();
        let cpus = self.tasks.cpus.iter();
        let mut on: Vec<bool> = cpus.map(|cpu| cpu.on.is_some()).collect();
        let (switches, cpus) = (&mut self.switches, &self.cpus);
        switches.clear();
        self.records.ahead(end, |record| {
            let is_on = match record.kind {
                Kind::SwitchIn | Kind::Exec(_) => true,
                Kind::SwitchOut { .. } | Kind::Exit => false,
                _ => return,
            };
            if let Some(cpu) = cpus.iter().position(|&cpu| cpu == record.cpu) {
                let time = record.time;
                switches.push(Switch { time, cpu, is_on });
            }
        });
        instant::choose(begin, end, &mut on, switches)
    }

    /// Snapshots of all that may have run since the last tick.
    fn snapshot(&mut self, buffer: &mut TickBuffer, first: Timestamp) {
        let held_since = Timestamp(first.0.saturating_sub(OWN_PREEMPTION.0));
        let mut earliest = buffer.time;
        let mut fresh = std::mem::take(&mut self.tasks.fresh);
        fresh.retain(|&tid| {
            let Some(task) = self.tasks.by_tid.get_mut(&tid).filter(|task| task.is_fresh) else {
                return false;
            };
            if !task.is_selected {
                // Its ring is released: where its stack lay there, others will.
                task.stack = Stack::None;
                task.is_fresh = false;
                return false;
            }
            let sources = (&self.records, &mut self.deep);
            let Some(snapshot) = snapshot(tid, task, sources, buffer, held_since) else {
                return true;
            };
            if snapshot.state == RunState::Running && task.place == Place::Ready {
                buffer.stops += 1;
                earliest = earliest.min(task.since);
            }
            // One that is still on a CPU has no stack now: it is looked at again.
            task.is_fresh = matches!(task.place, Place::On(_));
            if task.place == Place::Asleep && task.asleep.is_none() {
                self.dozing.note(tid, task.since, buffer.time);
            }
            buffer.snapshots.push(snapshot);
            task.is_fresh
        });
        buffer.skew = buffer.time.since(earliest);
        // While this tick was looked at none came: records are taken by this thread only.
        self.tasks.fresh = fresh;
    }

    /// A CPU that the target is using: the tracer's own where that is one.
    fn used_cpu(&self, begin: Timestamp) -> Option<usize> {
        let cpus = &self.tasks.cpus;
        if begin.since(cpus[self.seat].left) < OWN_PREEMPTION {
            return Some(self.seat);
        }
        cpus.iter().position(|cpu| cpu.on.is_some())
    }

    /// The tracer takes a CPU at each tick: it is to be one that the target uses, so that nobody
    /// else is bothered.
    fn follow_target(&mut self, used: Option<usize>) {
        let Some(used) = used else { return };
        if used == self.seat {
            self.astray = 0;
            return;
        }
        self.astray += 1;
        if self.astray > ASTRAY && sys::pin_to(self.cpus[used]) {
            self.seat = used;
            self.astray = 0;
        }
    }
}

/// What is known of a thread at the instant; `None`: it is not to be recorded yet.
fn snapshot(
    tid: Tid,
    task: &mut Task,
    (records, deep): (&Records, &mut DeepReader),
    buffer: &mut TickBuffer,
    held_since: Timestamp,
) -> Option<Snapshot> {
    let asleep = task.asleep.filter(|_| task.place == Place::Asleep);
    let state = match task.place {
        Place::Gated => return None,
        Place::On(_) => RunState::Running,
        Place::Ready if task.since >= held_since => RunState::Running,
        Place::Ready | Place::Unborn => RunState::Runnable,
        Place::Asleep => asleep.map_or(RunState::Sleeping, |asleep| asleep.state),
        Place::Unknown => RunState::Unknown,
    };
    let mut cpu_time = task.cpu_time;
    if matches!(task.place, Place::On(_)) {
        cpu_time += buffer.time.since(task.since);
    }
    let mut snapshot = Snapshot {
        pid: task.pid,
        tid,
        state,
        syscall: asleep.and_then(|asleep| asleep.syscall),
        cpu: task.cpu.and_then(|cpu| u16::try_from(cpu).ok()),
        asleep_since: task.is_off().then_some(task.since),
        cpu_total: Some(cpu_time),
        is_carried: false,
        registers: Err(StackEnd::NotStopped),
        stack_start: Address(0),
        stack: 0..0,
        outer: None,
    };
    if matches!(task.place, Place::On(_) | Place::Unborn) {
        return Some(snapshot);
    }
    let registers = match std::mem::replace(&mut task.stack, Stack::None) {
        Stack::None => {
            snapshot.registers = Err(StackEnd::NoRegisters);
            return Some(snapshot);
        }
        Stack::InRing(place) => {
            let registers = records.registers(&place);
            let len = place.stack_len as usize;
            let rest = registers.map_or(&[][..], |registers| deep.rest(tid, registers.sp(), len));
            snapshot.stack = buffer.reserve_bytes(len + rest.len());
            let bytes = &mut buffer.bytes_mut()[snapshot.stack.clone()];
            records.stack(&place, bytes);
            if let Some(behind) = bytes.get_mut(len..) {
                behind.copy_from_slice(&rest[..behind.len()]);
            }
            let other = registers.and_then(|registers| deep.other(tid, registers.sp()));
            if let Some((start, bytes)) = other {
                let range = buffer.reserve_bytes(bytes.len());
                let copied = range.len();
                buffer.bytes_mut()[range.clone()].copy_from_slice(&bytes[..copied]);
                snapshot.outer = Some((start, range));
            }
            registers
        }
        Stack::Copied(registers, bytes) => {
            snapshot.stack = buffer.reserve_bytes(bytes.len());
            let range = snapshot.stack.clone();
            let copied = range.len();
            buffer.bytes_mut()[range].copy_from_slice(&bytes[..copied]);
            registers
        }
    };
    snapshot.stack_start = registers.map_or(Address(0), |registers| registers.sp());
    snapshot.registers = registers.ok_or(StackEnd::ForeignArchitecture);
    Some(snapshot)
}
