//! Signals reach the program as without sprof.

use crate::machine::{Scratch, alone};
use crate::recording::Recording;
use crate::{program, sprof};

#[test]
fn thousands_of_signals_arrive_once_and_in_order() {
    let _cpus = alone();
    let scratch = Scratch::new();
    let file = scratch.file("signals.sprof");
    let mut record = sprof::record(1000, &file);
    let outcome = sprof::run(record.arg("--").arg(program::usual("signals")));
    assert_eq!(
        outcome.assert_code(7).text(),
        "queued 5000 in order, reaped 100, status 0\n"
    );
    sprof::assert_converts_to_all(&file);
}

#[test]
fn a_process_stopped_by_the_user_stays_stopped_and_goes_on() {
    use nix::sys::signal::{Signal, kill};
    let _cpus = alone();
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

    let mut record = sprof::record(100, &file);
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
}

#[test]
fn a_call_that_waits_forever_is_not_interrupted() {
    let _cpus = alone();
    let scratch = Scratch::new();
    let file = scratch.file("waits.sprof");
    let mut record = sprof::record(1000, &file);
    record.arg("--").arg(program::usual("waits"));
    let outcome = sprof::run(&mut record);
    let text = outcome.assert_code(0).text();
    assert_eq!(text, "wakes 60 interrupted 0\n");
    let recording = Recording::of(&file);
    assert!(recording.ticks.len() > 100, "{}", recording.ticks.len());
}
