//! Recordings that are paused and resumed by a signal.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::interrupt::recorded;
use crate::checks::{History, judge_spans, wrong_max};
use crate::engine::each;
use crate::machine::{self, SOON, Scratch, shared, until};
use crate::program::{self, Flavour};
use crate::recording::Recording;

/// Long against an interval.
const PAUSE_NS: u64 = 300_000_000;
/// Of the rate that the recording has.
const INTERVAL_NS: u64 = 4_000_000;
/// Share of stacks that may differ from the history.
const WRONG: f64 = 0.001;

/// Times between which each pause lay.
fn pauses(recording: &Recording) -> Vec<(u64, u64)> {
    let losses = recording.losses.iter();
    let pauses = losses.filter(|loss| loss["what"] == "paused");
    let number = |loss: &serde_json::Value, field: &str| loss[field].as_u64().unwrap();
    pauses
        .map(|loss| {
            let from = number(loss, "time_ns");
            (from, from + number(loss, "count"))
        })
        .collect()
}

#[test]
fn no_tick_is_taken_in_a_pause_and_all_stacks_are_right_after_it() {
    let _cpus = shared();
    each(|engine| {
        let scratch = Scratch::new();
        let (file, logs) = (scratch.file("pauses.sprof"), scratch.file("logs"));
        fs::create_dir(&logs).unwrap();
        let mut record = engine.record(250, &file);
        let program = program::build("spans", Flavour::cc("O2", &["-O2", "-g"]));
        record.arg("--").arg(program).arg(&logs);
        let mut record = record.args(["1", "4", "3"]).spawn().unwrap();
        let signal = || kill(Pid::from_raw(record.id() as i32), Signal::SIGUSR2).unwrap();
        recorded(&file);
        let begun = machine::now_ns();
        signal();
        let is_long = || (machine::now_ns() > begun + PAUSE_NS).then_some(());
        until("the pause to be long", SOON, is_long);
        let over = machine::now_ns();
        signal();
        assert!(record.wait().unwrap().success());

        let recording = Recording::of(&file);
        let [(from, until)] = pauses(&recording)[..] else {
            panic!("{:?}", recording.losses);
        };
        assert!(
            begun <= from && over <= until,
            "{begun} {from} {over} {until}"
        );
        let times = recording.ticks.iter().map(|tick| tick.time_ns);
        assert!(times.clone().any(|time| time < from), "nothing before it");
        assert!(times.clone().any(|time| time > until), "nothing after it");
        assert!(!times.clone().any(|time| from <= time && time <= until));
        // Each number is that of a tick, of one that was missed, or of one that fell into the pause.
        let last = recording.ticks.last().unwrap().number;
        let missed = recording.losses.iter();
        let missed = missed.filter(|loss| loss["what"].as_str().unwrap().starts_with("tick-"));
        let missed = missed.filter(|loss| loss["tick"].as_u64().unwrap() <= last);
        let missed: u64 = missed.map(|loss| loss["count"].as_u64().unwrap()).sum();
        let numbers = last + 1;
        let paused = numbers - missed - recording.ticks.len() as u64;
        let expected = (until - from) / INTERVAL_NS;
        assert!(paused.abs_diff(expected) <= 2, "{paused} of {expected}");

        let verdict = judge_spans(&recording, &History::read(&logs));
        let wrong = verdict.judged - verdict.matched;
        assert!(verdict.judged > 100, "{verdict:?}");
        assert!(wrong <= wrong_max(verdict.judged, WRONG), "{verdict:?}");
    });
}

#[test]
fn a_recording_can_begin_paused() {
    let _cpus = shared();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("paused.sprof");
        let mut record = engine.record(250, &file);
        record.args([
            "--paused",
            "--",
            "sh",
            "-c",
            "sleep 0.3; kill -USR2 $PPID; sleep 0.3",
        ]);
        assert!(record.status().unwrap().success());
        let recording = Recording::of(&file);
        assert_eq!(recording.session["options"][0], "--paused");
        let [(from, until)] = pauses(&recording)[..] else {
            panic!("{:?}", recording.losses);
        };
        assert!(until - from >= 290_000_000, "{from} {until}");
        assert!(recording.ticks.iter().all(|tick| tick.time_ns > until));
        assert!(recording.ticks.len() > 50, "{}", recording.ticks.len());
        // Who was born and has died meanwhile is known.
        assert_eq!(recording.processes.len(), 3, "{:?}", recording.processes);
    });
}

#[test]
fn what_happens_in_a_pause_outlives_a_kill() {
    let _cpus = shared();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("killed.sprof");
        let mut record = engine.record(250, &file);
        record.args(["--paused", "--", "sh", "-c", "sleep 60 & wait"]);
        let mut record = record.spawn().unwrap();
        let written = || {
            let begun = fs::metadata(&file).is_ok_and(|about| about.len() > 0);
            let processes = begun.then(|| Recording::of(&file).processes)?;
            (processes.len() == 2).then_some(processes)
        };
        let processes = until("the child in the file", SOON, written);
        record.kill().unwrap();
        record.wait().unwrap();
        assert_eq!(Recording::of(&file).processes.len(), 2);
        for process in processes {
            let pid = process.pid;
            until("the program to run on", SOON, || {
                (machine::state(pid, pid) == Some('S')).then_some(())
            });
            kill(Pid::from_raw(pid as i32), Signal::SIGKILL).unwrap();
        }
    });
}
