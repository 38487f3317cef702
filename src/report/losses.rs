//! What is missing, and why.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::profile::{LossKind, LossSubject, Profile};

use super::Length;
use super::columns::{Align, Columns, clean, counted, headline, percent};
use super::gather::Gathered;

/// Lines of a short list.
const SHORT: usize = 10;

/// Appends the losses, the stacks that are not whole and the names that are missing.
pub(super) fn write(out: &mut String, profile: &Profile, gathered: &Gathered<'_>, length: Length) {
    losses(out, profile, length);
    stacks(out, gathered);
    names(out, gathered, length);
}

fn losses(out: &mut String, profile: &Profile, length: Length) {
    if profile.losses.is_empty() {
        headline(out, "Nothing was lost");
        return;
    }
    headline(out, "Lost");
    // Details differ where subjects do: the first few are examples.
    let mut kinds: BTreeMap<LossKind, (u64, Vec<String>)> = BTreeMap::new();
    for loss in &profile.losses {
        let (count, details) = kinds.entry(loss.kind).or_default();
        // Of a pause, the count is its length, which the detail says.
        let more = if loss.kind == LossKind::Paused {
            1
        } else {
            loss.count
        };
        *count = count.saturating_add(more);
        let detail = match subject(profile, loss.subject) {
            Some(subject) if loss.detail.is_empty() => subject,
            Some(subject) => format!("{subject}: {}", loss.detail),
            None => loss.detail.clone(),
        };
        if !detail.is_empty() && !details.contains(&detail) {
            details.push(detail);
        }
    }
    let mut columns = Columns::new(&[Align::Right, Align::Left, Align::Left]);
    for (kind, (count, details)) in kinds {
        let shown = length.limit(3, details.len());
        let mut first = [count.to_string(), kind.name().to_owned()];
        if details.is_empty() {
            columns.line(first.clone());
        }
        for detail in &details[..shown] {
            let [count, name] = std::mem::take(&mut first);
            columns.line([count, name, clean(detail)]);
        }
        if shown < details.len() {
            columns.line(["", "", &format!("… {} more (--all)", details.len() - shown)]);
        }
    }
    columns.write(out);
}

fn subject(profile: &Profile, subject: LossSubject) -> Option<String> {
    match subject {
        LossSubject::Session => None,
        LossSubject::Process(id) => {
            let process = profile.process(id)?;
            Some(format!("{} [{}]", process.name(), process.numbers()))
        }
        LossSubject::Thread(id) => {
            let thread = profile.thread(id)?;
            Some(format!("thread {} [{}]", thread.name(), thread.tid))
        }
    }
}

fn stacks(out: &mut String, gathered: &Gathered<'_>) {
    let cut: u64 = gathered.ends.values().map(|ends| ends.samples).sum();
    if cut == 0 {
        return;
    }
    let share = percent(cut, gathered.samples);
    headline(
        out,
        &format!(
            "Stacks that are not whole: {cut} of {} ({share})",
            gathered.samples
        ),
    );
    let mut reasons: Vec<_> = gathered.ends.iter().collect();
    reasons.sort_by_key(|(_, ends)| Reverse(ends.samples));
    let mut columns = Columns::new(&[Align::Right, Align::Right, Align::Left, Align::Left]);
    for (reason, ends) in reasons {
        let more = match ends.bytes {
            0 => String::new(),
            bytes => format!("{} bytes a stack in the mean", bytes / ends.samples),
        };
        let share = percent(ends.samples, gathered.samples);
        columns.line([ends.samples.to_string(), share, (*reason).to_owned(), more]);
    }
    columns.write(out);
}

fn names(out: &mut String, gathered: &Gathered<'_>, length: Length) {
    let mut missing: Vec<_> = gathered.functions.missing_names().iter().collect();
    if missing.is_empty() {
        return;
    }
    missing.sort_by(|a, b| {
        let order = b.samples.cmp(&a.samples);
        order.then_with(|| (&a.module, a.reason).cmp(&(&b.module, b.reason)))
    });
    headline(out, "Names that are missing");
    let shown = length.limit(SHORT, missing.len());
    let mut columns = Columns::new(&[Align::Right, Align::Right, Align::Left, Align::Left]);
    columns.line(["samples", "addresses", "reason", "module"]);
    for entry in &missing[..shown] {
        columns.line([
            percent(entry.samples, gathered.samples),
            entry.addresses.to_string(),
            entry.reason.name().to_owned(),
            clean(entry.module.as_deref().unwrap_or("-")),
        ]);
    }
    if shown < missing.len() {
        let more = counted((missing.len() - shown) as u64, "more module");
        columns.line(["", "", "", &format!("… {more} (--all)")]);
    }
    columns.write(out);
}
