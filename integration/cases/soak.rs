//! Hours of processes and threads that come and go: nothing grows, nothing is lost in silence.
//!
//! `scripts/soak MINUTES` asks for a long one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::machine::{self, Scratch, full};
use crate::{program, sprof};

const RATE: u32 = 250;
const CHILDREN_A_SECOND: u32 = 40;
/// Every so often the memory is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// The first part, in which caches fill: of the whole.
const WARM: f64 = 0.2;
/// What may come on top by chance: that of one more thread's buffers.
const GROWTH_MAX_KB: u64 = 4096;

fn seconds() -> f64 {
    match std::env::var("SPROF_SOAK_SECONDS") {
        Ok(seconds) => seconds.parse().expect("SPROF_SOAK_SECONDS is a number"),
        Err(_) if full() => 60.0,
        Err(_) => 6.0,
    }
}

#[test]
fn a_soak_with_barriers_grows_nothing_and_loses_nothing_in_silence() {
    soak("barrier");
}

#[test]
fn a_soak_with_stops_grows_nothing_and_loses_nothing_in_silence() {
    soak("stop");
}

#[track_caller]
fn soak(engine: &str) {
    let _cpus = machine::alone();
    let scratch = Scratch::new();
    let file = scratch.file("soak.sprof");
    let mut record = sprof::record(RATE, &file);
    record.args(["--engine", engine, "--"]);
    record.arg(program::usual("soak"));
    record.args([seconds().to_string(), CHILDREN_A_SECOND.to_string()]);
    let mut child = record
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let looks = watch(&mut child);
    let outcome = sprof::finish(child);
    outcome.assert_code(0);
    let (children, threads) = counts(&outcome.text());
    assert_flat(&looks, children + threads);
    let lived = lives(&file);
    assert!(
        lived.losses_without_reason.is_empty(),
        "no reason in {:?}",
        lived.losses_without_reason
    );
    // A short life may fall between two looks, but what is in the file is no more than there was.
    assert!(
        lived.processes <= children + 1,
        "{} processes of {}",
        lived.processes,
        children + 1
    );
    assert!(lived.ticks > 0, "no tick");
    eprintln!(
        "{engine}: {children} children with {threads} threads; {} processes, {} ticks, {} losses, \
         at most {} kB",
        lived.processes,
        lived.ticks,
        lived.losses,
        looks.iter().map(|look| look.1).max().unwrap_or(0)
    );
}

/// Children and threads that the program made, all of which were right.
#[track_caller]
fn counts(said: &str) -> (u64, u64) {
    let numbers: Vec<u64> = said
        .trim()
        .strip_prefix("soak ")
        .unwrap_or_else(|| panic!("not a line of soak: {said}"))
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let [children, threads, wrong] = numbers[..] else {
        panic!("three numbers, not {said}")
    };
    assert_eq!(wrong, 0, "wrong results in the program");
    (children, threads)
}

/// Resident memory in kB and when, until the process ends.
fn watch(child: &mut Child) -> Vec<(Duration, u64)> {
    let begin = Instant::now();
    let mut looks = Vec::new();
    while child.try_wait().unwrap().is_none() {
        let resident = machine::status_field(child.id(), "VmRSS");
        let kb = resident.and_then(|text| text.split(' ').next()?.parse().ok());
        looks.extend(kb.map(|kb| (begin.elapsed(), kb)));
        thread::park_timeout(LOOK);
    }
    looks
}

/// The most of the second half is no more than that of the first. Names are looked up behind
/// the end of the program, which is not part of it.
#[track_caller]
fn assert_flat(looks: &[(Duration, u64)], lives: u64) {
    let length = Duration::from_secs_f64(seconds());
    let most = |from: Duration, to: Duration| {
        let part = looks.iter().filter(|look| (from..to).contains(&look.0));
        part.map(|look| look.1).max().unwrap_or(0)
    };
    let first = most(length.mul_f64(WARM), length / 2);
    let second = most(length / 2, length);
    assert!(first > 0 && second > 0, "too few looks: {}", looks.len());
    assert!(
        second <= first + GROWTH_MAX_KB,
        "from {first} kB to {second} kB in half of {lives} lives"
    );
}

/// What a long recording holds, read without keeping its samples.
#[derive(Debug, Default)]
struct Lives {
    processes: u64,
    ticks: u64,
    losses: u64,
    losses_without_reason: Vec<Value>,
}

#[track_caller]
fn lives(file: &Path) -> Lives {
    let mut convert = sprof::command();
    convert.arg("convert").arg(file);
    convert.args(["--to", "jsonl", "-o", "-"]);
    let mut child = convert
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lives = Lives::default();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with("{\"type\":\"process\"") {
            lives.processes += 1;
        } else if line.starts_with("{\"type\":\"tick\"") {
            lives.ticks += 1;
        } else if line.starts_with("{\"type\":\"loss\"") {
            let loss: Value = serde_json::from_str(&line).unwrap();
            lives.losses += 1;
            // Of a tick the kind is the reason: skipped, for it was late, or dropped, for lack of room.
            let says = |key: &str| loss[key].as_str().unwrap_or_default();
            let is_told = says("what").starts_with("tick-") || !says("reason").is_empty();
            if !is_told {
                lives.losses_without_reason.push(loss);
            }
        }
    }
    sprof::finish(child).assert_code(0);
    lives
}
