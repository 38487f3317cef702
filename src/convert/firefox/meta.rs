//! What the profile says about itself, and what the page shows first.

use std::cmp::Reverse;

use serde::Serialize;

use super::super::rows::Survey;
use super::super::titles::Title;
use super::millis;
use crate::profile::Profile;

/// Threads visible at first; with more, the page gets slow before it gets useful.
const VISIBLE_THREADS_MAX: usize = 100;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    version: u32,
    preprocessed_profile_version: u32,
    interval: f64,
    start_time: f64,
    start_time_as_clock_monotonic_nanoseconds_since_boot: u64,
    profiling_start_time: f64,
    profiling_end_time: f64,
    product: String,
    process_type: u32,
    stackwalk: u32,
    symbolicated: bool,
    uses_only_one_stack_type: bool,
    source_code_is_not_on_searchfox: bool,
    imported_from: &'static str,
    arguments: String,
    platform: &'static str,
    oscpu: &'a str,
    abi: &'a str,
    #[serde(rename = "logicalCPUs")]
    logical_cpus: u32,
    categories: [Category; 5],
    marker_schema: [(); 0],
    sample_units: SampleUnits,
    initial_visible_threads: Vec<usize>,
    initial_selected_threads: Vec<usize>,
}

#[derive(Serialize)]
struct Category {
    name: &'static str,
    color: &'static str,
    subcategories: [&'static str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SampleUnits {
    time: &'static str,
    event_delay: &'static str,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: &'static str,
}

/// Index of a category in the profile's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CategoryId {
    /// Code without a name.
    Other = 0,
    /// The page's word for what it leaves out; here so that it finds one.
    #[expect(dead_code, reason = "holds the place of an entry that no frame uses")]
    Idle = 1,
    /// A function.
    Native = 2,
    /// A function inlined into its caller.
    Inlined = 3,
    /// Not code: sprof says something about the stack.
    Marker = 4,
}

impl<'a> Meta<'a> {
    pub(super) fn of(profile: &'a Profile, survey: &Survey, titles: &[Title<'a>]) -> Meta<'a> {
        let session = &profile.session;
        let clocks = session.clocks;
        // The realtime clock at the first sample.
        let start_ns = clocks.realtime_ns.saturating_sub(clocks.monotonic.0);
        let start_ns = start_ns.saturating_add(survey.begin.0);
        let visible = busiest_first(survey, titles);
        Meta {
            version: 24,
            preprocessed_profile_version: 66,
            interval: session.interval.0 as f64 / 1e6,
            start_time: start_ns as f64 / 1e6,
            start_time_as_clock_monotonic_nanoseconds_since_boot: survey.begin.0,
            profiling_start_time: 0.0,
            profiling_end_time: millis(survey.end, survey.begin),
            product: titles
                .first()
                .map_or("sprof", |t| &t.process_name)
                .to_owned(),
            process_type: 0,
            stackwalk: 1,
            symbolicated: true,
            uses_only_one_stack_type: true,
            source_code_is_not_on_searchfox: true,
            imported_from: concat!("sprof ", env!("CARGO_PKG_VERSION")),
            arguments: session.command.join(" "),
            platform: "Linux",
            oscpu: &session.kernel,
            abi: &session.arch,
            logical_cpus: session.cpus,
            categories: CATEGORIES,
            marker_schema: [],
            sample_units: SampleUnits {
                time: "ms",
                event_delay: "ms",
                thread_cpu_delta: "ns",
            },
            initial_selected_threads: visible.first().copied().into_iter().collect(),
            initial_visible_threads: visible,
        }
    }
}

/// By [`CategoryId`].
const CATEGORIES: [Category; 5] = [
    category("Other", "grey"),
    category("Idle", "transparent"),
    category("Native", "blue"),
    category("Inlined", "lightblue"),
    category("sprof", "orange"),
];

const fn category(name: &'static str, color: &'static str) -> Category {
    Category {
        name,
        color,
        subcategories: ["Other"],
    }
}

/// The places of threads in the profile, by CPU time, then by samples.
fn busiest_first(survey: &Survey, titles: &[Title<'_>]) -> Vec<usize> {
    let busy = |title: &Title<'_>| {
        let thread = survey
            .threads
            .get(&title.thread_id)
            .copied()
            .unwrap_or_default();
        Reverse((thread.cpu, thread.samples))
    };
    let mut order: Vec<usize> = (0..titles.len()).collect();
    order.sort_by_key(|index| titles.get(*index).map(busy));
    order.truncate(VISIBLE_THREADS_MAX);
    order
}
