//! What sprof itself costs, told once a second by counters in the recording.

use std::io::Write;

use crate::engine::TickBuffer;
use crate::format::{FormatError, Writer};
use crate::process;
use crate::profile::{
    Counter, CounterId, CounterKind, CounterSubject, CounterUnit, CounterValue, Event, Nanos,
    Timestamp,
};

/// Values are told this often.
const PERIOD: Nanos = Nanos(1_000_000_000);

/// The counters, in the order of their ids.
const COUNTERS: [(&str, CounterKind, CounterUnit); 6] = [
    ("sprof cpu", CounterKind::Amount, CounterUnit::Nanos),
    ("sprof memory", CounterKind::Level, CounterUnit::Bytes),
    ("held", CounterKind::Amount, CounterUnit::Nanos),
    ("longest hold", CounterKind::Level, CounterUnit::Nanos),
    ("ticks missed", CounterKind::Amount, CounterUnit::Count),
    ("idle stops", CounterKind::Amount, CounterUnit::Count),
];

/// What came together since the values before, and in all.
#[derive(Debug, Default)]
pub(super) struct OwnCost {
    told: Option<Timestamp>,
    cpu_told: Nanos,
    held: Nanos,
    longest: Nanos,
    missed: u64,
    idle_stops: u64,
    /// CPU time of sprof from the first value to the last.
    pub(super) cpu: Nanos,
    /// The most memory of sprof in RAM that a value said.
    pub(super) memory: u64,
}

impl OwnCost {
    /// Takes note of ticks that are not in the recording.
    pub(super) fn missed(&mut self, ticks: u64) {
        self.missed += ticks;
    }

    /// Takes note of a tick, and tells the values when it is time.
    pub(super) fn tick<W: Write>(
        &mut self,
        buffer: &TickBuffer,
        writer: &mut Writer<W>,
    ) -> Result<(), FormatError> {
        self.held += buffer.stop;
        self.idle_stops += u64::from(buffer.idle_stops);
        self.longest = self.longest.max(buffer.stop);
        let Some(told) = self.told else {
            self.told = Some(buffer.time);
            self.cpu_told = process::own_cpu();
            return begin(writer);
        };
        if buffer.time.since(told) >= PERIOD {
            self.tell(buffer.time, writer)?;
        }
        Ok(())
    }

    /// Tells what came together since the values before; at the end, what is left.
    pub(super) fn tell<W: Write>(
        &mut self,
        time: Timestamp,
        writer: &mut Writer<W>,
    ) -> Result<(), FormatError> {
        if self.told.is_none() {
            return Ok(());
        }
        self.told = Some(time);
        let cpu_before = std::mem::replace(&mut self.cpu_told, process::own_cpu());
        let cpu = Nanos(self.cpu_told.0.saturating_sub(cpu_before.0));
        self.cpu += cpu;
        let memory = process::own_memory().unwrap_or_default();
        self.memory = self.memory.max(memory);
        let held = std::mem::take(&mut self.held);
        let longest = std::mem::take(&mut self.longest);
        let missed = std::mem::take(&mut self.missed);
        let idle_stops = std::mem::take(&mut self.idle_stops);
        let values = [cpu.0, memory, held.0, longest.0, missed, idle_stops];
        for (id, value) in (0..).zip(values) {
            writer.event(&Event::Counted {
                counter: CounterId(id),
                value: CounterValue { time, value },
            })?;
        }
        Ok(())
    }
}

fn begin<W: Write>(writer: &mut Writer<W>) -> Result<(), FormatError> {
    (0..)
        .zip(COUNTERS)
        .try_for_each(|(id, (name, kind, unit))| {
            writer.event(&Event::Counter(Counter {
                id: CounterId(id),
                name: name.to_owned(),
                subject: CounterSubject::Session,
                kind,
                unit,
                values: Vec::new(),
            }))
        })
}
