//! Ctrl-C and its kin, from a real terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::machine::{SOON, Scratch, shared, until};
use crate::recording::Recording;
use crate::target::Target;
use crate::terminal::{CTRL_C, Terminal};
use crate::{program, sprof};

/// Waits until the program's log has a line that begins so, and gives the rest of the line.
pub(super) fn logged(log: &Path, begin: &str) -> String {
    until(&format!("the line {begin:?}"), SOON, || {
        let text = fs::read_to_string(log).ok()?;
        let complete = text.lines().take(text.matches('\n').count());
        let mut found = complete.filter_map(|line| line.strip_prefix(begin));
        found.next().map(|rest| rest.trim().to_owned())
    })
}

/// Runs `interrupted` under sprof on a terminal, ends the recording by `end`, then the program.
/// Gives the recording, sprof's exit code, and the number of SIGINTs the program says it got.
fn launch(end: impl FnOnce(&mut Terminal, &Path)) -> (Recording, i32, String) {
    let scratch = Scratch::new();
    let (log, stop) = (scratch.file("log"), scratch.file("stop"));
    let file = scratch.file("launch.sprof");
    let sprof = sprof::binary();
    let program = program::usual("interrupted");
    let paths = [&sprof, &file, &program, &log, &stop].map(|path| path.to_str().unwrap());
    let [sprof, out, program, log_path, stop_path] = paths;
    let mut terminal = Terminal::run(&[
        sprof, "record", "-r", "250", "-o", out, "--", program, log_path, stop_path,
    ]);
    logged(&log, "ready ");
    recorded(&file);
    end(&mut terminal, &log);
    fs::write(&stop, "").unwrap();
    let code = terminal.exit_code();
    let ints = logged(&log, "end ");
    (Recording::of(&file), code, ints)
}

/// Waits until there is a tick in the file, which sprof still writes.
pub(super) fn recorded(file: &Path) {
    recorded_ticks(file, 1);
}

/// Waits until there are so many.
pub(super) fn recorded_ticks(file: &Path, ticks: usize) {
    until("ticks in the file", SOON, || {
        let begun = fs::metadata(file).is_ok_and(|about| about.len() > 0);
        (begun && Recording::of(file).ticks.len() >= ticks).then_some(())
    });
}

#[track_caller]
fn assert_whole(recording: &Recording) {
    assert!(!recording.ticks.is_empty());
    let cut = recording
        .losses
        .iter()
        .filter(|loss| loss.to_string().contains("file-cut"));
    assert_eq!(cut.count(), 0, "{:?}", recording.losses);
}

#[test]
fn ctrl_c_reaches_the_program_once_and_the_file_is_whole() {
    let _cpus = shared();
    let (recording, code, ints) = launch(|terminal, log| {
        terminal.press(CTRL_C);
        logged(log, "int");
    });
    assert_eq!(ints, "1", "SIGINTs the program got");
    assert_eq!(code, 5, "sprof waits for the program's own code");
    assert_whole(&recording);
}

#[test]
fn a_second_ctrl_c_keeps_the_data() {
    let _cpus = shared();
    let (recording, _, ints) = launch(|terminal, log| {
        terminal.press(CTRL_C);
        logged(log, "int");
        terminal.press(CTRL_C);
    });
    assert!(ints == "1" || ints == "2", "{ints} SIGINTs from two keys");
    assert_whole(&recording);
}

#[test]
fn terminate_and_hangup_end_the_recording_like_ctrl_c() {
    let _cpus = shared();
    for signal in [Signal::SIGTERM, Signal::SIGHUP] {
        let (recording, code, ints) = launch(|terminal, _| {
            kill(Pid::from_raw(terminal.pid() as i32), signal).unwrap();
        });
        assert_eq!(ints, "0", "SIGINTs the program got");
        assert_eq!(code, 5, "sprof waits for the program's own code");
        assert_whole(&recording);
    }
}

#[test]
fn a_program_that_dies_of_ctrl_c_gives_its_code() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("sleep.sprof");
    let sprof = sprof::binary();
    let (sprof, out) = (sprof.to_str().unwrap(), file.to_str().unwrap());
    let mark = scratch.file("mark");
    let line = format!("echo ready now > {}; exec sleep 60", mark.display());
    let mut terminal = Terminal::run(&[sprof, "record", "-o", out, "--", "sh", "-c", &line]);
    logged(&mark, "ready ");
    recorded(&file);
    terminal.press(CTRL_C);
    assert_eq!(terminal.exit_code(), 130);
    assert_whole(&Recording::of(&file));
}

#[test]
fn ctrl_c_does_not_reach_an_attached_program() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let (log, stop) = (scratch.file("log"), scratch.file("stop"));
    let file = scratch.file("attach.sprof");
    let mut program = Command::new(program::usual("interrupted"));
    program.arg(&log).arg(&stop).stdin(Stdio::null());
    let mut program = program.spawn().unwrap();
    let pid = logged(&log, "ready ");

    let sprof = sprof::binary();
    let (sprof, out) = (sprof.to_str().unwrap(), file.to_str().unwrap());
    let mut terminal = Terminal::run(&[sprof, "record", "-o", out, "-p", &pid]);
    recorded(&file);
    terminal.press(CTRL_C);
    assert_eq!(terminal.exit_code(), 0);
    fs::write(&stop, "").unwrap();
    assert_eq!(sprof::code(sprof::wait(&mut program)), 5);
    assert_eq!(logged(&log, "end "), "0");
    assert_whole(&Recording::of(&file));
}

#[test]
fn an_attach_ends_with_its_program() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("ends.sprof");
    let mut target = Target::steady(2);
    let mut record = sprof::record(100, &file);
    record.args(["-p", &target.pid().to_string()]);
    record.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = record.spawn().unwrap();
    recorded(&file);
    target.assert_alive();
    assert_eq!(target.exit_code(), 0);
    sprof::finish(child).assert_code(0);
    assert_whole(&Recording::of(&file));
}
