//! A recording of `programs/spans.c` against that program's own history.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use crate::recording::{Recording, Sample, is};

/// Samples this near to a logged entry or exit are not judged: the log's own look at the clock
/// stands between the time in the log and the call or return it speaks of.
const EDGE_NS: u64 = 60_000;

/// What each thread did: stacks of function numbers, the root first, by the time they began.
#[derive(Debug, Default)]
pub struct History {
    threads: HashMap<(u32, u32), Life>,
}

#[derive(Debug, Default)]
struct Life {
    times: Vec<u64>,
    stacks: Vec<Vec<u32>>,
}

/// What came of holding the two together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpansVerdict {
    /// Samples judged.
    pub judged: usize,
    /// Those with the stack of the history.
    pub matched: usize,
    /// Thread lives times ticks in them.
    pub expected: usize,
    /// Those with a sample that has a stack.
    pub seen: usize,
    /// The first wrong ones, in words.
    pub wrong: Vec<String>,
}

impl History {
    /// Reads the logs in a folder.
    pub fn read(folder: &Path) -> History {
        let mut history = History::default();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut numbers = name.split('.').map_while(|part| part.parse().ok());
            let (Some(pid), Some(tid)) = (numbers.next(), numbers.next()) else {
                continue;
            };
            history.add(pid, tid, &fs::read_to_string(path).unwrap());
        }
        assert!(!history.threads.is_empty(), "no logs in the folder");
        history
    }

    /// Takes in one thread's log.
    pub fn add(&mut self, pid: u32, tid: u32, log: &str) {
        let mut life = Life::default();
        let mut stack = Vec::new();
        for line in log.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                "E" => stack.push(words[1].parse().unwrap()),
                _ => drop(stack.pop()),
            }
            life.times.push(words[2].parse().unwrap());
            life.stacks.push(stack.clone());
        }
        self.threads.insert((pid, tid), life);
    }
}

impl Life {
    /// The number of the log entry whose stack holds at a time, where that is certain.
    fn entry_at(&self, time: u64) -> Option<usize> {
        let entry = self.times.partition_point(|&t| t <= time).checked_sub(1)?;
        let next = *self.times.get(entry + 1)?;
        let near = time - self.times[entry] < EDGE_NS || next - time < EDGE_NS;
        (!near).then_some(entry)
    }

    /// Whether a sample shows the stack of this entry. A thread that was off the CPU for a while
    /// just between a call and its log line shows the stack of the neighbouring entry.
    fn agrees(&self, entry: usize, sample: &Sample) -> bool {
        let got = sample.root_first(function_number);
        if got == self.stacks[entry] {
            return true;
        }
        let before = entry.checked_sub(1).map(|before| &self.stacks[before]);
        let neighbours = [before, self.stacks.get(entry + 1)];
        at_a_boundary(sample)
            && (neighbours.contains(&Some(&got)) || (entry == 0 && got.is_empty()))
    }
}

/// Judges every sample of every thread that has a history.
pub fn judge_spans(recording: &Recording, history: &History) -> SpansVerdict {
    let mut verdict = SpansVerdict::default();
    let mut seen = HashSet::new();
    for sample in &recording.samples {
        let thread = (sample.pid, sample.tid);
        // Not wrong, but not seen.
        if sample.is_without_stack() {
            continue;
        }
        let Some(life) = history.threads.get(&thread) else {
            continue;
        };
        seen.insert((sample.tick, thread));
        let Some(entry) = life.entry_at(sample.time_ns) else {
            continue;
        };
        verdict.judged += 1;
        if life.agrees(entry, sample) {
            verdict.matched += 1;
        } else if verdict.wrong.len() < 5 {
            verdict.wrong.push(format!(
                "tick {} thread {thread:?} cut {:?}\n  really  {:?}\n  sampled {:?} of {:?}",
                sample.tick,
                sample.cut,
                life.stacks[entry],
                sample.root_first(function_number),
                sample.frames,
            ));
        }
    }
    for tick in &recording.ticks {
        for (&thread, life) in &history.threads {
            let lives = life.times.first().is_some_and(|&t| t <= tick.time_ns)
                && life.times.last().is_some_and(|&t| t >= tick.time_ns);
            verdict.expected += usize::from(lives);
            verdict.seen += usize::from(lives && seen.contains(&(tick.number, thread)));
        }
    }
    verdict
}

/// 7 for `f07`, with or without parameters.
fn function_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix('f')?.get(..2)?;
    let number = digits.parse().ok()?;
    is(name, &format!("f{digits}")).then_some(number)
}

/// Whether the innermost frame, those of the clock and the dice aside, is a logging function.
fn at_a_boundary(sample: &Sample) -> bool {
    let mut names = sample.frames.iter();
    let innermost = names.find(|name| {
        !(is(name, "now")
            || is(name, "rnd")
            || name.contains("clock_gettime")
            || name.contains("[vdso]"))
    });
    innermost.is_some_and(|name| is(name, "put") || function_number(name).is_some())
}
