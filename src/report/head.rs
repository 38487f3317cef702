//! What was recorded, how, and how exactly.

use std::fmt::Write as _;

use crate::profile::{LossKind, Nanos, Profile, Spread, Utc};

use super::columns::{Align, Columns, clean, counted, headline, percent};
use super::gather::Gathered;

/// Appends the first lines, and those about ticks.
pub(super) fn write(out: &mut String, profile: &Profile, gathered: &Gathered<'_>) {
    let session = &profile.session;
    let mut columns = Columns::new(&[Align::Left, Align::Left]);
    columns.line(["recorded", &clean(&subject(profile))]);
    columns.line(["began", &Utc::at(session.clocks.realtime_ns).to_string()]);
    columns.line(["lasted", &lasted(profile, gathered)]);
    columns.line([
        "machine",
        &clean(&format!(
            "{}, Linux {} {}, {}",
            session.host,
            session.kernel,
            session.arch,
            counted(u64::from(session.cpus), "CPU")
        )),
    ]);
    columns.line([
        "engine",
        &clean(&format!(
            "{}, tracer at {}",
            session.engine, session.scheduling
        )),
    ]);
    if !session.options.is_empty() {
        columns.line(["only", &clean(&session.options.join(" "))]);
    }
    columns.line([
        "content",
        &format!(
            "{}, {}, {}",
            counted(profile.processes.len() as u64, "process"),
            counted(profile.threads.len() as u64, "thread"),
            counted(gathered.samples, "sample")
        ),
    ]);
    let version = clean(&session.version);
    let _ = writeln!(
        out,
        "{}",
        format!("Recording by sprof {version}").trim_end()
    );
    columns.write(out);
    ticks(out, profile, gathered);
}

fn subject(profile: &Profile) -> String {
    let session = &profile.session;
    if !session.command.is_empty() {
        return session.command.join(" ");
    }
    let roots: Vec<String> = session.roots.iter().map(ToString::to_string).collect();
    match roots.len() {
        0 => "nothing".to_owned(),
        1 => format!("process {}", roots[0]),
        _ => format!("processes {}", roots.join(", ")),
    }
}

/// Ticks tell it best: at its end, the recording goes on to look up names.
fn lasted(profile: &Profile, gathered: &Gathered<'_>) -> String {
    let begun = profile.session.clocks.monotonic;
    match profile.finished {
        Some(end) if gathered.ticks == 0 => end.monotonic.since(begun).to_string(),
        Some(_) => format!("{} from the first tick to the last", gathered.span),
        None => format!(
            "{} from the first tick to the last; the end of the recording is missing",
            gathered.span
        ),
    }
}

fn ticks(out: &mut String, profile: &Profile, gathered: &Gathered<'_>) {
    let lost = |kind: LossKind| -> u64 {
        let of_kind = profile.losses.iter().filter(|loss| loss.kind == kind);
        of_kind.fold(0, |sum, loss| sum.saturating_add(loss.count))
    };
    let (skipped, dropped) = (lost(LossKind::TickSkipped), lost(LossKind::TickDropped));
    let late = skipped.saturating_add(dropped);
    let asked = gathered.ticks.saturating_add(late);
    headline(out, "Ticks");
    let mut columns = Columns::new(&[Align::Left, Align::Left]);
    columns.line(["asked", &asked.to_string()]);
    let kept = percent(gathered.ticks, asked);
    columns.line(["kept", &format!("{}  {kept}", gathered.ticks)]);
    columns.line([
        "late",
        &format!("{late}  ({skipped} skipped, {dropped} dropped)"),
    ]);
    let real = gathered
        .interval()
        .map_or_else(String::new, |real| format!(", {real} in the mean"));
    let wanted = profile.session.interval;
    columns.line(["interval", &format!("{wanted} wanted{real}")]);
    if gathered.stops > 0 {
        let perturbed = format!(
            "{}, {} in a system call that a stop can interrupt",
            gathered.stops, gathered.perturbed
        );
        columns.line(["stops", &perturbed]);
    }
    columns.write(out);
    if gathered.ticks > 0 {
        out.push('\n');
        spreads(out, gathered);
    }
}

fn spreads(out: &mut String, gathered: &Gathered<'_>) {
    let right = Align::Right;
    let mut columns = Columns::new(&[Align::Left, right, right, right, Align::Left]);
    columns.line(["", "p50", "p99", "max", ""]);
    let mut line = |name: &str, spread: Option<Spread>, more: String| {
        let Spread { p50, p99, max, .. } = spread.unwrap_or_default();
        let [p50, p99, max] = [p50, p99, max].map(|length| length.to_string());
        columns.line([name.to_owned(), p50, p99, max, more]);
    };
    let held: Nanos = gathered.stop.map_or(Nanos(0), |stop| stop.sum);
    let share = percent(held.0, gathered.span.0);
    let share = if share.is_empty() {
        share
    } else {
        format!("{share} of the time")
    };
    line("pause", gathered.stop, share);
    line(
        "skew",
        gathered.skew,
        "between the threads of a tick, at most".to_owned(),
    );
    line(
        "delay",
        gathered.delay,
        "from when a tick was due".to_owned(),
    );
    columns.write(out);
}
