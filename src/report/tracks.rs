//! Who ran: processes in their tree, each with its threads.

use std::cmp::Reverse;

use nix::sys::signal::Signal;

use crate::profile::{ExitStatus, Process, ProcessId, Profile, RunState, Thread, Timestamp};

use super::Length;
use super::columns::{Align, Columns, clean, counted, headline, percent, shortened};
use super::gather::{Gathered, Sums};

/// Processes, and threads of each, in a short list.
const SHORT_PROCESSES: usize = 24;
const SHORT_THREADS: usize = 6;
/// Columns of the tree. Deeper levels are not indented further.
const TREE_WIDTH: usize = 30;
const DEEPEST: usize = 6;

/// Appends the tree.
pub(super) fn write(out: &mut String, profile: &Profile, gathered: &Gathered<'_>, length: Length) {
    if profile.processes.is_empty() {
        return;
    }
    let sums = Tree::new(profile, gathered);
    let shown = sums.shown(length);
    headline(out, "Processes and threads");
    let mut align = vec![Align::Left];
    align.extend([Align::Right; 5]);
    align.push(Align::Left);
    let mut columns = Columns::new(&align);
    columns.line(["", "samples", "CPU", "run%", "ready%", "wait%", "life (s)"]);
    for (id, depth) in sums.order() {
        if shown[id.index()] {
            sums.process(&mut columns, id, depth.min(DEEPEST), length);
        }
    }
    let hidden: Vec<usize> = (0..shown.len()).filter(|&index| !shown[index]).collect();
    if !hidden.is_empty() {
        let mut rest = Sums::default();
        for &index in &hidden {
            rest.add(&sums.processes[index]);
        }
        let count = counted(hidden.len() as u64, "more process");
        columns.line(cells(&format!("… {count} (--all)"), &rest, String::new()));
    }
    columns.write(out);
}

struct Tree<'a> {
    profile: &'a Profile,
    gathered: &'a Gathered<'a>,
    /// By process id.
    processes: Vec<Sums>,
    children: Vec<Vec<ProcessId>>,
    threads: Vec<Vec<&'a Thread>>,
}

