//! How long a sample stands for.
//!
//! A sample is a point; charts need lengths. A sample stands until the next one of its thread when
//! that one was taken at the very next tick. Where it was not (ticks skipped or dropped, the thread
//! ended, the recording ended), the sample stands for one interval at most, and never past the next
//! tick or the thread's end. What lies behind is unknown and stays empty.

use std::collections::BTreeMap;

use super::ConvertError;
use super::source::Source;
use super::stacks::NodeId;
use crate::profile::{Doing, Nanos, Sample, StackTable, ThreadId, Tick, Timestamp};

/// A sample and the time it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) thread: ThreadId,
    /// The instant of the sample.
    pub(super) time: Timestamp,
    /// The end of what it stands for, not before `time`.
    pub(super) until: Timestamp,
    pub(super) node: NodeId,
    pub(super) doing: Doing,
    pub(super) cpu: Option<Nanos>,
    /// The thread's next sample was taken at the next tick and begins at `until`.
    pub(super) joins_next: bool,
}

/// What a converter does with a pass.
pub(super) trait Visit {
    /// Whether it wants the samples of a thread.
    fn wants(&self, _thread: ThreadId) -> bool {
        true
    }

    /// A tick, before its samples.
    fn tick(&mut self, _tick: &Tick) -> Result<(), ConvertError> {
        Ok(())
    }

    /// Gives the stack of a sample a number that outlives the tick's table.
    fn fold(&mut self, sample: &Sample, table: &StackTable) -> NodeId;

    /// A sample, one tick late: in order of time within a thread.
    fn stretch(&mut self, stretch: Stretch) -> Result<(), ConvertError>;
}

/// A sample whose successor is not known yet.
struct Pending {
    tick: u64,
    stretch: Stretch,
}

/// Two ticks with consecutive numbers adjoin up to this many intervals. Jitter alone makes 1.5;
/// a tick that is a whole interval late counts as skipped by the recorder.
const ADJOINING_INTERVALS_MAX: u64 = 2;

/// One pass over all samples that `visitor` wants.
pub(super) fn each_stretch(
    source: &mut Source<'_>,
    visitor: &mut dyn Visit,
) -> Result<(), ConvertError> {
    let profile = source.profile();
    let interval = profile.session.interval;
    let recording_end = profile.finished.map(|clocks| clocks.monotonic);
    let thread_end = |thread| profile.thread(thread).and_then(|thread| thread.end);
    let mut pending: BTreeMap<ThreadId, Pending> = BTreeMap::new();
    let mut latest = Timestamp(0);

    source.each_tick(&mut |tick, table| {
        // A damaged recording may step back in time; outputs must not.
        let time = tick.time.max(latest);
        latest = time;
        let distance_max = Nanos(interval.0.saturating_mul(ADJOINING_INTERVALS_MAX));
        let adjoins = |before: &Pending| {
            before.tick.checked_add(1) == Some(tick.index)
                && (interval.0 == 0 || time.since(before.stretch.time) <= distance_max)
        };
        visitor.tick(tick)?;
        for sample in &tick.samples {
            if !visitor.wants(sample.thread) {
                continue;
            }
            let node = visitor.fold(sample, table);
            let stretch = Stretch {
                thread: sample.thread,
                time,
                until: time,
                node,
                doing: sample.doing(),
                cpu: sample.cpu,
                joins_next: false,
            };
            let now = Pending {
                tick: tick.index,
                stretch,
            };
            if let Some(before) = pending.insert(sample.thread, now) {
                let joined = adjoins(&before).then_some(time);
                let ends = [Some(time), thread_end(sample.thread), None];
                visitor.stretch(ended(before.stretch, joined, interval, ends))?;
            }
        }
        // Whoever has no sample here ended, or is missing.
        let gone = pending
            .iter()
            .filter(|(_, pending)| pending.tick != tick.index);
        let gone: Vec<ThreadId> = gone.map(|(thread, _)| *thread).collect();
        for before in gone.iter().filter_map(|thread| pending.remove(thread)) {
            let ends = [Some(time), thread_end(before.stretch.thread), None];
            visitor.stretch(ended(before.stretch, None, interval, ends))?;
        }
        Ok(())
    })?;
    for before in pending.into_values() {
        let ends = [None, thread_end(before.stretch.thread), recording_end];
        visitor.stretch(ended(before.stretch, None, interval, ends))?;
    }
    Ok(())
}

/// The stretch with its end: where the next sample joins on, else one interval or the first of
/// `ends` behind its time.
fn ended(
    stretch: Stretch,
    joined: Option<Timestamp>,
    interval: Nanos,
    ends: [Option<Timestamp>; 3],
) -> Stretch {
    let limits = ends.into_iter().flatten();
    let limits = limits.filter(|limit| *limit >= stretch.time);
    let alone = limits.fold(stretch.time + interval, Timestamp::min);
    Stretch {
        until: joined.unwrap_or(alone),
        joins_next: joined.is_some(),
        ..stretch
    }
}
