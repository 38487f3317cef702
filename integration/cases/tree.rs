//! Following processes: forks, daemons, hundreds of short lives.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::checks::{Cover, Inside, wrong_max};
use crate::machine::{Scratch, alone, until};
use crate::recording::Recording;
use crate::{program, sprof};

/// One process of `fork_tree`, by its own account.
struct Account {
    number: u32,
    pid: u32,
    parent: u32,
    birth: u64,
    begin: u64,
    end: u64,
}

impl Account {
    fn parse(line: &str) -> Account {
        let words: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        Account {
            number: words[0] as u32,
            pid: words[1] as u32,
            parent: words[2] as u32,
            birth: words[3],
            begin: words[4],
            end: words[5],
        }
    }
}

#[test]
fn a_tree_is_followed_to_the_end_of_its_daemon() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let (log, file) = (scratch.file("log"), scratch.file("tree.sprof"));
        let mut record = engine.record(100, &file);
        record.arg("--").arg(program::usual("fork_tree")).arg(&log);
        sprof::run(&mut record).assert_code(0);

        let log = fs::read_to_string(log).unwrap();
        let (middle, lives): (Vec<&str>, Vec<&str>) =
            log.lines().partition(|line| line.starts_with("middle "));
        let lives: Vec<Account> = lives.into_iter().map(Account::parse).collect();
        assert_eq!(lives.len(), 11, "the daemon must be followed to its end");

        let recording = Recording::of(&file);
        assert_eq!(recording.processes.len(), lives.len() + middle.len());
        for life in &lives {
            if life.number != 0 {
                assert_eq!(recording.process(life.pid).ppid, life.parent);
            }
            assert_life(&recording, life);
        }
        let codes = lives.iter().filter(|life| (1..10).contains(&life.number));
        for life in codes {
            let status = &recording.process(life.pid).exit_status;
            assert_eq!(status, &json!({ "code": 10 + life.number }));
        }
        sprof::assert_converts_to_all(&file);
    });
}

fn assert_life(recording: &Recording, life: &Account) {
    let number = life.number;
    let cover = Cover::of(recording, life.pid, life.pid, life.birth, life.end);
    assert!(cover.ticks > 0, "no tick in the life of process {number}");
    // One at its beginning may come before the kernel has told of the fork.
    assert!(cover.missed() <= 1, "process {number}: {cover:?}");

    let spin = Inside {
        pid: life.pid,
        tid: life.pid,
        begin: life.begin,
        end: life.end,
    };
    let verdict = spin.judge(recording, |sample| sample.shows(&format!("spin_{number}")));
    assert_eq!(verdict.lies, 0, "process {number}: {verdict:?}");
    let wrong = verdict.judged - verdict.right;
    assert!(
        wrong <= wrong_max(verdict.judged, 0.01),
        "process {number}: {verdict:?}"
    );
}

#[test]
fn every_one_of_three_hundred_short_lives_has_its_record() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("storm.sprof");
        let brief = program::build("brief", program::Flavour::cc("static", &["-O2", "-static"]));
        let storm = program::usual("spawn_storm");

        let begin = Instant::now();
        let bare = sprof::run(std::process::Command::new(&storm).arg(&brief));
        let bare_wall = begin.elapsed();
        bare.assert_code(0);

        let mut record = engine.record(1000, &file);
        record.arg("--").arg(&storm).arg(&brief);
        let outcome = sprof::run(&mut record);
        let text = outcome.assert_code(0).text();

        let recording = Recording::of(&file);
        let mut reaped = 0;
        for line in text.lines().filter_map(|line| line.strip_prefix("child ")) {
            let (pid, code) = line.split_once(' ').unwrap();
            let process = recording.process(pid.parse().unwrap());
            assert!(process.exe.ends_with("/brief"), "{process:?}");
            assert!(
                process.end_ns.is_some_and(|end| end >= process.start_ns),
                "{process:?}"
            );
            assert_eq!(
                process.exit_status,
                json!({ "code": code.parse::<i32>().unwrap() })
            );
            reaped += 1;
        }
        assert_eq!(reaped, 300);
        assert_eq!(recording.processes.len(), 301);

        let parent = text.lines().find_map(|line| line.strip_prefix("parent "));
        let parent = parent.expect("the parent's own line");
        let pid = parent.split(' ').next().unwrap().parse().unwrap();
        let inside = Inside::parse(pid, parent);
        let cover = Cover::of(&recording, pid, pid, inside.begin, inside.end);
        assert!(cover.ticks > 100, "{cover:?}");
        assert!(cover.missed() <= wrong_max(cover.ticks, 0.001), "{cover:?}");
        // Its children come at a fixed pace, so time lost to sprof shows only where it is too much.
        let wall = Duration::from_nanos(inside.end - inside.begin);
        assert!(
            wall <= bare_wall.mul_f64(1.3),
            "{wall:?}, bare {bare_wall:?}"
        );
    });
}

