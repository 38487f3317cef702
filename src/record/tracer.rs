//! The tracer thread: the loop of ticks.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::channel::ToUnwinder;
use super::clock::Clock;
use super::config::{EngineChoice, EngineUsed};
use super::control::Control;
use super::launch::Whom;
use crate::engine::barrier::{BarrierEngine, BarrierError, BarrierRefusal};
use crate::engine::stop::StopEngine;
use crate::engine::{AttachError, Engine, HoldFlag, Scope, Served, TickBuffer, TreeEvent};
use crate::process;
use crate::profile::{Nanos, Pid, Tid, Timestamp};
use crate::sys::{self, Scheduling};

/// The stream from the tracer to the unwinder, in order of time.
#[derive(Debug)]
pub(super) enum Message {
    Tree(TreeEvent),
    Tick(Box<TickBuffer>),
    /// A tick in which nothing was found: all is as it was at the last one.
    Quiet(QuietTick),
    /// Ticks that were due and not taken, before the tick of this index.
    Skipped {
        before: u64,
        count: u64,
        time: Timestamp,
    },
    /// A tick that was due and not taken, because the unwinder had not caught up.
    Dropped {
        index: u64,
        time: Timestamp,
    },
    /// Ticks are taken so far apart from now on.
    IntervalChanged {
        time: Timestamp,
        interval: Nanos,
    },
    /// There will be no ticks for a while: what was found up to now is to be written.
    Flush,
    /// There were no ticks in this time, as asked; `before` is the tick that came next.
    Paused {
        before: u64,
        from: Timestamp,
        until: Timestamp,
    },
    /// Ticks are taken by stopping from now on.
    EngineChanged {
        time: Timestamp,
        why: String,
    },
}

/// When a tick was taken and due, and its index.
#[derive(Clone, Copy, Debug)]
pub(super) struct QuietTick {
    pub(super) index: u64,
    pub(super) planned: Timestamp,
    pub(super) time: Timestamp,
}

/// How the tracer is to work.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) interval: Nanos,
    /// Counts from the end of the delay.
    pub(super) duration: Option<Nanos>,
    pub(super) whom: Whom,
    pub(super) engine: EngineChoice,
    pub(super) scope: Arc<Scope>,
    /// No tick before this time has passed.
    pub(super) delay: Nanos,
    /// The target is held for this share of the time at most, by longer intervals.
    pub(super) max_overhead: Option<f64>,
    pub(super) control: Arc<Control>,
    pub(super) hold: Arc<HoldFlag>,
}

/// Ticks between tracer and unwinder at most: where one takes a while, the other does not wait…
const BUFFERS: usize = 64;
/// …and their stacks' bytes, but for the fewest that let both work at once.
const BUFFER_BYTES: usize = 24 << 20;
const FEWEST_BUFFERS: usize = 3;

/// Begins to watch the target, with the best engine that is permitted or the one asked for;
/// answers what became of that. The calling thread must be the one that goes on with it.
pub(super) fn begin(
    whom: &Whom,
    choice: EngineChoice,
    scope: &Arc<Scope>,
    hold: &Arc<HoldFlag>,
    messages: &ToUnwinder,
) -> Result<(Box<dyn Engine>, EngineUsed), TracerError> {
    let mut report = reporter(messages);
    let mut used = EngineUsed {
        name: "barrier",
        scheduling: Scheduling::Fifo,
        instead_of_barrier: None,
    };
    if matches!(choice, EngineChoice::Auto | EngineChoice::Barrier) {
        let begun = match whom {
            Whom::Gated(pid) => BarrierEngine::attach_gated(*pid, scope, &mut report),
            Whom::Running(pids) => BarrierEngine::attach(pids, scope, &mut report),
        };
        match begun {
            Ok(engine) => return Ok((Box::new(engine), used)),
            Err(BarrierRefusal::Target(error)) => return Err(error.into()),
            Err(BarrierRefusal::Engine(why)) if choice == EngineChoice::Barrier => {
                return Err(TracerError::NoBarrier(why));
            }
            Err(BarrierRefusal::Engine(why)) => used.instead_of_barrier = Some(why),
        }
    }
    let elide = choice != EngineChoice::StopAll;
    let engine = StopEngine::new(Arc::clone(hold), elide, Arc::clone(scope));
    let mut engine = engine.map_err(TracerError::System)?;
    used.scheduling = sys::raise_priority();
    match whom {
        Whom::Gated(pid) => engine.attach_gated(*pid, &mut report)?,
        Whom::Running(pids) => engine.attach(pids, &mut report)?,
    }
    used.name = engine.name();
    Ok((Box::new(engine), used))
}

