//! Stacks that lie in two places, and stacks that are very deep or fat.

use crate::checks::{Inside, wrong_max};
use crate::engine::{Engine, each};
use crate::machine::{Scratch, alone};
use crate::recording::{Recording, is};
use crate::{program, sprof};

/// Records `altstack MODE`; gives the recording and what it says of where it was.
fn record(engine: &Engine, mode: &str, rate: u32) -> (Recording, Vec<Inside>) {
    let scratch = Scratch::new();
    let file = scratch.file("altstack.sprof");
    let mut record = engine.record(rate, &file);
    record.arg("--").arg(program::usual("altstack")).arg(mode);
    let outcome = sprof::run(&mut record);
    let text = outcome.assert_code(0).text();
    let spans = text.lines().map(|line| {
        let (pid, rest) = line.split_once(' ').unwrap().1.split_once(' ').unwrap();
        Inside::parse(pid.parse().unwrap(), rest)
    });
    let spans = spans.collect();
    sprof::assert_converts_to_all(&file);
    (Recording::of(&file), spans)
}

const NAMES: [&str; 6] = ["h2", "h1", "work", "main", "run", "<signal handler>"];

#[test]
fn a_signal_on_a_stack_of_its_own_is_followed_to_what_it_interrupted() {
    let _cpus = alone();
    each(|engine| {
        let (recording, spans) = record(engine, "nested", 250);
        assert_eq!(spans.len(), 2);
        for span in spans {
            let outer = if span.pid == span.tid { "main" } else { "run" };
            let handler = "<signal handler>";
            let wanted = [outer, "work", handler, "h1", handler, "h2"];
            let verdict = span.judge(&recording, |sample| {
                let got = sample.root_first(|name| NAMES.into_iter().find(|known| is(name, known)));
                got == wanted && sample.cut.is_none()
            });
            assert!(verdict.judged >= 50, "{verdict:?}");
            assert_eq!(verdict.lies, 0, "{verdict:?}");
            let wrong = verdict.judged - verdict.right;
            // The first tick of each learns where the other stack is.
            let allowed = 1 + wrong_max(verdict.judged, 0.001);
            assert!(engine.may_cut || wrong <= allowed, "{outer}: {verdict:?}");
            assert!(verdict.right > 0, "{outer}: {verdict:?}");
        }
    });
}

#[test]
fn interrupted_at_another_depth_each_time() {
    let _cpus = alone();
    each(|engine| {
        let (recording, spans) = record(engine, "depths", 250);
        assert_eq!(spans.len(), 100);
        let (mut judged, mut right) = (0, 0);
        for (at, span) in spans.into_iter().enumerate() {
            let verdict = span.judge(&recording, |sample| {
                let work = sample.frames.iter().filter(|name| is(name, "work"));
                work.count() == at + 1 && sample.shows("main") && sample.cut.is_none()
            });
            assert_eq!(verdict.lies, 0, "depth {at}: {verdict:?}");
            judged += verdict.judged;
            right += verdict.right;
        }
        assert!(judged >= 100, "{judged}");
        // What is copied reaches a page further down than what was wanted last; a call of work()
        // takes at least 16 bytes and at most 64, so 100 of them take two pages at most.
        let allowed = 3 + wrong_max(judged, 0.001);
        assert!(
            engine.may_cut || judged - right <= allowed,
            "{right} of {judged}"
        );
        assert!(right > 0);
    });
}

#[test]
fn a_hundred_thousand_calls_deep() {
    let _cpus = alone();
    each(|engine| {
        let (recording, spans) = record(engine, "deep", 50);
        if !engine.shows_huge_stacks {
            let verdict = spans[0].judge(&recording, |sample| {
                sample.shows("bottom") && sample.cut.as_deref() == Some("not-copied")
            });
            assert!(verdict.judged >= 10, "{verdict:?}");
            assert_eq!(verdict.lies, 0, "{verdict:?}");
            return;
        }
        let verdict = spans[0].judge(&recording, |sample| {
            let digs = sample.frames.iter().filter(|name| is(name, "dig")).count();
            let omitted: Vec<usize> = sample
                .frames
                .iter()
                .filter_map(|name| name.strip_prefix('<')?.strip_suffix(" frames omitted>"))
                .map(|count| count.parse().unwrap())
                .collect();
            let ends = sample.shows("bottom") && sample.shows("main");
            ends && digs + omitted.iter().sum::<usize>() == 100_000 && omitted.len() == 1
        });
        assert!(verdict.judged >= 10, "{verdict:?}");
        assert_eq!(verdict.lies, 0, "{verdict:?}");
        let wrong = verdict.judged - verdict.right;
        assert!(
            wrong <= 1,
            "the first tick learns where the stack ends: {verdict:?}"
        );
        // A hold's length is the machine's affair too; that of half of them is the engine's.
        let mut held: Vec<u64> = recording.ticks.iter().map(|tick| tick.stop_ns).collect();
        held.sort_unstable();
        assert!(held[held.len() / 2] < 20_000_000, "{held:?}");
    });
}

#[test]
fn a_frame_of_two_hundred_thousand_bytes() {
    let _cpus = alone();
    each(|engine| {
        let (recording, spans) = record(engine, "fat", 100);
        let verdict = spans[0].judge(&recording, |sample| {
            let whole = ["bottom", "fat", "run_fat"]
                .iter()
                .all(|name| sample.shows(name));
            whole && sample.cut.is_none()
        });
        assert!(verdict.judged >= 20, "{verdict:?}");
        assert_eq!(verdict.lies, 0, "{verdict:?}");
        let wrong = verdict.judged - verdict.right;
        // The first tick learns where the stack ends.
        assert!(engine.may_cut || wrong <= 1, "{verdict:?}");
        assert!(verdict.right > 0, "{verdict:?}");
    });
}
