//! Ids are given out in turn.

use super::FormatError;
use crate::profile::{CounterSubject, Event, ModuleId, ProcessId, Profile, ThreadId};

/// How many ids of each kind the events so far have introduced.
///
/// A reader gives up at an event about an id that is not known (see
/// [`Profile::apply`]); better that it is never written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ids {
    processes: usize,
    threads: usize,
    modules: usize,
    counters: usize,
}

impl Ids {
    pub(super) fn of(profile: &Profile) -> Ids {
        Ids {
            processes: profile.processes.len(),
            threads: profile.threads.len(),
            modules: profile.modules.len(),
            counters: profile.counters.len(),
        }
    }

    /// Refuses an event about an id that is not known, or that introduces one out of turn.
    pub(super) fn admit(&mut self, event: &Event) -> Result<(), FormatError> {
        let known = match event {
            Event::ProcessStarted(process) => in_turn(&mut self.processes, process.id.index()),
            Event::ThreadStarted(thread) => {
                self.knows_process(thread.process) && in_turn(&mut self.threads, thread.id.index())
            }
            Event::Module(module) => in_turn(&mut self.modules, module.id.index()),
            Event::Exec { process, .. } | Event::ProcessEnded { process, .. } => {
                self.knows_process(*process)
            }
            Event::ThreadNamed { thread, .. } | Event::ThreadEnded { thread, .. } => {
                self.knows_thread(*thread)
            }
            Event::Mapped(mapping) => {
                self.knows_process(mapping.process) && self.knows_module(mapping.module)
            }
            Event::Symbol { module, .. } => self.knows_module(*module),
            Event::Counter(counter) => {
                let is_known = match counter.subject {
                    CounterSubject::Session | CounterSubject::Cpu(_) => true,
                    CounterSubject::Process(id) => self.knows_process(id),
                    CounterSubject::Thread(id) => self.knows_thread(id),
                };
                is_known && in_turn(&mut self.counters, counter.id.index())
            }
            Event::Counted { counter, .. } => counter.index() < self.counters,
            Event::Session(_)
            | Event::Clocks(_)
            | Event::Unmapped { .. }
            | Event::Loss(_)
            | Event::Finished(_) => true,
        };
        if known {
            Ok(())
        } else {
            Err(FormatError::Refused("an event about an id out of turn"))
        }
    }

    fn knows_process(&self, id: ProcessId) -> bool {
        id.index() < self.processes
    }

    fn knows_thread(&self, id: ThreadId) -> bool {
        id.index() < self.threads
    }

    fn knows_module(&self, id: ModuleId) -> bool {
        id.index() < self.modules
    }
}

fn in_turn(count: &mut usize, index: usize) -> bool {
    let in_turn = *count == index;
    *count += usize::from(in_turn);
    in_turn
}
