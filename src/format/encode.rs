//! Ticks to columns.

use std::collections::HashMap;

use super::FormatError;
use super::column::{
    Columns, CpuForm, Details, Head, Instant, LastFrame, SAMPLES_MAX, STACKS_MAX, SinceForm,
    or_none, stack_number,
};
use super::wire::{Wire, put_block, put_varint, zigzag};
use crate::profile::{Frame, Nanos, Sample, StackId, StackTable, Tick, Timestamp};

/// No thread went, and none came.
const SAME_THREADS: [u8; 2] = [0, 0];

/// Gathers ticks for the next chunk, and knows what the chunks of this group told before.
#[derive(Default)]
pub(super) struct TickEncoder {
    columns: Columns<Vec<u8>>,
    /// Ticks and samples in the columns.
    ticks: u64,
    samples: u64,
    /// No chunk of this group was made yet.
    opens_group: bool,
    /// Stacks of the table that the group told.
    told: usize,
    frames: HashMap<Frame, u64>,
    last_frame: LastFrame,
    last: Instant,
    /// Each thread's last sample, by thread.
    lanes: Vec<Sample>,
}

impl TickEncoder {
    /// Forgets what was told: the next chunk begins a group.
    pub(super) fn restart(&mut self) {
        *self = TickEncoder {
            opens_group: true,
            ..TickEncoder::default()
        };
    }

