//! One run, from the first thread started to the last name written.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;

use super::channel::{FromTracer, ToUnwinder, to_unwinder};
use super::config::{
    Config, EngineChoice, EngineUsed, Observer, Progress, RecordError, Summary, Target,
};
use super::control::Control;
use super::counts::Counts;
use super::launch::{Prepared, Whom, failed};
use super::names::find_names;
use super::notice::{Notice, Notices};
use super::pace::{Pace, Tally};
use super::samples::{ModuleAddresses, Recorder};
use super::tracer::{self, Message, Plan, TracerError};
use crate::engine::{HoldFlag, TickBuffer};
use crate::format::{FormatError, Limits, Writer};
use crate::process;
use crate::profile::{Event, Nanos, Pid, Timestamp};
use crate::sys::{self, Errno, Wake};

/// Records, until the target has ended, the time is over or a signal asks for the end.
///
/// Blocks SIGINT, SIGTERM, SIGHUP, SIGUSR2 and SIGCHLD in the calling thread, which must be the only one:
/// the launched command gets the mask that was there before.
///
/// # Errors
/// See [`RecordError`]. Once the command runs, errors are answered after it has ended.
pub fn record(config: &Config, observer: &mut dyn Observer) -> Result<Summary, RecordError> {
    let blocked: SigSet = sys::stop_signals()
        .iter()
        .chain(sys::child_signals().iter())
        .chain([sys::pause_signal()])
        .collect();
    let mask = sys::block(&blocked).map_err(RecordError::system("block signals"))?;
    let notices = Notices::new().map_err(no_thread())?;
    let mut prepared = Prepared::new(&config.target, &mask)?;
    sys::raise_file_limit();
    let (output, file) = prepared.create_output(config.output.as_deref())?;
    let started =
        Running::start(config, &prepared, (&output, file), notices.sender()).and_then(|running| {
            // From here on the tracer serves the child's stops.
            match (prepared.gated.take(), &config.target) {
                (Some(gated), Target::Launch(command)) => match gated.open() {
                    Ok(()) => Ok(running),
                    Err(why) => {
                        running.control.stop();
                        let _ = running.join();
                        Err(failed(command, &why))
                    }
                },
                _ => Ok(running),
            }
        });
    let running = match started {
        Ok(running) => running,
        Err(error) => {
            // Nothing was recorded: the file is ours, and empty of ticks.
            if output.is_file() {
                let _ = std::fs::remove_file(&output);
            }
            return Err(error);
        }
    };
    running.finish(config, output, &notices, observer)
}

/// The observer is told how it goes this often.
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);

/// The threads of a recording at work.
struct Running {
    control: Arc<Control>,
    tally: Arc<Tally>,
    tracer: JoinHandle<()>,
    unwinder: Unwinder,
    used: EngineUsed,
    child: Option<Pid>,
}

impl Running {
    fn start(
        config: &Config,
        prepared: &Prepared,
        (path, file): (&Path, File),
        notices: Sender<Notice>,
    ) -> Result<Running, RecordError> {
        let control = Control::new(config.paused);
        let control = Arc::new(control.map_err(RecordError::system("make an event descriptor"))?);
        let (hold, tally) = (Arc::new(HoldFlag::default()), Arc::<Tally>::default());
        let (messages, received) = to_unwinder();
        let (give_back, returned) = channel();
        let plan = Plan {
            interval: config.interval,
            duration: config
                .duration
                .map(|duration| Nanos(duration.as_nanos() as u64)),
            whom: prepared.whom.clone(),
            engine: config.engine,
            scope: Arc::new(config.scope.clone()),
            delay: Nanos(config.delay.as_nanos() as u64),
            max_overhead: config.max_overhead,
            control: Arc::clone(&control),
            hold: Arc::clone(&hold),
        };
        let (tracer, used) = start_tracer(plan, messages, returned)?;
        let session = prepared.session(config.interval, &used, config.options());
        let writer =
            Writer::with_limits(file, &session, limits()).map_err(|error| RecordError::Write {
                path: path.to_path_buf(),
                error,
            })?;
        let child = matches!(prepared.whom, Whom::Gated(_)).then(|| prepared.roots[0]);
        let counts = Counts::new(child, Arc::clone(&tally));
        let recorder = Recorder::new(writer, hold, counts);
        let unwinder =
            start_unwinder(recorder, received, give_back, &control, notices).map_err(no_thread())?;
        Ok(Running {
            control,
            tally,
            tracer,
            unwinder,
            used,
            child,
        })
    }

