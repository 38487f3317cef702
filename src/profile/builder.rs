//! A recording without its ticks, in memory.

use super::{
    Address, Clocks, Counter, CounterSubject, Event, Image, Loss, Mapping, Module, ModuleId,
    Process, ProcessId, Session, Symbols, Thread, ThreadId, Timestamp,
};

/// Everything that a recording says besides its ticks.
///
/// The tables are indexed by their ids; an id that is not in them belongs to something whose
/// event was lost, and the accessors answer `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The run that recorded it.
    pub session: Session,
    /// The clocks at the end; `None`: the recording did not end as it should.
    pub finished: Option<Clocks>,
    /// Processes in order of their ids.
    pub processes: Vec<Process>,
    /// Threads in order of their ids.
    pub threads: Vec<Thread>,
    /// Modules in order of their ids.
    pub modules: Vec<Module>,
    /// Mappings in the order they were seen.
    pub mappings: Vec<Mapping>,
    /// What is missing.
    pub losses: Vec<Loss>,
    /// Counters in order of their ids.
    pub counters: Vec<Counter>,
    /// Names.
    pub symbols: Symbols,
}

impl Profile {
    /// The process with this id.
    pub fn process(&self, id: ProcessId) -> Option<&Process> {
        self.processes.get(id.index())
    }

    /// The thread with this id.
    pub fn thread(&self, id: ThreadId) -> Option<&Thread> {
        self.threads.get(id.index())
    }

    /// The module with this id.
    pub fn module(&self, id: ModuleId) -> Option<&Module> {
        self.modules.get(id.index())
    }

    /// Threads of a process, in order of their ids.
    pub fn threads_of(&self, process: ProcessId) -> impl Iterator<Item = &Thread> {
        self.threads
            .iter()
            .filter(move |thread| thread.process == process)
    }

    /// Takes one event in. Answers `false`, and changes nothing, for an event that speaks of an id
    /// that no earlier event introduced, or that introduces one out of turn: ids count from zero.
    #[must_use]
    pub fn apply(&mut self, event: Event) -> bool {
        match event {
            Event::Session(session) => self.session = *session,
            Event::Clocks(_) => {}
            Event::Loss(loss) => self.losses.push(loss),
            Event::Finished(clocks) => self.finished = Some(clocks),
            Event::ProcessStarted(process) => {
                return push_in_turn(&mut self.processes, process.id.index(), process);
            }
            Event::Exec { process, image } => return self.exec(process, image),
            Event::ProcessEnded {
                process,
                time,
                status,
            } => {
                return change(&mut self.processes, process.index(), |process| {
                    process.end = Some(time);
                    process.exit_status = status;
                });
            }
            Event::ThreadStarted(thread) => {
                return self.process(thread.process).is_some()
                    && push_in_turn(&mut self.threads, thread.id.index(), thread);
            }
            Event::ThreadNamed { thread, name } => {
                return change(&mut self.threads, thread.index(), |thread| {
                    thread.names.push(name);
                });
            }
            Event::ThreadEnded { thread, time } => {
                return change(&mut self.threads, thread.index(), |thread| {
                    thread.end = Some(time);
                });
            }
            Event::Module(module) => {
                return push_in_turn(&mut self.modules, module.id.index(), module);
            }
            Event::Mapped(mapping) => return self.map(mapping),
            Event::Unmapped {
                process,
                start,
                time,
            } => self.unmap(process, start, time),
            Event::Symbol {
                module,
                offset,
                found,
            } => {
                if self.module(module).is_none() {
                    return false;
                }
                self.symbols.insert(module, offset, found);
            }
            Event::Counter(counter) => {
                let is_known = match counter.subject {
                    CounterSubject::Session | CounterSubject::Cpu(_) => true,
                    CounterSubject::Process(id) => self.process(id).is_some(),
                    CounterSubject::Thread(id) => self.thread(id).is_some(),
                };
                return is_known && push_in_turn(&mut self.counters, counter.id.index(), counter);
            }
            Event::Counted { counter, value } => {
                return change(&mut self.counters, counter.index(), |counter| {
                    counter.values.push(value);
                });
            }
        }
        true
    }

    fn exec(&mut self, process: ProcessId, image: Image) -> bool {
        for mapping in self.mappings.iter_mut().filter(|m| m.process == process) {
            mapping.until.get_or_insert(image.from);
        }
        change(&mut self.processes, process.index(), |process| {
            process.images.push(image);
        })
    }

    fn map(&mut self, mapping: Mapping) -> bool {
        let is_known =
            self.process(mapping.process).is_some() && self.module(mapping.module).is_some();
        if is_known {
            self.mappings.push(mapping);
        }
        is_known
    }

    fn unmap(&mut self, process: ProcessId, start: Address, time: Timestamp) {
        let mut newest_first = self.mappings.iter_mut().rev();
        let found = newest_first.find(|m| m.process == process && m.start == start);
        if let Some(mapping) = found {
            mapping.until.get_or_insert(time);
        }
    }
}

fn change<T>(table: &mut [T], index: usize, how: impl FnOnce(&mut T)) -> bool {
    let entry = table.get_mut(index);
    let is_known = entry.is_some();
    if let Some(entry) = entry {
        how(entry);
    }
    is_known
}

fn push_in_turn<T>(table: &mut Vec<T>, index: usize, entry: T) -> bool {
    let in_turn = table.len() == index;
    if in_turn {
        table.push(entry);
    }
    in_turn
}
