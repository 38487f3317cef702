//! "Has not run": every such verdict against what the threads know of themselves.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::machine::{Scratch, alone};
use crate::recording::Recording;
use crate::{program, sprof};

/// Verdicts that are asked for; a run gives tens of thousands where the CPUs are free.
const VERDICTS: usize = 30_000;

/// Times at which each thread ran, in order.
type Wakes = HashMap<u32, Vec<u64>>;

fn read(folder: &Path) -> Wakes {
    let logs = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let tid = path.extension().unwrap().to_str().unwrap().parse().unwrap();
        let text = fs::read_to_string(path).unwrap();
        (
            tid,
            text.lines().map(|line| line.parse().unwrap()).collect(),
        )
    });
    logs.collect()
}

/// Number of verdicts, and those that are wrong, in words.
fn judge(recording: &Recording, wakes: &Wakes) -> (usize, Vec<String>) {
    let (mut judged, mut wrong) = (0, Vec::new());
    let mut last = HashMap::new();
    for sample in &recording.samples {
        let before = last.insert(sample.tid, sample.time_ns);
        let (true, Some(before), Some(times)) = (sample.carried, before, wakes.get(&sample.tid))
        else {
            continue;
        };
        judged += 1;
        let next = times.get(times.partition_point(|&time| time <= before));
        if let Some(time) = next.filter(|&&time| time <= sample.time_ns) {
            wrong.push(format!(
                "tick {} thread {}: ran at {time}, after {before}",
                sample.tick, sample.tid
            ));
        }
    }
    (judged, wrong)
}

/// Records `wakes` until there are verdicts enough. No wait may notice.
fn assert_sound(record: impl Fn(&Path, &Path) -> (Recording, String)) {
    let _cpus = alone();
    let mut judged = 0;
    while judged < VERDICTS {
        let scratch = Scratch::new();
        let (file, logs) = (scratch.file("wakes.sprof"), scratch.file("logs"));
        fs::create_dir(&logs).unwrap();
        let (recording, said) = record(&file, &logs);
        assert_eq!(said, "interrupted 0 early 0 late 0\n");
        let (more, wrong) = judge(&recording, &read(&logs));
        assert!(wrong.is_empty(), "{} of {more}: {wrong:#?}", wrong.len());
        assert!(more > 0, "no thread was left alone");
        judged += more;
    }
}

#[test]
fn threads_left_alone_have_not_run() {
    assert_sound(|file, logs| {
        let mut record = sprof::record(1000, file);
        record.args(["--engine", "stop", "--"]);
        record.arg(program::usual("wakes")).arg(logs).arg("2");
        let outcome = sprof::run(&mut record);
        (Recording::of(file), outcome.assert_code(0).text())
    });
}

#[test]
fn threads_met_alive_and_left_alone_have_not_run() {
    assert_sound(|file, logs| {
        let mut program = Command::new(program::usual("wakes"));
        program.arg(logs).arg("2").stdout(Stdio::piped());
        let program = program.spawn().unwrap();
        let mut record = sprof::record(1000, file);
        record.args(["--engine", "stop", "-p", &program.id().to_string()]);
        sprof::run(&mut record).assert_code(0);
        let outcome = sprof::finish(program);
        (Recording::of(file), outcome.assert_code(0).text())
    });
}

#[test]
fn a_verdict_that_is_wrong_is_seen() {
    use crate::recording::Sample;
    let sample = |time_ns, carried| Sample {
        tick: time_ns,
        time_ns,
        pid: 1,
        tid: 2,
        state: "sleeping".to_owned(),
        carried,
        syscall: None,
        cpu_ns: None,
        cut: None,
        frames: Vec::new(),
    };
    let recording = Recording {
        samples: vec![sample(10, false), sample(20, true), sample(30, true)],
        ..Recording::default()
    };
    let wrong = |times: &[u64]| {
        let wakes = Wakes::from([(2, times.to_vec())]);
        let (judged, wrong) = judge(&recording, &wakes);
        (judged, wrong.len())
    };
    assert_eq!(wrong(&[5, 10, 31]), (2, 0));
    assert_eq!(wrong(&[5, 11, 31]), (2, 1));
    assert_eq!(wrong(&[20, 21, 30]), (2, 2));
}