    /// Refuses what the format cannot hold, before anything of it is told.
    pub(super) fn admit(tick: &Tick, table: &StackTable) -> Result<(), FormatError> {
        if tick.samples.len() > SAMPLES_MAX {
            return Err(FormatError::Refused("a tick of more than 262144 samples"));
        }
        if table.len() > STACKS_MAX {
            return Err(FormatError::Refused("more than 4194304 stacks at once"));
        }
        if !tick.samples.is_sorted_by(|a, b| a.thread < b.thread) {
            return Err(FormatError::Refused("samples out of the order of threads"));
        }
        if !tick.pauses.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(FormatError::Refused("pauses out of the order of processes"));
        }
        if tick.samples.iter().any(|sample| is_stranger(sample, table)) {
            return Err(FormatError::Refused("a stack that is not in the table"));
        }
        Ok(())
    }

    /// The same of a tick in which only the samples at these places can differ from those of the last
    /// one, where that can be told: not in the first of a group.
    pub(super) fn admit_changes(
        &self,
        tick: &Tick,
        changed: &[usize],
        table: &StackTable,
    ) -> Result<bool, FormatError> {
        if self.lanes.is_empty() || table.len() > STACKS_MAX {
            return Ok(false);
        }
        if self.lanes.len() != tick.samples.len() || !changed.is_sorted_by(|a, b| a < b) {
            return Err(FormatError::Refused("changes of other samples than before"));
        }
        for &place in changed {
            let pair = self.lanes.get(place).zip(tick.samples.get(place));
            if pair.is_none_or(|(lane, sample)| lane.thread != sample.thread) {
                return Err(FormatError::Refused("changes of other samples than before"));
            }
            if pair.is_some_and(|(_, sample)| is_stranger(sample, table)) {
                return Err(FormatError::Refused("a stack that is not in the table"));
            }
        }
        Ok(true)
    }

    /// Tells stacks that are new, but no more than about `budget` bytes of them; answers whether
    /// all are told.
    pub(super) fn push_stacks(&mut self, table: &StackTable, budget: usize) -> bool {
        let columns = &mut self.columns;
        while self.told < table.len() {
            if columns.callers.len() + columns.leaves.len() + columns.frames.len() >= budget {
                return false;
            }
            let (caller, frame) = table.node(StackId(self.told as u32));
            let distance = caller.map_or(0, |caller| (self.told - caller.index()) as u64);
            put_varint(&mut columns.callers, distance);
            let next = self.frames.len() as u64;
            let number = *self.frames.entry(frame).or_insert_with(|| {
                self.last_frame.put(frame, &mut columns.frames);
                next
            });
            let leaf = if number == next { 0 } else { number + 1 };
            put_varint(&mut columns.leaves, leaf);
            self.told += 1;
        }
        true
    }

    /// Tells a tick whose stacks are told. `changed`: the places of all samples that can differ from
    /// those of the last tick; `None`: others can, too.
    pub(super) fn push_tick(&mut self, tick: &Tick, changed: Option<&[usize]>) {
        let elapsed = Nanos(tick.time.0.wrapping_sub(self.last.time));
        self.push_instant(tick);
        self.push_pauses(tick);
        if let Some(changed) = changed {
            self.columns.threads.extend_from_slice(&SAME_THREADS);
            self.push_samples(tick, elapsed, changed.iter().copied());
        } else {
            self.push_threads(tick);
            self.push_samples(tick, elapsed, 0..tick.samples.len());
        }
        debug_assert_eq!(self.lanes, tick.samples);
        self.ticks += 1;
        self.samples += tick.samples.len() as u64;
    }

    fn push_instant(&mut self, tick: &Tick) {
        let to = &mut self.columns.instants;
        let expected = self.last.index.wrapping_add(1);
        put_varint(to, zigzag(tick.index.wrapping_sub(expected)));
        put_varint(to, zigzag(tick.planned.0.wrapping_sub(self.last.planned)));
        put_varint(to, zigzag(tick.time.0.wrapping_sub(tick.planned.0)));
        tick.stop.put(to);
        tick.skew.put(to);
        tick.stops.put(to);
        tick.perturbed.put(to);
        self.last = Instant {
            index: tick.index,
            planned: tick.planned.0,
            time: tick.time.0,
        };
    }

    /// Tells who was held, told against the whole stop: with one process, they are nearly equal.
    fn push_pauses(&mut self, tick: &Tick) {
        let to = &mut self.columns.pauses;
        let processes: Vec<u64> = tick.pauses.iter().map(|(id, _)| u64::from(id.0)).collect();
        put_gaps(to, &processes);
        for (_, pause) in &tick.pauses {
            put_varint(to, zigzag(tick.stop.0.wrapping_sub(pause.0)));
        }
    }

    /// Tells which threads went and came, and fits the lanes to those of the tick.
    fn push_threads(&mut self, tick: &Tick) {
        let to = &mut self.columns.threads;
        let same = self.lanes.len() == tick.samples.len()
            && self
                .lanes
                .iter()
                .zip(&tick.samples)
                .all(|(lane, sample)| lane.thread == sample.thread);
        if same {
            to.extend_from_slice(&SAME_THREADS);
            return;
        }
        let samples = &tick.samples;
        let is_gone = |lane: &Sample| {
            samples
                .binary_search_by_key(&lane.thread, |s| s.thread)
                .is_err()
        };
        let gone: Vec<u64> = (0..)
            .zip(&self.lanes)
            .filter_map(|(place, lane)| is_gone(lane).then_some(place))
            .collect();
        put_gaps(to, &gone);
        let mut lanes = std::mem::take(&mut self.lanes).into_iter().peekable();
        let mut came = Vec::new();
        for sample in &tick.samples {
            while lanes.next_if(|lane| lane.thread < sample.thread).is_some() {}
            self.lanes.push(
                lanes
                    .next_if(|lane| lane.thread == sample.thread)
                    .unwrap_or_else(|| {
                        came.push(u64::from(sample.thread.0));
                        Sample::of(sample.thread)
                    }),
            );
        }
        put_gaps(to, &came);
    }

    /// Tells the samples: how many are as they were, how many are not, and so on; then those. Only
    /// at `places`, which rise, can there be others than in the last tick.
    fn push_samples(&mut self, tick: &Tick, elapsed: Nanos, places: impl Iterator<Item = usize>) {
        let columns = &mut self.columns;
        let mut run = 0..0;
        for place in places {
            let pair = self.lanes.get_mut(place).zip(tick.samples.get(place));
            let Some((lane, sample)) = pair.filter(|(lane, sample)| *lane != *sample) else {
                continue;
            };
            if run.is_empty() || run.end != place {
                if !run.is_empty() {
                    put_varint(&mut columns.runs, run.len() as u64);
                }
                put_varint(&mut columns.runs, (place - run.end) as u64);
                run = place..place;
            }
            run.end += 1;
            push_details(columns, lane, sample, tick.time);
            push_sample(columns, lane, sample, elapsed);
            *lane = *sample;
        }
        for rest in [run.len(), tick.samples.len() - run.end] {
            if rest > 0 {
                put_varint(&mut columns.runs, rest as u64);
            }
        }
    }

    /// Bytes gathered.
    pub(super) fn len(&mut self) -> usize {
        self.columns
            .in_order()
            .iter()
            .map(|column| column.len())
            .sum()
    }

    /// Moves what was gathered into a payload; answers `false` when there is nothing.
    pub(super) fn take_payload(&mut self, to: &mut Vec<u8>) -> bool {
        to.clear();
        if self.len() == 0 {
            return false;
        }
        std::mem::take(&mut self.opens_group).put(to);
        put_varint(to, std::mem::take(&mut self.ticks));
        put_varint(to, std::mem::take(&mut self.samples));
        put_varint(to, self.last.time);
        for column in self.columns.in_order() {
            put_block(to, column);
            column.clear();
        }
        true
    }
}

