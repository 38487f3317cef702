//! One JSON object a line, for scripts: everything that is known, in the order of time.
//!
//! Lines rather than one document, because a script then reads any length of recording with a
//! bounded memory, and `grep`, `head` and `jq` work. The field `type` comes first in each:
//!
//! - `session`: `version` (of sprof), `command`, `roots` (pids), `rate` (ticks a second wanted),
//!   `interval_ns`, `engine`, `scheduling`, `host`, `boot_id`, `kernel`, `arch`, `page_size`,
//!   `cpus`, `clocks` (`monotonic_ns`, `boottime_ns`, `realtime_ns`, read within `error_ns`, at the
//!   start) and `clocks_end` (null: the recording did not end as it should). Always the first line.
//! - `process`: `process` (its number in this recording), `pid`, `ppid`, `inner_pid` (in its
//!   innermost PID namespace; null: the same), `name`, `exe`, `argv`, `start_ns`, `end_ns` (null:
//!   alive at the end), `exit_status` (`{"code":0}`, `{"signal":9}`, null: alive or not known).
//! - `thread`: `thread` (its number in this recording), `pid`, `tid`, `name`, `names` (`from_ns`
//!   and `name`, the last is `name`), `start_ns`, `end_ns`.
//! - `tick`: `tick` (missing numbers were skipped), `time_ns`, `planned_ns`, `stop_ns` (how long
//!   threads were held), `skew_ns`, `stops`, `perturbed`. Its samples and losses follow.
//! - `sample`: `tick`, `time_ns`, `pid`, `tid`, `thread`, `state` (`running`, `runnable`,
//!   `sleeping`, `disk`, `stopped`, `unknown`), `cpu_ns` (since its sample before; null: not
//!   known), `carried` (proven not to have run since), `frames`, leaf first; where the stack is not
//!   whole `cut`, the reason, and for `not-copied` also `cut_bytes`.
//!   A frame: `name`, `kind` (`native`, `inlined`, `marker`), `module`, `file`, `line`, `address`;
//!   `missing` says why there is no function name.
//! - `loss`: `tick` (null: not of one tick), `time_ns`, `what`, `reason`, `count`, and `pid`, `tid`
//!   of whom it concerns (null: all).
//!
//! `pid` and `tid` are the kernel's numbers, which are reused; `process` and `thread` never are.
//! Times are integers, nanoseconds of `CLOCK_MONOTONIC`. `address` is a text, `"0x1139"`, because
//! many readers of JSON lose bits of large numbers: the lookup address in the module's own address
//! space, or in the target's memory where `module` is null.

use std::collections::HashMap;
use std::io::Write;

use serde::Serialize;

use super::ConvertError;
use super::json::List;
use super::source::Source;
use crate::profile::{
    Clocks, ExitStatus, Frame, Loss, LossSubject, NamedFrame, Process, Profile, Sample, StackEnd,
    StackTable, SymbolReason, Thread, ThreadId, Tick,
};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<'a> {
    Session(SessionLine<'a>),
    Process(ProcessLine<'a>),
    Thread(ThreadLine<'a>),
    Tick(TickLine),
    Loss(LossLine<'a>),
}

#[derive(Serialize)]
struct SessionLine<'a> {
    version: &'a str,
    command: &'a [String],
    roots: Vec<i32>,
    rate: f64,
    interval_ns: u64,
    engine: &'a str,
    scheduling: &'a str,
    host: &'a str,
    boot_id: &'a str,
    kernel: &'a str,
    arch: &'a str,
    page_size: u64,
    cpus: u32,
    clocks: ClocksValue,
    clocks_end: Option<ClocksValue>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "names of fields of the output")]
struct ClocksValue {
    monotonic_ns: u64,
    boottime_ns: u64,
    realtime_ns: u64,
    error_ns: u64,
}

#[derive(Serialize)]
struct ProcessLine<'a> {
    process: u32,
    pid: i32,
    ppid: i32,
    inner_pid: Option<i32>,
    name: String,
    exe: &'a str,
    argv: &'a [String],
    start_ns: u64,
    end_ns: Option<u64>,
    exit_status: Option<ExitValue>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum ExitValue {
    Code(i32),
    Signal(i32),
}

#[derive(Serialize)]
struct ThreadLine<'a> {
    thread: u32,
    pid: Option<i32>,
    tid: i32,
    name: &'a str,
    names: Vec<NameValue<'a>>,
    start_ns: u64,
    end_ns: Option<u64>,
}

