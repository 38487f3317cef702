//! What threads waited in.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::profile::{Process, Profile, RunState, Sample, SyscallNumber, ThreadId};

use super::Length;
use super::columns::{Align, Columns, clean, counted, headline, percent, shortened};
use super::gather::Gathered;

/// Lines of a short list.
const SHORT: usize = 12;
/// Columns of a thread and its process.
const NAME_WIDTH: usize = 40;

/// Samples in which a thread was blocked in a system call.
#[derive(Debug, Default)]
pub(super) struct Waits(BTreeMap<(ThreadId, SyscallNumber), u64>);

impl Waits {
    pub(super) fn count(&mut self, sample: &Sample) {
        if let (RunState::Sleeping | RunState::Disk, Some(syscall)) = (sample.state, sample.syscall)
        {
            *self.0.entry((sample.thread, syscall)).or_default() += 1;
        }
    }
}

/// Appends who waited in which system call for how long, the longest first.
pub(super) fn write(out: &mut String, profile: &Profile, gathered: &Gathered<'_>, length: Length) {
    let mut waits: Vec<_> = gathered.waits.0.iter().collect();
    if waits.is_empty() {
        return;
    }
    waits.sort_by_key(|&(key, samples)| (Reverse(*samples), *key));
    let (shown, hidden) = waits.split_at(length.limit(SHORT, waits.len()));
    headline(out, "Waiting in system calls, of each thread's time");
    let mut columns = Columns::new(&[Align::Right, Align::Right, Align::Left, Align::Left]);
    columns.line(["wall", "", "system call", "thread"]);
    for &((thread, syscall), samples) in shown {
        let of = gathered.threads.get(thread.index());
        let wall = gathered.wall(*samples);
        columns.line([
            wall.map_or_else(String::new, |wall| wall.to_string()),
            percent(*samples, of.map_or(0, |sums| sums.samples)),
            syscall.name().into_owned(),
            shortened(&clean(&name(profile, *thread)), NAME_WIDTH),
        ]);
    }
    if !hidden.is_empty() {
        let rest = hidden.iter().map(|(_, samples)| **samples).sum();
        let wall = gathered.wall(rest);
        columns.line([
            wall.map_or_else(String::new, |wall| wall.to_string()),
            String::new(),
            String::new(),
            format!("… {} (--all)", counted(hidden.len() as u64, "more line")),
        ]);
    }
    columns.write(out);
}

fn name(profile: &Profile, thread: ThreadId) -> String {
    let Some(thread) = profile.thread(thread) else {
        return String::new();
    };
    let process = profile.process(thread.process);
    let process = process.map_or_else(String::new, Process::name);
    format!("{} [{}] of {process}", thread.name(), thread.tid)
}
