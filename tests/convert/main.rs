//! Each format, written from one made-up recording: against expected files, and against each other.
//!
//! `SPROF_BLESS=1 cargo test --test convert` rewrites the expected files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod lanes;
mod recording;

use std::collections::BTreeMap;
use std::path::PathBuf;

use recording::{END, synthetic, time_of};
use serde_json::Value;
use sprof::convert::{ConvertError, Format, convert};
use sprof::profile::{Profile, Recording, RecordingError, StackTable, Tick};

fn converted(format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    convert(&synthetic(), format, &mut out, &mut |_| {}).unwrap();
    out
}

fn golden(format: Format) {
    let ending = match format {
        Format::Jsonl => "jsonl",
        Format::Speedscope => "speedscope.json",
        Format::Firefox => "firefox.json",
        Format::Perfetto => "pftrace",
        Format::Chrome => "trace.json",
        Format::Collapsed => "folded",
    };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/convert");
    let path = folder.join(format!("synthetic.{ending}"));
    assert_eq!(Format::from_path(&path), Some(format));
    let found = converted(format);
    if std::env::var_os("SPROF_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read(&path).unwrap();
    let first = found
        .iter()
        .zip(&expected)
        .take_while(|(a, b)| a == b)
        .count();
    assert!(
        found == expected,
        "{} differs from byte {first} on: ...{}",
        path.display(),
        String::from_utf8_lossy(&found[first.saturating_sub(60)..found.len().min(first + 60)])
    );
}

#[test]
fn jsonl_is_as_expected() {
    golden(Format::Jsonl);
}

#[test]
fn speedscope_is_as_expected() {
    golden(Format::Speedscope);
}

#[test]
fn firefox_is_as_expected() {
    golden(Format::Firefox);
}

#[test]
fn perfetto_is_as_expected() {
    golden(Format::Perfetto);
}

#[test]
fn chrome_is_as_expected() {
    golden(Format::Chrome);
}

#[test]
fn collapsed_is_as_expected() {
    golden(Format::Collapsed);
}

#[test]
fn timelines_show_the_same_stacks_at_the_same_times() {
    let speedscope = lanes::of_speedscope(&converted(Format::Speedscope));
    assert_eq!(speedscope.len(), 7);
    assert_eq!(speedscope, lanes::of_firefox(&converted(Format::Firefox)));
    assert_eq!(speedscope, lanes::of_chrome(&converted(Format::Chrome)).0);
    assert_eq!(
        speedscope,
        lanes::of_perfetto(&converted(Format::Perfetto)).0.0
    );
}

#[test]
fn a_thread_is_shown_from_its_birth_to_its_death() {
    let lanes = lanes::of_speedscope(&converted(Format::Speedscope));
    let names = ["main", "<signal handler>", "wait_for"].map(str::to_owned);
    let life = (time_of(3).0, time_of(6).0 + 2_500_000, names.to_vec());
    assert_eq!(lanes[&(100, 103)], [life]);
}

#[test]
fn what_was_not_seen_is_not_drawn() {
    const INTERVAL: u64 = 10_000_000;
    let lanes = lanes::of_speedscope(&converted(Format::Speedscope));
    let sleeper: Vec<(u64, u64)> = lanes[&(100, 100)].iter().map(|s| (s.0, s.1)).collect();
    // Ticks 8 to 10 are missing, and 20 comes three intervals late.
    let expected = [
        (time_of(0).0, time_of(7).0 + INTERVAL),
        (time_of(11).0, time_of(19).0 + INTERVAL),
        (time_of(20).0, END.0),
    ];
    assert_eq!(sleeper, expected);
    // Thread 101 is missing in tick 16 alone.
    let hole = (time_of(15).0 + INTERVAL, time_of(17).0);
    let drawn = |(begin, end, _): &&(u64, u64, _)| *begin < hole.1 && *end > hole.0;
    assert_eq!(lanes[&(100, 101)].iter().find(drawn), None);
}

#[test]
fn all_formats_count_the_same_samples() {
    let jsonl = String::from_utf8(converted(Format::Jsonl)).unwrap();
    let lines = jsonl
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut expected: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    for line in lines.filter(|line| line["type"] == "sample") {
        let thread = (line["pid"].as_i64().unwrap(), line["tid"].as_i64().unwrap());
        *expected.entry(thread).or_default() += 1;
    }
    assert_eq!(lanes::of_chrome(&converted(Format::Chrome)).1, expected);
    let (slices, samples) = lanes::of_perfetto(&converted(Format::Perfetto));
    assert_eq!(slices.1, expected);
    let samples = samples
        .iter()
        .map(|(thread, samples)| (*thread, samples.len() as u64));
    assert_eq!(samples.collect::<BTreeMap<_, _>>(), expected);

    let firefox: Value = serde_json::from_slice(&converted(Format::Firefox)).unwrap();
    for thread in firefox["threads"].as_array().unwrap() {
        let key = (
            thread["pid"].as_str().unwrap(),
            thread["tid"].as_i64().unwrap(),
        );
        let stacks = thread["samples"]["stack"].as_array().unwrap().iter();
        let samples = stacks.filter(|stack| !stack.is_null()).count() as u64;
        assert_eq!(samples, expected[&(key.0.parse().unwrap(), key.1)]);
    }

    let collapsed = String::from_utf8(converted(Format::Collapsed)).unwrap();
    let counts = collapsed
        .lines()
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>());
    assert_eq!(
        counts.map(Result::unwrap).sum::<u64>(),
        expected.values().sum::<u64>()
    );
}

