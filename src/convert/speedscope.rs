//! speedscope: one `sampled` profile a thread.
//!
//! speedscope shows one profile at a time and draws each from its own zero. So that a moment keeps
//! its place when one goes from thread to thread, all begin and end at the same values, and an
//! empty stack fills the time in which a thread did not exist or was not sampled. Weights are the
//! nanoseconds to the next sample; their sum is `endValue - startValue`, else the axis is wrong.
//! The list of names is the only room there is for the process.
//!
//! Layout: <https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources>.

use std::io::Write;

use serde::Serialize;

use super::ConvertError;
use super::json::List;
use super::rows::{KEPT_MAX, Rows, Survey, each_thread};
use super::source::Source;
use super::stacks::{EntryId, Function, NodeId, Stacks};
use super::titles::Title;

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

pub(super) fn write(source: &mut Source<'_>, out: &mut dyn Write) -> Result<(), ConvertError> {
    let profile = source.profile();
    let survey = Survey::of(source)?;
    let titles = survey.titles(source);
    let mut stacks = Stacks::new(profile, Function::of);
    let mut document = List::object(out)?;
    document.set("$schema", &SCHEMA)?;
    document.set("exporter", &concat!("sprof ", env!("CARGO_PKG_VERSION")))?;
    document.set("name", &profile.session.command.join(" "))?;
    document.set("activeProfileIndex", &busiest(&survey, &titles))?;
    let mut profiles = List::array(document.member("profiles")?)?;
    each_thread(
        source,
        &mut stacks,
        &survey,
        &titles,
        KEPT_MAX,
        &mut |title, rows| write_thread(profiles.item()?, &survey, title, rows),
    )?;
    profiles.end()?;
    let mut shared = List::object(document.member("shared")?)?;
    let frames = stacks.entries().iter().map(|function| Frame {
        name: &function.name,
        file: function.file.or(function.module),
    });
    shared.set_all("frames", frames)?;
    shared.end()?;
    document.end()
}

/// The thread to be shown first.
fn busiest(survey: &Survey, titles: &[Title<'_>]) -> usize {
    let cpu = |index: &usize| titles.get(*index).map(|t| survey.threads[&t.thread_id].cpu);
    (0..titles.len()).rev().max_by_key(cpu).unwrap_or(0)
}

fn write_thread<'a>(
    out: &mut dyn Write,
    survey: &Survey,
    title: &Title<'_>,
    mut rows: Rows<'_, 'a, Function<'a>>,
) -> Result<(), ConvertError> {
    let mut profile = List::object(out)?;
    profile.set("type", &"sampled")?;
    let name = format!(
        "{} [{}] > {} [{}]",
        title.process_name, title.pid, title.thread_name, title.tid
    );
    profile.set("name", &name)?;
    profile.set("unit", &"nanoseconds")?;
    profile.set("startValue", &survey.begin.0)?;
    profile.set("endValue", &survey.end.0)?;

    let mut samples = List::array(profile.member("samples")?)?;
    let mut path: Vec<EntryId> = Vec::new();
    each_piece(&mut rows, survey, &mut |piece| {
        let Some((node, stacks)) = piece.stack else {
            return samples.push(&[(); 0]);
        };
        stacks.path(node, &mut path);
        let mut frames = List::array(samples.item()?)?;
        for entry in &path {
            frames.push(&entry.0)?;
        }
        frames.end()
    })?;
    samples.end()?;

    let mut weights = List::array(profile.member("weights")?)?;
    each_piece(&mut rows, survey, &mut |piece| weights.push(&piece.weight))?;
    weights.end()?;
    profile.end()
}

/// A sample and its weight, or a time without one.
struct Piece<'p, 'a> {
    stack: Option<(NodeId, &'p Stacks<'a, Function<'a>>)>,
    weight: u64,
}

/// Calls `visit` with the pieces that fill the time from the survey's begin to its end.
fn each_piece<'a>(
    rows: &mut Rows<'_, 'a, Function<'a>>,
    survey: &Survey,
    visit: &mut dyn FnMut(Piece<'_, 'a>) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    let mut at = survey.begin;
    rows.each(&mut |row, stacks| {
        let weight = row.time.since(at).0;
        if weight > 0 {
            visit(Piece {
                stack: None,
                weight,
            })?;
        }
        at = row.until;
        visit(Piece {
            stack: Some((row.node, stacks)),
            weight: row.until.since(row.time).0,
        })
    })?;
    let weight = survey.end.since(at).0;
    if weight > 0 {
        visit(Piece {
            stack: None,
            weight,
        })?;
    }
    Ok(())
}
