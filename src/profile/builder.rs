//! A recording without its ticks, in memory.

use super::{
    Clocks, Event, Loss, Mapping, Module, ModuleId, Process, ProcessId, Session, Symbols, Thread,
    ThreadId,
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
            Event::Session(session) => self.session = session,
            Event::Clocks(_) => {}
            Event::ProcessStarted(process) => {
                return push_in_turn(&mut self.processes, process.id.index(), process);
            }
            Event::Exec { process, image } => {
                let Some(found) = self.processes.get_mut(process.index()) else {
                    return false;
                };
                let from = image.from;
                found.images.push(image);
                for mapping in self.mappings.iter_mut().filter(|m| m.process == process) {
                    mapping.until.get_or_insert(from);
                }
            }
            Event::ProcessEnded {
                process,
                time,
                status,
            } => {
                let Some(found) = self.processes.get_mut(process.index()) else {
                    return false;
                };
                found.end = Some(time);
                found.exit_status = status;
            }
            Event::ThreadStarted(thread) => {
                if self.process(thread.process).is_none() {
                    return false;
                }
                return push_in_turn(&mut self.threads, thread.id.index(), thread);
            }
            Event::ThreadNamed { thread, name } => {
                let Some(found) = self.threads.get_mut(thread.index()) else {
                    return false;
                };
                found.names.push(name);
            }
            Event::ThreadEnded { thread, time } => {
                let Some(found) = self.threads.get_mut(thread.index()) else {
                    return false;
                };
                found.end = Some(time);
            }
            Event::Module(module) => {
                return push_in_turn(&mut self.modules, module.id.index(), module);
            }
            Event::Mapped(mapping) => {
                if self.process(mapping.process).is_none() || self.module(mapping.module).is_none()
                {
                    return false;
                }
                self.mappings.push(mapping);
            }
            Event::Unmapped {
                process,
                start,
                time,
            } => {
                for mapping in self.mappings.iter_mut().rev() {
                    if mapping.process == process && mapping.start == start {
                        mapping.until.get_or_insert(time);
                        break;
                    }
                }
            }
            Event::Loss(loss) => self.losses.push(loss),
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
            Event::Finished(clocks) => self.finished = Some(clocks),
        }
        true
    }
}

fn push_in_turn<T>(table: &mut Vec<T>, index: usize, entry: T) -> bool {
    let in_turn = table.len() == index;
    if in_turn {
        table.push(entry);
    }
    in_turn
}
