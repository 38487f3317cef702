//! A thread that says "from here to there I was inside these functions".

use crate::recording::{Recording, Sample};

/// One thread and a span of time in which what it does is known.
#[derive(Clone, Copy, Debug)]
pub struct Inside {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// From here
    pub begin: u64,
    /// to here.
    pub end: u64,
}

/// What came of judging the samples of that span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Samples in the span.
    pub judged: usize,
    /// Those that show what the thread was doing.
    pub right: usize,
    /// Those that claim to be whole and do not.
    pub lies: usize,
    /// Those whose stack is cut.
    pub cut: usize,
}

impl Inside {
    /// Reads the end of a line: `<tid> <begin ns> <end ns>`.
    pub fn parse(pid: u32, words: &str) -> Inside {
        let numbers: Vec<u64> = words
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        let &[tid, begin, end] = numbers.as_slice() else {
            panic!("not a thread and its span: {words:?}");
        };
        Inside {
            pid,
            tid: tid as u32,
            begin,
            end,
        }
    }

    /// Asks `shows` about every sample of the span. Samples that are nearer to its ends than
    /// their tick's skew belong to no side.
    pub fn judge(self, recording: &Recording, shows: impl Fn(&Sample) -> bool) -> Verdict {
        let mut verdict = Verdict::default();
        let skews = recording.ticks.iter().map(|tick| tick.skew_ns);
        let skew = skews.max().unwrap_or(0);
        for sample in recording.samples_of(self.pid, self.tid) {
            // How many may be so is bounded by `judge_spans`.
            if sample.is_without_stack() {
                continue;
            }
            let time = sample.time_ns;
            if time < self.begin.saturating_add(skew) || time.saturating_add(skew) > self.end {
                continue;
            }
            let right = shows(sample);
            verdict.judged += 1;
            verdict.right += usize::from(right);
            verdict.cut += usize::from(sample.cut.is_some());
            verdict.lies += usize::from(!right && sample.cut.is_none());
        }
        verdict
    }
}