    fn join(self) -> (Recorder<File>, Result<(), FormatError>) {
        // A panic of ours must not be taken for the end of the recording.
        let joined = self.tracer.join().and_then(|()| self.unwinder.join());
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Waits for the end of the recording, and tells how it goes.
    fn wait(&self, notices: &Notices, observer: &mut dyn Observer) {
        let begun = Instant::now();
        let mut pace = Pace::default();
        loop {
            let ticks = self.tally.get();
            observer.progress(Progress::Recording {
                ticks: ticks.0,
                is_paused: self.control.is_paused(),
            });
            if let Some(kept) = pace.judge(begun.elapsed(), ticks) {
                observer.progress(Progress::TooFast { kept });
            }
            match notices.next(PROGRESS_PAUSE) {
                Some(Notice::Signal(_)) => self.control.stop(),
                Some(Notice::PauseOrResume) => self.control.pause_or_resume(),
                Some(Notice::Recorded) => break,
                // Of a thread that panicked there is no notice.
                None if self.unwinder.is_finished() => break,
                Some(Notice::CommandEnded) | None => {}
            }
        }
    }

    /// Waits for the end of the recording, names what was seen, waits for the command.
    fn finish(
        self,
        config: &Config,
        output: PathBuf,
        notices: &Notices,
        observer: &mut dyn Observer,
    ) -> Result<Summary, RecordError> {
        self.wait(notices, observer);
        let (child, used) = (self.child, self.used);
        let (recorder, recorded) = self.join();
        let (processes, threads) = recorder.lives();
        let (own_cpu, own_memory) = (recorder.own.cpu, recorder.own.memory);
        let (mut writer, counts, addresses) = recorder.into_parts();
        let mut summary = summarize(&counts);
        (summary.own_cpu, summary.own_memory) = (own_cpu, own_memory);
        (summary.processes, summary.threads) = (processes, threads);
        summary.engine = Some(used);
        let named = recorded.and_then(|()| {
            let addresses = if config.symbolize {
                addresses
            } else {
                Vec::new()
            };
            let go_on = |done, total| {
                observer.progress(Progress::Symbolizing { done, total });
                !notices.has_signal()
            };
            summary.symbolizing_stopped = !write_names(&mut writer, addresses, go_on)?;
            summary.bytes = writer.bytes_written();
            writer.finish(process::read_clocks()).map(drop)
        });
        if let (Some(pid), None) = (child, summary.exit) {
            observer.progress(Progress::Waiting {
                pid,
                output: &output,
            });
            summary.left_by_signal = notices.until_ended(pid);
            summary.exit = sys::reap(pid);
        }
        named.map_err(|error| RecordError::Write {
            path: output.clone(),
            error,
        })?;
        summary.output = output;
        Ok(summary)
    }
}

/// Small chunks: compressing one takes a fraction of a millisecond, so that a hold that begins
/// meanwhile need not wait for the CPU it is done on.
fn limits() -> Limits {
    Limits {
        flush_bytes: 64 << 10,
        ..Limits::default()
    }
}

type Tracer = (JoinHandle<()>, EngineUsed);
type Unwinder = JoinHandle<(Recorder<File>, Result<(), FormatError>)>;

fn no_thread() -> impl FnOnce(Errno) -> RecordError {
    RecordError::system("start a thread")
}

/// Starts the tracer; comes back when the target is traced, or refuses.
fn start_tracer(
    plan: Plan,
    messages: ToUnwinder,
    returned: Receiver<Box<TickBuffer>>,
) -> Result<Tracer, RecordError> {
    let (ready, begun) = channel();
    let handle = sys::start_thread(move || {
        match tracer::begin(&plan.whom, plan.engine, &plan.scope, &plan.hold, &messages) {
            Ok((engine, used)) => {
                let _ = ready.send(Ok(used));
                tracer::run(&plan, engine, &messages, &returned);
            }
            Err(error) => drop(ready.send(Err(error))),
        }
    })
    .map_err(no_thread())?;
    match begun.recv() {
        Ok(Ok(used)) => Ok((handle, used)),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => match handle.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(RecordError::System {
                what: "trace",
                why: sys::Errno::UnknownErrno,
            }),
        },
    }
}