/// Why the tracer could not begin.
#[derive(Debug, thiserror::Error)]
pub(super) enum TracerError {
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    NoBarrier(BarrierError),
    #[error("{0}")]
    System(sys::Errno),
}

fn reporter(messages: &ToUnwinder) -> impl FnMut(TreeEvent) + '_ {
    move |event| messages.send(Message::Tree(event))
}

/// Goes on with the engine that stops; where there can be none, with the old one.
fn replace(old: &mut Box<dyn Engine>, plan: &Plan, messages: &ToUnwinder, why: String) {
    let new = StopEngine::new(Arc::clone(&plan.hold), false, Arc::clone(&plan.scope));
    let Ok(mut engine) = new else { return };
    let mut report = reporter(messages);
    old.finish(&mut report);
    let before = old.threads();
    let time = process::now();
    messages.send(Message::EngineChanged { time, why });
    sys::raise_priority();
    let mut pids: Vec<Pid> = before.iter().map(|&(pid, _)| pid).collect();
    pids.sort_unstable();
    pids.dedup();
    engine.take_over(&pids, &mut report);
    // What ended in between.
    let now: HashSet<Tid> = engine.threads().into_iter().map(|(_, tid)| tid).collect();
    let time = process::now();
    for (_, tid) in before {
        if !now.contains(&tid) {
            report(TreeEvent::ThreadEnd { tid, time });
        }
    }
    let alive: HashSet<Pid> = engine.threads().into_iter().map(|(pid, _)| pid).collect();
    for pid in pids {
        if !alive.contains(&pid) {
            let status = None;
            report(TreeEvent::ProcessEnd { pid, time, status });
        }
    }
    *old = Box::new(engine);
}

/// Takes ticks until the target has ended, the time is over or the stop flag is set. When the
/// thread that runs this ends, the target is let go.
pub(super) fn run(
    plan: &Plan,
    mut engine: Box<dyn Engine>,
    messages: &ToUnwinder,
    returned: &Receiver<Box<TickBuffer>>,
) {
    take_ticks(plan, &mut engine, messages, returned);
    engine.finish(&mut reporter(messages));
}

fn take_ticks(
    plan: &Plan,
    engine: &mut Box<dyn Engine>,
    messages: &ToUnwinder,
    returned: &Receiver<Box<TickBuffer>>,
) {
    let start = process::now() + plan.delay;
    let end = plan.duration.map(|duration| start + duration);
    let mut clock = Clock::new(start, plan.interval, start.0);
    clock.max_overhead = plan.max_overhead;
    let mut report = reporter(messages);
    let mut buffers = Buffers::new(returned);
    while !plan.control.is_stopped() {
        if plan.control.is_paused() {
            let from = process::now();
            let is_over = pause(plan, engine, end, messages);
            let until = process::now();
            let before = clock.resume(until);
            messages.send(Message::Paused {
                before,
                from,
                until,
            });
            if is_over {
                return;
            }
            continue;
        }
        let due = clock.next(process::now());
        if due.skipped > 0 {
            let (before, count, time) = (due.index, due.skipped, process::now());
            messages.send(Message::Skipped {
                before,
                count,
                time,
            });
        }
        let until = end.map_or(due.planned, |end| end.min(due.planned));
        match engine.serve(until, &plan.control.wake, &mut report) {
            Served::NobodyLeft => return,
            Served::Woken => {
                plan.control.wake.clear();
                // It was not taken.
                clock.give_back(due);
                continue;
            }
            Served::Due if until < due.planned => return,
            Served::Due => {}
        }
        let Some(mut buffer) = buffers.take() else {
            let (index, time) = (due.index, process::now());
            messages.send(Message::Dropped { index, time });
            messages.wake();
            continue;
        };
        buffer.index = due.index;
        buffer.planned = due.planned;
        buffer.next = clock.following();
        engine.tick(&mut buffer, &mut report);
        if let Some(interval) = clock.held(buffer.stop, process::now()) {
            let time = process::now();
            messages.send(Message::IntervalChanged { time, interval });
        }
        buffers.send(buffer, messages);
        if let Some(why) = engine.too_costly() {
            replace(engine, plan, messages, why);
        }
        if buffers.are_piling_up() {
            messages.wake();
        }
    }
}