#[test]
fn perfetto_says_what_threads_were_doing() {
    let states = lanes::states_of_perfetto(&converted(Format::Perfetto));
    let stacks = lanes::of_speedscope(&converted(Format::Speedscope));
    assert_eq!(states.len(), 7);
    // Threads whose stacks and states each stay the same: both begin and end at the same times.
    let cases = [
        ((100, 100), "sleeping in poll"),
        ((100, 103), "sleeping"),
        ((100, 104), "sleeping in syscall 9999"),
        ((200, 201), "disk"),
    ];
    for (thread, doing) in cases {
        let expected = stacks[&thread].iter();
        let expected = expected.map(|(begin, end, _)| (*begin, *end, vec![doing.to_owned()]));
        assert_eq!(states[&thread], expected.collect::<Vec<_>>(), "{doing}");
    }
}

#[test]
fn counters_are_told_by_all_that_can_show_them() {
    // Name, process, and the values in the order of time.
    type Counters = BTreeMap<(String, i64), Vec<f64>>;
    let jsonl = String::from_utf8(converted(Format::Jsonl)).unwrap();
    let lines = jsonl
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut expected = Counters::new();
    for line in lines.filter(|line| line["type"] == "counter") {
        let name = line["name"].as_str().unwrap();
        let name = match (line["tid"].as_i64(), line["cpu"].as_i64()) {
            (Some(tid), _) => format!("{name} of thread {tid}"),
            (_, Some(cpu)) => format!("{name} of CPU {cpu}"),
            _ => name.to_owned(),
        };
        let shown = if line["unit"] == "ns" { 1e6 } else { 1.0 };
        let value = line["value"].as_f64().unwrap() / shown;
        let key = (name, line["pid"].as_i64().unwrap_or(0));
        expected.entry(key).or_default().push(value);
    }
    assert_eq!(expected.len(), 5);
    assert!(expected.values().all(|values| values.len() == 4));

    let chrome: Value = serde_json::from_slice(&converted(Format::Chrome)).unwrap();
    let mut found = Counters::new();
    for event in chrome["traceEvents"].as_array().unwrap() {
        if event["ph"] == "C" {
            let name = event["name"].as_str().unwrap().to_owned();
            let values = event["args"].as_object().unwrap().values();
            let of = found.entry((name, event["pid"].as_i64().unwrap()));
            of.or_default()
                .extend(values.map(|value| value.as_f64().unwrap()));
        }
    }
    assert_eq!(found, expected);

    let firefox: Value = serde_json::from_slice(&converted(Format::Firefox)).unwrap();
    let threads = firefox["threads"].as_array().unwrap();
    let counters = firefox["counters"].as_array().unwrap();
    // The process that no tick saw has no thread to stand with.
    assert_eq!(counters.len(), expected.len() - 1);
    for counter in counters {
        let index = counter["mainThreadIndex"].as_u64().unwrap() as usize;
        assert_eq!(counter["pid"], threads[index]["pid"]);
        let name = counter["name"].as_str().unwrap();
        let (_, values) = expected.iter().find(|((is, _), _)| is == name).unwrap();
        let counts = counter["samples"]["count"].as_array().unwrap().iter();
        let mut counts: Vec<f64> = counts.map(|count| count.as_f64().unwrap()).collect();
        if counter["display"]["graphType"] == "line-accumulated" {
            for index in 1..counts.len() {
                counts[index] += counts[index - 1];
            }
        }
        assert_eq!(&counts, values);
    }
}