impl<'a> Tree<'a> {
    fn new(profile: &'a Profile, gathered: &'a Gathered<'a>) -> Tree<'a> {
        let count = profile.processes.len();
        let mut tree = Tree {
            profile,
            gathered,
            processes: vec![Sums::default(); count],
            children: vec![Vec::new(); count],
            threads: vec![Vec::new(); count],
        };
        for thread in &profile.threads {
            if let Some(threads) = tree.threads.get_mut(thread.process.index()) {
                threads.push(thread);
                tree.processes[thread.process.index()].add(&gathered.threads[thread.id.index()]);
            }
        }
        for process in &profile.processes {
            let parent = process.parent.filter(|parent| *parent != process.id);
            if let Some(children) = parent.and_then(|p| tree.children.get_mut(p.index())) {
                children.push(process.id);
            }
        }
        tree
    }

    /// Every process once with its depth, parents before their children. Roots are those whose
    /// parent is not recorded, and, so that a damaged file hides nothing, one of any circle.
    fn order(&self) -> Vec<(ProcessId, usize)> {
        let count = self.processes.len();
        let is_root = |process: &&Process| {
            process
                .parent
                .is_none_or(|parent| parent == process.id || parent.index() >= count)
        };
        let all = || self.profile.processes.iter();
        let mut seen = vec![false; count];
        let mut order = Vec::with_capacity(count);
        for start in all().filter(is_root).chain(all()) {
            let mut open = vec![(start.id, 0)];
            while let Some((id, depth)) = open.pop() {
                if std::mem::replace(&mut seen[id.index()], true) {
                    continue;
                }
                order.push((id, depth));
                let children = self.children[id.index()].iter().rev();
                open.extend(children.map(|child| (*child, depth + 1)));
            }
        }
        order
    }

    /// Which processes are shown: the busiest, and those above them.
    fn shown(&self, length: Length) -> Vec<bool> {
        let count = self.processes.len();
        let mut busiest: Vec<usize> = (0..count).collect();
        busiest.sort_by_key(|&index| {
            let sums = &self.processes[index];
            (Reverse(sums.cpu), Reverse(sums.samples), index)
        });
        let mut shown = vec![false; count];
        for &index in &busiest[..length.limit(SHORT_PROCESSES, count)] {
            let mut next = Some(index);
            while let Some(index) = next.filter(|&index| index < count && !shown[index]) {
                shown[index] = true;
                next = self.profile.processes[index].parent.map(ProcessId::index);
            }
        }
        shown
    }

    fn process(&self, columns: &mut Columns, id: ProcessId, depth: usize, length: Length) {
        let process = &self.profile.processes[id.index()];
        let indent = "  ".repeat(depth);
        let name = format!("{indent}{} [{}]", process.name(), process.numbers());
        let life = self.life(process.start, process.end, process.exit_status);
        columns.line(cells(&name, &self.processes[id.index()], life));
        let sums = |thread: &&Thread| &self.gathered.threads[thread.id.index()];
        let mut threads = self.threads[id.index()].clone();
        if let [only] = threads[..]
            && only.is_main(process)
            && (only.name().is_empty() || process.name().starts_with(only.name()))
        {
            return;
        }
        threads.sort_by_key(|thread| {
            let sums = sums(thread);
            (Reverse(sums.cpu), Reverse(sums.samples), thread.id)
        });
        let (shown, hidden) = threads.split_at(length.limit(SHORT_THREADS, threads.len()));
        for thread in shown {
            let main = if thread.is_main(process) {
                ", main"
            } else {
                ""
            };
            let name = format!("{indent}  · {} [{}{main}]", thread.name(), thread.tid);
            let life = self.life(thread.start, thread.end, None);
            columns.line(cells(&name, sums(thread), life));
        }
        if !hidden.is_empty() {
            let mut rest = Sums::default();
            for thread in hidden {
                rest.add(sums(thread));
            }
            let count = counted(hidden.len() as u64, "more thread");
            columns.line(cells(
                &format!("{indent}  · … {count} (--all)"),
                &rest,
                String::new(),
            ));
        }
    }

    /// From when to when, in seconds after the beginning of the recording, and how it ended.
    fn life(&self, start: Timestamp, end: Option<Timestamp>, status: Option<ExitStatus>) -> String {
        let origin = self.profile.session.clocks.monotonic;
        let seconds = |time: Timestamp| format!("{:.2}", time.since(origin).seconds());
        let from = if start <= origin {
            "before".to_owned()
        } else {
            seconds(start)
        };
        let end = end.map_or("…".to_owned(), |end| format!("- {}", seconds(end)));
        let status = match status {
            None => String::new(),
            Some(ExitStatus::Code(code)) => format!(" exit {code}"),
            Some(ExitStatus::Signal(number)) => match Signal::try_from(number) {
                Ok(signal) => format!(" {}", signal.as_str()),
                Err(_) => format!(" signal {number}"),
            },
        };
        format!("{from} {end}{status}")
    }
}

fn cells(name: &str, sums: &Sums, life: String) -> [String; 7] {
    let state = |states: &[RunState]| {
        let of = RunState::ALL.iter().zip(sums.states);
        let count = of
            .filter(|(state, _)| states.contains(state))
            .map(|(_, count)| count)
            .sum();
        percent(count, sums.samples)
            .trim_end_matches(" %")
            .to_owned()
    };
    [
        shortened(&clean(name), TREE_WIDTH),
        sums.samples.to_string(),
        sums.cpu.to_string(),
        state(&[RunState::Running]),
        state(&[RunState::Runnable]),
        state(&[RunState::Sleeping, RunState::Disk, RunState::Stopped]),
        life,
    ]
}
