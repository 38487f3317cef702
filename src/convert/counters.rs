//! Whose a counter is, and what it is called where that is not said by its place.

use crate::profile::{Counter, CounterSubject, CounterUnit, Pid, Process, Profile};

/// Where a counter belongs in a viewer that knows processes.
pub(super) struct Place<'a> {
    /// The process it is of; `None`: of the recording or the machine.
    pub(super) process: Option<&'a Process>,
    /// Its name, with the thread's or CPU's number where it is of one.
    pub(super) name: String,
}

impl<'a> Place<'a> {
    pub(super) fn of(profile: &'a Profile, counter: &Counter) -> Place<'a> {
        let name = &counter.name;
        let (process, name) = match counter.subject {
            CounterSubject::Session => (None, name.clone()),
            CounterSubject::Cpu(cpu) => (None, format!("{name} of CPU {}", cpu.0)),
            CounterSubject::Process(id) => (Some(id), name.clone()),
            CounterSubject::Thread(id) => {
                let thread = profile.thread(id);
                let tid = thread.map_or(0, |thread| thread.tid.0);
                let name = format!("{name} of thread {tid}");
                (thread.map(|thread| thread.process), name)
            }
        };
        Place {
            process: process.and_then(|id| profile.process(id)),
            name,
        }
    }

    /// The process's number; 0, which no process of a target has, where it is of none.
    pub(super) fn pid(&self) -> Pid {
        self.process.map_or(Pid(0), |process| process.pid)
    }
}

/// A value as viewers without units for it show it best: times in milliseconds.
pub(super) fn shown(unit: CounterUnit, value: u64) -> f64 {
    match unit {
        CounterUnit::Nanos => value as f64 / 1e6,
        CounterUnit::Bytes | CounterUnit::Count => value as f64,
    }
}

/// The word for what [`shown`] counts in.
pub(super) fn shown_unit(unit: CounterUnit) -> &'static str {
    match unit {
        CounterUnit::Nanos => "ms",
        CounterUnit::Bytes => "bytes",
        CounterUnit::Count => "count",
    }
}
