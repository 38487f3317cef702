//! The last sample of each thread, kept so that one that has not run is told again for nothing.

use crate::profile::{Nanos, RunState, Sample, StackId, SyscallNumber, ThreadId};

/// Samples in the order of their threads' ids.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    samples: Vec<Sample>,
    /// Those that were set in this tick.
    fresh: Vec<ThreadId>,
    /// The places that are not as in the last tick.
    changed: Vec<usize>,
    /// Threads came or went, or all samples may be others.
    is_anew: bool,
}

/// The samples of a tick, lent.
#[derive(Debug, PartialEq)]
pub(super) struct Lent {
    pub(super) samples: Vec<Sample>,
    /// The places of all that can differ from those of the last tick, rising; `None`: others can,
    /// too.
    pub(super) changed: Option<Vec<usize>>,
}

impl Lanes {
    /// Begins a tick. `carries`: threads that will not be set have not run since the last one;
    /// else there are none but those that will be.
    pub(super) fn begin(&mut self, carries: bool) {
        if !carries {
            self.samples.clear();
            self.fresh.clear();
            self.is_anew = true;
            return;
        }
        for thread in std::mem::take(&mut self.fresh) {
            if let Some(sample) = self.change(thread) {
                sample.carried = true;
                sample.cpu = Some(Nanos(0));
                // It left its CPU for the last tick, and has not got one back.
                if sample.state == RunState::Running {
                    sample.state = RunState::Runnable;
                }
            }
        }
    }

    /// Sets the sample of a thread.
    pub(super) fn set(&mut self, sample: Sample) {
        self.fresh.push(sample.thread);
        if let Some(place) = self.change(sample.thread) {
            *place = sample;
        } else if let Err(place) = self.find(sample.thread) {
            // A new thread has the highest id.
            self.samples.insert(place, sample);
            self.is_anew = true;
        }
    }

    /// A thread has ended.
    pub(super) fn remove(&mut self, thread: ThreadId) {
        if let Ok(place) = self.find(thread) {
            self.samples.remove(place);
            self.is_anew = true;
        }
    }

    /// Something more was found out of a thread that has not run.
    pub(super) fn amend(
        &mut self,
        thread: ThreadId,
        state: RunState,
        syscall: Option<SyscallNumber>,
    ) {
        if let Some(sample) = self.change(thread) {
            (sample.state, sample.syscall) = (state, syscall);
        }
    }

    /// Its stack has another id now.
    pub(super) fn renumber(&mut self, thread: ThreadId, stack: Option<StackId>) {
        if let Some(sample) = self.change(thread) {
            sample.stack = stack;
        }
    }

    /// Lends the samples of this tick; [`give_back`](Self::give_back) them.
    pub(super) fn lend(&mut self) -> Lent {
        let mut changed = std::mem::take(&mut self.changed);
        changed.sort_unstable();
        changed.dedup();
        Lent {
            samples: std::mem::take(&mut self.samples),
            changed: (!std::mem::take(&mut self.is_anew)).then_some(changed),
        }
    }

    pub(super) fn give_back(&mut self, samples: Vec<Sample>) {
        self.samples = samples;
    }

    fn find(&self, thread: ThreadId) -> Result<usize, usize> {
        self.samples
            .binary_search_by_key(&thread, |sample| sample.thread)
    }

    fn change(&mut self, thread: ThreadId) -> Option<&mut Sample> {
        let place = self.find(thread).ok()?;
        self.changed.push(place);
        self.samples.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lanes, Lent};
    use crate::profile::{Nanos, RunState, Sample, ThreadId};

    fn sample(thread: u32, state: RunState) -> Sample {
        Sample {
            state,
            cpu: Some(Nanos(7)),
            ..Sample::of(ThreadId(thread))
        }
    }

