//! What the records say of each thread.

use std::collections::HashMap;
use std::sync::Arc;

use super::exits::Exits;
use super::untold::goes_on;
use super::witness::Witness;
use crate::engine::records::{Kind, Record, Records, StackPlace};
use crate::engine::{Scope, TreeEvent};
use crate::memory::Registers;
use crate::process;
use crate::profile::{Nanos, Pid, RunState, Tid, Timestamp};

/// A thread of the target.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) pid: Pid,
    /// Where it is.
    pub(super) place: Place,
    /// Since when.
    pub(super) since: Timestamp,
    /// The CPU it was on last, where that is known.
    pub(super) cpu: Option<u32>,
    /// How it sleeps, where it does and was looked at.
    pub(super) asleep: Option<Asleep>,
    /// The stack it left its CPU with.
    pub(super) stack: Stack,
    /// It is to have a snapshot at the next tick: it may have run since the last one.
    pub(super) is_fresh: bool,
    /// CPU time since it has been watched.
    pub(super) cpu_time: Nanos,
    name: String,
    /// It is to be recorded: its name is among those wanted.
    pub(super) is_selected: bool,
    /// It has begun a program of which nothing is mapped yet.
    is_in_exec: bool,
}

impl Task {
    /// Whether it has left its CPU, at a time that is known.
    pub(super) fn is_off(&self) -> bool {
        self.cpu.is_some() && matches!(self.place, Place::Ready | Place::Asleep)
    }

    /// Whether it waits for something since exactly that time.
    pub(super) fn sleeps(&self, since: Timestamp) -> bool {
        self.place == Place::Asleep && self.since == since
    }
}

/// How a thread sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asleep {
    pub(super) state: RunState,
    /// The system call it sleeps in; `None`: in none.
    pub(super) syscall: Option<u64>,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It has not been heard of since it was first watched, or since records were lost.
    Unknown,
    /// A child of sprof's that is yet to become the command.
    Gated,
    /// Just born, and has not run.
    Unborn,
    /// On the CPU of this number.
    On(u32),
    /// Off, and goes on as soon as it may.
    Ready,
    /// Off, and waits for something.
    Asleep,
}

/// The stack of a thread that is off its CPU.
#[derive(Debug)]
pub(super) enum Stack {
    None,
    /// In its ring, until that is released.
    InRing(StackPlace),
    /// Copied out of it.
    Copied(Option<Registers>, Box<[u8]>),
}

/// What a CPU does for the target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cpu {
    pub(super) number: u32,
    /// Threads that left it, ever.
    pub(super) switches: u64,
    /// Who is on it, as far as is known.
    pub(super) on: Option<Tid>,
    /// When the last one left it.
    pub(super) left: Timestamp,
}

/// All threads of the target.
#[derive(Debug)]
pub(super) struct Tasks {
    pub(super) by_tid: HashMap<Tid, Task>,
    /// Threads alive of each process.
    pub(super) processes: HashMap<Pid, usize>,
    scope: Arc<Scope>,
    /// What the records say of each CPU.
    pub(super) cpus: Vec<Cpu>,
    /// Threads that may have run since the last tick, some more than once.
    pub(super) fresh: Vec<Tid>,
    /// Records were lost, or none has come yet: who runs where is not known.
    pub(super) is_unsure: bool,
    /// Records were lost at some time: a thread can be new without a record of its birth.
    pub(super) has_lost: bool,
    /// Threads that have ended, ever.
    pub(super) ended: u64,
    /// Records lost since the last tick.
    pub(super) lost_now: u64,
    /// Processes that the kernel has ceased to watch.
    pub(super) dropped: Vec<Pid>,
    pub(super) exits: Exits,
    witness: Option<Witness>,
}

impl Tasks {
    pub(super) fn new(cpus: &[u32], witness: Option<Witness>, scope: Arc<Scope>) -> Tasks {
        Tasks {
            scope,
            by_tid: HashMap::new(),
            processes: HashMap::new(),
            cpus: cpus
                .iter()
                .map(|&number| Cpu {
                    number,
                    switches: 0,
                    on: None,
                    left: Timestamp(0),
                })
                .collect(),
            fresh: Vec::new(),
            is_unsure: true,
            has_lost: false,
            ended: 0,
            lost_now: 0,
            dropped: Vec::new(),
            exits: Exits::default(),
            witness,
        }
    }

    fn is_in_exec(&self, tid: Tid) -> bool {
        self.by_tid.get(&tid).is_some_and(|task| task.is_in_exec)
    }

    pub(super) fn has_process(&self, pid: Pid) -> bool {
        self.processes.contains_key(&pid)
    }