/// Whether its stack is none of the table's.
fn is_stranger(sample: &Sample, table: &StackTable) -> bool {
    sample.stack.is_some_and(|id| id.index() >= table.len())
}

fn push_details(columns: &mut Columns<Vec<u8>>, lane: &Sample, sample: &Sample, now: Timestamp) {
    let details = Details {
        new_syscall: sample.syscall != lane.syscall,
        since: match sample.since {
            since if since == lane.since => SinceForm::Same,
            None => SinceForm::Unknown,
            Some(_) => SinceForm::Ago,
        },
        new_place: sample.cpu_number != lane.cpu_number,
    };
    if details == Details::SAME {
        return;
    }
    details.put(&mut columns.heads);
    if details.new_syscall {
        let number = or_none(sample.syscall.map(|syscall| syscall.0));
        put_varint(&mut columns.syscalls, number);
    }
    if let (SinceForm::Ago, Some(since)) = (details.since, sample.since) {
        put_varint(&mut columns.sinces, zigzag(now.0.wrapping_sub(since.0)));
    }
    if details.new_place {
        let number = or_none(sample.cpu_number.map(|cpu| u32::from(cpu.0)));
        put_varint(&mut columns.places, number);
    }
}

fn push_sample(columns: &mut Columns<Vec<u8>>, lane: &Sample, sample: &Sample, elapsed: Nanos) {
    let mut rest = 0;
    let cpu = match sample.cpu {
        None => CpuForm::Unknown,
        cpu if cpu == lane.cpu => CpuForm::Same,
        Some(Nanos(cpu)) => {
            rest = zigzag(elapsed.0.wrapping_sub(cpu));
            if rest < cpu {
                CpuForm::OfElapsed
            } else {
                rest = cpu;
                CpuForm::Plain
            }
        }
    };
    let head = Head {
        state: sample.state,
        carried: sample.carried,
        cpu,
        new_stack: sample.stack != lane.stack,
        new_end: sample.end != lane.end,
    };
    head.put(&mut columns.heads);
    if matches!(cpu, CpuForm::Plain | CpuForm::OfElapsed) {
        put_varint(&mut columns.cpus, rest);
    }
    if head.new_stack {
        let distance = stack_number(sample.stack).wrapping_sub(stack_number(lane.stack));
        put_varint(&mut columns.stacks, zigzag(distance));
    }
    if head.new_end {
        sample.end.put(&mut columns.ends);
    }
}

/// Rising numbers: how many, then how many are left out before each.
fn put_gaps(to: &mut Vec<u8>, rising: &[u64]) {
    put_varint(to, rising.len() as u64);
    let mut next = 0;
    for number in rising {
        put_varint(to, number - next);
        next = number + 1;
    }
}