    /// The lanes after a tick in which these were set. What is said to be as it was must be so.
    fn after(lanes: &mut Lanes, carries: bool, set: &[Sample]) -> Vec<(u32, RunState, bool)> {
        let before = lanes.samples.clone();
        lanes.begin(carries);
        for &sample in set {
            lanes.set(sample);
        }
        let Lent { samples, changed } = lanes.lend();
        if let Some(changed) = changed {
            assert_eq!(before.len(), samples.len());
            for (place, pair) in before.iter().zip(&samples).enumerate() {
                assert!(changed.contains(&place) || pair.0 == pair.1, "{place}");
            }
        }
        let seen = samples.iter().map(|s| (s.thread.0, s.state, s.carried));
        let seen = seen.collect();
        lanes.give_back(samples);
        seen
    }

    /// What changes in a tick in which these are set.
    fn changes(lanes: &mut Lanes, set: &[Sample]) -> Option<Vec<usize>> {
        lanes.begin(true);
        for &sample in set {
            lanes.set(sample);
        }
        let Lent { samples, changed } = lanes.lend();
        lanes.give_back(samples);
        changed
    }

    #[test]
    fn only_what_changes_is_told_as_such() {
        let mut lanes = Lanes::default();
        let sleeping = |thread| sample(thread, RunState::Sleeping);
        let all = [sleeping(0), sleeping(1), sleeping(2)];
        assert_eq!(changes(&mut lanes, &all), None);
        // From now on they are carried.
        assert_eq!(changes(&mut lanes, &[]), Some(vec![0, 1, 2]));
        assert_eq!(changes(&mut lanes, &[]), Some(vec![]));
        assert_eq!(changes(&mut lanes, &[all[2], all[0]]), Some(vec![0, 2]));
        assert_eq!(changes(&mut lanes, &[all[1]]), Some(vec![0, 1, 2]));
        assert_eq!(changes(&mut lanes, &[]), Some(vec![1]));
        lanes.amend(ThreadId(2), RunState::Disk, None);
        assert_eq!(changes(&mut lanes, &[]), Some(vec![2]));
        lanes.renumber(ThreadId(0), None);
        assert_eq!(changes(&mut lanes, &[]), Some(vec![0]));
        lanes.remove(ThreadId(1));
        assert_eq!(changes(&mut lanes, &[]), None);
        assert_eq!(changes(&mut lanes, &[]), Some(vec![]));
        assert_eq!(changes(&mut lanes, &[sleeping(3)]), None);
        lanes.begin(false);
        assert_eq!(lanes.lend().changed, None);
    }

    #[test]
    fn who_is_not_set_is_carried() {
        use RunState::{Runnable, Running, Sleeping};
        let mut lanes = Lanes::default();
        let both = [sample(1, Running), sample(0, Sleeping)];
        assert_eq!(
            after(&mut lanes, true, &both),
            [(0, Sleeping, false), (1, Running, false)]
        );
        assert_eq!(
            after(&mut lanes, true, &[]),
            [(0, Sleeping, true), (1, Runnable, true)]
        );
        let again = [sample(1, Running), sample(2, Running)];
        assert_eq!(
            after(&mut lanes, true, &again),
            [
                (0, Sleeping, true),
                (1, Running, false),
                (2, Running, false)
            ]
        );
        lanes.remove(ThreadId(1));
        assert_eq!(
            after(&mut lanes, true, &[]),
            [(0, Sleeping, true), (2, Runnable, true)]
        );
        lanes.begin(true);
        assert!(
            lanes
                .lend()
                .samples
                .iter()
                .all(|sample| sample.cpu == Some(Nanos(0)))
        );
    }

    #[test]
    fn an_engine_that_tells_all_leaves_nobody_behind() {
        let mut lanes = Lanes::default();
        let both = [sample(0, RunState::Sleeping), sample(1, RunState::Sleeping)];
        after(&mut lanes, false, &both);
        assert_eq!(
            after(&mut lanes, false, &both[1..]),
            [(1, RunState::Sleeping, false)]
        );
    }

    #[test]
    fn what_is_found_out_later_holds_until_it_runs() {
        let mut lanes = Lanes::default();
        after(&mut lanes, true, &[sample(0, RunState::Sleeping)]);
        lanes.begin(true);
        lanes.amend(ThreadId(0), RunState::Stopped, None);
        lanes.amend(ThreadId(9), RunState::Stopped, None);
        assert_eq!(after(&mut lanes, true, &[]), [(0, RunState::Stopped, true)]);
    }
}