#[derive(Serialize)]
struct NameValue<'a> {
    from_ns: u64,
    name: &'a str,
}

#[derive(Serialize)]
struct TickLine {
    tick: u64,
    time_ns: u64,
    planned_ns: u64,
    stop_ns: u64,
    skew_ns: u64,
    stops: u32,
    perturbed: u32,
}

#[derive(Serialize)]
struct FrameValue<'a> {
    name: &'a str,
    kind: &'static str,
    module: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<&'static str>,
}

#[derive(Serialize)]
struct LossLine<'a> {
    tick: Option<u64>,
    time_ns: u64,
    what: &'static str,
    reason: &'a str,
    count: u64,
    pid: Option<i32>,
    tid: Option<i32>,
}

pub(super) fn write(source: &mut Source<'_>, out: &mut dyn Write) -> Result<(), ConvertError> {
    let profile = source.profile();
    put(out, &Line::Session(session(profile)))?;
    for process in &profile.processes {
        put(out, &Line::Process(process_line(process)))?;
    }
    for thread in &profile.threads {
        put(out, &Line::Thread(thread_line(profile, thread)))?;
    }
    let mut losses: Vec<&Loss> = profile.losses.iter().collect();
    losses.sort_by_key(|loss| loss.time);
    let mut losses = losses.into_iter().peekable();
    let mut frames = Frames {
        profile,
        known: HashMap::new(),
    };
    source.each_tick(&mut |tick, table| {
        put(out, &Line::Tick(tick_line(tick)))?;
        for sample in &tick.samples {
            write_sample(out, &mut frames, tick, sample, table)?;
        }
        let due = |loss: &&Loss| match loss.tick {
            Some(number) => number <= tick.index,
            None => loss.time <= tick.time,
        };
        while let Some(loss) = losses.next_if(due) {
            put(out, &Line::Loss(loss_line(profile, loss)))?;
        }
        Ok(())
    })?;
    losses.try_for_each(|loss| put(out, &Line::Loss(loss_line(profile, loss))))
}

fn put(out: &mut dyn Write, line: &Line<'_>) -> Result<(), ConvertError> {
    serde_json::to_writer(&mut *out, line)?;
    Ok(out.write_all(b"\n")?)
}

fn session(profile: &Profile) -> SessionLine<'_> {
    let session = &profile.session;
    let seconds = session.interval.seconds();
    SessionLine {
        version: &session.version,
        command: &session.command,
        roots: session.roots.iter().map(|pid| pid.0).collect(),
        rate: if seconds > 0.0 { 1.0 / seconds } else { 0.0 },
        interval_ns: session.interval.0,
        engine: &session.engine,
        scheduling: &session.scheduling,
        host: &session.host,
        boot_id: &session.boot_id,
        kernel: &session.kernel,
        arch: &session.arch,
        page_size: session.page_size,
        cpus: session.cpus,
        clocks: clocks(session.clocks),
        clocks_end: profile.finished.map(clocks),
    }
}

fn clocks(clocks: Clocks) -> ClocksValue {
    ClocksValue {
        monotonic_ns: clocks.monotonic.0,
        boottime_ns: clocks.boottime_ns,
        realtime_ns: clocks.realtime_ns,
        error_ns: clocks.error.0,
    }
}

fn process_line(process: &Process) -> ProcessLine<'_> {
    let image = process.image();
    ProcessLine {
        process: process.id.0,
        pid: process.pid.0,
        ppid: process.parent_pid.0,
        inner_pid: process.inner_pid.map(|pid| pid.0),
        name: process.name(),
        exe: image.map_or("", |image| &image.exe),
        argv: image.map_or(&[], |image| &image.argv),
        start_ns: process.start.0,
        end_ns: process.end.map(|end| end.0),
        exit_status: process.exit_status.map(|status| match status {
            ExitStatus::Code(code) => ExitValue::Code(code),
            ExitStatus::Signal(signal) => ExitValue::Signal(signal),
        }),
    }
}

