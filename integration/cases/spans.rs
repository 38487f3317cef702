//! Every sample against the program's own history.

use std::fs;

use crate::checks::{History, judge_spans, wrong_max};
use crate::machine::{Others, Scratch, alone, full};
use crate::program::{self, Finish, Flavour};
use crate::recording::Recording;
use crate::sprof;

const FLAVOURS: [Flavour; 5] = [
    Flavour::cc("O0", &["-O0", "-g"]),
    Flavour::cc("O2", &["-O2", "-g"]),
    Flavour::cc("no-fp", &["-O2", "-g", "-fomit-frame-pointer"]),
    Flavour::cc("static", &["-O2", "-g", "-static"]),
    Flavour::cc("debuglink", &["-O2", "-g"]).finished(Finish::DebugLink),
];

/// Share of stacks that may differ from the history.
const WRONG: f64 = 0.001;
/// Share of a life's ticks that may lack a stack of it.
const UNSEEN: f64 = 0.02;

/// Runs in which coverage may be shown. It is promised for free CPUs: a thread that gets none
/// cannot run into its stop. So a run that falls short is made again where others were seen to take
/// the CPUs, and only there. What is wrong is wrong in every run.
const RUNS: u32 = 5;

fn assert_true(flavour: Flavour, processes: u32, threads: u32, rate: u32) {
    let what = format!("{} {processes}x{threads} at {rate} Hz", flavour.name);
    let mut short = Vec::new();
    for _ in 0..RUNS {
        match run(flavour, processes, threads, rate) {
            Ok(()) => return,
            Err((unseen, others)) if others > UNSEEN => short.push(unseen),
            Err((unseen, _)) => panic!("{what}: {unseen} thread-ticks without a stack"),
        }
    }
    panic!("{what}: the CPUs were never free; thread-ticks without a stack: {short:?}");
}

/// One run; `Err`: too many thread-ticks lack a stack, and the share of the CPUs that went to
/// programs other than this run's.
fn run(flavour: Flavour, processes: u32, threads: u32, rate: u32) -> Result<(), (String, f64)> {
    let what = format!("{} {processes}x{threads} at {rate} Hz", flavour.name);
    let scratch = Scratch::new();
    let (file, logs) = (scratch.file("spans.sprof"), scratch.file("logs"));
    fs::create_dir(&logs).unwrap();
    let mut record = sprof::record(rate, &file);
    record
        .arg("--")
        .arg(program::build("spans", flavour))
        .arg(&logs);
    record.args([&processes.to_string(), &threads.to_string(), "2"]);
    let others = Others::now();
    sprof::run(&mut record).assert_code(0);
    let others = others.share();

    let recording = Recording::of(&file);
    let verdict = judge_spans(&recording, &History::read(&logs));
    let wrong = verdict.judged - verdict.matched;
    assert!(
        wrong <= wrong_max(verdict.judged, WRONG),
        "{what}: {wrong} of {} wrong\n{}",
        verdict.judged,
        verdict.wrong.join("\n")
    );
    let unseen = verdict.expected - verdict.seen;
    if verdict.judged <= 50 || unseen as f64 > verdict.expected as f64 * UNSEEN {
        return Err((format!("{unseen} of {}", verdict.expected), others));
    }
    Ok(())
}

/// All of the grid in the long form; else these few, which have each value of each axis.
fn assert_flavour(flavour: Flavour, few: &[(u32, u32, u32)]) {
    let _cpus = alone();
    if !full() {
        for &(processes, threads, rate) in few {
            assert_true(flavour, processes, threads, rate);
        }
        return;
    }
    for processes in 1..=4 {
        for threads in [1, 2, 4, 8] {
            for rate in [100, 250, 1000] {
                assert_true(flavour, processes, threads, rate);
            }
        }
    }
}

#[test]
fn unoptimised() {
    assert_flavour(FLAVOURS[0], &[(1, 1, 1000), (2, 2, 100)]);
}

#[test]
fn optimised() {
    assert_flavour(FLAVOURS[1], &[(1, 8, 250), (4, 8, 1000), (3, 1, 100)]);
}

#[test]
fn without_frame_pointers() {
    assert_flavour(FLAVOURS[2], &[(1, 2, 1000), (4, 4, 250), (2, 8, 100)]);
}

#[test]
fn linked_statically() {
    assert_flavour(FLAVOURS[3], &[(2, 4, 1000), (1, 1, 250)]);
}

#[test]
fn stripped_with_a_debug_link() {
    assert_flavour(FLAVOURS[4], &[(3, 2, 250), (1, 4, 1000)]);
}
