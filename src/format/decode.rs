//! Columns to ticks.

use super::column::{
    COLUMNS, COLUMNS_V1, Columns, CpuForm, Details, Head, Instant, LastFrame, SAMPLES_MAX,
    STACKS_MAX, SinceForm, stack_number,
};
use super::wire::{Cursor, Invalid, Wire, unzigzag};
use crate::profile::{
    CpuNumber, Frame, Nanos, ProcessId, RecordingError, Sample, StackId, StackTable, SyscallNumber,
    ThreadId, Tick, Timestamp,
};

/// What a chunk of ticks says first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summary {
    /// Nothing told in chunks before is referred to.
    pub(super) opens_group: bool,
    pub(super) ticks: u64,
    pub(super) samples: u64,
    /// Time of the last tick so far; of the group, when the chunk has none.
    pub(super) time: Timestamp,
}

impl Summary {
    pub(super) fn get(from: &mut Cursor<'_>) -> Result<Summary, Invalid> {
        Ok(Summary {
            opens_group: Wire::get(from)?,
            ticks: Wire::get(from)?,
            samples: Wire::get(from)?,
            time: Wire::get(from)?,
        })
    }
}

/// Why decoding a chunk ended early.
pub(super) enum Stop {
    /// The chunk says something impossible.
    Invalid(Invalid),
    /// The visitor wants no more.
    Visitor(RecordingError),
}

impl From<Invalid> for Stop {
    fn from(invalid: Invalid) -> Stop {
        Stop::Invalid(invalid)
    }
}

/// Visits a tick.
pub(super) type Visit<'a> = dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError> + 'a;

/// Reads chunk after chunk of ticks, and knows what the chunks of this group told before.
#[derive(Default)]
pub(super) struct TickDecoder {
    /// Columns that a chunk has at least.
    columns: usize,
    table: StackTable,
    frames: Vec<Frame>,
    last_frame: LastFrame,
    /// The last tick: its samples are what those of the next one are told against.
    tick: Tick,
}

impl TickDecoder {
    /// For a recording of this version of the format.
    pub(super) fn new(version: u64) -> TickDecoder {
        TickDecoder {
            columns: if version == 1 { COLUMNS_V1 } else { COLUMNS },
            ..TickDecoder::default()
        }
    }

    /// Visits the ticks of one chunk.
    pub(super) fn decode(&mut self, payload: &[u8], visit: &mut Visit<'_>) -> Result<(), Stop> {
        let mut from = Cursor::new(payload);
        let summary = Summary::get(&mut from)?;
        if summary.opens_group {
            self.table.clear();
            self.frames.clear();
            self.last_frame = LastFrame::default();
            self.tick = Tick::default();
        }
        let mut columns = Columns::<Cursor<'_>>::default();
        for column in columns.in_order().into_iter().take(self.columns) {
            // Columns behind these are from a newer writer.
            *column = Cursor::new(from.block()?);
        }
        self.get_stacks(&mut columns)?;
        let mut samples = 0;
        for _ in 0..summary.ticks {
            self.get_tick(&mut columns)?;
            samples += self.tick.samples.len() as u64;
            if samples > summary.samples {
                break;
            }
            visit(&self.tick, &self.table).map_err(Stop::Visitor)?;
        }
        if samples != summary.samples || self.tick.time != summary.time {
            return Err(Invalid("a chunk of ticks has others than it says").into());
        }
        if columns.in_order().iter().any(|column| !column.is_empty()) {
            return Err(Invalid("a chunk of ticks has more than it says").into());
        }
        Ok(())
    }

    fn get_stacks(&mut self, columns: &mut Columns<Cursor<'_>>) -> Result<(), Invalid> {
        while !columns.callers.is_empty() {
            let count = self.table.len() as u64;
            if count >= STACKS_MAX as u64 {
                return Err(Invalid("a group has too many stacks"));
            }
            let caller = match columns.callers.varint()? {
                0 => None,
                distance if distance <= count => Some(StackId((count - distance) as u32)),
                _ => return Err(Invalid("the caller of a stack is not there")),
            };
            let frame = match columns.leaves.varint()? {
                0 => {
                    let frame = self.last_frame.get(&mut columns.frames)?;
                    self.frames.push(frame);
                    frame
                }
                number => usize::try_from(number - 1)
                    .ok()
                    .and_then(|number| self.frames.get(number).copied())
                    .ok_or(Invalid("the frame of a stack is not there"))?,
            };
            if self.table.intern(caller, frame).index() as u64 != count {
                return Err(Invalid("a stack is told twice"));
            }
        }
        Ok(())
    }

    fn get_tick(&mut self, columns: &mut Columns<Cursor<'_>>) -> Result<(), Invalid> {
        let last = Instant {
            index: self.tick.index,
            planned: self.tick.planned.0,
            time: self.tick.time.0,
        };
        let from = &mut columns.instants;
        let tick = &mut self.tick;
        tick.index = last
            .index
            .wrapping_add(1)
            .wrapping_add(unzigzag(from.varint()?));
        tick.planned = Timestamp(last.planned.wrapping_add(unzigzag(from.varint()?)));
        tick.time = Timestamp(tick.planned.0.wrapping_add(unzigzag(from.varint()?)));
        tick.stop = Wire::get(from)?;
        tick.skew = Wire::get(from)?;
        tick.stops = Wire::get(from)?;
        tick.perturbed = Wire::get(from)?;
        let elapsed = Nanos(tick.time.0.wrapping_sub(last.time));
        self.get_pauses(&mut columns.pauses)?;
        self.get_threads(&mut columns.threads)?;
        self.get_samples(columns, elapsed)
    }

