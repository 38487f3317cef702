//! Signals reach the program as without sprof.

use crate::machine::{Scratch, alone};
use crate::recording::Recording;
use crate::{program, sprof};

#[test]
fn thousands_of_signals_arrive_once_and_in_order() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("signals.sprof");
        let mut record = engine.record(1000, &file);
        let outcome = sprof::run(record.arg("--").arg(program::usual("signals")));
        assert_eq!(
            outcome.assert_code(7).text(),
            "queued 5000 in order, reaped 100, status 0\n"
        );
        sprof::assert_converts_to_all(&file);
    });
}

#[test]
fn a_process_stopped_by_the_user_stays_stopped_and_goes_on() {
    use nix::sys::signal::{Signal, kill};
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("stopped.sprof");
        let mut target = crate::target::Target::steady(1);
        let pid = target.pid();
        let raw = nix::unistd::Pid::from_raw(pid as i32);
        let stopped = || {
            let all = crate::machine::threads(pid);
            let mut states = all.into_iter().map(|tid| crate::machine::state(pid, tid));
            states.all(|state| matches!(state, Some('T' | 't')))
        };
        kill(raw, Signal::SIGSTOP).unwrap();
        crate::machine::until("the stop", crate::machine::SOON, || stopped().then_some(()));

        let mut record = engine.record(100, &file);
        record.args(["-d", "1s", "-p", &pid.to_string()]);
        sprof::run(&mut record).assert_code(0);
        crate::machine::until("no tracer", crate::machine::SOON, || {
            (crate::machine::status_field(pid, "TracerPid")? == "0").then_some(())
        });
        assert!(stopped(), "sprof set a stopped process going");
        kill(raw, Signal::SIGCONT).unwrap();
        target.assert_alive();
        assert_eq!(target.exit_code(), 0);

        let recording = crate::recording::Recording::of(&file);
        assert!(!recording.samples.is_empty());
        for sample in &recording.samples {
            assert_eq!(sample.state, "stopped", "{sample:?}");
        }
    });
}

#[test]
fn a_call_that_waits_forever_is_not_interrupted() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("waits.sprof");
        let mut record = engine.record(1000, &file);
        record.arg("--").arg(program::usual("waits"));
        let outcome = sprof::run(&mut record);
        let text = outcome.assert_code(0).text();
        assert_eq!(text, "wakes 60 interrupted 0\n");
        let recording = Recording::of(&file);
        assert!(recording.ticks.len() > 100, "{}", recording.ticks.len());
    });
}

/// Median and 99th percentile of what `latency` says, in nanoseconds.
fn latency(command: &mut std::process::Command) -> (u64, u64) {
    let text = sprof::run(command).assert_code(0).text();
    let words: Vec<&str> = text.split_whitespace().collect();
    let ["signals", "400", "median", median, "p99", late] = words[..] else {
        panic!("{text}");
    };
    (median.parse().unwrap(), late.parse().unwrap())
}

#[test]
fn handlers_run_as_soon_as_without_sprof() {
    let _cpus = alone();
    crate::engine::each(|engine| {
        let program = program::usual("latency");
        let bare = latency(&mut std::process::Command::new(&program));
        let scratch = Scratch::new();
        let file = scratch.file("latency.sprof");
        let recorded = latency(engine.record(100, &file).arg("--").arg(&program));
        eprintln!("median and p99: {bare:?} ns bare, {recorded:?} ns recorded");
        // Signals that waited for the next tick would take 5 ms in the median.
        let added = recorded.0.saturating_sub(bare.1);
        assert!(added < 1_000_000, "{bare:?} bare, {recorded:?} recorded");
    });
}

/// What the parent of a process was told since it was last asked.
fn told(pid: nix::unistd::Pid) -> Vec<nix::sys::wait::WaitStatus> {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let all = WaitPidFlag::WSTOPPED | WaitPidFlag::WCONTINUED | WaitPidFlag::WNOHANG;
    std::iter::from_fn(|| match waitid(Id::Pid(pid), all).unwrap() {
        WaitStatus::StillAlive => None,
        status => Some(status),
    })
    .collect()
}

#[test]
fn a_parent_is_told_of_the_users_stops_and_of_no_other() {
    use nix::sys::signal::{Signal, kill};
    use nix::sys::wait::WaitStatus;
    let _cpus = alone();
    crate::engine::each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("stops.sprof");
        let mut target = crate::target::Target::steady(1);
        let pid = nix::unistd::Pid::from_raw(target.pid() as i32);
        let until_told = |wanted: WaitStatus| {
            let got = crate::machine::until("a word to the parent", crate::machine::SOON, || {
                Some(told(pid)).filter(|words| !words.is_empty())
            });
            assert_eq!(got, [wanted]);
        };
        let ticks_of = |state: &str| {
            let state = state.to_owned();
            let recording = Recording::of(&file);
            let samples = recording.samples.iter().filter(|s| s.state == state);
            samples.count()
        };
        let more_of = |state: &str| {
            let before = ticks_of(state);
            crate::machine::until("more samples", crate::machine::SOON, || {
                (ticks_of(state) > before + 10).then_some(())
            });
        };
        kill(pid, Signal::SIGSTOP).unwrap();
        until_told(WaitStatus::Stopped(pid, Signal::SIGSTOP));
        let mut record = engine.record(200, &file);
        let mut record = record.args(["-p", &pid.to_string()]).spawn().unwrap();
        super::interrupt::recorded(&file);
        more_of("stopped");
        assert_eq!(told(pid), [], "of sprof's own stops");
        kill(pid, Signal::SIGCONT).unwrap();
        until_told(WaitStatus::Continued(pid));
        more_of("running");
        target.assert_alive();
        assert_eq!(told(pid), [], "of sprof's own stops");
        kill(pid, Signal::SIGSTOP).unwrap();
        until_told(WaitStatus::Stopped(pid, Signal::SIGSTOP));
        more_of("stopped");
        // Left as it is: stopped.
        kill(
            nix::unistd::Pid::from_raw(record.id() as i32),
            Signal::SIGTERM,
        )
        .unwrap();
        assert_eq!(sprof::code(sprof::wait(&mut record)), 0);
        crate::machine::until("no tracer", crate::machine::SOON, || {
            (crate::machine::status_field(pid.as_raw() as u32, "TracerPid")? == "0").then_some(())
        });
        let raw = target.pid();
        let mut states = crate::machine::threads(raw).into_iter();
        assert!(states.all(|tid| crate::machine::state(raw, tid) == Some('T')));
        kill(pid, Signal::SIGCONT).unwrap();
        target.assert_alive();
        assert_eq!(target.exit_code(), 0);
    });
}