    /// Begins to keep track of a thread; of its process too, where that is new.
    pub(super) fn add(&mut self, pid: Pid, tid: Tid, place: Place, since: Timestamp) {
        let task = Task {
            pid,
            place,
            since,
            cpu: None,
            asleep: None,
            stack: Stack::None,
            is_fresh: true,
            cpu_time: Nanos(0),
            name: String::new(),
            is_selected: !self.scope.selects(),
            is_in_exec: false,
        };
        self.fresh.push(tid);
        if self.by_tid.insert(tid, task).is_none() {
            *self.processes.entry(pid).or_default() += 1;
        }
    }

    /// Takes a record in.
    pub(super) fn take(&mut self, record: Record, report: &mut dyn FnMut(TreeEvent)) {
        let Record {
            pid,
            tid,
            time,
            cpu,
            ..
        } = record;
        match record.kind {
            Kind::SwitchIn => self.come(pid, tid, cpu, time, report),
            Kind::SwitchOut { is_ready } => self.leave(tid, cpu, time, is_ready),
            Kind::Stack(place) => {
                if let Some(task) = self.by_tid.get_mut(&tid) {
                    task.stack = Stack::InRing(place);
                }
            }
            Kind::Born { parent, creator } => {
                self.born((parent, creator), (pid, tid), time, report);
            }
            Kind::Exit if self.is_in_exec(tid) && goes_on(pid) => self.dropped.push(pid),
            Kind::Exit => self.exit(tid, time, report),
            Kind::Name(name) => self.name(tid, name, time, report),
            Kind::Exec(name) => self.exec(pid, cpu, time, name, report),
            Kind::Map(entry) => {
                if let Some(task) = self.by_tid.get_mut(&tid) {
                    task.is_in_exec = false;
                }
                let entry = *entry;
                report(TreeEvent::Mapped { pid, time, entry });
            }
            Kind::Lost(count) => self.forget_places(count),
            Kind::Other => {}
        }
    }

    fn come(
        &mut self,
        pid: Pid,
        tid: Tid,
        cpu: u32,
        time: Timestamp,
        report: &mut dyn FnMut(TreeEvent),
    ) {
        if !self.by_tid.contains_key(&tid) {
            // Its birth was among records that were lost.
            if pid.0 <= 0 || tid.0 <= 0 || !self.has_lost {
                return;
            }
            self.born((Pid(0), Tid(0)), (pid, tid), time, report);
        }
        self.set_on(cpu, tid);
        let Some(task) = self.by_tid.get_mut(&tid) else {
            return;
        };
        // Two events on one thread tell everything twice.
        if task.place == Place::On(cpu) {
            return;
        }
        task.place = Place::On(cpu);
        task.cpu = Some(cpu);
        task.since = time;
        task.stack = Stack::None;
        if !std::mem::replace(&mut task.is_fresh, true) {
            self.fresh.push(tid);
        }
    }

    fn leave(&mut self, tid: Tid, cpu: u32, time: Timestamp, is_ready: bool) {
        if let Some(cpu) = self.cpus.iter_mut().find(|c| c.number == cpu) {
            cpu.left = time;
            cpu.switches += 1;
            if cpu.on == Some(tid) {
                cpu.on = None;
            }
        }
        let Some(task) = self.by_tid.get_mut(&tid) else {
            return;
        };
        match task.place {
            Place::Ready | Place::Asleep => return,
            // The clocks of two CPUs differ by a little: it has come to another one already.
            Place::On(other) if other != cpu => return,
            Place::On(_) => task.cpu_time += time.since(task.since),
            Place::Gated | Place::Unknown | Place::Unborn => {}
        }
        task.place = if is_ready {
            Place::Ready
        } else {
            Place::Asleep
        };
        task.since = time;
        task.asleep = None;
        if !std::mem::replace(&mut task.is_fresh, true) {
            self.fresh.push(tid);
        }
    }

    pub(super) fn born(
        &mut self,
        (parent, creator): (Pid, Tid),
        (pid, tid): (Pid, Tid),
        time: Timestamp,
        report: &mut dyn FnMut(TreeEvent),
    ) {
        if self.by_tid.contains_key(&tid) {
            return;
        }
        let is_new_process = !self.processes.contains_key(&pid);
        if is_new_process && !self.scope.follow {
            return;
        }
        self.add(pid, tid, Place::Unborn, time);
        if is_new_process {
            self.exits.reused(pid, report);
            report(TreeEvent::Process {
                pid,
                forked_by: self.processes.contains_key(&parent).then_some(parent),
                start: time,
                is_gated: false,
            });
        }
        report(TreeEvent::Thread {
            pid,
            tid,
            start: time,
            is_new: true,
        });
        if let Some(creator) = self.by_tid.get(&creator) {
            let inherited = creator.name.clone();
            self.name(tid, inherited, time, report);
        }
    }

    fn name(&mut self, tid: Tid, name: String, time: Timestamp, report: &mut dyn FnMut(TreeEvent)) {
        if let Some(task) = self.by_tid.get_mut(&tid)
            && task.name != name
        {
            task.name.clone_from(&name);
            report(TreeEvent::Name { tid, time, name });
            self.select(tid, report);
        }
    }

