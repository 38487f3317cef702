//! Many threads, many workers, many kinds of waiting.

use std::process::Command;

use crate::checks::{Cover, Inside, wrong_max};
use crate::engine::each;
use crate::machine::{Scratch, alone};
use crate::recording::Recording;
use crate::target::Target;
use crate::{program, sprof};

#[test]
fn a_thousand_threads_of_which_two_work() {
    let _cpus = alone();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("thousand.sprof");
        let mut record = engine.record(100, &file);
        let outcome = sprof::run(record.arg("--").arg(program::usual("thousand")));
        let text = outcome.assert_code(0).text();
        let recording = Recording::of(&file);
        assert_eq!(recording.threads.len(), 1000);
        for line in text.lines().filter_map(|line| line.strip_prefix("spin ")) {
            let (pid, span) = line.split_once(' ').unwrap();
            let span = Inside::parse(pid.parse().unwrap(), span);
            let verdict = span.judge(&recording, |sample| sample.shows("spin"));
            assert_eq!(verdict.lies, 0, "{verdict:?}");
            let cover = Cover::of(&recording, span.pid, span.tid, span.begin, span.end);
            assert!(cover.ticks >= 10, "{cover:?}");
            assert!(cover.missed() <= wrong_max(cover.ticks, 0.01), "{cover:?}");
            let inside = recording
                .ticks
                .iter()
                .filter(|tick| (span.begin..span.end).contains(&tick.time_ns));
            let ticks: Vec<u64> = inside.map(|tick| tick.number).collect();
            let within = recording.samples.iter();
            let within = within.filter(|sample| ticks.binary_search(&sample.tick).is_ok());
            let (mut asleep, mut without) = (0, 0);
            for sample in within {
                asleep += usize::from(sample.shows("doze"));
                // So many do not all stop in the time that a tick may take: it says so.
                without += usize::from(sample.is_without_stack());
            }
            let all = 997 * ticks.len();
            assert!(
                all <= asleep + without + wrong_max(all, 0.01),
                "{asleep} of {all}"
            );
            assert!(asleep > all / 2, "{asleep} of {all}");
            if engine.leaves_sleepers {
                assert!(all <= asleep + wrong_max(all, 0.01), "{asleep} of {all}");
                let due = ticks.last().unwrap() - ticks[0] + 1;
                assert!(
                    ticks.len() as u64 * 10 >= due * 9,
                    "{} of {due}",
                    ticks.len()
                );
            }
        }
        let sleepers = text
            .lines()
            .find_map(|line| line.strip_prefix("sleepers 997 switches "));
        let switches: u64 = sleepers.unwrap().parse().unwrap();
        eprintln!(
            "most switches of a sleeper: {switches}, ticks {}",
            recording.ticks.len()
        );
        if engine.leaves_sleepers {
            assert!(switches < 20, "{switches}");
        }
    });
}

#[test]
fn no_call_is_answered_otherwise_than_unprofiled() {
    let _cpus = alone();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("matrix.sprof");
        let mut record = engine.record(500, &file);
        record
            .arg("--")
            .arg(program::usual("eintr_matrix"))
            .arg("3");
        let outcome = sprof::run(&mut record);
        let text = outcome.assert_code(0).text();
        eprintln!("{text}");
        assert_eq!(text.lines().count(), 14);
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let count = |what: &str| -> u64 {
                let at = words.iter().position(|word| *word == what).unwrap();
                words[at + 1].parse().unwrap()
            };
            assert!(count("calls") > 0, "{line}");
            if !engine.disturbs.contains(&words[0]) {
                let disturbed = ["eintr", "early", "short"].map(count);
                assert_eq!(disturbed, [0; 3], "{line}");
            }
        }
    });
}

#[test]
fn workers_that_are_replaced_while_their_server_is_recorded() {
    let _cpus = alone();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("prefork.sprof");
        let mut server = Command::new("python3");
        let mut target = Target::start(server.arg(program::sources().join("prefork.py")));
        assert!(target.ready());
        let mut record = engine.record(100, &file);
        record.args(["-d", "4s", "-p", &target.pid().to_string()]);
        sprof::run(&mut record).assert_code(0);
        let said = target.end_with_lines();
        let recording = Recording::of(&file);
        let (first, last) = (recording.ticks[0], *recording.ticks.last().unwrap());
        let mut judged = 0;
        for line in said.iter().filter_map(|line| line.strip_prefix("worker ")) {
            let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
            let [pid, begin, end] = numbers[..] else {
                panic!("{line}")
            };
            let (begin, end) = (begin.max(first.time_ns), end.min(last.time_ns));
            if begin + 100_000_000 > end {
                continue;
            }
            judged += 1;
            let pid = pid as u32;
            let cover = Cover::of(&recording, pid, pid, begin, end);
            assert!(
                cover.missed() <= 1 + wrong_max(cover.ticks, 0.01),
                "{pid}: {cover:?}"
            );
            let span = Inside {
                pid,
                tid: pid,
                begin,
                end,
            };
            // The interpreter's own functions, and its C library's, are named in every worker.
            let verdict = span.judge(&recording, |sample| {
                let named = sample.frames.iter().filter(|name| !name.is_empty());
                named.count() * 2 > sample.frames.len()
            });
            assert!(verdict.right > 0, "{pid}: {verdict:?}");
            let wrong = verdict.judged - verdict.right;
            assert!(
                wrong <= wrong_max(verdict.judged, 0.01),
                "{pid}: {verdict:?}"
            );
        }
        // Eight that were there, and those that came after them.
        assert!(judged > 16, "{judged} workers");
    });
}
