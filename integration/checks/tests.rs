//! The judges judged: recordings written by hand, right and wrong.

use super::*;
use crate::recording::Recording;

fn tick(number: u64, time: u64) -> String {
    format!(
        r#"{{"type":"tick","tick":{number},"time_ns":{time},"stop_ns":1,"skew_ns":10,"stops":1}}"#
    )
}

fn sample(number: u64, time: u64, frames: &[&str]) -> String {
    let frames: Vec<String> = frames
        .iter()
        .map(|name| format!(r#"{{"name":"{name}"}}"#))
        .collect();
    let frames = frames.join(",");
    format!(
        r#"{{"type":"sample","tick":{number},"time_ns":{time},"pid":1,"tid":2,"state":"running","frames":[{frames}]}}"#
    )
}

fn recording(lines: &[String]) -> Recording {
    Recording::parse(lines.join("\n").as_bytes())
}

#[test]
fn lines_become_typed() {
    let text = r#"{"type":"session","version":"0.1.0"}
{"type":"tick","tick":3,"time_ns":50,"stop_ns":9,"skew_ns":2,"stops":1}
{"type":"sample","tick":3,"time_ns":50,"pid":1,"tid":2,"state":"running","frames":[{"name":"f(int)"},{"name":null},{"name":"main"}]}
{"type":"from-the-future"}"#;
    let recording = Recording::parse(text.as_bytes());
    assert_eq!(recording.ticks[0].skew_ns, 2);
    let sample = &recording.samples[0];
    assert!(sample.shows("f") && !sample.shows("mai"));
    assert_eq!(sample.cut, None);
    assert_eq!(sample.root_first(|name| Some(name.len())), [4, 0, 6]);
}

#[test]
fn the_bound_nears_the_share_as_samples_grow() {
    assert_eq!(wrong_max(50, 0.001), 1);
    assert_eq!(wrong_max(1_000, 0.001), 5);
    assert_eq!(wrong_max(100_000, 0.001), 140);
    assert_eq!(wrong_max(0, 0.001), 0);
}

#[test]
fn a_tick_of_a_life_without_a_sample_is_missed() {
    let recording = recording(&[
        tick(0, 50),
        tick(1, 150),
        sample(1, 150, &["f"]),
        tick(2, 250),
        tick(3, 350),
    ]);
    let cover = Cover::of(&recording, 1, 2, 100, 300);
    assert_eq!((cover.ticks, cover.seen, cover.missed()), (2, 1, 1));
    assert_eq!(Cover::of(&recording, 1, 9, 100, 300).missed(), 2);
}

#[test]
fn a_whole_stack_without_the_function_is_a_lie() {
    let cut = sample(3, 300, &["x"]).replace("\"frames\"", "\"cut\":\"unreadable\",\"frames\"");
    let recording = recording(&[
        tick(0, 105), // nearer to the begin than the skew: not judged
        sample(0, 105, &["x"]),
        tick(1, 150),
        sample(1, 150, &["spin", "main"]),
        tick(2, 200),
        sample(2, 200, &["x", "main"]),
        tick(3, 300),
        cut,
    ]);
    let verdict = Inside::parse(1, "2 100 400").judge(&recording, |s| s.shows("spin"));
    assert_eq!(
        verdict,
        Verdict {
            judged: 3,
            right: 1,
            lies: 1,
            cut: 1
        }
    );
}

/// f03 from 1 ms, f14 in it from 2 ms to 3 ms, the end at 4 ms.
const LOG: &str = "E 3 1000000\nE 14 2000000\nX 14 3000000\nX 3 4000000\n";

fn spans(samples: &[(u64, &[&str])]) -> SpansVerdict {
    let mut lines = Vec::new();
    for (number, (time, frames)) in samples.iter().enumerate() {
        lines.push(tick(number as u64, *time));
        if !frames.is_empty() {
            lines.push(sample(number as u64, *time, frames));
        }
    }
    let mut history = History::default();
    history.add(1, 2, LOG);
    judge_spans(&recording(&lines), &history)
}

#[test]
fn a_sample_must_show_the_stack_of_its_instant() {
    let verdict = spans(&[
        (1_500_000, &["burn", "call", "f03", "main"]),
        (
            2_500_000,
            &["nap", "call", "f14(int)", "call", "f03", "main"],
        ),
        (3_500_000, &["burn", "call", "f14", "call", "f03", "main"]),
        (2_600_000, &["burn", "call", "f14", "call"]),
        (3_600_000, &[]),
    ]);
    assert_eq!((verdict.judged, verdict.matched), (4, 2));
    assert_eq!((verdict.expected, verdict.seen), (5, 4));
    assert_eq!(verdict.wrong.len(), 2);
}

#[test]
fn only_a_thread_at_the_log_line_may_show_its_neighbour() {
    let at_the_line = &["clock_gettime", "now", "f14", "call", "f03", "main"];
    let elsewhere = &["burn", "call", "f14", "call", "f03", "main"];
    assert_eq!(spans(&[(1_500_000, at_the_line)]).matched, 1);
    assert_eq!(spans(&[(1_500_000, elsewhere)]).matched, 0);
}

#[test]
fn a_stack_that_is_told_to_be_missing_is_unseen_and_not_wrong() {
    let missing = sample(0, 2_500_000, &[]).replace("\"frames\"", "\"cut\":\"gone\",\"frames\"");
    let mut history = History::default();
    history.add(1, 2, LOG);
    let told = judge_spans(&recording(&[tick(0, 2_500_000), missing]), &history);
    assert_eq!((told.judged, told.expected, told.seen), (0, 1, 0));
    let untold = sample(0, 2_500_000, &[]);
    let untold = judge_spans(&recording(&[tick(0, 2_500_000), untold]), &history);
    assert_eq!((untold.judged, untold.matched), (1, 0));
}

#[test]
fn near_an_edge_and_outside_of_its_life_nothing_is_judged() {
    let verdict = spans(&[
        (500_000, &["x"]),
        (2_010_000, &["x"]),
        (1_990_000, &["x"]),
        (9_000_000, &["x"]),
    ]);
    assert_eq!(verdict.judged, 0);
    assert_eq!((verdict.expected, verdict.seen), (2, 2));
}
