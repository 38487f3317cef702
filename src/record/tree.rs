//! The target's tree: the kernel's numbers on one side, lives with ids of their own on the other.

use std::collections::HashMap;
use std::ops::Range;

use crate::engine::TreeEvent;
use crate::process::{self, MapEntry};
use crate::profile::{
    Address, Event, ExitStatus, Frame, Image, Loss, LossKind, LossSubject, Nanos, Pid, Process,
    ProcessId, Thread, ThreadId, ThreadName, Tid, Timestamp,
};

/// Who is alive, and under which ids.
#[derive(Debug, Default)]
pub(super) struct Tree {
    processes: HashMap<Pid, LiveProcess>,
    threads: HashMap<Tid, LiveThread>,
    process_count: u32,
    thread_count: u32,
}

#[derive(Debug)]
struct LiveProcess {
    id: ProcessId,
    image: Option<Image>,
}

/// A live thread.
#[derive(Debug)]
pub(super) struct LiveThread {
    pub(super) id: ThreadId,
    /// CPU time at its last sample; zero for one born under our eyes, `None` for one met alive.
    pub(super) cpu_total: Option<Nanos>,
    /// Where its stack ends, as the engine has been told.
    pub(super) stack_end: Option<Address>,
    /// The frames of its last sample, leaf first, to be told again while it does not run.
    pub(super) frames: Vec<Frame>,
    /// Its live frames on another stack, as the engine has been told.
    pub(super) outer: Option<Range<Address>>,
    /// Samples in a row that did not need those.
    pub(super) outer_idle: u32,
}

/// After so many samples that did not need it, a second stack is no longer copied.
const OUTER_IDLE_MAX: u32 = 256;

impl LiveThread {
    pub(super) fn new(id: ThreadId, cpu_total: Option<Nanos>) -> LiveThread {
        LiveThread {
            id,
            cpu_total,
            stack_end: None,
            frames: Vec::new(),
            outer: None,
            outer_idle: 0,
        }
    }

    /// Takes note of the part of another stack that a sample lacked, or that it had one and met no
    /// signal (`is_idle`); answers what to tell the engine, an empty range where it is to copy none.
    pub(super) fn follow_outer(
        &mut self,
        wanted: Option<Range<Address>>,
        is_idle: bool,
    ) -> Option<Range<Address>> {
        self.outer_idle = if is_idle { self.outer_idle + 1 } else { 0 };
        if let Some(mut part) = wanted {
            if let Some(told) = self.outer.as_ref().filter(|told| told.end == part.end) {
                part.start = part.start.min(told.start);
            }
            if self.outer.as_ref() == Some(&part) {
                return None;
            }
            self.outer = Some(part);
            return self.outer.clone();
        }
        if self.outer_idle < OUTER_IDLE_MAX {
            return None;
        }
        self.outer_idle = 0;
        self.outer.take().map(|_| Address(0)..Address(0))
    }
}

/// What an event of the tree means for the memory of processes.
#[derive(Debug)]
pub(super) enum SpaceChange {
    /// A process was met alive: its mappings are to be read.
    Met(Pid, ProcessId),
    /// A copy of its parent's.
    Forked {
        parent: Pid,
        child: Pid,
        id: ProcessId,
    },
    /// All mappings are new; the text of the maps file, or `None`: they are told one by one.
    Exec(Pid, ProcessId, Option<Vec<u8>>),
    /// Code was mapped.
    Mapped(Pid, ProcessId, MapEntry),
    /// The process ended.
    Gone(Pid),
}

impl Tree {
    pub(super) fn process_count(&self) -> u64 {
        u64::from(self.process_count)
    }

    pub(super) fn thread_count(&self) -> u64 {
        u64::from(self.thread_count)
    }

    pub(super) fn process(&self, pid: Pid) -> Option<ProcessId> {
        self.processes.get(&pid).map(|process| process.id)
    }

    /// The life that has this number now.
    pub(super) fn thread_id(&self, tid: Tid) -> Option<ThreadId> {
        self.threads.get(&tid).map(|thread| thread.id)
    }

    /// All live threads, in no order.
    pub(super) fn threads_mut(&mut self) -> impl Iterator<Item = &mut LiveThread> {
        self.threads.values_mut()
    }

    pub(super) fn thread(&mut self, tid: Tid) -> Option<&mut LiveThread> {
        self.threads.get_mut(&tid)
    }

