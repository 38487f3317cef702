//! The tracks of the timeline: one a process life, one a thread life.

use super::{Pid, ProcessId, ThreadId, Tid, Timestamp};

/// One life of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// This process.
    pub id: ProcessId,
    /// The kernel's number.
    pub pid: Pid,
    /// The number in the innermost PID namespace, where it differs.
    pub inner_pid: Option<Pid>,
    /// The recorded process that forked it.
    pub parent: Option<ProcessId>,
    /// The parent's number at birth or attach, recorded or not.
    pub parent_pid: Pid,
    /// Fork time; for a process that was there at attach, its start by the kernel's accounting.
    pub start: Timestamp,
    /// When it ended; `None`: it was alive at the end of the recording.
    pub end: Option<Timestamp>,
    /// How it ended, where that could be known.
    pub exit_status: Option<ExitStatus>,
    /// The programs it ran, in order: the one at fork or attach, then one an exec.
    pub images: Vec<Image>,
}

/// A program that a process ran, from one exec to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Valid from here to the next image or the end of the process.
    pub from: Timestamp,
    /// Path of the executable, as the kernel shows it; empty when it could not be read.
    pub exe: String,
    /// Arguments; empty when they could not be read.
    pub argv: Vec<String>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// `exit(code)`.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

/// One life of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// This thread.
    pub id: ThreadId,
    /// The process it belongs to.
    pub process: ProcessId,
    /// The kernel's number.
    pub tid: Tid,
    /// When it was created; for one that was there at attach, its start by the kernel's accounting.
    pub start: Timestamp,
    /// When it ended; `None`: it was alive at the end of the recording.
    pub end: Option<Timestamp>,
    /// Its names in order of time; the last is the newest.
    pub names: Vec<ThreadName>,
}

/// A name a thread bore, from a point in time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadName {
    /// First seen at.
    pub from: Timestamp,
    /// The kernel's `comm` (bytes that are not UTF-8 are replaced).
    pub name: String,
}

impl Process {
    /// Its number; in a container also the one that it has in there: `4711 (1 inside)`.
    pub fn numbers(&self) -> String {
        match self.inner_pid {
            Some(inner) => format!("{} ({inner} inside)", self.pid),
            None => self.pid.to_string(),
        }
    }

    /// The program it runs now, or ran last.
    pub fn image(&self) -> Option<&Image> {
        self.images.last()
    }

    /// The title it gave itself, else the executable's file name, else the first argument's, else
    /// `pid N`.
    pub fn name(&self) -> String {
        let image = self.image();
        if let Some(title) = image.and_then(Image::title) {
            return title.to_owned();
        }
        let path = image
            .map(|image| image.exe.trim_end_matches(" (deleted)"))
            .filter(|exe| !exe.is_empty())
            .or_else(|| image.and_then(|image| image.argv.first().map(String::as_str)));
        match path
            .and_then(|path| path.rsplit('/').next())
            .filter(|name| !name.is_empty())
        {
            Some(name) => name.to_owned(),
            None => format!("pid {}", self.pid),
        }
    }
}

impl Image {
    /// What the program wrote over its arguments to tell its processes apart, as servers do:
    /// `nginx: worker process`. It looks like one argument, and what follows it, if anything, is
    /// padding.
    fn title(&self) -> Option<&str> {
        let (title, padding) = self.argv.split_first()?;
        let title = title.trim_end();
        let is_title = title.contains(": ") && !title.starts_with('/');
        (is_title && padding.iter().all(|word| word.trim().is_empty())).then_some(title)
    }
}

impl Thread {
    /// The newest name, or an empty text when none could be read.
    pub fn name(&self) -> &str {
        self.names.last().map_or("", |name| &name.name)
    }

    /// Whether this is the thread its process began with.
    pub fn is_main(&self, process: &Process) -> bool {
        self.tid.0 == process.pid.0
    }
}
