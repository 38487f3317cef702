//! The unwinder thread: snapshots become samples, and are written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::channel::FromTracer;
use super::counts::Counts;
use super::lanes::{Lanes, Lent};
use super::own::OwnCost;
use super::space::Spaces;
use super::tracer::{Message, QuietTick};
use super::tree::Tree;
use crate::engine::{HoldFlag, Snapshot, TickBuffer, TreeEvent};
use crate::format::{FormatError, Writer};
use crate::module::ObjectFile;
use crate::profile::{
    Address, CpuNumber, Frame, LossKind, Marker, ModuleId, ModuleOffset, Nanos, Pid, RunState,
    Sample, StackEnd, SymbolReason, SyscallNumber, Tick, Tid, Timestamp,
};
use crate::unwind::{Unwinder, Unwound};

/// Turns the stream of the tracer into a recording.
pub(super) struct Recorder<W> {
    pub(super) writer: Writer<W>,
    pub(super) tree: Tree,
    spaces: Spaces,
    unwinder: Unwinder,
    hold: Arc<HoldFlag>,
    /// Every address that a frame stands at.
    addresses: BTreeMap<ModuleId, BTreeSet<ModuleOffset>>,
    /// Frames of the stack at hand.
    frames: Vec<Frame>,
    lanes: Lanes,
    /// Until then, the engine is told at once what is found out: more of it may come.
    urgent_until: Timestamp,
    /// The writer's group that the stacks of the lanes are of.
    group: u64,
    pub(super) counts: Counts,
    pub(super) own: OwnCost,
}

/// Where something was found out that the engine can use, there is more of it for so long.
const URGENCY: Nanos = Nanos(1_000_000_000);

/// Frames that are kept at each end of a stack which has more than both. What repeats itself for
/// longer says no more, and each frame takes its place in the file.
const KEPT_FRAMES: usize = 2048;

/// Leaves out the middle of a stack that is too deep to be shown, and says how much that was.
pub(super) fn omit_middle(frames: &mut Vec<Frame>) {
    let more = frames.len().saturating_sub(2 * KEPT_FRAMES);
    if more > 1 {
        let omitted = Frame::Marker(Marker::Omitted(more as u64));
        frames.splice(KEPT_FRAMES..KEPT_FRAMES + more, [omitted]);
    }
}

/// What the engine can use for its next copies; see [`TickBuffer`].
#[derive(Default)]
struct Hints {
    stack_ends: Vec<(Tid, Address)>,
    outer_stacks: Vec<(Tid, Range<Address>)>,
    registers_wanted: Vec<Tid>,
}

/// Addresses of one module that want names.
pub(super) struct ModuleAddresses {
    pub(super) module: ModuleId,
    pub(super) file: Result<Arc<ObjectFile>, SymbolReason>,
    pub(super) offsets: Vec<ModuleOffset>,
}

impl<W: Write> Recorder<W> {
    pub(super) fn new(writer: Writer<W>, hold: Arc<HoldFlag>, counts: Counts) -> Recorder<W> {
        Recorder {
            writer,
            tree: Tree::default(),
            spaces: Spaces::default(),
            unwinder: Unwinder::new(),
            hold,
            addresses: BTreeMap::new(),
            frames: Vec::new(),
            lanes: Lanes::default(),
            urgent_until: Timestamp(0),
            group: 0,
            counts,
            own: OwnCost::default(),
        }
    }

    /// Records all messages until the tracer has ended; buffers go back to it.
    pub(super) fn run(
        &mut self,
        messages: &mut FromTracer,
        returned: &Sender<Box<TickBuffer>>,
    ) -> Result<(), FormatError> {
        while let Some(message) = messages.next() {
            match message {
                Message::Tree(event) => self.tree_event(event)?,
                Message::Tick(mut buffer) => {
                    self.tick(&mut buffer)?;
                    messages.is_urgent = buffer.time < self.urgent_until;
                    // The tracer may have ended.
                    let _ = returned.send(buffer);
                }
                Message::Quiet(QuietTick {
                    index,
                    planned,
                    time,
                }) => {
                    self.tick(&mut TickBuffer::quiet(index, planned, time))?;
                    messages.is_urgent = time < self.urgent_until;
                }
                Message::Skipped {
                    before,
                    count,
                    time,
                } => {
                    self.missed(LossKind::TickSkipped, before, count, time)?;
                }
                Message::Flush => self.writer.flush()?,
                Message::Paused {
                    before,
                    from,
                    until,
                } => self.paused(before, from, until)?,
                Message::IntervalChanged { time, interval } => {
                    self.interval_changed(time, interval)?;
                }
                Message::EngineChanged { time, why } => self.engine_changed(time, why)?,
                Message::Dropped { index, time } => {
                    self.missed(LossKind::TickDropped, index, 1, time)?;
                }
            }
        }
        self.own.tell(crate::process::now(), &mut self.writer)
    }