impl From<TracerError> for RecordError {
    fn from(error: TracerError) -> RecordError {
        match error {
            TracerError::Attach(error) => error.into(),
            TracerError::NoBarrier(error) => RecordError::NoBarrier(error),
            TracerError::System(why) => RecordError::System {
                what: "watch the target",
                why,
            },
        }
    }
}

fn start_unwinder(
    mut recorder: Recorder<File>,
    mut messages: FromTracer,
    give_back: Sender<Box<TickBuffer>>,
    control: &Arc<Control>,
    notices: Sender<Notice>,
) -> Result<Unwinder, Errno> {
    let control = Arc::clone(control);
    sys::start_thread(move || {
        // It has little to do, but beside many busy threads it would not get to do it.
        sys::raise_niceness();
        let recorded = recorder.run(&mut messages, &give_back);
        // After a failed write there is nothing to stop the target for.
        control.stop();
        let _ = notices.send(Notice::Recorded);
        (recorder, recorded)
    })
}

/// Appends names; answers whether all were looked up.
fn write_names<W: Write>(
    writer: &mut Writer<W>,
    addresses: Vec<ModuleAddresses>,
    go_on: impl FnMut(u64, u64) -> bool,
) -> Result<bool, FormatError> {
    let mut written = writer.flush();
    let is_whole = find_names(
        addresses,
        |(module, names)| {
            for (offset, found) in names {
                let symbol = Event::Symbol {
                    module,
                    offset,
                    found,
                };
                if written.is_ok() {
                    written = writer.event(&symbol);
                }
            }
        },
        go_on,
    );
    written.map(|()| is_whole)
}

fn summarize(counts: &Counts) -> Summary {
    Summary {
        exit: counts.exit,
        ticks: counts.ticks,
        ticks_missed: counts.ticks_missed,
        samples: counts.samples,
        perturbed: counts.perturbed,
        idle_stops: counts.idle_stops,
        pauses: counts.stops.spread(),
        paused: counts.paused,
        longer_interval: counts.longer_interval,
        duration: counts.last.since(counts.first.unwrap_or(counts.last)),
        not_traceable: counts.not_traceable.clone(),
        more_not_traceable: counts.more_not_traceable,
        engine_changed: counts.engine_changed.clone(),
        ..Summary::default()
    }
}

/// All stacks of running processes and what is below them, once: a recording of one tick, as the
/// bytes of its file.
///
/// # Errors
/// As [`record`].
pub fn dump(pids: &[Pid]) -> Result<Vec<u8>, RecordError> {
    let mask = sys::block(&sys::child_signals()).map_err(RecordError::system("block signals"))?;
    let prepared = Prepared::new(&Target::Attach(pids.to_vec()), &mask)?;
    let (messages, mut received) = to_unwinder();
    let whom = prepared.whom.clone();
    // On a thread of its own: when it ends, the target is let go.
    let taken = sys::start_thread(move || {
        let (scope, hold) = (Arc::default(), Arc::default());
        // One stop shows more than waiting for threads to run, and no call is met twice by it.
        let (mut engine, used) =
            tracer::begin(&whom, EngineChoice::StopAll, &scope, &hold, &messages)?;
        let mut report = |event| messages.send(Message::Tree(event));
        let wake = Wake::new().map_err(TracerError::System)?;
        // Threads that were stopped already say so first.
        engine.serve(Timestamp(0), &wake, &mut report);
        let mut buffer = Box::<TickBuffer>::default();
        buffer.planned = process::now();
        engine.tick(&mut buffer, &mut report);
        messages.send(Message::Tick(buffer));
        Ok(used)
    })
    .map_err(no_thread())?;
    let used = match taken.join() {
        Ok(taken) => taken.map_err(|error: TracerError| RecordError::from(error))?,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let session = prepared.session(Nanos(1), &used, Vec::new());
    let (give_back, _returned) = channel();
    let written = Writer::new(Vec::new(), &session).and_then(|writer| {
        let mut recorder = Recorder::new(writer, Arc::default(), Counts::default());
        recorder.run(&mut received, &give_back)?;
        let (mut writer, _, addresses) = recorder.into_parts();
        write_names(&mut writer, addresses, |_, _| true)?;
        writer.finish(process::read_clocks())
    });
    let path = Path::new("memory").to_path_buf();
    written.map_err(|error| RecordError::Write { path, error })
}
