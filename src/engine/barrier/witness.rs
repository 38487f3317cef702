//! What is gone at the next tick: arguments of programs and ends of processes.
//!
//! A process can live for less than a tick. A thread that is woken at each birth and each new
//! program looks at them at once, so that even those have their arguments and exit status.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::engine::records::{Kind, Record, Records};
use crate::process;
use crate::profile::{Nanos, Pid, Tid, Timestamp};
use crate::sys::{self, Errno, Wake, Watch};

/// The thread, and what it has seen.
#[derive(Debug)]
pub(super) struct Witness {
    seen: Arc<Mutex<Lives>>,
    stop: Arc<Wake>,
    thread: Option<JoinHandle<()>>,
    /// What makes the kernel tell: as long as these are open.
    _events: Vec<OwnedFd>,
}

/// What was seen of each life under a number, the oldest first: a number can be given again before
/// the tracer hears of the end of its last bearer.
type Lives = HashMap<Pid, VecDeque<Seen>>;

/// What was seen of a process.
#[derive(Debug, Default)]
pub(super) struct Seen {
    birth: Timestamp,
    /// Tells how it ended.
    pub(super) end: Option<OwnedFd>,
    programs: VecDeque<Program>,
}

#[derive(Debug)]
struct Program {
    time: Timestamp,
    exe: String,
    argv: Vec<String>,
}

/// The same event has two times that differ by less: it is written into two rings.
const SAME: Nanos = Nanos(5_000_000);
/// The arguments are not there at once: they are asked for again for so long.
const ARGUMENTS_PATIENCE: Nanos = Nanos(2_000_000);
const ARGUMENTS_PAUSE: Duration = Duration::from_micros(50);

impl Witness {
    /// Watches these threads, and all that they start; from their next program on where
    /// `from_exec`. The calling thread must be real-time, as the one it starts becomes.
    ///
    /// # Errors
    /// As [`sys::watch`].
    pub(super) fn start(cpus: &[u32], tids: &[Tid], from_exec: bool) -> Result<Witness, Errno> {
        let mut records = Records::of_rare(cpus)?;
        let mut events = Vec::new();
        for &tid in tids {
            for ring in records.rings() {
                match sys::watch(tid, ring, Watch::Births, from_exec) {
                    Ok(event) => events.push(event),
                    Err(Errno::ESRCH) => break,
                    Err(errno) => return Err(errno),
                }
            }
        }
        let seen = Arc::<Mutex<Lives>>::default();
        let stop = Arc::new(Wake::new()?);
        let fill = sys::Gathered::new(records.sources())?;
        let (shared, stopped) = (Arc::clone(&seen), Arc::clone(&stop));
        let thread = sys::start_thread(move || {
            let mut pace = Pace(process::now());
            while let [_, false] = sys::wait_for_input([fill.as_fd(), stopped.as_fd()], None) {
                fill.clear();
                records.look();
                let mut is_vain = true;
                while let Some(record) = records.next(Timestamp(u64::MAX)) {
                    is_vain &= !is_of_process(&record);
                    look_at(&record, &shared);
                }
                records.release();
                let pause = Duration::from_nanos(pace.pause(is_vain, process::now()).0);
                if !pause.is_zero() && sys::wait_for_input([stopped.as_fd()], Some(pause)) == [true]
                {
                    return;
                }
            }
        })?;
        Ok(Witness {
            seen,
            stop,
            thread: Some(thread),
            _events: events,
        })
    }

    /// The executable and arguments of the program that a process began at about this time.
    pub(super) fn program(&self, pid: Pid, time: Timestamp) -> Option<(String, Vec<String>)> {
        let mut seen = lock(&self.seen);
        let programs = &mut seen.get_mut(&pid)?.front_mut()?.programs;
        while let Some(program) = programs.front() {
            if program.time > time + SAME {
                return None;
            }
            let program = programs.pop_front()?;
            if program.time + SAME >= time {
                return Some((program.exe, program.argv));
            }
        }
        None
    }