#[test]
fn an_attach_finds_every_thread_of_every_process() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("attached.sprof");
        let mut target = crate::target::Target::steady(3);
        let mut record = engine.record(100, &file);
        record.args(["-d", "1s", "-p", &target.pid().to_string()]);
        sprof::run(&mut record).assert_code(0);
        target.assert_alive();
        crate::machine::assert_undisturbed(target.pid());

        let recording = Recording::of(&file);
        let mut threads: HashMap<u32, Vec<&str>> = HashMap::new();
        for thread in &recording.threads {
            threads.entry(thread.pid).or_default().push(&thread.name);
        }
        assert_eq!(threads.len(), 3);
        for (pid, names) in threads {
            assert_eq!(names.len(), 3, "process {pid}: {names:?}");
            for name in ["spinner", "sleeper"] {
                assert!(names.contains(&name), "process {pid}: {names:?}");
            }
        }
        for (name, function) in [("spinner", "spin"), ("sleeper", "rest")] {
            for thread in recording
                .threads
                .iter()
                .filter(|thread| thread.name == name)
            {
                let all: Vec<_> = recording.samples_of(thread.pid, thread.tid).collect();
                assert_eq!(all.len(), recording.ticks.len(), "{thread:?}");
                let wrong = all
                    .iter()
                    .filter(|sample| !sample.shows(function) && !sample.is_without_stack())
                    .count();
                assert!(wrong <= wrong_max(all.len(), 0.001), "{wrong} of {name}'s");
            }
        }
        assert_eq!(target.exit_code(), 0);
        until("the tree to be gone", crate::machine::SOON, || {
            crate::machine::threads(target.pid())
                .is_empty()
                .then_some(())
        });
    });
}

#[test]
fn where_files_are_few_another_engine_records() {
    let _cpus = alone();
    let scratch = Scratch::new();
    let file = scratch.file("few.sprof");
    let mut target = crate::target::Target::steady(12);
    // A file for each thread and CPU is more than these.
    let line = "ulimit -n 64; exec \"$1\" record -d 300ms -o \"$2\" -p \"$3\"";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line, "sh"]).arg(sprof::binary());
    shell.arg(&file).arg(target.pid().to_string());
    let outcome = sprof::run(shell.stdin(std::process::Stdio::null()));
    assert!(outcome.assert_code(0).stderr.contains("by the stop engine"));
    let recording = Recording::of(&file);
    let engine = recording.session["engine"].as_str().unwrap_or_default();
    assert!(engine.starts_with("stop"), "{engine}");
    assert!(!recording.samples.is_empty());
    target.assert_alive();
    assert_eq!(target.exit_code(), 0);
}

#[test]
fn short_lives_below_an_attached_process_have_all_their_facts() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("attached.sprof");
        let line =
            "read go; for i in 1 2 3 4 5 6 7 8 9 10; do sh -c 'exit 7' arg-$i; done; read go";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", line]).stdin(std::process::Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut record = engine.record(100, &file);
        record.args(["-p", &shell.id().to_string()]);
        let record = record.spawn().unwrap();
        super::interrupt::recorded_ticks(&file, 3);
        let mut input = shell.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"go\ngo\n").unwrap();
        assert!(shell.wait().unwrap().success());
        sprof::finish(record).assert_code(0);
        let recording = Recording::of(&file);
        let children = recording.processes.iter().filter(|p| p.ppid == shell.id());
        let ends: Vec<_> = children.map(|child| child.exit_status.clone()).collect();
        assert_eq!(ends, vec![json!({"code": 7}); 10]);
    });
}