/// As messages carry it.
type BoxedBuffer = Box<TickBuffer>;

/// The buffers on the tracer's side.
struct Buffers<'a> {
    returned: &'a Receiver<Box<TickBuffer>>,
    free: Vec<BoxedBuffer>,
    /// Those that there are, and may be.
    made: usize,
    limit: usize,
}

impl Buffers<'_> {
    fn new(returned: &Receiver<Box<TickBuffer>>) -> Buffers<'_> {
        Buffers {
            returned,
            free: Vec::new(),
            made: 0,
            limit: BUFFERS,
        }
    }

    /// One that is free; `None`: the unwinder has them all, and there may be no more.
    fn take(&mut self) -> Option<Box<TickBuffer>> {
        while let Ok(mut buffer) = self.returned.try_recv() {
            if let Some(before) = self.free.last_mut() {
                buffer.take_hints(before);
            }
            self.free.push(buffer);
        }
        // The one that came back last bears all that the unwinder has found out.
        self.free.pop().or_else(|| {
            let may_be_made = self.made < self.limit;
            self.made += usize::from(may_be_made);
            may_be_made.then(Box::default)
        })
    }

    /// Sends a tick's buffer to the unwinder; a quiet tick goes without it.
    fn send(&mut self, buffer: Box<TickBuffer>, messages: &ToUnwinder) {
        let fitting = BUFFER_BYTES / buffer.capacity().max(1);
        self.limit = fitting.clamp(FEWEST_BUFFERS, BUFFERS);
        if !buffer.is_quiet() {
            messages.send(Message::Tick(buffer));
            return;
        }
        messages.send(Message::Quiet(QuietTick {
            index: buffer.index,
            planned: buffer.planned,
            time: buffer.time,
        }));
        self.free.push(buffer);
    }

    /// Whether the unwinder has so many that it should look at them.
    fn are_piling_up(&self) -> bool {
        self.made - self.free.len() > self.limit / 4
    }
}

/// The time of a pause is served in pieces.
const PAUSE_STEP: Nanos = Nanos(1_000_000_000);

/// Takes no ticks until told to go on; answers whether there is nobody left to go on with, or no
/// time. The tree is followed all the while.
fn pause(
    plan: &Plan,
    engine: &mut Box<dyn Engine>,
    end: Option<Timestamp>,
    messages: &ToUnwinder,
) -> bool {
    let control = &plan.control;
    let mut report = reporter(messages);
    while control.is_paused() && !control.is_stopped() {
        // Writing goes by ticks otherwise, and who is killed in a pause is to lose as little.
        messages.send(Message::Flush);
        let step = process::now() + PAUSE_STEP;
        let until = end.map_or(step, |end| end.min(step));
        match engine.serve(until, &control.wake, &mut report) {
            Served::NobodyLeft => return true,
            Served::Due if end.is_some_and(|end| end <= until) => return true,
            Served::Due => {}
            Served::Woken => control.wake.clear(),
        }
    }
    control.is_stopped()
}