#[test]
fn a_sample_has_the_stack_of_the_slices_around_it() {
    let (slices, samples) = lanes::of_perfetto(&converted(Format::Perfetto));
    for (thread, samples) in samples {
        for (time, names) in samples {
            let around =
                |(begin, end, _): &&(u64, u64, Vec<String>)| (*begin..*end).contains(&time);
            let slice = slices.0[&thread].iter().find(around).unwrap();
            assert_eq!(slice.2, names);
        }
    }
}

#[test]
fn collapsed_lines_hold_no_separator_of_their_own() {
    let collapsed = String::from_utf8(converted(Format::Collapsed)).unwrap();
    assert!(
        !collapsed
            .chars()
            .any(|letter| letter.is_control() && letter != '\n')
    );
    assert!(!collapsed.lines().any(|line| line.starts_with('#')));
    let odd = "server;worker;main;odd<\"q\": [k=1]>::  \ttail".replace('\t', " ");
    assert!(
        collapsed.lines().any(|line| line.starts_with(&odd)),
        "{collapsed}"
    );
}

#[test]
fn an_empty_recording_converts() {
    let empty = Profile::default();
    for format in Format::ALL {
        let mut out = Vec::new();
        convert(&NoTicks(&empty), format, &mut out, &mut |_| {}).unwrap();
        if !matches!(format, Format::Perfetto | Format::Collapsed) {
            serde_json::from_slice::<Value>(&out).unwrap();
        }
    }
}

#[test]
fn errors_of_reading_and_of_writing_are_told_apart() {
    let empty = Profile::default();
    for format in Format::ALL {
        let outcome = convert(&Unreadable(&empty), format, &mut Vec::new(), &mut |_| {});
        assert!(matches!(outcome, Err(ConvertError::Read(_))), "{format:?}");
        let outcome = convert(&synthetic(), format, &mut Full, &mut |_| {});
        assert!(matches!(outcome, Err(ConvertError::Write(_))), "{format:?}");
    }
}

#[test]
fn progress_counts_every_tick_of_every_pass() {
    let mut seen = Vec::new();
    convert(&synthetic(), Format::Chrome, &mut Vec::new(), &mut |done| {
        seen.push(done);
    })
    .unwrap();
    assert_eq!(seen, (1..=23).collect::<Vec<u64>>());
}

struct NoTicks<'a>(&'a Profile);

impl Recording for NoTicks<'_> {
    fn profile(&self) -> &Profile {
        self.0
    }

    fn each_tick(
        &self,
        _visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        Ok(())
    }
}

struct Unreadable<'a>(&'a Profile);

impl Recording for Unreadable<'_> {
    fn profile(&self) -> &Profile {
        self.0
    }

    fn each_tick(
        &self,
        _visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        Err("torn".into())
    }
}

struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
