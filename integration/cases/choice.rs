//! Whom to record, and from when on.

use std::collections::BTreeSet;

use crate::engine::{Engine, each};
use crate::machine::{Scratch, shared};
use crate::recording::Recording;
use crate::sprof;

/// A shell that waits for a child of another name.
const SHELL: [&str; 3] = ["sh", "-c", "sleep 0.6; true"];

/// What a recording of that shell with these options holds.
fn recorded(engine: &Engine, options: &[&str]) -> Recording {
    let scratch = Scratch::new();
    let file = scratch.file("choice.sprof");
    let mut record = engine.record(250, &file);
    record.args(options).arg("--").args(SHELL);
    sprof::run(&mut record).assert_code(0);
    Recording::of(&file)
}

/// Names of the threads that have samples.
fn sampled(recording: &Recording) -> BTreeSet<&str> {
    let has_samples = |tid: u32| recording.samples.iter().any(|sample| sample.tid == tid);
    let threads = recording.threads.iter();
    let seen = threads.filter(|thread| has_samples(thread.tid));
    seen.map(|thread| thread.name.as_str()).collect()
}

#[test]
fn only_processes_of_the_name_asked_for_are_sampled() {
    let _cpus = shared();
    each(|engine| {
        let recording = recorded(engine, &["--processes", "^sleep$"]);
        assert_eq!(sampled(&recording), BTreeSet::from(["sleep"]));
        // The tree is known all the same.
        assert!(recording.processes.len() >= 2);
        let recording = recorded(engine, &["--threads", "^no such name$"]);
        assert_eq!(sampled(&recording), BTreeSet::new());
        assert!(recording.ticks.len() > 50);
    });
}

#[test]
fn children_are_left_alone_where_nobody_is_to_be_followed() {
    let _cpus = shared();
    each(|engine| {
        let recording = recorded(engine, &["--follow", "none"]);
        assert_eq!(sampled(&recording), BTreeSet::from(["sh"]));
        assert_eq!(recording.processes.len(), 1);
    });
}

#[test]
fn no_tick_is_taken_before_the_delay_is_over() {
    let _cpus = shared();
    each(|engine| {
        let recording = recorded(engine, &["--delay", "300ms"]);
        let start = recording.processes.iter().map(|p| p.start_ns).min();
        let first = recording.ticks.first().map(|tick| tick.time_ns);
        let (start, first) = (start.unwrap(), first.unwrap());
        assert!(first >= start + 295_000_000, "{} ns", first - start);
        // Who was born meanwhile is known.
        assert!(sampled(&recording).contains("sleep"));
    });
}