    /// All that was seen of a process that ended at this time.
    pub(super) fn take(&self, pid: Pid, end: Timestamp) -> Option<Seen> {
        let mut seen = lock(&self.seen);
        let lives = seen.get_mut(&pid)?;
        let is_it = lives.front().is_some_and(|life| life.birth < end);
        let life = is_it.then(|| lives.pop_front()).flatten();
        if lives.is_empty() {
            seen.remove(&pid);
        }
        life
    }
}

/// Whether it tells of a process. The kernel tells of threads too where it is asked for births.
fn is_of_process(record: &Record) -> bool {
    match record.kind {
        Kind::Born { parent, .. } => parent != record.pid,
        Kind::Exit => record.tid.0 == record.pid.0,
        Kind::Name(_) => false,
        _ => true,
    }
}

/// Bounds what it costs a target to be told of threads: each wake takes it some 20 us. Up to here
/// wakes in vain are paid for.
#[derive(Debug)]
struct Pace(Timestamp);

/// So much time pays for a wake in vain…
const VAIN: Nanos = Nanos(1_000_000);
/// …also the last of it in which there was none.
const SAVED: Nanos = Nanos(30_000_000);

impl Pace {
    /// How long to look at nothing after a wake.
    fn pause(&mut self, is_vain: bool, now: Timestamp) -> Nanos {
        if is_vain {
            let earliest = Timestamp(now.0.saturating_sub(SAVED.0));
            self.0 = self.0.max(earliest) + VAIN;
        }
        self.0.since(now)
    }
}

fn look_at(record: &Record, seen: &Mutex<Lives>) {
    let pid = record.pid;
    match &record.kind {
        Kind::Born { parent, .. } if *parent != pid => {
            let end = sys::open_pidfd(pid).ok();
            let newborn = Seen {
                birth: record.time,
                end,
                programs: VecDeque::new(),
            };
            lock(seen).entry(pid).or_default().push_back(newborn);
        }
        Kind::Exec(_) => {
            let exe = process::executable(pid);
            let mut argv = process::arguments(pid);
            while argv.is_empty()
                && process::now().since(record.time) < ARGUMENTS_PATIENCE
                && process::read_stat(pid).is_some_and(|stat| stat.state != 'Z')
            {
                // Sleeping, not yielding: the one that begins the program may need this CPU for it.
                std::thread::sleep(ARGUMENTS_PAUSE);
                argv = process::arguments(pid);
            }
            let time = record.time;
            let program = Program { time, exe, argv };
            let mut seen = lock(seen);
            let lives = seen.entry(pid).or_default();
            if lives.is_empty() {
                lives.push_back(Seen::default());
            }
            if let Some(life) = lives.back_mut() {
                life.programs.push_back(program);
            }
        }
        _ => {}
    }
}

/// What a thread of ours that panicked has left is whole: each change is one insertion.
fn lock(seen: &Mutex<Lives>) -> MutexGuard<'_, Lives> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, SAVED, VAIN};
    use crate::profile::{Nanos, Timestamp};

    #[test]
    fn wakes_in_vain_are_few_in_the_long_run() {
        let start = Timestamp(1_000_000_000);
        let mut pace = Pace(start);
        // After a time in which there was none, some may come at once.
        let mut now = start + Nanos(10 * SAVED.0);
        for _ in 0..SAVED.0 / VAIN.0 {
            assert_eq!(pace.pause(true, now), Nanos(0));
        }
        assert_eq!(pace.pause(true, now), VAIN);
        now = now + VAIN;
        // What tells of a process costs nothing.
        assert_eq!(pace.pause(false, now), Nanos(0));
        assert_eq!(pace.pause(true, now), VAIN);
        // Half of it has passed when a process is told of: the rest is still owed.
        now = now + Nanos(VAIN.0 / 2);
        assert_eq!(pace.pause(false, now), Nanos(VAIN.0 / 2));
    }
}
