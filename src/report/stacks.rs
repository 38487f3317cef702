//! Every thread's stack at one instant.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use crate::profile::{
    FrameKind, NamedFrame, Nanos, Process, Profile, RunState, Sample, StackId, StackTable, Thread,
    Tick,
};

use super::columns::{clean, counted};

/// Every thread's stack at one tick: process by process, running threads first, threads with
/// equal state and stack together, leaf first.
pub fn stacks(profile: &Profile, tick: &Tick, table: &StackTable) -> String {
    let mut out = String::new();
    let mut by_process: BTreeMap<_, Vec<(&Thread, &Sample)>> = BTreeMap::new();
    for sample in &tick.samples {
        if let Some(thread) = profile.thread(sample.thread) {
            by_process
                .entry(thread.process)
                .or_default()
                .push((thread, sample));
        }
    }
    for (id, threads) in by_process {
        let Some(process) = profile.process(id) else {
            continue;
        };
        header(&mut out, process, threads.len());
        for group in groups(&threads, table) {
            write_group(&mut out, profile, process, &group, (tick, table));
        }
    }
    let count = counted(tick.samples.len() as u64, "thread");
    if tick.skew == Nanos(0) {
        let _ = writeln!(out, "{count} at one instant");
    } else {
        let _ = writeln!(out, "{count} stopped within {}", tick.skew);
    }
    out
}

fn header(out: &mut String, process: &Process, threads: usize) {
    let argv = process
        .image()
        .map_or(String::new(), |image| image.argv.join(" "));
    let argv = argv.trim_end();
    let command = if argv.is_empty() {
        process.name()
    } else {
        argv.to_owned()
    };
    let count = counted(threads as u64, "thread");
    let _ = writeln!(
        out,
        "Process {} ({count}): {}",
        process.numbers(),
        clean(&command)
    );
}

type Group<'a> = Vec<(&'a Thread, &'a Sample)>;

/// Threads that are told in one, in the order they are shown: by state, then by thread.
fn groups<'a>(threads: &[(&'a Thread, &'a Sample)], table: &StackTable) -> Vec<Group<'a>> {
    let mut groups: BTreeMap<(usize, usize), Group<'a>> = BTreeMap::new();
    let mut numbers = HashMap::new();
    for &(thread, sample) in threads {
        let next = numbers.len();
        let key = (sample.state, known_stack(sample, table), sample.end);
        let number = *numbers.entry(key).or_insert(next);
        let state = RunState::ALL
            .iter()
            .position(|state| *state == sample.state);
        let place = (state.unwrap_or(RunState::ALL.len()), number);
        groups.entry(place).or_default().push((thread, sample));
    }
    groups.into_values().collect()
}

/// The sample's stack, where it is one of the table.
fn known_stack(sample: &Sample, table: &StackTable) -> Option<StackId> {
    sample.stack.filter(|stack| stack.index() < table.len())
}

fn write_group(
    out: &mut String,
    profile: &Profile,
    process: &Process,
    group: &Group<'_>,
    (tick, table): (&Tick, &StackTable),
) {
    let Some((_, first)) = group.first() else {
        return;
    };
    for (thread, sample) in group {
        let main = if thread.is_main(process) {
            " (main)"
        } else {
            ""
        };
        let name = clean(thread.name());
        let doing = sample.doing();
        let _ = write!(out, "  Thread {}{main} \"{name}\" {doing}", thread.tid);
        if let Some(length) = sample.asleep_for(tick.time) {
            let _ = write!(out, " for {length}");
        }
        out.push('\n');
    }
    for frame in table.frames(known_stack(first, table)) {
        for named in profile.named(frame) {
            let _ = writeln!(out, "      {}", line(&named));
        }
    }
    if let Some(reason) = first.end.reason() {
        let what = if first.stack.is_some() {
            "the stack is cut"
        } else {
            "no stack"
        };
        let _ = writeln!(out, "      <{what}: {reason}>");
    }
    out.push('\n');
}

/// One frame: function, place in the source, module.
fn line(frame: &NamedFrame<'_>) -> String {
    let mut text = frame.name.clone().into_owned();
    if frame.kind == FrameKind::Inlined {
        text.push_str(" (inlined)");
    }
    let _ = match (frame.file, frame.line) {
        (Some(file), Some(line)) => write!(text, " at {file}:{line}"),
        (Some(file), None) => write!(text, " at {file}"),
        (None, _) => Ok(()),
    };
    // Where there is no name, the module is part of what stands for it.
    if let (Some(module), None) = (frame.module, frame.missing) {
        let name = module.rsplit('/').next().unwrap_or(module);
        let _ = write!(text, " ({name})");
    }
    clean(&text)
}
