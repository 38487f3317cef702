//! `sprof record`

use nix::errno::Errno;

use super::args::{Engine, Follow, RecordArgs};
use super::failure::{CANNOT_EXECUTE, Failure, NOT_FOUND, RECORD_FAILED, limits_hint, output_hint};
use crate::engine::barrier::BarrierError;
use crate::engine::{AttachError, Refusal, Scope};
use crate::format::FormatError;
use crate::profile::{ExitStatus, Nanos, Spread};
use crate::record::{self, Config, EngineChoice, Observer, RecordError, Summary, Target};
use crate::report::counted;
use crate::term::{self, Hint, Progress, Work};

pub(super) fn run(args: RecordArgs) -> Result<u8, Failure> {
    let target = if args.pids.is_empty() {
        Target::Launch(args.command)
    } else {
        Target::Attach(args.pids)
    };
    let config = Config {
        target,
        interval: args.rate,
        duration: args.duration,
        output: args.output,
        symbolize: !args.no_symbolize,
        scope: Scope {
            follow: args.follow == Follow::All,
            threads: args.threads,
            processes: args.processes,
        },
        delay: args.delay.unwrap_or_default(),
        paused: args.paused,
        max_overhead: args.max_overhead,
        engine: match args.engine {
            Engine::Auto => EngineChoice::Auto,
            Engine::Barrier => EngineChoice::Barrier,
            Engine::Stop => EngineChoice::Stop,
        },
    };
    let mut shown = Shown {
        rate: 1e9 / config.interval.0 as f64,
        // A command that was launched has the terminal for itself.
        recording: matches!(config.target, Target::Attach(_))
            .then(|| Progress::new("recording", Work::Unknown)),
        symbolizing: None,
    };
    let summary = record::record(&config, &mut shown).map_err(failure)?;
    drop(shown);
    term::message(&summary_text(&summary));
    Ok(exit_code(&summary))
}

/// Shows how far the recording is.
#[derive(Debug)]
struct Shown {
    /// Ticks a second that were asked for.
    rate: f64,
    recording: Option<Progress>,
    symbolizing: Option<Progress>,
}

impl Observer for Shown {
    fn progress(&mut self, progress: record::Progress<'_>) {
        match progress {
            record::Progress::Recording { ticks, is_paused } => {
                if let Some(shown) = &mut self.recording {
                    shown.set_what(if is_paused { "paused" } else { "recording" });
                    shown.set(ticks);
                }
            }
            record::Progress::TooFast { kept } => {
                let (rate, kept) = (self.rate, kept * 100.0);
                term::message(&format!(
                    "sprof: cannot keep {rate} ticks a second: {kept:.0} % of them are taken, \
                     the rest is left out; ask for fewer with -r"
                ));
            }
            record::Progress::Symbolizing { done, total } => {
                self.recording = None;
                let begin = || Progress::new("symbolizing", Work::Count(total));
                self.symbolizing.get_or_insert_with(begin).set(done);
            }
            record::Progress::Waiting { pid, output } => {
                (self.recording, self.symbolizing) = (None, None);
                let output = output.display();
                let saved = format!("sprof: recorded to {output}; process {pid} runs on");
                term::message(&saved);
            }
        }
    }
}

/// The status to pass on, as shells word it: the command's, or that of a sprof that left it.
fn exit_code(summary: &Summary) -> u8 {
    let of_signal = |signal: i32| 128_u8.wrapping_add(signal as u8);
    match (summary.exit, summary.left_by_signal) {
        (Some(ExitStatus::Code(code)), _) => code as u8,
        (Some(ExitStatus::Signal(signal)), _) | (None, Some(signal)) => of_signal(signal),
        (None, None) => 0,
    }
}