    fn get_pauses(&mut self, from: &mut Cursor<'_>) -> Result<(), Invalid> {
        self.tick.pauses.clear();
        if self.columns == COLUMNS_V1 {
            return Ok(());
        }
        for id in get_gaps(from, 1 << 32)? {
            let pause = self.tick.stop.0.wrapping_sub(unzigzag(from.varint()?));
            self.tick.pauses.push((ProcessId(id as u32), Nanos(pause)));
        }
        Ok(())
    }

    /// Fits the samples to the threads of the next tick.
    fn get_threads(&mut self, from: &mut Cursor<'_>) -> Result<(), Invalid> {
        let gone = get_gaps(from, self.tick.samples.len() as u64)?;
        let came = get_gaps(from, 1 << 32)?;
        if gone.is_empty() && came.is_empty() {
            return Ok(());
        }
        let mut gone = gone.into_iter().peekable();
        let mut came = came.into_iter().map(|id| ThreadId(id as u32)).peekable();
        let before = std::mem::take(&mut self.tick.samples);
        let samples = &mut self.tick.samples;
        for (place, sample) in (0..).zip(before) {
            if gone.next_if_eq(&place).is_some() {
                continue;
            }
            while let Some(new) = came.next_if(|id| *id < sample.thread) {
                samples.push(Sample::of(new));
            }
            samples.push(sample);
        }
        samples.extend(came.map(Sample::of));
        if samples.len() > SAMPLES_MAX {
            return Err(Invalid("a tick has too many samples"));
        }
        if !samples.is_sorted_by(|a, b| a.thread < b.thread) {
            return Err(Invalid("a thread comes that is there"));
        }
        Ok(())
    }

    fn get_samples(
        &mut self,
        columns: &mut Columns<Cursor<'_>>,
        elapsed: Nanos,
    ) -> Result<(), Invalid> {
        let (stacks, now) = (self.table.len() as u64, self.tick.time);
        let has_details = self.columns > COLUMNS_V1;
        let mut rest = self.tick.samples.iter_mut();
        let mut changed = false;
        while rest.len() > 0 {
            let run = usize::try_from(columns.runs.varint()?)
                .ok()
                .filter(|run| *run <= rest.len())
                .ok_or(Invalid("a run is longer than its tick"))?;
            if changed {
                for sample in rest.by_ref().take(run) {
                    if has_details {
                        get_details(columns, sample, now)?;
                    }
                    get_sample(columns, sample, elapsed, stacks)?;
                }
            } else if run > 0 {
                rest.nth(run - 1);
            }
            changed = !changed;
        }
        Ok(())
    }
}

/// Reads what is new of a sample's system call, sleep and CPU.
fn get_details(
    columns: &mut Columns<Cursor<'_>>,
    sample: &mut Sample,
    now: Timestamp,
) -> Result<(), Invalid> {
    let details = Details::get(&mut columns.heads)?;
    if details.new_syscall {
        sample.syscall = get_or_none(&mut columns.syscalls)?.map(SyscallNumber);
    }
    match details.since {
        SinceForm::Same => {}
        SinceForm::Unknown => sample.since = None,
        SinceForm::Ago => {
            let ago = unzigzag(columns.sinces.varint()?);
            sample.since = Some(Timestamp(now.0.wrapping_sub(ago)));
        }
    }
    if details.new_place {
        sample.cpu_number = match get_or_none(&mut columns.places)? {
            None => None,
            Some(number) => {
                let number = u16::try_from(number);
                Some(CpuNumber(
                    number.map_err(|_| Invalid("a CPU has more than 16 bits"))?,
                ))
            }
        };
    }
    Ok(())
}

/// See `or_none`.
fn get_or_none(from: &mut Cursor<'_>) -> Result<Option<u32>, Invalid> {
    let number = from.varint()?.checked_sub(1).map(u32::try_from);
    number
        .transpose()
        .map_err(|_| Invalid("a number has more than 32 bits"))
}

/// Reads what is new in a sample over the last one of its thread.
fn get_sample(
    columns: &mut Columns<Cursor<'_>>,
    sample: &mut Sample,
    elapsed: Nanos,
    stacks: u64,
) -> Result<(), Invalid> {
    let head = Head::get(&mut columns.heads)?;
    sample.state = head.state;
    sample.carried = head.carried;
    match head.cpu {
        CpuForm::Unknown => sample.cpu = None,
        CpuForm::Plain => sample.cpu = Some(Nanos(columns.cpus.varint()?)),
        CpuForm::OfElapsed => {
            let less = unzigzag(columns.cpus.varint()?);
            sample.cpu = Some(Nanos(elapsed.0.wrapping_sub(less)));
        }
        CpuForm::Same => {}
    }
    if head.new_stack {
        let distance = unzigzag(columns.stacks.varint()?);
        sample.stack = match stack_number(sample.stack).wrapping_add(distance) {
            0 => None,
            number if number <= stacks => Some(StackId((number - 1) as u32)),
            _ => return Err(Invalid("the stack of a sample is not there")),
        };
    }
    if head.new_end {
        sample.end = Wire::get(&mut columns.ends)?;
    }
    Ok(())
}

/// Rising numbers, all below `end`; see `put_gaps`.
fn get_gaps(from: &mut Cursor<'_>, end: u64) -> Result<Vec<u64>, Invalid> {
    let count = from.varint()?;
    if count > SAMPLES_MAX as u64 {
        return Err(Invalid("a tick has too many samples"));
    }
    let mut next = 0u64;
    (0..count)
        .map(|_| {
            let number = next
                .checked_add(from.varint()?)
                .filter(|number| *number < end)
                .ok_or(Invalid("a thread is not there"))?;
            next = number + 1;
            Ok(number)
        })
        .collect()
}
