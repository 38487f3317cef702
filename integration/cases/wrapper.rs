//! A program under sprof is the same program: exit code, input, output.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::thread;

use crate::machine::{Scratch, shared};
use crate::recording::Recording;
use crate::sprof;

/// Runs a shell line under sprof; sprof must say nothing on stdout.
#[track_caller]
fn exit_code_of(line: &str) -> i32 {
    let scratch = Scratch::new();
    let file = scratch.file("a.sprof");
    let outcome = sprof::run(sprof::record(1000, &file).args(["--", "sh", "-c", line]));
    assert_eq!(outcome.text(), "", "stdout belongs to the program");
    drop(Recording::of(&file));
    outcome.code
}

#[test]
fn the_exit_code_is_the_programs() {
    let _cpus = shared();
    assert_eq!(exit_code_of("exit 7"), 7);
    assert_eq!(exit_code_of("kill -SEGV $$"), 139);
    assert_eq!(exit_code_of("kill -TERM $$"), 143);
    assert_eq!(exit_code_of(":"), 0);
}

#[test]
fn input_and_output_pass_through_unchanged() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("cat.sprof");
    let mut random = 88_172_645_463_325_252_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 32) as u8
    })
    .take(10 << 20)
    .collect();
    let mut record = sprof::record(1000, &file);
    record.args(["--", "cat"]).stdin(Stdio::piped());
    record.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = record.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = thread::spawn(move || input.write_all(&sent));
    let outcome = sprof::finish(child);
    writer.join().unwrap().unwrap();
    outcome.assert_code(0);
    assert!(outcome.stdout == bytes, "10 MiB came out changed");
    drop(Recording::of(&file));
}

#[test]
fn what_follows_the_dashes_belongs_to_the_program() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("echo.sprof");
    let mut record = sprof::record(100, &file);
    record.args(["--", "echo", "-r", "--help", "-o", "x"]);
    let outcome = sprof::run(&mut record);
    assert_eq!(outcome.assert_code(0).text(), "-r --help -o x\n");
}

#[test]
fn a_program_that_cannot_be_run_has_the_code_of_a_shell() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("a.sprof");
    let outcome = sprof::run(sprof::record(100, &file).args(["--", "/no/such/program"]));
    outcome
        .assert_code(127)
        .assert_refused(&["/no/such/program"]);

    let plain = scratch.file("plain-text");
    fs::write(&plain, "not a program\n").unwrap();
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    let file = scratch.file("b.sprof");
    let outcome = sprof::run(sprof::record(100, &file).arg("--").arg(&plain));
    outcome.assert_code(126).assert_refused(&["plain-text"]);
}

#[test]
fn wrong_usage_has_a_code_of_its_own() {
    let _cpus = shared();
    let outcome = sprof::run(sprof::command().args(["report", "--no-such-flag"]));
    outcome.assert_code(2);
    assert_eq!(outcome.text(), "");
}

#[test]
fn a_report_names_what_the_program_did() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("layout.sprof");
    let mut record = sprof::record(500, &file);
    record
        .arg("--")
        .arg(crate::program::usual("layout"))
        .arg("0.5");
    sprof::run(&mut record).assert_code(0);
    let report = sprof::run(sprof::command().arg("report").arg(&file));
    let text = report.assert_code(0).text();
    assert!(text.contains("layout_inner"), "{text}");
}

#[test]
fn a_dump_shows_every_thread_of_every_process_once() {
    let _cpus = shared();
    let mut target = crate::target::Target::steady(3);
    let pid = target.pid().to_string();
    let dump = sprof::run(sprof::command().args(["dump", "-p", &pid]));
    let text = dump.assert_code(0).text();
    for name in ["\"spinner\"", "\"sleeper\""] {
        assert_eq!(text.matches(name).count(), 3, "{name} in:\n{text}");
    }
    target.assert_alive();
    crate::machine::assert_undisturbed(target.pid());
    assert_eq!(target.exit_code(), 0);
}