/// What people are told at the end.
fn summary_text(summary: &Summary) -> String {
    let due = summary.ticks.saturating_add(summary.ticks_missed);
    let mut lines = vec![format!(
        "sprof: kept {} of {} in {}: {}, {}, {}",
        summary.ticks,
        counted(due, "tick"),
        summary.duration,
        counted(summary.samples, "sample"),
        counted(summary.threads, "thread"),
        counted(summary.processes, "process"),
    )];
    if due == 0 && summary.paused == Nanos(0) {
        lines.push("sprof: it ended before the first tick; record faster, with -r".to_owned());
    }
    if let Some(Spread { p50, p99, max, sum }) = summary.pauses {
        let share = sum.0 as f64 * 100.0 / summary.duration.0.max(1) as f64;
        let share = format!("{share:.1} % of the time");
        lines.push(format!(
            "sprof: pauses: p50 {p50}, p99 {p99}, max {max}; {share}"
        ));
    }
    if summary.paused > Nanos(0) {
        lines.push(format!("sprof: paused for {}, as asked", summary.paused));
    }
    lines.extend(engine_text(summary));
    if let Some(interval) = summary.longer_interval {
        lines.push(format!(
            "sprof: a tick each {interval} only, so as not to hold the program for longer"
        ));
    }
    if summary.own_memory > 0 {
        let seconds = summary.duration.seconds();
        // Of a moment, the share would be that of the start.
        let share = (seconds >= 0.1).then(|| summary.own_cpu.seconds() * 100.0 / seconds);
        let share = share.map_or(String::new(), |share| format!(" ({share:.1} % of one)"));
        lines.push(format!(
            "sprof: itself: {} of CPU{share}, {:.1} MB of memory",
            summary.own_cpu,
            summary.own_memory as f64 / 1e6,
        ));
    }
    if summary.perturbed > 0 {
        let stops = counted(summary.perturbed, "stop");
        lines.push(format!(
            "sprof: {stops} met a system call that a stop can interrupt"
        ));
    }
    if summary.idle_stops > 0 {
        let stops = counted(summary.idle_stops, "stop");
        lines.push(format!("sprof: {stops} of threads that had not run"));
    }
    let refused = summary.not_traceable.iter();
    lines.extend(refused.map(|why| format!("sprof: not recorded: {why}")));
    if summary.more_not_traceable > 0 {
        let more = counted(summary.more_not_traceable, "more process");
        lines.push(format!("sprof: not recorded: {more}"));
    }
    if summary.symbolizing_stopped {
        lines.push("sprof: names were left out, as asked".to_owned());
    }
    let path = summary.output.display();
    lines.push(format!(
        "sprof: recorded to {path}; see `sprof report {path}`"
    ));
    lines.join("\n")
}

/// Which engine took the ticks, where it is not the best one, and what would permit that.
fn engine_text(summary: &Summary) -> Option<String> {
    if let Some(why) = &summary.engine_changed {
        return Some(format!("sprof: changed to the stop engine: {why}"));
    }
    let why = summary.engine?.instead_of_barrier?;
    let better = barrier_hint(why).map(|hint| format!("; to be felt less: {hint}"));
    let better = better.unwrap_or_default();
    Some(format!("sprof: by the stop engine, as {why}{better}"))
}

/// The message, hint and exit code of a recording that could not be made.
pub(super) fn failure(error: RecordError) -> Failure {
    let (hint, code) = match &error {
        RecordError::Attach(AttachError { refusal, .. }) => (refusal_hint(refusal), RECORD_FAILED),
        RecordError::ProgramNotFound(_) => (Some(Hint::ProgramMissing), NOT_FOUND),
        RecordError::CannotExecute { why, .. } => (execute_hint(*why), CANNOT_EXECUTE),
        RecordError::Create { path, error }
        | RecordError::Write {
            path,
            error: FormatError::Io(error),
        } => (output_hint(path, error), RECORD_FAILED),
        RecordError::ForeignProc => (Some(Hint::ForeignProc), RECORD_FAILED),
        RecordError::Write { .. } => (None, RECORD_FAILED),
        RecordError::NoBarrier(why) => (barrier_hint(*why), RECORD_FAILED),
        RecordError::System { why, .. } => (limits_hint(&(*why).into()), RECORD_FAILED),
    };
    Failure::new(error.into(), hint).with_code(code)
}

/// What can be done where a process may not be traced.
fn refusal_hint(refusal: &Refusal) -> Option<Hint> {
    Some(match refusal {
        Refusal::NoSuchProcess => Hint::NoSuchProcess,
        Refusal::Zombie => Hint::Zombie,
        Refusal::KernelThread => Hint::KernelThread,
        Refusal::AlreadyTraced {
            tracer,
            tracer_name,
        } => Hint::Traced {
            by: tracer.0,
            name: tracer_name.clone(),
        },
        Refusal::OwnAncestor => Hint::OwnAncestor,
        Refusal::NotPermitted {
            same_user: false, ..
        } => Hint::OtherUser,
        Refusal::NotPermitted {
            ptrace_scope: Some(scope @ 1..),
            ..
        } => Hint::PtraceScope(*scope),
        Refusal::NotPermitted { .. } => Hint::Guarded,
        Refusal::Other(_) => return None,
    })
}

/// What permits the barrier engine.
fn barrier_hint(why: BarrierError) -> Option<Hint> {
    Some(match why {
        BarrierError::NotRealTime | BarrierError::NotPermitted => Hint::BarrierDenied,
        BarrierError::CpuNotOurs(_) => Hint::CpusDenied,
        BarrierError::NoRecords(_) => Hint::NoPerfEvents,
        BarrierError::NoThread(why) => return limits_hint(&why.into()),
    })
}

fn execute_hint(why: Errno) -> Option<Hint> {
    match why {
        Errno::EACCES | Errno::EPERM => Some(Hint::ProgramDenied),
        Errno::ENOEXEC | Errno::EISDIR => Some(Hint::NotAProgram),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
