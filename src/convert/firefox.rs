//! Firefox Profiler: its processed profile format, version 66.
//!
//! Version 66 and not the newest, because the page upgrades older profiles and refuses newer ones.
//! Since version 60 all threads share one set of tables, which is why the threads, which fill the
//! tables, are written before them.
//!
//! Things the page does not say when they are wrong:
//! - Only the busiest threads are visible at first, unless `initialVisibleThreads` says otherwise.
//! - A process row bears the name of its main thread, so that is named after the process.
//! - The stack of a sample is drawn up to the next sample: where nothing is known there must be a
//!   sample without a stack.
//! - Without `threadCPUDelta` every thread looks busy.
//! - Call trees leave out what is of the category `Idle`, so no frame is: a waiting thread's stack
//!   is what people look for.
//!
//! Layout: `src/types/profile.ts` and `docs-developer/CHANGELOG-formats.md` of the profiler.

use std::io::Write;

use super::ConvertError;
use super::json::List;
use super::rows::{KEPT_MAX, Rows, Survey, each_thread};
use super::source::Source;
use super::stacks::Stacks;
use super::titles::Title;
use crate::profile::Timestamp;
use tables::Frame;

mod counters;
mod meta;
mod tables;

pub(super) fn write(source: &mut Source<'_>, out: &mut dyn Write) -> Result<(), ConvertError> {
    let profile = source.profile();
    let survey = Survey::of(source)?;
    let titles = survey.titles(source);
    let mut stacks = Stacks::new(profile, Frame::of);
    let mut document = List::object(out)?;
    document.set("meta", &meta::Meta::of(profile, &survey, &titles))?;
    document.set_all("libs", profile.modules.iter().map(tables::Lib::of))?;
    let mut threads = List::array(document.member("threads")?)?;
    each_thread(
        source,
        &mut stacks,
        &survey,
        &titles,
        KEPT_MAX,
        &mut |title, rows| write_thread(threads.item()?, &survey, title, rows),
    )?;
    threads.end()?;
    let counters = counters::CounterValue::all(profile, &survey, &titles);
    document.set("counters", &counters)?;
    tables::write_shared(document.member("shared")?, profile, &stacks)?;
    document.end()
}

fn write_thread(
    out: &mut dyn Write,
    survey: &Survey,
    title: &Title<'_>,
    mut rows: Rows<'_, '_, Frame<'_>>,
) -> Result<(), ConvertError> {
    let life = Life::of(title, survey);
    let mut thread = List::object(out)?;
    thread.set("name", &thread_name(title))?;
    thread.set("isMainThread", &title.is_main)?;
    thread.set("processType", &"default")?;
    thread.set("processName", &title.process_name)?;
    thread.set("processStartupTime", &life.process_start)?;
    thread.set("processShutdownTime", &life.process_end)?;
    thread.set("registerTime", &life.start)?;
    thread.set("unregisterTime", &life.end)?;
    thread.set("pausedRanges", &[(); 0])?;
    thread.set("showMarkersInTimeline", &false)?;
    thread.set("pid", &title.pid.to_string())?;
    thread.set("tid", &title.tid)?;
    tables::write_no_markers(thread.member("markers")?)?;
    write_samples(thread.member("samples")?, survey.begin, &mut rows)?;
    thread.end()
}

/// What the row of a thread is called.
fn thread_name(title: &Title<'_>) -> String {
    let Title {
        process_name,
        thread_name,
        ..
    } = title;
    // The kernel cuts a thread's name after 15 bytes; a main thread is named after its program.
    match title.is_main {
        true if process_name.starts_with(thread_name.as_str()) => process_name.clone(),
        true => format!("{process_name} ({thread_name})"),
        false => thread_name.clone(),
    }
}

/// Begin and end of a thread and its process, milliseconds since the first sample.
struct Life {
    start: f64,
    end: Option<f64>,
    process_start: f64,
    process_end: Option<f64>,
}

impl Life {
    fn of(title: &Title<'_>, survey: &Survey) -> Life {
        let ms = |time: Timestamp| millis(time, survey.begin);
        Life {
            start: title.thread.map_or(0.0, |thread| ms(thread.start)),
            end: title.thread.and_then(|thread| thread.end).map(ms),
            process_start: title.process.map_or(0.0, |process| ms(process.start)),
            process_end: title.process.and_then(|process| process.end).map(ms),
        }
    }
}

/// Milliseconds since the first sample; zero for what was before.
fn millis(time: Timestamp, begin: Timestamp) -> f64 {
    time.since(begin).0 as f64 / 1e6
}

/// Columns of the samples. Each is a run over the rows.
fn write_samples(
    out: &mut dyn Write,
    begin: Timestamp,
    rows: &mut Rows<'_, '_, Frame<'_>>,
) -> Result<(), ConvertError> {
    let mut samples = List::object(out)?;
    let mut stack = List::array(samples.member("stack")?)?;
    rows.each(&mut |row, _| {
        stack.push(&row.node.0)?;
        if row.joins_next {
            Ok(())
        } else {
            stack.push(&())
        }
    })?;
    stack.end()?;

    let mut length = 0_u64;
    let mut time = List::array(samples.member("time")?)?;
    rows.each(&mut |row, _| {
        length += if row.joins_next { 1 } else { 2 };
        time.push(&millis(row.time, begin))?;
        if row.joins_next {
            Ok(())
        } else {
            time.push(&millis(row.until, begin))
        }
    })?;
    time.end()?;

    // The first difference has no sample before it and is not read.
    let mut first = true;
    let mut cpu = List::array(samples.member("threadCPUDelta")?)?;
    rows.each(&mut |row, _| {
        let used = if first {
            Some(0)
        } else {
            row.cpu.map(|cpu| cpu.0)
        };
        first = false;
        cpu.push(&used)?;
        if row.joins_next { Ok(()) } else { cpu.push(&0) }
    })?;
    cpu.end()?;

    samples.set("weight", &())?;
    samples.set("weightType", &"samples")?;
    samples.set("length", &length)?;
    samples.end()
}