    /// A thread has got a name: it, and where it is the first one its whole process, may be wanted
    /// from now on, or no longer.
    fn select(&mut self, tid: Tid, report: &mut dyn FnMut(TreeEvent)) {
        let Some(pid) = self.by_tid.get(&tid).map(|task| task.pid) else {
            return;
        };
        if !self.scope.selects() {
            return;
        }
        let first = self.by_tid.get(&Tid(pid.0));
        let process = first.map_or(String::new(), |first| first.name.clone());
        let is_first = tid.0 == pid.0;
        for (&other, task) in &mut self.by_tid {
            if other == tid || (is_first && task.pid == pid) {
                let is_wanted = self.scope.wants(&process, &task.name);
                let was_wanted = std::mem::replace(&mut task.is_selected, is_wanted);
                if is_wanted && !was_wanted {
                    task.is_fresh = true;
                    self.fresh.push(other);
                } else if was_wanted && !is_wanted {
                    report(TreeEvent::LeftOut { tid: other });
                }
            }
        }
    }

    /// A thread is about to end: it runs no more of its program.
    pub(super) fn exit(&mut self, tid: Tid, time: Timestamp, report: &mut dyn FnMut(TreeEvent)) {
        for cpu in &mut self.cpus {
            if cpu.on == Some(tid) {
                cpu.on = None;
            }
        }
        let Some(task) = self.by_tid.remove(&tid) else {
            return;
        };
        self.ended += 1;
        report(TreeEvent::ThreadEnd { tid, time });
        if let Some(count) = self.processes.get_mut(&task.pid) {
            *count -= 1;
            if *count == 0 {
                self.processes.remove(&task.pid);
                let seen = self.witness.as_ref().and_then(|w| w.take(task.pid, time));
                self.exits
                    .add(task.pid, time, seen.and_then(|seen| seen.end));
            }
        }
    }

    /// A new program: all other threads are gone, and the one that called exec bears the number of
    /// the first, also where that had ended.
    fn exec(
        &mut self,
        pid: Pid,
        cpu: u32,
        time: Timestamp,
        name: String,
        report: &mut dyn FnMut(TreeEvent),
    ) {
        if !self.processes.contains_key(&pid) {
            return;
        }
        let first = Tid(pid.0);
        let others: Vec<Tid> = self
            .by_tid
            .iter()
            .filter(|(tid, task)| task.pid == pid && **tid != first)
            .map(|(&tid, _)| tid)
            .collect();
        if !self.by_tid.contains_key(&first) {
            self.add(pid, first, Place::On(cpu), time);
            report(TreeEvent::Thread {
                pid,
                tid: first,
                start: time,
                is_new: true,
            });
        }
        for tid in others {
            self.exit(tid, time, report);
        }
        self.set_on(cpu, first);
        if let Some(task) = self.by_tid.get_mut(&first) {
            task.place = Place::On(cpu);
            task.cpu = Some(cpu);
            task.since = time;
            task.stack = Stack::None;
            task.name.clear();
            task.is_in_exec = true;
            if !std::mem::replace(&mut task.is_fresh, true) {
                self.fresh.push(first);
            }
        }
        let seen = self.witness.as_ref().and_then(|w| w.program(pid, time));
        let (exe, argv) =
            seen.unwrap_or_else(|| (process::executable(pid), process::arguments(pid)));
        report(TreeEvent::Exec {
            pid,
            time,
            exe,
            argv,
            maps: None,
        });
        self.name(first, name, time, report);
    }

    fn set_on(&mut self, cpu: u32, tid: Tid) {
        if let Some(cpu) = self.cpus.iter_mut().find(|c| c.number == cpu) {
            cpu.on = Some(tid);
        }
    }

    /// Whether a thread of the target may be on a CPU now.
    pub(super) fn may_run(&self) -> bool {
        self.is_unsure || self.cpus.iter().any(|cpu| cpu.on.is_some())
    }

    /// Reads the name that a thread bears now.
    pub(super) fn read_name(&mut self, tid: Tid, report: &mut dyn FnMut(TreeEvent)) {
        let pid = self.by_tid.get(&tid).map(|task| task.pid);
        if let Some(name) = pid.and_then(|pid| process::thread_name(pid, tid)) {
            self.name(tid, name, process::now(), report);
        }
    }

    /// Copies stacks out of their rings, before those are released.
    pub(super) fn rescue_stacks(&mut self, records: &Records) {
        for tid in &self.fresh {
            if let Some(task) = self.by_tid.get_mut(tid)
                && let Stack::InRing(place) = &task.stack
            {
                let mut bytes = vec![0; place.stack_len as usize].into_boxed_slice();
                records.stack(place, &mut bytes);
                task.stack = Stack::Copied(records.registers(place), bytes);
            }
        }
    }

    /// Whether no thread is left, and no end is still to be told.
    pub(super) fn is_over(&self) -> bool {
        self.by_tid.is_empty() && self.exits.is_empty()
    }
}
