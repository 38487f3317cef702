//! The last sample of each thread, kept so that one that has not run is told again for nothing.

use crate::profile::{Nanos, RunState, Sample, StackId, SyscallNumber, ThreadId};

/// Samples in the order of their threads' ids.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    samples: Vec<Sample>,
    /// Those that were set in this tick.
    fresh: Vec<ThreadId>,
}

impl Lanes {
    /// Begins a tick. `carries`: threads that will not be set have not run since the last one;
    /// else there are none but those that will be.
    pub(super) fn begin(&mut self, carries: bool) {
        if !carries {
            self.samples.clear();
            self.fresh.clear();
            return;
        }
        for thread in std::mem::take(&mut self.fresh) {
            if let Some(sample) = self.get(thread) {
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
        match self.find(sample.thread) {
            Ok(place) => self.samples[place] = sample,
            // A new thread has the highest id.
            Err(place) => self.samples.insert(place, sample),
        }
    }

    /// A thread has ended.
    pub(super) fn remove(&mut self, thread: ThreadId) {
        if let Ok(place) = self.find(thread) {
            self.samples.remove(place);
        }
    }

    /// Something more was found out of a thread that has not run.
    pub(super) fn amend(
        &mut self,
        thread: ThreadId,
        state: RunState,
        syscall: Option<SyscallNumber>,
    ) {
        if let Some(sample) = self.get(thread) {
            (sample.state, sample.syscall) = (state, syscall);
        }
    }

    /// Its stack has another id now.
    pub(super) fn renumber(&mut self, thread: ThreadId, stack: Option<StackId>) {
        if let Some(sample) = self.get(thread) {
            sample.stack = stack;
        }
    }

    /// Lends the samples of this tick; [`give_back`](Self::give_back) them.
    pub(super) fn take(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    pub(super) fn give_back(&mut self, samples: Vec<Sample>) {
        self.samples = samples;
    }

    fn find(&self, thread: ThreadId) -> Result<usize, usize> {
        self.samples
            .binary_search_by_key(&thread, |sample| sample.thread)
    }

    fn get(&mut self, thread: ThreadId) -> Option<&mut Sample> {
        let place = self.find(thread).ok()?;
        self.samples.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::Lanes;
    use crate::profile::{Nanos, RunState, Sample, ThreadId};

    fn sample(thread: u32, state: RunState) -> Sample {
        Sample {
            state,
            cpu: Some(Nanos(7)),
            ..Sample::of(ThreadId(thread))
        }
    }

    /// The lanes after a tick in which these were set.
    fn after(lanes: &mut Lanes, carries: bool, set: &[Sample]) -> Vec<(u32, RunState, bool)> {
        lanes.begin(carries);
        for &sample in set {
            lanes.set(sample);
        }
        let samples = lanes.take();
        let seen = samples.iter().map(|s| (s.thread.0, s.state, s.carried));
        let seen = seen.collect();
        lanes.give_back(samples);
        seen
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
                .take()
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
