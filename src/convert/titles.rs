//! What tracks are called, and in which order they stand.

use std::cmp::Reverse;

use crate::profile::{Process, Profile, Thread, ThreadId};

/// A thread as the head of a track.
///
/// A thread whose birth is not in the recording (a cut file) still has a track: pid and tid 0.
pub(super) struct Title<'a> {
    pub(super) thread_id: ThreadId,
    pub(super) thread: Option<&'a Thread>,
    pub(super) process: Option<&'a Process>,
    pub(super) pid: i32,
    pub(super) tid: i32,
    pub(super) process_name: String,
    pub(super) thread_name: String,
    /// It is the thread its process began with.
    pub(super) is_main: bool,
}

/// Viewers have a place for one pid: the one that a process in a container knows itself by is a part
/// of its name.
pub(super) fn name_of_process(process: &Process) -> String {
    match process.inner_pid {
        Some(inner) => format!("{} ({inner} inside)", process.name()),
        None => process.name(),
    }
}

impl<'a> Title<'a> {
    pub(super) fn of(profile: &'a Profile, thread_id: ThreadId) -> Title<'a> {
        let thread = profile.thread(thread_id);
        let process = thread.and_then(|thread| profile.process(thread.process));
        let tid = thread.map_or(0, |thread| thread.tid.0);
        let name = thread.map_or("", Thread::name);
        Title {
            thread_id,
            thread,
            process,
            pid: process.map_or(0, |process| process.pid.0),
            tid,
            process_name: process.map_or_else(|| "unknown process".to_owned(), name_of_process),
            thread_name: match (name, thread) {
                ("", Some(_)) => format!("thread {tid}"),
                ("", None) => format!("unknown thread #{}", thread_id.0),
                (name, _) => name.to_owned(),
            },
            is_main: thread.zip(process).is_some_and(|(t, p)| t.is_main(p)),
        }
    }

    /// By process in order of birth, its main thread first.
    pub(super) fn order(&self) -> impl Ord + use<> {
        (
            self.process.is_none(),
            self.process.map(|process| process.id),
            Reverse(self.is_main),
            self.thread_id,
        )
    }
}
