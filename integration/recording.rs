//! A recording as the tests see it: what `sprof convert --to jsonl` says.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::Value;

use crate::sprof;

/// All lines of a recording, by type.
#[derive(Debug, Default)]
pub struct Recording {
    /// The one `session` line.
    pub session: Value,
    /// `process` lines.
    pub processes: Vec<Process>,
    /// `thread` lines.
    pub threads: Vec<Thread>,
    /// `tick` lines, in order of time.
    pub ticks: Vec<Tick>,
    /// `loss` lines.
    pub losses: Vec<Value>,
    /// `sample` lines, in order of time.
    pub samples: Vec<Sample>,
}

/// One life of a process.
#[derive(Clone, Debug, Deserialize)]
pub struct Process {
    /// The kernel's number.
    pub pid: u32,
    /// The parent's.
    pub ppid: u32,
    /// Its number in its own namespace, where that is another one.
    #[serde(default)]
    pub inner_pid: Option<u32>,
    /// Path of the program it ran last.
    pub exe: String,
    /// When it began.
    pub start_ns: u64,
    /// When it ended; `None`: alive at the end.
    pub end_ns: Option<u64>,
    /// How it ended.
    pub exit_status: Value,
}

/// One life of a thread.
#[derive(Clone, Debug, Deserialize)]
pub struct Thread {
    /// Its process.
    pub pid: u32,
    /// The kernel's number.
    pub tid: u32,
    /// Its last name.
    pub name: String,
    /// All its names, the oldest first.
    pub names: Vec<Name>,
    /// When it began.
    pub start_ns: u64,
    /// When it ended; `None`: alive at the end.
    pub end_ns: Option<u64>,
}

/// A name of a thread.
#[derive(Clone, Debug, Deserialize)]
pub struct Name {
    /// The name.
    pub name: String,
}

/// One instant of the whole tree.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Tick {
    /// Its number.
    #[serde(rename = "tick")]
    pub number: u64,
    /// The instant.
    pub time_ns: u64,
    /// All threads were held within this time of each other.
    pub skew_ns: u64,
    /// So long threads were held.
    pub stop_ns: u64,
}

/// One thread at one tick.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The tick.
    pub tick: u64,
    /// Its instant.
    pub time_ns: u64,
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What the thread was doing.
    pub state: String,
    /// The system call that it was blocked in; `None`: in none, or not known.
    pub syscall: Option<String>,
    /// CPU time since its sample before; `None`: not known.
    pub cpu_ns: Option<u64>,
    /// It is said not to have run since its last sample.
    pub carried: bool,
    /// Why the stack is not whole; `None`: it is.
    pub cut: Option<String>,
    /// Names of the frames, the leaf first; an empty one where there is no name.
    pub frames: Vec<Rc<str>>,
}

#[derive(Deserialize)]
struct SampleLine {
    tick: u64,
    time_ns: u64,
    pid: u32,
    tid: u32,
    state: String,
    syscall: Option<String>,
    cpu_ns: Option<u64>,
    #[serde(default)]
    carried: bool,
    #[serde(default)]
    cut: Option<String>,
    frames: Vec<FrameLine>,
}

#[derive(Deserialize)]
struct FrameLine {
    name: Option<String>,
}

impl Sample {
    /// Whether it tells that it has no stack, and why: it then claims nothing that could be wrong.
    pub fn is_without_stack(&self) -> bool {
        self.frames.is_empty() && self.cut.is_some()
    }

    /// Whether a frame bears this name.
    pub fn shows(&self, function: &str) -> bool {
        self.frames.iter().any(|name| is(name, function))
    }

    /// The stack's functions for which `wanted` has an answer, the root first.
    pub fn root_first<T>(&self, wanted: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let names = self.frames.iter().rev();
        names.filter_map(|name| wanted(name)).collect()
    }
}

/// Whether a frame's name is that of a function, with or without its parameters.
pub fn is(name: &str, function: &str) -> bool {
    name.strip_prefix(function)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
}

impl Recording {
    /// Reads a recording through `sprof convert`, which must accept it.
    #[track_caller]
    pub fn of(file: &Path) -> Recording {
        let mut convert = sprof::command();
        convert.arg("convert").arg(file);
        convert.args(["--to", "jsonl", "-o", "-"]);
        let mut child = convert
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let recording = Recording::parse(lines);
        sprof::finish(child).assert_code(0);
        assert!(!recording.session.is_null(), "no session line");
        recording
    }

    /// Reads the lines of a recording.
    ///
    /// # Panics
    /// At a line that is none of a recording's: it is sprof's own output.
    pub fn parse(lines: impl BufRead) -> Recording {
        let mut recording = Recording::default();
        let mut names = HashMap::new();
        for line in lines.lines() {
            recording.add(&line.unwrap(), &mut names);
        }
        recording
    }

    fn add(&mut self, line: &str, names: &mut HashMap<String, Rc<str>>) {
        #[derive(Deserialize)]
        struct Kind<'a> {
            r#type: &'a str,
        }
        fn read<'a, T: Deserialize<'a>>(line: &'a str) -> T {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"))
        }
        match read::<Kind<'_>>(line).r#type {
            "session" => self.session = read(line),
            "process" => self.processes.push(read(line)),
            "thread" => self.threads.push(read(line)),
            "tick" => self.ticks.push(read(line)),
            "loss" => self.losses.push(read(line)),
            "sample" => {
                let line: SampleLine = read(line);
                let frames = line.frames.into_iter().map(|frame| {
                    let name = frame.name.unwrap_or_default();
                    let known = names.entry(name);
                    let key = known.key().as_str().into();
                    Rc::clone(known.or_insert(key))
                });
                self.samples.push(Sample {
                    tick: line.tick,
                    time_ns: line.time_ns,
                    pid: line.pid,
                    tid: line.tid,
                    state: line.state,
                    syscall: line.syscall,
                    cpu_ns: line.cpu_ns,
                    carried: line.carried,
                    cut: line.cut,
                    frames: frames.collect(),
                });
            }
            // Kinds of line that are newer than a reader are to be passed over.
            _ => {}
        }
    }

    /// Samples of one thread of one process.
    pub fn samples_of(&self, pid: u32, tid: u32) -> impl Iterator<Item = &Sample> {
        let mine = move |sample: &&Sample| sample.pid == pid && sample.tid == tid;
        self.samples.iter().filter(mine)
    }

    /// The process with this number; of several lives the first.
    #[track_caller]
    pub fn process(&self, pid: u32) -> &Process {
        let found = self.processes.iter().find(|process| process.pid == pid);
        found.unwrap_or_else(|| panic!("process {pid} is not in the recording"))
    }
}
