//! Job control: what the user stops stays stopped, what the user sets going goes on.

use std::fs;

use crate::engine::each;
use crate::machine::{self, SOON, Scratch, shared, until};
use crate::recording::Recording;
use crate::terminal::{CTRL_Z, Terminal};
use crate::{program, sprof};

use super::interrupt::{logged, recorded};

fn is_stopped(pid: u32) -> bool {
    let mut states = machine::threads(pid)
        .into_iter()
        .map(|tid| machine::state(pid, tid));
    states.all(|state| matches!(state, Some('T' | 't')))
}

#[track_caller]
fn runs_on(pid: u32) {
    until("the program to run on", SOON, || {
        (!is_stopped(pid)).then_some(())
    });
}

/// A shell with job control on a terminal of its own.
fn shell() -> Terminal {
    let mut shell = Terminal::run(&["env", "PS1=> ", "bash", "--norc", "--noprofile", "-i"]);
    shell.press(b"echo be''gun\n");
    shell.shows("begun", 1);
    shell
}

#[test]
fn a_recorded_command_is_suspended_and_resumed_by_its_shell() {
    let _cpus = shared();
    each(|engine| {
        let scratch = Scratch::new();
        let (log, stop) = (scratch.file("log"), scratch.file("stop"));
        let file = scratch.file("jobs.sprof");
        let mut shell = shell();
        let command = format!(
            "{} record {} -r 100 -o {} -- {} {} {}\n",
            sprof::binary().display(),
            engine.options.join(" "),
            file.display(),
            program::usual("interrupted").display(),
            log.display(),
            stop.display()
        );
        shell.press(command.as_bytes());
        let pid = logged(&log, "ready ").parse().unwrap();
        recorded(&file);
        for (round, key) in [b"fg\n", b"bg\n", b"fg\n"].into_iter().enumerate() {
            if round < 2 {
                shell.press(CTRL_Z);
                shell.shows("Stopped", round + 1);
                until("the program to stop", SOON, || {
                    is_stopped(pid).then_some(())
                });
            }
            shell.press(key);
            runs_on(pid);
        }
        fs::write(&stop, "").unwrap();
        logged(&log, "end ");
        shell.press(b"echo o''ver $?\n");
        shell.shows("over 5", 1);
        shell.press(b"exit\n");
        shell.exit_code();
        assert!(Recording::of(&file).ticks.len() > 10);
    });
}

#[test]
fn an_attached_job_is_suspended_and_resumed_by_its_shell() {
    let _cpus = shared();
    each(|engine| {
        let scratch = Scratch::new();
        let (log, stop) = (scratch.file("log"), scratch.file("stop"));
        let file = scratch.file("jobs.sprof");
        let mut shell = shell();
        let program = program::usual("interrupted");
        let command = format!(
            "{} {} {}\n",
            program.display(),
            log.display(),
            stop.display()
        );
        shell.press(command.as_bytes());
        let pid: u32 = logged(&log, "ready ").parse().unwrap();
        let mut record = engine.record(100, &file);
        let mut record = record.args(["-p", &pid.to_string()]).spawn().unwrap();
        recorded(&file);
        for (round, key) in [b"fg\n", b"bg\n"].into_iter().enumerate() {
            if round == 1 {
                // A stop is one for the parent, too: it is told once, and of the end once.
                assert_eq!(shell.screen().matches("Stopped").count(), 1);
            }
            shell.press(CTRL_Z);
            shell.shows("Stopped", round + 1);
            let stopped = machine::now_ns();
            until("the program to stop", SOON, || {
                is_stopped(pid).then_some(())
            });
            until("samples of the stop", SOON, || {
                let recording = Recording::of(&file);
                let mut late = recording.samples.iter().filter(|s| s.time_ns > stopped);
                late.any(|sample| sample.state == "stopped").then_some(())
            });
            assert!(is_stopped(pid));
            shell.press(key);
            runs_on(pid);
        }
        shell.press(b"fg\n");
        fs::write(&stop, "").unwrap();
        logged(&log, "end ");
        shell.press(b"echo o''ver $?\n");
        shell.shows("over 5", 1);
        shell.press(b"exit\n");
        shell.exit_code();
        assert_eq!(sprof::code(sprof::wait(&mut record)), 0);
    });
}
