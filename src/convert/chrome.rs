//! Chrome trace events: the JSON that most timeline viewers read.
//!
//! Spans are `B` and `E` events with integer microseconds. Complete events (`X`) with fractions
//! make speedscope take neighbours for children, because `ts + dur` rounds past the next `ts`; with
//! begins and ends in file order there is nothing to round apart. Times are of `CLOCK_MONOTONIC`.
//! `E` events bear the name of what they close: speedscope pairs them by name, and stacks ever
//! deeper where there is none.
//! `M` events name processes and threads and keep them in the order of their birth. An `E` event
//! carries in how many samples its span was seen. `C` events are counters; those of the recording
//! itself have process 0.
//!
//! Layout: the "Trace Event Format" document of the Chromium project.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use serde::Serialize;

use super::ConvertError;
use super::counters::{Place, shown, shown_unit};
use super::json::List;
use super::source::Source;
use super::spans::{Edge, Spans};
use super::stacks::{Function, NodeId, Stacks};
use super::stretches::{Stretch, Visit, each_stretch};
use super::titles::Title;
use crate::profile::{Profile, Sample, StackTable, ThreadId, Timestamp};

#[derive(Serialize)]
struct Meta<T> {
    name: &'static str,
    ph: &'static str,
    pid: i32,
    tid: i32,
    args: T,
}

#[derive(Serialize)]
struct Begin<'a> {
    name: &'a str,
    cat: &'a str,
    ph: &'static str,
    ts: u64,
    pid: i32,
    tid: i32,
}

#[derive(Serialize)]
struct End<'a> {
    name: &'a str,
    ph: &'static str,
    ts: u64,
    pid: i32,
    tid: i32,
    args: Samples,
}

#[derive(Serialize)]
struct Samples {
    samples: u64,
}

#[derive(Serialize)]
struct Count<'a> {
    name: &'a str,
    ph: &'static str,
    ts: u64,
    pid: i32,
    args: BTreeMap<&'static str, f64>,
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Rank {
    sort_index: u32,
}

pub(super) fn write(source: &mut Source<'_>, out: &mut dyn Write) -> Result<(), ConvertError> {
    let profile = source.profile();
    let mut document = List::object(out)?;
    document.set("displayTimeUnit", &"ms")?;
    let mut pass = Chrome {
        profile,
        stacks: Stacks::new(profile, Function::of),
        spans: Spans::default(),
        events: List::array(document.member("traceEvents")?)?,
        introduced: BTreeSet::new(),
    };
    each_stretch(source, &mut pass)?;
    pass.count()?;
    pass.events.end()?;
    document.end()
}

struct Chrome<'a, 'w> {
    profile: &'a Profile,
    stacks: Stacks<'a, Function<'a>>,
    spans: Spans,
    events: List<'w>,
    introduced: BTreeSet<ThreadId>,
}

impl Visit for Chrome<'_, '_> {
    fn fold(&mut self, sample: &Sample, table: &StackTable) -> NodeId {
        self.stacks.fold(sample, table)
    }

    fn stretch(&mut self, stretch: Stretch) -> Result<(), ConvertError> {
        if self.introduced.insert(stretch.thread) {
            self.introduce(stretch.thread)?;
        }
        let thread = self.profile.thread(stretch.thread);
        let process = thread.and_then(|thread| self.profile.process(thread.process));
        let pid = process.map_or(0, |process| process.pid.0);
        let tid = thread.map_or(0, |thread| thread.tid.0);
        let (stacks, events) = (&self.stacks, &mut self.events);
        self.spans.push(&stretch, stacks, &mut |edge| match edge {
            Edge::Begin { time, entry } => {
                let function = stacks.entry(entry);
                events.push(&Begin {
                    name: &function.name,
                    cat: function.module.unwrap_or("sprof"),
                    ph: "B",
                    ts: micros(time),
                    pid,
                    tid,
                })
            }
            Edge::End {
                time,
                entry,
                samples,
            } => events.push(&End {
                name: &stacks.entry(entry).name,
                ph: "E",
                ts: micros(time),
                pid,
                tid,
                args: Samples { samples },
            }),
        })
    }
}

impl Chrome<'_, '_> {
    /// The counters, one after another: readers sort by time.
    fn count(&mut self) -> Result<(), ConvertError> {
        let mut names_sprof = true;
        for counter in &self.profile.counters {
            let place = Place::of(self.profile, counter);
            if place.process.is_none() && std::mem::take(&mut names_sprof) {
                self.events.push(&Meta {
                    name: "process_name",
                    ph: "M",
                    pid: place.pid().0,
                    tid: 0,
                    args: Name { name: "sprof" },
                })?;
            }
            for value in &counter.values {
                let shown = shown(counter.unit, value.value);
                self.events.push(&Count {
                    name: &place.name,
                    ph: "C",
                    ts: micros(value.time),
                    pid: place.pid().0,
                    args: BTreeMap::from([(shown_unit(counter.unit), shown)]),
                })?;
            }
        }
        Ok(())
    }

    /// Names a thread, and its process with it: readers take the same name twice.
    fn introduce(&mut self, thread: ThreadId) -> Result<(), ConvertError> {
        let title = Title::of(self.profile, thread);
        let process_rank = title.process.map_or(u32::MAX, |process| process.id.0);
        let thread_rank = if title.is_main {
            0
        } else {
            thread.0.saturating_add(1)
        };
        self.name(
            &title,
            "process_name",
            Name {
                name: &title.process_name,
            },
        )?;
        self.name(
            &title,
            "process_sort_index",
            Rank {
                sort_index: process_rank,
            },
        )?;
        self.name(
            &title,
            "thread_name",
            Name {
                name: &title.thread_name,
            },
        )?;
        self.name(
            &title,
            "thread_sort_index",
            Rank {
                sort_index: thread_rank,
            },
        )
    }

    fn name<T: Serialize>(
        &mut self,
        title: &Title<'_>,
        name: &'static str,
        args: T,
    ) -> Result<(), ConvertError> {
        self.events.push(&Meta {
            name,
            ph: "M",
            pid: title.pid,
            tid: title.tid,
            args,
        })
    }
}

fn micros(time: Timestamp) -> u64 {
    time.0 / 1000
}
