//! The samples of one thread after another, for formats that want them so.
//!
//! A recording is in order of time, all threads together. One pass finds how many samples each
//! thread has; then threads are taken in groups small enough to be kept, one pass a group. A
//! thread too long even for a group of its own is never kept: each run over it is a pass.

use std::collections::BTreeMap;
use std::hash::Hash;

use super::ConvertError;
use super::source::Source;
use super::stacks::{NodeId, Stacks};
use super::stretches::{Stretch, Visit, each_stretch};
use super::titles::Title;
use crate::profile::{Nanos, Sample, StackTable, ThreadId, Timestamp};

/// Samples kept at once, of about 64 bytes.
pub(super) const KEPT_MAX: u64 = 1 << 20;

/// What one pass says about a recording's threads.
#[derive(Default)]
pub(super) struct Survey {
    /// Time of the first sample.
    pub(super) begin: Timestamp,
    /// End of the last stretch.
    pub(super) end: Timestamp,
    pub(super) threads: BTreeMap<ThreadId, Surveyed>,
}

/// What one pass says about a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Surveyed {
    pub(super) samples: u64,
    pub(super) cpu: Nanos,
}

impl Visit for Survey {
    fn fold(&mut self, _sample: &Sample, _table: &StackTable) -> NodeId {
        NodeId(0)
    }

    fn stretch(&mut self, stretch: Stretch) -> Result<(), ConvertError> {
        let first = self.threads.is_empty();
        self.begin = if first {
            stretch.time
        } else {
            self.begin.min(stretch.time)
        };
        self.end = self.end.max(stretch.until);
        let thread = self.threads.entry(stretch.thread).or_default();
        thread.samples += 1;
        thread.cpu += stretch.cpu.unwrap_or_default();
        Ok(())
    }
}

impl Survey {
    pub(super) fn of(source: &mut Source<'_>) -> Result<Survey, ConvertError> {
        let mut survey = Survey::default();
        each_stretch(source, &mut survey)?;
        Ok(survey)
    }

    /// The threads that have samples, in the order of their tracks.
    pub(super) fn titles<'a>(&self, source: &Source<'a>) -> Vec<Title<'a>> {
        let threads = self.threads.keys();
        let mut titles: Vec<Title<'a>> = threads
            .map(|thread| Title::of(source.profile(), *thread))
            .collect();
        titles.sort_by_cached_key(Title::order);
        titles
    }

    fn samples(&self, thread: ThreadId) -> u64 {
        self.threads.get(&thread).map_or(0, |thread| thread.samples)
    }
}

/// The samples of one thread, to be gone through as often as wanted.
pub(super) struct Rows<'r, 'a, E> {
    thread: ThreadId,
    kept: Option<&'r [Stretch]>,
    source: &'r mut Source<'a>,
    stacks: &'r mut Stacks<'a, E>,
}

type VisitRow<'v, 'a, E> = dyn FnMut(&Stretch, &Stacks<'a, E>) -> Result<(), ConvertError> + 'v;

impl<'a, E: Clone + Eq + Hash> Rows<'_, 'a, E> {
    /// Calls `visit` with each sample in order of time, and the stacks its node is in.
    pub(super) fn each(&mut self, visit: &mut VisitRow<'_, 'a, E>) -> Result<(), ConvertError> {
        if let Some(kept) = self.kept {
            return kept.iter().try_for_each(|row| visit(row, self.stacks));
        }
        let mut pass = OneThread {
            thread: self.thread,
            stacks: self.stacks,
            visit,
        };
        each_stretch(self.source, &mut pass)
    }
}

type VisitThread<'v, 'a, E> =
    dyn FnMut(&Title<'a>, Rows<'_, 'a, E>) -> Result<(), ConvertError> + 'v;

/// Calls `visit` with each of `titles` and its samples.
/// `kept_max` is [`KEPT_MAX`], or less in tests.
pub(super) fn each_thread<'a, E: Clone + Eq + Hash>(
    source: &mut Source<'a>,
    stacks: &mut Stacks<'a, E>,
    survey: &Survey,
    titles: &[Title<'a>],
    kept_max: u64,
    visit: &mut VisitThread<'_, 'a, E>,
) -> Result<(), ConvertError> {
    let mut rest = titles;
    while !rest.is_empty() {
        let mut samples = 0;
        let fitting = rest.iter().take_while(|title| {
            samples += survey.samples(title.thread_id);
            samples <= kept_max
        });
        let (group, behind) = rest.split_at(fitting.count().max(1));
        rest = behind;
        let mut kept = BTreeMap::new();
        if group
            .iter()
            .all(|title| survey.samples(title.thread_id) <= kept_max)
        {
            let empty = group.iter().map(|title| (title.thread_id, Vec::new()));
            kept.extend(empty);
            let mut pass = Keep {
                stacks,
                kept: &mut kept,
            };
            each_stretch(source, &mut pass)?;
        }
        for title in group {
            let rows = Rows {
                thread: title.thread_id,
                kept: kept.get(&title.thread_id).map(Vec::as_slice),
                source,
                stacks,
            };
            visit(title, rows)?;
        }
    }
    Ok(())
}

/// A pass that keeps the samples of a group of threads.
struct Keep<'p, 'a, E> {
    stacks: &'p mut Stacks<'a, E>,
    kept: &'p mut BTreeMap<ThreadId, Vec<Stretch>>,
}

impl<E: Clone + Eq + Hash> Visit for Keep<'_, '_, E> {
    fn wants(&self, thread: ThreadId) -> bool {
        self.kept.contains_key(&thread)
    }

    fn fold(&mut self, sample: &Sample, table: &StackTable) -> NodeId {
        self.stacks.fold(sample, table)
    }

    fn stretch(&mut self, stretch: Stretch) -> Result<(), ConvertError> {
        if let Some(rows) = self.kept.get_mut(&stretch.thread) {
            rows.push(stretch);
        }
        Ok(())
    }
}

/// A pass that hands the samples of one thread on.
struct OneThread<'p, 'v, 'a, E> {
    thread: ThreadId,
    stacks: &'p mut Stacks<'a, E>,
    visit: &'p mut VisitRow<'v, 'a, E>,
}

impl<E: Clone + Eq + Hash> Visit for OneThread<'_, '_, '_, E> {
    fn wants(&self, thread: ThreadId) -> bool {
        self.thread == thread
    }

    fn fold(&mut self, sample: &Sample, table: &StackTable) -> NodeId {
        self.stacks.fold(sample, table)
    }

    fn stretch(&mut self, stretch: Stretch) -> Result<(), ConvertError> {
        (self.visit)(&stretch, self.stacks)
    }
}
