//! Counters: a graph each, above the threads of its process.
//!
//! A count is told against the one before, and the page adds them up again for the graphs that
//! it calls accumulated. Those of no process go to the first thread's.

use serde::Serialize;

use super::super::counters::{Place, shown, shown_unit};
use super::super::rows::Survey;
use super::super::titles::Title;
use super::millis;
use crate::profile::{Counter, CounterKind, CounterUnit, Profile};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CounterValue {
    name: String,
    category: &'static str,
    description: String,
    pid: String,
    main_thread_index: usize,
    samples: Samples,
    display: Display,
}

#[derive(Serialize)]
struct Samples {
    time: Vec<f64>,
    count: Vec<f64>,
    length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Display {
    graph_type: &'static str,
    unit: &'static str,
    color: &'static str,
    marker_schema_location: Option<&'static str>,
    sort_weight: u32,
    label: String,
    tooltip_rows: [TooltipRow; 1],
}

#[derive(Serialize)]
struct TooltipRow {
    r#type: &'static str,
    source: &'static str,
    format: TooltipFormat,
    label: String,
}

#[derive(Serialize)]
struct TooltipFormat {
    unit: &'static str,
}

impl CounterValue {
    /// The counters that can be shown: the page puts each with a thread.
    pub(super) fn all(profile: &Profile, survey: &Survey, titles: &[Title<'_>]) -> Vec<Self> {
        let shown = profile.counters.iter();
        shown
            .filter_map(|counter| CounterValue::of(profile, survey, titles, counter))
            .collect()
    }

    fn of(
        profile: &Profile,
        survey: &Survey,
        titles: &[Title<'_>],
        counter: &Counter,
    ) -> Option<CounterValue> {
        let place = Place::of(profile, counter);
        let is_its = |title: &Title<'_>| match place.process {
            None => true,
            Some(process) => title.process.is_some_and(|of| of.id == process.id),
        };
        let main_thread_index = titles.iter().position(is_its)?;
        let pid = titles.get(main_thread_index)?.pid.to_string();
        let bytes = counter.unit == CounterUnit::Bytes;
        let (graph_type, source) = match counter.kind {
            CounterKind::Level => ("line-accumulated", "accumulated"),
            CounterKind::Amount => ("line-rate", "count"),
        };
        let unit = shown_unit(counter.unit);
        Some(CounterValue {
            description: format!("{} ({unit})", place.name),
            category: "sprof",
            pid,
            main_thread_index,
            samples: Samples::of(survey, counter),
            display: Display {
                graph_type,
                unit: if bytes { "bytes" } else { "" },
                color: "grey",
                marker_schema_location: None,
                sort_weight: 50,
                label: place.name.clone(),
                tooltip_rows: [TooltipRow {
                    r#type: "value",
                    source,
                    format: TooltipFormat {
                        unit: if bytes { "bytes" } else { "number" },
                    },
                    label: format!("{} ({unit})", place.name),
                }],
            },
            name: place.name,
        })
    }
}

impl Samples {
    fn of(survey: &Survey, counter: &Counter) -> Samples {
        let values = &counter.values;
        let mut before = 0.0;
        let counts = values.iter().map(|value| {
            let now = shown(counter.unit, value.value);
            match counter.kind {
                CounterKind::Level => now - std::mem::replace(&mut before, now),
                CounterKind::Amount => now,
            }
        });
        Samples {
            count: counts.collect(),
            time: values
                .iter()
                .map(|value| millis(value.time, survey.begin))
                .collect(),
            length: values.len(),
        }
    }
}