fn thread_line<'a>(profile: &Profile, thread: &'a Thread) -> ThreadLine<'a> {
    let names = thread.names.iter().map(|name| NameValue {
        from_ns: name.from.0,
        name: &name.name,
    });
    ThreadLine {
        thread: thread.id.0,
        pid: profile.process(thread.process).map(|process| process.pid.0),
        tid: thread.tid.0,
        name: thread.name(),
        names: names.collect(),
        start_ns: thread.start.0,
        end_ns: thread.end.map(|end| end.0),
    }
}

fn tick_line(tick: &Tick) -> TickLine {
    TickLine {
        tick: tick.index,
        time_ns: tick.time.0,
        planned_ns: tick.planned.0,
        stop_ns: tick.stop.0,
        skew_ns: tick.skew.0,
        stops: tick.stops,
        perturbed: tick.perturbed,
    }
}

fn loss_line<'a>(profile: &Profile, loss: &'a Loss) -> LossLine<'a> {
    let (pid, tid) = match loss.subject {
        LossSubject::Session => (None, None),
        LossSubject::Process(id) => (profile.process(id).map(|process| process.pid.0), None),
        LossSubject::Thread(id) => numbers(profile, id),
    };
    LossLine {
        tick: loss.tick,
        time_ns: loss.time.0,
        what: loss.kind.name(),
        reason: &loss.detail,
        count: loss.count,
        pid,
        tid,
    }
}

/// A thread's pid and tid.
fn numbers(profile: &Profile, thread: ThreadId) -> (Option<i32>, Option<i32>) {
    let thread = profile.thread(thread);
    let process = thread.and_then(|thread| profile.process(thread.process));
    (
        process.map(|process| process.pid.0),
        thread.map(|thread| thread.tid.0),
    )
}

/// Written by hand, so that frames can be put in as the text they were turned to before.
fn write_sample(
    out: &mut dyn Write,
    frames: &mut Frames<'_>,
    tick: &Tick,
    sample: &Sample,
    table: &StackTable,
) -> Result<(), ConvertError> {
    let (pid, tid) = numbers(frames.profile, sample.thread);
    let mut line = List::object(out)?;
    line.set("type", &"sample")?;
    line.set("tick", &tick.index)?;
    line.set("time_ns", &tick.time.0)?;
    line.set("pid", &pid)?;
    line.set("tid", &tid)?;
    line.set("thread", &sample.thread.0)?;
    line.set("state", &sample.state.name())?;
    line.set("cpu_ns", &sample.cpu.map(|cpu| cpu.0))?;
    line.set("carried", &sample.carried)?;
    if let Some(reason) = sample.end.reason() {
        line.set("cut", &reason)?;
    }
    if let StackEnd::NotCopied(bytes) = sample.end {
        line.set("cut_bytes", &bytes)?;
    }
    let mut array = List::array(line.member("frames")?)?;
    let leaf = sample.stack.filter(|leaf| leaf.index() < table.len());
    for frame in table.frames(leaf) {
        let text = frames.text(frame)?;
        if !text.is_empty() {
            array.item()?.write_all(text.as_bytes())?;
        }
    }
    array.end()?;
    line.end()?;
    Ok(out.write_all(b"\n")?)
}

/// The distinct frames as JSON, without the brackets around them.
struct Frames<'a> {
    profile: &'a Profile,
    known: HashMap<Frame, String>,
}

impl Frames<'_> {
    fn text(&mut self, frame: Frame) -> Result<&str, ConvertError> {
        if !self.known.contains_key(&frame) {
            let named = self.profile.named(frame);
            let values: Result<Vec<String>, _> = named.iter().map(frame_json).collect();
            self.known.insert(frame, values?.join(","));
        }
        Ok(&self.known[&frame])
    }
}

fn frame_json(frame: &NamedFrame<'_>) -> serde_json::Result<String> {
    serde_json::to_string(&FrameValue {
        name: &frame.name,
        kind: frame.kind.name(),
        module: frame.module,
        file: frame.file,
        line: frame.line,
        address: frame.address.map(|address| format!("{:#x}", address.0)),
        missing: frame.missing.map(SymbolReason::name),
    })
}
