//! What sprof itself cost, as its counters in the recording tell.

use crate::profile::{Nanos, Profile};

use super::columns::{Align, Columns, counted, headline, percent};
use super::gather::Gathered;

/// Appends its CPU time, memory, pauses and losses.
pub(super) fn write(out: &mut String, profile: &Profile, gathered: &Gathered<'_>) {
    let values = |name: &str| {
        let counter = profile.counters.iter().find(|counter| counter.name == name);
        counter.map(|counter| counter.values.iter().map(|value| value.value))
    };
    let (Some(cpu), Some(memory)) = (values("sprof cpu"), values("sprof memory")) else {
        return;
    };
    let cpu = cpu.fold(0, u64::saturating_add);
    headline(out, "sprof itself");
    let mut columns = Columns::new(&[Align::Left, Align::Left]);
    let share = percent(cpu, gathered.span.0);
    columns.line(["CPU", &format!("{}, {share} of one CPU", Nanos(cpu))]);
    let most = memory.max().unwrap_or_default() as f64 / 1e6;
    columns.line(["memory", &format!("{most:.1} MB at most")]);
    if let Some(stop) = gathered.stop {
        let pauses = format!("{} in all, {} at most", stop.sum, stop.max);
        columns.line(["pauses", &pauses]);
    }
    let missed = values("ticks missed").map(|missed| missed.fold(0, u64::saturating_add));
    let missed = missed.unwrap_or_default();
    columns.line(["losses", &format!("{} missed", counted(missed, "tick"))]);
    if let Some(idle) = values("idle stops") {
        let stops = counted(idle.fold(0, u64::saturating_add), "stop");
        columns.line(["stops", &format!("{stops} of threads that had not run")]);
    }
    columns.write(out);
}
