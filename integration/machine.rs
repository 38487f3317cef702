//! The machine under the tests: its one clock, its few CPUs, its processes, its temporary files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};
use std::{fs, thread};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

/// Longest wait for anything that should come soon. Reaching it is a failure, not a result: it
/// is far above what a busy machine needs.
pub const SOON: Duration = Duration::from_secs(30);

static CPUS: RwLock<()> = RwLock::new(());

/// Held by a case whose programs need the CPUs for themselves.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    CPUS.write().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a case that others of its kind may run beside.
pub fn shared() -> RwLockReadGuard<'static, ()> {
    CPUS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the long form of the cases was asked for.
pub fn full() -> bool {
    std::env::var("SPROF_INTEGRATION").is_ok_and(|value| value == "full")
}

/// `CLOCK_MONOTONIC` now, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

/// Asks again and again until there is an answer.
///
/// # Panics
/// When there is none within `limit`; `what` says what was waited for.
#[track_caller]
pub fn until<T>(what: &str, limit: Duration, mut answer: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(begin.elapsed() < limit, "waited {limit:?} for {what}");
        thread::park_timeout(Duration::from_millis(2));
    }
}

/// The state letter of a thread (`R`, `S`, `T`, `t`, `Z` ...), `None` when it is gone.
pub fn state(pid: u32, tid: u32) -> Option<char> {
    let stat = fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Threads of a process; empty when it is gone.
pub fn threads(pid: u32) -> Vec<u32> {
    numbers_in(Path::new(&format!("/proc/{pid}/task")))
}

/// A process and all its descendants, as they are now.
pub fn tree(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = numbers_in(Path::new("/proc"))
        .into_iter()
        .filter_map(|pid| Some((pid, status_field(pid, "PPid")?.parse().ok()?)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        found.extend(parents.iter().filter(|(_, p)| *p == pid).map(|(c, _)| *c));
    }
    found
}

/// A field of `/proc/PID/status`, `None` when the process or the field is not there.
pub fn status_field(pid: u32, field: &str) -> Option<String> {
    let status = fs::read(format!("/proc/{pid}/status")).ok()?;
    let status = String::from_utf8_lossy(&status).into_owned();
    let line = status.lines().find(|line| {
        line.strip_prefix(field)
            .is_some_and(|rest| rest.starts_with(':'))
    })?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Fails when any thread of the tree is stopped, traced or a zombie. A stop that ends by itself
/// within [`SOON`] is none: the kernel lets the threads of a killed tracer go a moment later.
#[track_caller]
pub fn assert_undisturbed(root: u32) {
    until(
        &format!("the tree of {root} to run on, untraced"),
        SOON,
        || tree(root).into_iter().all(undisturbed).then_some(()),
    );
}

fn undisturbed(pid: u32) -> bool {
    let traced = status_field(pid, "TracerPid").is_some_and(|tracer| tracer != "0");
    !traced
        && threads(pid)
            .into_iter()
            .all(|tid| !matches!(state(pid, tid), Some('T' | 't' | 'Z')))
}

/// CPU time of programs that are not children of this one, from a point in time on.
pub struct Others {
    begin: Instant,
    busy: Duration,
    children: Duration,
}

impl Others {
    /// From now on.
    pub fn now() -> Others {
        Others {
            begin: Instant::now(),
            busy: busy_time(),
            children: children_time(),
        }
    }

    /// Their share of all CPUs since; children count when they have been waited for.
    pub fn share(&self) -> f64 {
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let busy = busy_time().saturating_sub(self.busy);
        let others = busy.saturating_sub(children_time().saturating_sub(self.children));
        others.as_secs_f64() / (self.begin.elapsed().as_secs_f64() * cpus as f64)
    }
}

/// CPU time of everything on this machine, and what its host took: `/proc/stat`, whose fields are
/// user, nice, system, idle, iowait, irq, softirq, steal in ticks of the clock (proc(5)).
fn busy_time() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let fields = text
        .lines()
        .next()
        .unwrap()
        .split_ascii_whitespace()
        .skip(1);
    let ticks = fields.take(8).map(|field| field.parse::<u64>().unwrap());
    let busy: u64 = ticks
        .enumerate()
        .filter(|(at, _)| !matches!(at, 3 | 4))
        .map(|(_, n)| n)
        .sum();
    let second = sysconf(SysconfVar::CLK_TCK).unwrap().unwrap();
    Duration::from_secs_f64(busy as f64 / second as f64)
}

fn children_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.try_into().unwrap())
}

/// A folder that any user may enter, removed with its contents when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new, empty one.
    pub fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("sprof-integration-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind after a failed test is not worth a second failure.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn numbers_in(folder: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}
