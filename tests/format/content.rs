//! The whole content of a recording, comparable.

use std::io::{Cursor, Read, Seek};

use sprof::format::{FormatError, Limits, Reader, Writer};
use sprof::profile::{
    Clocks, Event, Frame, LossKind, Profile, Recording, Sample, Session, StackTable, Tick,
};

/// A sample whose stack is spelled out, root first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FullSample {
    pub(crate) sample: Sample,
    pub(crate) frames: Vec<Frame>,
}

/// A tick whose stacks are spelled out. `tick.samples` is empty, and `sample.stack` is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FullTick {
    pub(crate) tick: Tick,
    pub(crate) samples: Vec<FullSample>,
}

impl FullTick {
    pub(crate) fn of(tick: &Tick, table: &StackTable) -> FullTick {
        let full = |sample: &Sample| {
            let mut frames: Vec<Frame> = table.frames(sample.stack).collect();
            frames.reverse();
            FullSample {
                sample: Sample {
                    stack: None,
                    ..*sample
                },
                frames,
            }
        };
        FullTick {
            tick: Tick {
                samples: Vec::new(),
                ..tick.clone()
            },
            samples: tick.samples.iter().map(full).collect(),
        }
    }

    /// The tick with its stacks in `table`.
    pub(crate) fn intern(&self, table: &mut StackTable) -> Tick {
        let mut tick = self.tick.clone();
        tick.samples.extend(self.samples.iter().map(|full| Sample {
            stack: table.intern_all(full.frames.iter().copied()),
            ..full.sample
        }));
        tick
    }
}

/// One thing that a recorder does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Event(Event),
    Tick(FullTick),
    Flush,
}

/// A recording, as it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) session: Session,
    pub(crate) steps: Vec<Step>,
    /// Clocks at the end; `None`: the recorder was killed after all was flushed.
    pub(crate) finished: Option<Clocks>,
}

impl Script {
    pub(crate) fn ticks(&self) -> Vec<FullTick> {
        let ticks = self.steps.iter().filter_map(|step| match step {
            Step::Tick(tick) => Some(tick.clone()),
            _ => None,
        });
        ticks.collect()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.steps.iter().filter_map(|step| match step {
            Step::Event(event) => Some(event.clone()),
            _ => None,
        });
        events.chain(self.finished.map(Event::Finished)).collect()
    }

    /// The profile after the first `events` events.
    pub(crate) fn profile(&self, events: usize) -> Profile {
        let mut profile = Profile {
            session: self.session.clone(),
            ..Profile::default()
        };
        for event in self.events().into_iter().take(events) {
            assert!(profile.apply(event));
        }
        profile
    }

    pub(crate) fn write(&self, limits: Limits) -> Vec<u8> {
        self.write_by(limits, |writer, tick| writer.tick(tick).unwrap())
    }

    /// Writes each tick by `write_tick`.
    pub(crate) fn write_by(
        &self,
        limits: Limits,
        mut write_tick: impl FnMut(&mut Writer<Vec<u8>>, &Tick),
    ) -> Vec<u8> {
        let mut writer = Writer::with_limits(Vec::new(), &self.session, limits).unwrap();
        for step in &self.steps {
            match step {
                Step::Event(event) => writer.event(event).unwrap(),
                Step::Tick(tick) => {
                    let tick = tick.intern(writer.stacks());
                    write_tick(&mut writer, &tick);
                }
                Step::Flush => writer.flush().unwrap(),
            }
        }
        let bytes = match self.finished {
            Some(clocks) => writer.finish(clocks).unwrap(),
            None => writer.close().unwrap(),
        };
        assert!(!bytes.is_empty());
        bytes
    }
}

/// What a reader finds.
#[derive(Debug)]
pub(crate) struct Found {
    /// Without the loss that the reader itself notes.
    pub(crate) profile: Profile,
    pub(crate) ticks: Vec<FullTick>,
    /// Bytes that could not be read.
    pub(crate) lost: u64,
    /// The words for that.
    pub(crate) detail: String,
}

pub(crate) fn read<R: Read + Seek>(reader: &Reader<R>) -> Found {
    let ticks = all_ticks(reader);
    assert_eq!(reader.tick_count(), ticks.len() as u64);
    let samples: usize = ticks.iter().map(|tick| tick.samples.len()).sum();
    assert_eq!(reader.sample_count(), samples as u64);
    let mut profile = reader.profile().clone();
    let cut = profile
        .losses
        .pop_if(|loss| loss.kind == LossKind::FileCut && loss.detail.contains("at byte"));
    Found {
        profile,
        ticks,
        lost: cut.as_ref().map_or(0, |loss| loss.count),
        detail: cut.map_or(String::new(), |loss| loss.detail),
    }
}

pub(crate) fn all_ticks(recording: &dyn Recording) -> Vec<FullTick> {
    let mut ticks = Vec::new();
    recording
        .each_tick(&mut |tick, table| {
            ticks.push(FullTick::of(tick, table));
            Ok(())
        })
        .unwrap();
    ticks
}

pub(crate) fn open(bytes: &[u8]) -> Result<Reader<Cursor<Vec<u8>>>, FormatError> {
    Reader::from_bytes(bytes.to_vec())
}
