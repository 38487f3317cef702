//! One JSON object a line, for scripts: everything that is known, in the order of time.
//!
//! Lines rather than one document, because a script then reads any length of recording with a
//! bounded memory, and `grep`, `head` and `jq` work. The field `type` comes first in each:
//!
//! - `session`: `version` (of sprof), `command`, `roots` (pids), `rate` (ticks a second wanted),
//!   `interval_ns`, `engine`, `scheduling`, `host`, `boot_id`, `kernel`, `arch`, `page_size`,
//!   `cpus`, `clocks` (`monotonic_ns`, `boottime_ns`, `realtime_ns`, read within `error_ns`, at the
//!   start), `options` (what was chosen of the tree and of time, in the words of the command line)
//!   and `clocks_end` (null: the recording did not end as it should). Always the first line.
//! - `process`: `process` (its number in this recording), `pid`, `ppid`, `inner_pid` (in its
//!   innermost PID namespace; null: the same), `name`, `exe`, `argv`, `start_ns`, `end_ns` (null:
//!   alive at the end), `exit_status` (`{"code":0}`, `{"signal":9}`, null: alive or not known).
//! - `thread`: `thread` (its number in this recording), `pid`, `tid`, `name`, `names` (`from_ns`
//!   and `name`, the last is `name`), `start_ns`, `end_ns`.
//! - `tick`: `tick` (missing numbers were skipped), `time_ns`, `planned_ns`, `stop_ns` (how long
//!   threads were held), `skew_ns`, `stops`, `perturbed`, `pauses` (how long each process was held:
//!   `process`, `pid`, `pause_ns`; those that were not are not in it). Its samples follow, then
//!   losses and counters up to its time.
//! - `sample`: `tick`, `time_ns`, `pid`, `tid`, `thread`, `state` (`running`, `runnable`,
//!   `sleeping`, `disk`, `stopped`, `unknown`), `syscall` (the name of the system call it is blocked
//!   in; null: in none, or not known), `since_ns` (exactly since when it has been off its CPU; null:
//!   not known, but with `carried` since the sample before at least), `cpu` (the number of the CPU it
//!   runs on or ran on last; null: not known), `cpu_ns` (since its sample before; null: not
//!   known), `carried` (proven not to have run since), `frames`, leaf first; where the stack is not
//!   whole `cut`, the reason, and for `not-copied` also `cut_bytes`.
//!   A frame: `name`, `kind` (`native`, `inlined`, `marker`), `module`, `file`, `line`, `address`;
//!   `missing` says why there is no function name.
//! - `loss`: `tick` (null: not of one tick), `time_ns`, `what`, `reason`, `count`, and `pid`, `tid`
//!   of whom it concerns (null: all).
//!
//! - `counter`: `time_ns`, `name`, `value`, `unit` (`ns`, `bytes`, `count`), `kind` (`level`: what it
//!   was at that time; `amount`: what came together since its value before), and `pid`, `tid`, `cpu`
//!   of whom it is (null: of the recording).
//!
//! `pid` and `tid` are the kernel's numbers, which are reused; `process` and `thread` never are.
//! Times are integers, nanoseconds of `CLOCK_MONOTONIC`. `address` is a text, `"0x1139"`, because
//! many readers of JSON lose bits of large numbers: the lookup address in the module's own address
//! space, or in the target's memory where `module` is null.

use std::collections::HashMap;
use std::io::Write;

use super::ConvertError;
use super::json::List;
use super::source::Source;
use crate::profile::{
    Clocks, Counter, CounterSubject, CounterValue, ExitStatus, Frame, Loss, LossSubject,
    NamedFrame, Process, Profile, Sample, StackEnd, StackTable, SymbolReason, SyscallNumber,
    Thread, ThreadId, Tick,
};
use lines::{
    ClocksValue, CounterLine, ExitValue, FrameValue, Line, LossLine, NameValue, PauseValue,
    ProcessLine, SessionLine, ThreadLine, TickLine,
};

mod lines;

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
    let mut counted: Vec<(&Counter, &CounterValue)> = (profile.counters.iter())
        .flat_map(|counter| counter.values.iter().map(move |value| (counter, value)))
        .collect();
    counted.sort_by_key(|(_, value)| value.time);
    let mut counted = counted.into_iter().peekable();
    let mut frames = Frames {
        profile,
        known: HashMap::new(),
    };
    source.each_tick(&mut |tick, table| {
        put(out, &Line::Tick(tick_line(profile, tick)))?;
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
        while let Some(next) = counted.next_if(|(_, value)| value.time <= tick.time) {
            put(out, &Line::Counter(counter_line(profile, next)))?;
        }
        Ok(())
    })?;
    losses.try_for_each(|loss| put(out, &Line::Loss(loss_line(profile, loss))))?;
    counted.try_for_each(|next| put(out, &Line::Counter(counter_line(profile, next))))
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
        options: &session.options,
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

fn tick_line(profile: &Profile, tick: &Tick) -> TickLine {
    let pauses = tick.pauses.iter().map(|&(id, pause)| PauseValue {
        process: id.0,
        pid: profile.process(id).map(|process| process.pid.0),
        pause_ns: pause.0,
    });
    TickLine {
        tick: tick.index,
        time_ns: tick.time.0,
        planned_ns: tick.planned.0,
        stop_ns: tick.stop.0,
        skew_ns: tick.skew.0,
        stops: tick.stops,
        perturbed: tick.perturbed,
        pauses: pauses.collect(),
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

fn counter_line<'a>(
    profile: &Profile,
    (counter, value): (&'a Counter, &CounterValue),
) -> CounterLine<'a> {
    let mut line = CounterLine {
        time_ns: value.time.0,
        name: &counter.name,
        value: value.value,
        unit: counter.unit.name(),
        kind: counter.kind.name(),
        pid: None,
        tid: None,
        cpu: None,
    };
    match counter.subject {
        CounterSubject::Session => {}
        CounterSubject::Process(id) => line.pid = profile.process(id).map(|of| of.pid.0),
        CounterSubject::Thread(id) => (line.pid, line.tid) = numbers(profile, id),
        CounterSubject::Cpu(cpu) => line.cpu = Some(cpu.0),
    }
    line
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
    line.set("syscall", &sample.syscall.map(SyscallNumber::name))?;
    line.set("since_ns", &sample.since.map(|since| since.0))?;
    line.set("cpu", &sample.cpu_number.map(|cpu| cpu.0))?;
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
