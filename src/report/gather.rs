//! One pass over the ticks.

use std::collections::BTreeMap;

use crate::profile::{
    Loss, LossKind, Nanos, Recording, RecordingError, RunState, Sample, Spread, StackEnd, Tick,
    Timestamp,
};

use super::functions::Functions;
use super::waits::Waits;

/// What the ticks of a recording add up to.
#[derive(Debug)]
pub(super) struct Gathered<'a> {
    /// Number of ticks.
    pub(super) ticks: u64,
    /// Number of samples.
    pub(super) samples: u64,
    /// From the first tick to the last.
    pub(super) span: Nanos,
    /// What there is of that without the pauses that were asked for.
    pub(super) watched: Nanos,
    /// How long threads were held, a tick.
    pub(super) stop: Option<Spread>,
    /// Upper bound of the time between the stops of two threads, a tick.
    pub(super) skew: Option<Spread>,
    /// How late ticks were taken.
    pub(super) delay: Option<Spread>,
    /// Threads made to stop.
    pub(super) stops: u64,
    /// Stops that hit a call which answers with `EINTR`.
    pub(super) perturbed: u64,
    /// By thread id.
    pub(super) threads: Vec<Sums>,
    /// What threads waited in.
    pub(super) waits: Waits,
    /// Where the time went.
    pub(super) functions: Functions<'a>,
    /// Stacks that are not whole, by reason.
    pub(super) ends: BTreeMap<&'static str, Ends>,
    /// Samples whose CPU time is not known.
    pub(super) cpu_unknown: u64,
}

/// What the samples of a thread, a process or a tree add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) samples: u64,
    pub(super) cpu: Nanos,
    /// Samples by state, in the order of [`RunState::ALL`].
    pub(super) states: [u64; RunState::ALL.len()],
}

/// Stacks that end for the same reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) samples: u64,
    /// Bytes of stack that were not copied.
    pub(super) bytes: u64,
}

impl Gathered<'_> {
    /// The real mean time between two ticks; `None` with fewer than two.
    pub(super) fn interval(&self) -> Option<Nanos> {
        let gaps = self.ticks.checked_sub(1).filter(|gaps| *gaps > 0)?;
        Some(Nanos(self.watched.0 / gaps))
    }

    /// The wall time that samples stand for: each one a mean interval as it really was, not as it
    /// was wanted. `None` with fewer than two ticks.
    pub(super) fn wall(&self, samples: u64) -> Option<Nanos> {
        let gaps = self.ticks.checked_sub(1).filter(|gaps| *gaps > 0)?;
        let wall = u128::from(samples) * u128::from(self.watched.0) / u128::from(gaps);
        Some(Nanos(u64::try_from(wall).unwrap_or(u64::MAX)))
    }
}

impl Sums {
    fn count(&mut self, sample: &Sample) {
        self.samples += 1;
        self.cpu += sample.cpu.unwrap_or_default();
        let state = RunState::ALL.iter().position(|s| *s == sample.state);
        if let Some(count) = state.and_then(|index| self.states.get_mut(index)) {
            *count += 1;
        }
    }

    pub(super) fn add(&mut self, other: &Sums) {
        self.samples += other.samples;
        self.cpu += other.cpu;
        for (sum, more) in self.states.iter_mut().zip(other.states) {
            *sum += more;
        }
    }
}

/// Goes through all ticks once. Keeps three lengths of time a tick and no tick.
pub(super) fn gather(recording: &dyn Recording) -> Result<Gathered<'_>, RecordingError> {
    let profile = recording.profile();
    let mut gathered = Gathered {
        ticks: 0,
        samples: 0,
        span: Nanos(0),
        watched: Nanos(0),
        stop: None,
        skew: None,
        delay: None,
        stops: 0,
        perturbed: 0,
        threads: vec![Sums::default(); profile.threads.len()],
        waits: Waits::default(),
        functions: Functions::new(profile),
        ends: BTreeMap::new(),
        cpu_unknown: 0,
    };
    let mut times = Times::default();
    recording.each_tick(&mut |tick, table| {
        gathered.ticks += 1;
        gathered.samples += tick.samples.len() as u64;
        gathered.stops += u64::from(tick.stops);
        gathered.perturbed += u64::from(tick.perturbed);
        times.count(tick);
        for sample in &tick.samples {
            if let Some(thread) = gathered.threads.get_mut(sample.thread.index()) {
                thread.count(sample);
            }
            gathered.cpu_unknown += u64::from(sample.cpu.is_none());
            gathered.waits.count(sample);
            gathered.functions.count(sample, table);
            if let Some(reason) = sample.end.reason() {
                let ends = gathered.ends.entry(reason).or_default();
                ends.samples += 1;
                if let StackEnd::NotCopied(bytes) = sample.end {
                    ends.bytes = ends.bytes.saturating_add(bytes);
                }
            }
        }
        Ok(())
    })?;
    gathered.span = times.span();
    gathered.watched = Nanos(
        gathered
            .span
            .0
            .saturating_sub(times.paused(&profile.losses)),
    );
    gathered.stop = Spread::of(&mut times.stop);
    gathered.skew = Spread::of(&mut times.skew);
    gathered.delay = Spread::of(&mut times.delay);
    Ok(gathered)
}

#[derive(Debug, Default)]
struct Times {
    ends: Option<(Timestamp, Timestamp)>,
    stop: Vec<Nanos>,
    skew: Vec<Nanos>,
    delay: Vec<Nanos>,
}

impl Times {
    fn count(&mut self, tick: &Tick) {
        let (first, _) = self.ends.unwrap_or((tick.time, tick.time));
        self.ends = Some((first, tick.time));
        self.stop.push(tick.stop);
        self.skew.push(tick.skew);
        self.delay.push(tick.time.since(tick.planned));
    }

    /// Nanoseconds of pauses between the first tick and the last.
    fn paused(&self, losses: &[Loss]) -> u64 {
        let Some((first, last)) = self.ends else {
            return 0;
        };
        let pauses = losses.iter().filter(|loss| loss.kind == LossKind::Paused);
        let inside = pauses.map(|loss| {
            let end = (loss.time + Nanos(loss.count)).min(last);
            end.since(loss.time.max(first)).0
        });
        inside.fold(0, u64::saturating_add)
    }

    fn span(&self) -> Nanos {
        self.ends
            .map_or(Nanos(0), |(first, last)| last.since(first))
    }
}
