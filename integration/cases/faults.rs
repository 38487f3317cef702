//! Whatever a system call answers, sprof ends by itself and the program it recorded runs on.

use std::path::Path;
use std::process::Command;

use nix::errno::Errno;

use crate::machine::{self, Scratch, full};
use crate::recording::Recording;
use crate::target::Target;
use crate::{program, sprof};

/// Calls that a recording makes of itself, or through the standard library. Not those whose
/// failure the standard library answers with an abort: memory, and futex and close, which the
/// kernel does not let fail so.
const CALLS: [&str; 29] = [
    "ptrace",
    "process_vm_readv",
    "perf_event_open",
    "mmap",
    "openat",
    "read",
    "pread64",
    "write",
    "lseek",
    "statx",
    "getdents64",
    "readlink",
    "ioctl",
    "poll",
    "ppoll",
    "pidfd_open",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "eventfd2",
    "signalfd4",
    "pipe2",
    "sched_setscheduler",
    "sched_setaffinity",
    "setpriority",
    "clock_nanosleep",
    "wait4",
    "clone3",
    "rt_sigprocmask",
];

/// Answers of failed calls; `None` is the result 0, the shortest of short reads.
const ANSWERS: [Option<Errno>; 6] = [
    Some(Errno::EPERM),
    Some(Errno::ESRCH),
    Some(Errno::EINTR),
    Some(Errno::EAGAIN),
    Some(Errno::ENOMEM),
    None,
];

/// Which calls of a kind are answered: so many from the first on, of none: all that follow.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: &'static str,
    first: u32,
    count: Option<u32>,
    answer: Option<Errno>,
}

/// What is said at the end by the program that answers.
struct Answered {
    outcome: sprof::Outcome,
    made: u32,
    answered: u32,
}

#[test]
fn no_failed_call_stops_the_target_for_good_or_hangs_sprof() {
    let _cpus = machine::alone();
    let scratch = Scratch::new();
    let mut answered = 0;
    for engine in ["barrier", "stop"] {
        let mut target = Target::steady(1);
        for (number, call) in CALLS.into_iter().enumerate() {
            for fault in faults(call, number) {
                answered += judge(engine, fault, &mut target, &scratch.file("a.sprof"));
            }
        }
        assert_eq!(target.exit_code(), 0);
    }
    assert!(answered > 0, "no call was answered");
}

/// In the short form two for each call, which differ from call to call.
fn faults(call: &'static str, number: usize) -> Vec<Fault> {
    let firsts: &[u32] = &[1, 2, 3, 5, 9, 17, 40, 90, 200, 500];
    let one = |first: u32, count: Option<u32>, answer: Option<Errno>| Fault {
        call,
        first,
        count,
        answer,
    };
    let is_read = ["read", "pread64", "process_vm_readv", "getdents64"].contains(&call);
    // Calls that are to be made again when a signal came must not be told so for ever.
    let lasting = ANSWERS
        .into_iter()
        .filter(|a| !matches!(a, Some(Errno::EINTR | Errno::EAGAIN)) && (a.is_some() || is_read));
    let once = ANSWERS.into_iter().filter(|a| a.is_some() || is_read);
    if full() {
        let all = firsts.iter().flat_map(|&first| {
            let once = once.clone().map(move |answer| one(first, Some(1), answer));
            let lasting = lasting.clone();
            once.chain(lasting.map(move |answer| one(first, None, answer)))
        });
        return all.collect();
    }
    let pick = |of: usize, step: usize| (number * step) % of;
    let first = |step| firsts.get(pick(firsts.len(), step)).copied();
    let single = first(3).zip(once.clone().nth(pick(once.count(), 1)));
    let all = first(7).zip(lasting.clone().nth(pick(lasting.count(), 1)));
    let single = single.map(|(first, answer)| one(first, Some(1), answer));
    let all = all.map(|(first, answer)| one(first, None, answer));
    single.into_iter().chain(all).collect()
}

/// Records the target while its recorder meets a fault; says how often it did.
#[track_caller]
fn judge(engine: &str, fault: Fault, target: &mut Target, file: &Path) -> u32 {
    let _ = std::fs::remove_file(file);
    let Answered {
        outcome,
        made,
        answered,
    } = record(engine, fault, target.pid(), file);
    let about = format!("{engine}, {fault:?}: {answered} of {made} calls answered");
    let said = &outcome.stderr;
    assert!(!said.contains("panicked"), "{about}; {said}");
    assert!(
        outcome.code < 124 || outcome.code == 125,
        "{about}; exit code {}; {said}",
        outcome.code
    );
    if outcome.code == 0 {
        let recording = Recording::of(file);
        // Refused the records of switches, the stop engine says that it stops all threads.
        let used = recording.session["engine"].as_str().unwrap_or_default();
        assert!(used.starts_with(engine), "{about}: {used}");
    } else {
        // The last line is not sprof's.
        assert!(said.lines().count() > 1, "{about}; nothing said");
    }
    machine::assert_undisturbed(target.pid());
    target.assert_alive();
    answered
}

fn record(engine: &str, fault: Fault, pid: u32, file: &Path) -> Answered {
    let errno = fault.answer.map_or(0, |answer| answer as i32);
    let mut command = Command::new(program::usual("faults"));
    command.arg(fault.call);
    command.arg(fault.first.to_string());
    command.arg(fault.count.unwrap_or(0).to_string());
    command.arg(errno.to_string()).arg(sprof::binary());
    command.args(["record", "--engine", engine, "-r", "250", "-d", "60ms"]);
    command.args(["-p", &pid.to_string(), "-o"]).arg(file);
    command.stdin(std::process::Stdio::null());
    let outcome = sprof::run(&mut command);
    let last = outcome.stderr.lines().last().unwrap_or_default();
    let numbers = last.strip_prefix("faults: ").map(|numbers| {
        let mut numbers = numbers.split(' ').map(|n| n.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    });
    let (made, answered) = numbers.unwrap_or_else(|| panic!("no count in {}", outcome.stderr));
    Answered {
        outcome,
        made,
        answered,
    }
}
