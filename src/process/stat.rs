//! `/proc/PID/stat`, `status` and `schedstat`.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::profile::{Nanos, Pid, RunState, Tid};

/// What sprof needs of `/proc/PID/stat` (proc(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// The thread's name, bytes that are not UTF-8 replaced.
    pub name: String,
    /// The kernel's state letter.
    pub state: char,
    /// Parent process.
    pub parent: Pid,
    /// Whether it is a kernel thread (`PF_KTHREAD`, include/linux/sched.h).
    pub is_kernel_thread: bool,
    /// Whether it is about to end, and runs no more of its program (`PF_EXITING`).
    pub is_exiting: bool,
    /// Start, in clock ticks after boot.
    pub start_ticks: u64,
    /// How it ended, as wait(2) has it, where it has and nobody has asked yet.
    pub exit_code: Option<i32>,
}

const PF_EXITING: u64 = 0x4;
const PF_KTHREAD: u64 = 0x0020_0000;

/// Reads the text of a `stat` file. The name may hold anything, parentheses and newlines too: it
/// ends at the last `)`.
pub fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|&byte| byte == b'(')?;
    let close = text.iter().rposition(|&byte| byte == b')')?;
    let name = String::from_utf8_lossy(text.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    // Numbers of proc(5) count from 1; the state is field 3.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3).copied();
    let flags = field(9)?.parse::<u64>().ok()?;
    let state = field(3)?.chars().next()?;
    let exit_code = field(52).and_then(|code| code.parse().ok());
    Some(Stat {
        name,
        state,
        exit_code: exit_code.filter(|_| state == 'Z'),
        parent: Pid(field(4)?.parse().ok()?),
        is_kernel_thread: flags & PF_KTHREAD != 0,
        is_exiting: flags & PF_EXITING != 0,
        start_ticks: field(22)?.parse().ok()?,
    })
}

/// The `stat` of a process.
pub fn read_stat(pid: Pid) -> Option<Stat> {
    parse_stat(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The `stat` of a thread. Its own folder in `/proc` would show the sums over its whole process, and
/// the kernel goes through all threads for them.
pub fn read_thread_stat(pid: Pid, tid: Tid) -> Option<Stat> {
    parse_stat(&std::fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?)
}

/// What sprof needs of `/proc/PID/status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The process this thread belongs to.
    pub process: i32,
    /// Who traces it; 0: nobody.
    pub tracer: i32,
    /// Real user.
    pub user: u32,
    /// Effective user.
    pub effective_user: u32,
    /// Effective group.
    pub effective_group: u32,
    /// Signals that it has handlers for: bit N - 1 for signal N.
    pub caught: u64,
    /// Its number in each PID namespace, outermost first.
    pub namespace_pids: Vec<i32>,
}

/// The `status` of a process or thread.
pub fn read_status(pid: Pid) -> Option<Status> {
    let text = std::fs::read(format!("/proc/{pid}/status")).ok()?;
    let mut status = Status::default();
    for line in String::from_utf8_lossy(&text).lines() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let mut words = value.split_ascii_whitespace();
        match key {
            "Tgid" => status.process = words.next()?.parse().ok()?,
            "TracerPid" => status.tracer = words.next()?.parse().ok()?,
            "Uid" => {
                status.user = words.next()?.parse().ok()?;
                status.effective_user = words.next()?.parse().ok()?;
            }
            "Gid" => status.effective_group = words.nth(1)?.parse().ok()?,
            "SigCgt" => status.caught = u64::from_str_radix(words.next()?, 16).ok()?,
            "NSpid" => status.namespace_pids = words.filter_map(|word| word.parse().ok()).collect(),
            _ => {}
        }
    }
    Some(status)
}

/// Whether a process has a handler for a signal.
pub fn catches(pid: Pid, signal: i32) -> bool {
    let bit = u32::try_from(signal - 1)
        .ok()
        .and_then(|shift| 1_u64.checked_shl(shift));
    read_status(pid)
        .zip(bit)
        .is_some_and(|(status, bit)| status.caught & bit != 0)
}

/// CPU time of a thread from its open `schedstat` file: exact while it is not on a CPU.
/// Allocates nothing.
pub fn cpu_time(schedstat: &File) -> Option<Nanos> {
    let mut text = [0; 64];
    let length = schedstat.read_at(&mut text, 0).ok()?;
    let digits = text[..length]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let mut total: Option<u64> = None;
    for digit in digits {
        total = Some(
            total
                .unwrap_or(0)
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?,
        );
    }
    total.map(Nanos)
}

/// The state of a thread that did not answer to a stop: asleep where nothing wakes it, or not.
pub fn sleeping_state(pid: Pid, tid: Tid) -> RunState {
    match read_thread_stat(pid, tid).map(|stat| stat.state) {
        Some('D') => RunState::Disk,
        Some('R') => RunState::Runnable,
        Some('S' | 'I') => RunState::Sleeping,
        Some('T') => RunState::Stopped,
        _ => RunState::Unknown,
    }
}