    /// Takes an event in; answers what to record of it, and what it means for mappings.
    pub(super) fn take(&mut self, event: TreeEvent) -> (Vec<Event>, Option<SpaceChange>) {
        match event {
            TreeEvent::Process {
                pid,
                forked_by,
                start,
                is_gated,
            } => self.begin_process(pid, forked_by, start, is_gated),
            TreeEvent::Thread {
                pid,
                tid,
                start,
                is_new,
            } => (self.begin_thread(pid, tid, start, is_new), None),
            TreeEvent::Name { tid, time, name } => {
                let thread = self.threads.get(&tid);
                let name = ThreadName { from: time, name };
                let named = thread.map(|thread| Event::ThreadNamed {
                    thread: thread.id,
                    name,
                });
                (named.into_iter().collect(), None)
            }
            TreeEvent::Exec {
                pid,
                time,
                exe,
                argv,
                maps,
            } => {
                let Some(process) = self.processes.get_mut(&pid) else {
                    return (vec![], None);
                };
                let image = Image {
                    from: time,
                    exe,
                    argv,
                };
                process.image = Some(image.clone());
                let event = Event::Exec {
                    process: process.id,
                    image,
                };
                (vec![event], Some(SpaceChange::Exec(pid, process.id, maps)))
            }
            TreeEvent::Mapped { pid, entry, .. } => {
                let mapped = |id| SpaceChange::Mapped(pid, id, entry);
                (vec![], self.process(pid).map(mapped))
            }
            TreeEvent::LeftOut { .. } => (vec![], None),
            TreeEvent::ThreadEnd { tid, time } => {
                let thread = self.threads.remove(&tid).map(|thread| thread.id);
                let ended = thread.map(|thread| Event::ThreadEnded { thread, time });
                (ended.into_iter().collect(), None)
            }
            TreeEvent::ProcessEnd { pid, time, status } => self.end_process(pid, time, status),
            TreeEvent::NotTraceable { pid, time, why } => {
                let subject = LossSubject::Session;
                let detail = format!("process {pid}: {why}");
                let kind = LossKind::NotTraceable;
                let loss = Loss {
                    time,
                    tick: None,
                    kind,
                    subject,
                    count: 1,
                    detail,
                };
                (vec![Event::Loss(loss)], None)
            }
        }
    }

    fn begin_process(
        &mut self,
        pid: Pid,
        forked_by: Option<Pid>,
        start: Timestamp,
        is_gated: bool,
    ) -> (Vec<Event>, Option<SpaceChange>) {
        if forked_by.is_none() && self.processes.contains_key(&pid) {
            // Met by a second engine.
            return (vec![], None);
        }
        let id = ProcessId(self.process_count);
        self.process_count += 1;
        let parent = forked_by.and_then(|parent| self.processes.get(&parent));
        let image = match parent {
            // A fork runs its parent's program; what it is called may have changed by now.
            Some(parent) => parent.image.as_ref().map(|image| Image {
                from: start,
                ..image.clone()
            }),
            None if is_gated => None,
            None => Some(Image {
                from: start,
                exe: process::executable(pid),
                argv: process::arguments(pid),
            }),
        };
        let stat_parent = || process::read_stat(pid).map(|stat| stat.parent);
        let parent_pid = forked_by.or_else(stat_parent).unwrap_or(Pid(0));
        let parent = parent
            .map(|parent| parent.id)
            .or_else(|| self.process(parent_pid));
        let inner = process::read_status(pid)
            .filter(|status| status.namespace_pids.len() > 1)
            .and_then(|status| status.namespace_pids.last().copied());
        self.processes.insert(
            pid,
            LiveProcess {
                id,
                image: image.clone(),
            },
        );
        let process = Process {
            id,
            pid,
            inner_pid: inner.map(Pid),
            parent,
            parent_pid,
            start,
            end: None,
            exit_status: None,
            images: image.into_iter().collect(),
        };
        let change = match forked_by {
            Some(parent) => SpaceChange::Forked {
                parent,
                child: pid,
                id,
            },
            None => SpaceChange::Met(pid, id),
        };
        (
            vec![Event::ProcessStarted(process)],
            (!is_gated).then_some(change),
        )
    }

    fn begin_thread(&mut self, pid: Pid, tid: Tid, start: Timestamp, is_new: bool) -> Vec<Event> {
        let Some(process) = self.process(pid) else {
            return vec![];
        };
        if !is_new && self.threads.contains_key(&tid) {
            return vec![];
        }
        let id = ThreadId(self.thread_count);
        self.thread_count += 1;
        let live = LiveThread::new(id, is_new.then_some(Nanos(0)));
        self.threads.insert(tid, live);
        let thread = Thread {
            id,
            process,
            tid,
            start,
            end: None,
            names: Vec::new(),
        };
        vec![Event::ThreadStarted(thread)]
    }

    fn end_process(
        &mut self,
        pid: Pid,
        time: Timestamp,
        status: Option<ExitStatus>,
    ) -> (Vec<Event>, Option<SpaceChange>) {
        let Some(process) = self.processes.remove(&pid) else {
            return (vec![], None);
        };
        let event = Event::ProcessEnded {
            process: process.id,
            time,
            status,
        };
        (vec![event], Some(SpaceChange::Gone(pid)))
    }
}