    fn tree_event(&mut self, event: TreeEvent) -> Result<(), FormatError> {
        let time = match &event {
            TreeEvent::Process { .. } => crate::process::now(),
            TreeEvent::Exec { time, .. } | TreeEvent::Mapped { time, .. } => *time,
            _ => Timestamp(0),
        };
        match &event {
            TreeEvent::ProcessEnd {
                pid,
                status: Some(status),
                ..
            } => {
                self.counts.ended(*pid, *status);
            }
            TreeEvent::NotTraceable { pid, why, .. } => {
                self.counts.not_traceable(format!("process {pid}: {why}"));
            }
            _ => {}
        }
        if let TreeEvent::LeftOut { tid }
        | TreeEvent::ThreadEnd { tid, .. }
        | TreeEvent::Thread {
            tid, is_new: true, ..
        } = &event
            && let Some(thread) = self.tree.thread_id(*tid)
        {
            self.lanes.remove(thread);
        }
        let (events, change) = self.tree.take(event);
        for event in &events {
            self.writer.event(event)?;
        }
        let changed = change.map(|change| self.spaces.change(change, time));
        changed
            .iter()
            .flatten()
            .try_for_each(|event| self.writer.event(event))
    }

    /// Records one tick, and leaves in the buffer what the engine can use for the next.
    pub(super) fn tick(&mut self, buffer: &mut TickBuffer) -> Result<(), FormatError> {
        self.renumber_stacks();
        self.lanes.begin(buffer.carries);
        for amendment in &buffer.amendments {
            if let Some(thread) = self.tree.thread_id(amendment.tid) {
                let syscall = amendment.syscall.and_then(SyscallNumber::new);
                self.lanes.amend(thread, amendment.state, syscall);
            }
        }
        let mut hints = Hints::default();
        for snapshot in &buffer.snapshots {
            self.hold.give_way();
            let unwound = self.unwind(buffer, snapshot)?;
            omit_middle(&mut self.frames);
            if let Some(sample) = self.sample(snapshot, unwound, &mut hints) {
                self.lanes.set(sample);
            }
        }
        if !(hints.stack_ends.is_empty() && hints.outer_stacks.is_empty()) {
            self.urgent_until = buffer.time + URGENCY;
        }
        buffer.stack_ends.extend(hints.stack_ends);
        buffer.outer_stacks.extend(hints.outer_stacks);
        buffer.registers_wanted.extend(hints.registers_wanted);
        if buffer.records_lost > 0 {
            self.records_lost(buffer)?;
        }
        let Lent { samples, changed } = self.lanes.lend();
        self.counts.tick(buffer, samples.len());
        self.own.tick(buffer, &mut self.writer)?;
        let mut pauses: Vec<_> = (buffer.pauses.iter())
            .filter_map(|&(pid, pause)| Some((self.tree.process(pid)?, pause)))
            .collect();
        pauses.sort_unstable();
        let tick = Tick {
            index: buffer.index,
            time: buffer.time,
            planned: buffer.planned,
            stop: buffer.stop,
            skew: buffer.skew,
            stops: buffer.stops,
            perturbed: buffer.perturbed,
            pauses,
            samples,
        };
        let written = match changed {
            Some(changed) => self.writer.tick_changing(&tick, &changed),
            None => self.writer.tick(&tick),
        };
        self.lanes.give_back(tick.samples);
        written
    }

    /// Unwinds a snapshot into `self.frames`; looks at its process's maps again when it does not
    /// fit them.
    fn unwind(&mut self, buffer: &TickBuffer, snapshot: &Snapshot) -> Result<Unwound, FormatError> {
        self.frames.clear();
        let pid = snapshot.pid;
        let registers = match &snapshot.registers {
            Ok(registers) => registers,
            Err(end) => return Ok(Unwound::without_frames(*end)),
        };
        let stacks = buffer.stacks(snapshot);
        let stacks = &stacks[..=usize::from(snapshot.outer.is_some())];
        let mut unwound = Unwound::without_frames(StackEnd::Unmapped);
        if let Some(space) = self.spaces.get(pid) {
            unwound = self
                .unwinder
                .unwind(&space.code, registers, stacks, &mut self.frames);
        }
        let is_unfit = match unwound.end {
            StackEnd::Root => false,
            StackEnd::NotCopied(_) => !self.has_stack_end(pid, registers.sp()),
            _ => true,
        };
        let Some(events) = self.spaces.look_again(pid, buffer.time, is_unfit) else {
            return Ok(unwound);
        };
        events
            .iter()
            .try_for_each(|event| self.writer.event(event))?;
        if is_unfit
            && !events.is_empty()
            && let Some(space) = self.spaces.get(pid)
        {
            self.frames.clear();
            unwound = self
                .unwinder
                .unwind(&space.code, registers, stacks, &mut self.frames);
        }
        Ok(unwound)
    }

    fn has_stack_end(&self, pid: Pid, sp: Address) -> bool {
        let space = self.spaces.get(pid);
        space.is_some_and(|space| space.stack_end(sp).is_some())
    }

    /// The sample of a snapshot whose frames are at hand; `None` for a thread that is not known.
    fn sample(
        &mut self,
        snapshot: &Snapshot,
        unwound: Unwound,
        hints: &mut Hints,
    ) -> Option<Sample> {
        let end = unwound.end;
        if end == StackEnd::RegistersUnknown {
            hints.registers_wanted.push(snapshot.tid);
        }
        let thread = self.tree.thread(snapshot.tid)?;
        let cpu = match (snapshot.cpu_total, thread.cpu_total) {
            (Some(now), Some(before)) => Some(Nanos(now.0.saturating_sub(before.0))),
            _ => None,
        };
        thread.cpu_total = snapshot.cpu_total.or(thread.cpu_total);
        let is_cut = matches!(end, StackEnd::NotCopied(_));
        if let Ok(registers) = &snapshot.registers
            && (thread.stack_end.is_none() || is_cut)
            && let Some(space) = self.spaces.get(snapshot.pid)
            && let stack_end @ Some(told) = space.stack_end(registers.sp())
            && thread.stack_end != stack_end
        {
            thread.stack_end = stack_end;
            hints.stack_ends.push((snapshot.tid, told));
        }
        let wanted = match unwound {
            Unwound {
                end: StackEnd::Unreadable,
                wanted: Some(slot),
            } => self
                .spaces
                .get(snapshot.pid)
                .and_then(|space| space.live_part(slot)),
            _ => None,
        };
        let is_idle = snapshot.outer.is_some()
            && !self.frames.contains(&Frame::Marker(Marker::SignalHandler));
        if let Some(part) = thread.follow_outer(wanted, is_idle) {
            hints.outer_stacks.push((snapshot.tid, part));
        }
        let state = match snapshot.state {
            RunState::Running if cpu == Some(Nanos(0)) => RunState::Runnable,
            state => state,
        };
        for frame in &self.frames {
            if let Frame::Native { module, offset } = *frame {
                self.addresses.entry(module).or_default().insert(offset);
            }
        }
        let frames = self.frames.iter().rev().copied();
        let stack = self.writer.stacks().intern_all(frames);
        thread.frames.clone_from(&self.frames);
        Some(Sample {
            thread: thread.id,
            state,
            syscall: snapshot.syscall.and_then(SyscallNumber::new),
            since: snapshot.asleep_since,
            cpu_number: snapshot.cpu.map(CpuNumber),
            cpu,
            carried: snapshot.is_carried,
            stack,
            end,
        })
    }

    /// The writer has forgotten all stacks: those of threads that do not run are told anew.
    fn renumber_stacks(&mut self) {
        let group = self.writer.group();
        if std::mem::replace(&mut self.group, group) == group {
            return;
        }
        for thread in self.tree.threads_mut() {
            let frames = thread.frames.iter().rev().copied();
            let stack = self.writer.stacks().intern_all(frames);
            self.lanes.renumber(thread.id, stack);
        }
    }

    /// Numbers of process and thread lives.
    pub(super) fn lives(&self) -> (u64, u64) {
        (self.tree.process_count(), self.tree.thread_count())
    }

    /// Ends the recorder: the writer, what was counted, and the addresses that want names.
    pub(super) fn into_parts(mut self) -> (Writer<W>, Counts, Vec<ModuleAddresses>) {
        let mut addresses = Vec::new();
        for open in self.spaces.modules.into_all() {
            if let Some(offsets) = self.addresses.remove(&open.id) {
                let offsets = offsets.into_iter().collect();
                addresses.push(ModuleAddresses {
                    module: open.id,
                    file: open.file,
                    offsets,
                });
            }
        }
        (self.writer, self.counts, addresses)
    }
}
