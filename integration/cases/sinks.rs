//! Places to write to that run full, close, or never were.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use crate::machine::{Scratch, alone, shared};
use crate::recording::Recording;
use crate::{program, sprof};

#[test]
fn a_full_disk_ends_the_recording_and_not_the_program() {
    let _cpus = alone();
    let scratch = Scratch::new();
    let (disk, logs, kept) = (
        scratch.file("disk"),
        scratch.file("logs"),
        scratch.file("kept"),
    );
    for folder in [&disk, &logs] {
        fs::create_dir(folder).unwrap();
    }
    // A mount that only this shell sees: nothing to clean up, and no need to be root.
    let line = "mount -t tmpfs -o size=64k none \"$1\" || exit 90
        \"$2\" record -r 1000 -o \"$1/a.sprof\" -- \"$3\" \"$4\" 2 4 6
        code=$?
        cp \"$1/a.sprof\" \"$5\" || exit 91
        exit $code";
    let mut shell = Command::new("unshare");
    let root = nix::unistd::geteuid().is_root();
    shell.arg(if root { "-m" } else { "-rm" });
    shell
        .args(["sh", "-c", line, "sh"])
        .arg(&disk)
        .arg(sprof::binary());
    shell.arg(program::usual("spans")).arg(&logs).arg(&kept);
    let outcome = sprof::run(shell.stdin(Stdio::null()));
    assert!(
        outcome.code != 90 && outcome.code != 91,
        "{}",
        outcome.stderr
    );
    outcome.assert_code(125).assert_refused(&["space"]);

    let history = fs::read_dir(&logs).unwrap().count();
    assert_eq!(history, 8, "every thread of the program ran to its end");
    let recording = Recording::of(&kept);
    assert!(
        !recording.samples.is_empty(),
        "what was written before can be read"
    );
}

#[test]
fn an_older_recording_is_not_overwritten() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("older.sprof");
    fs::write(&file, "precious").unwrap();
    let outcome = sprof::run(sprof::record(100, &file).args(["--", "true"]));
    outcome.assert_code(125).assert_refused(&["older.sprof"]);
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

#[test]
fn a_device_that_takes_nothing_is_named() {
    let _cpus = shared();
    let mut record = sprof::command();
    record.args(["record", "-o", "/dev/full", "--", "sh", "-c", "exit 0"]);
    sprof::run(&mut record).assert_refused(&["/dev/full"]);
}

#[test]
fn a_place_that_is_not_there_is_told_before_the_program_runs() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let mark = scratch.file("mark");
    let file = scratch.file("no-such-folder/a.sprof");
    let mut record = sprof::record(100, &file);
    record.args(["--", "touch"]).arg(&mark);
    let outcome = sprof::run(&mut record);
    outcome.assert_code(125).assert_refused(&["no-such-folder"]);
    assert!(!mark.exists(), "the program was run all the same");
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("long.sprof");
    let logs = scratch.file("logs");
    fs::create_dir(&logs).unwrap();
    let mut record = sprof::record(500, &file);
    record.arg("--").arg(program::usual("spans")).arg(&logs);
    sprof::run(record.args(["1", "4", "1"])).assert_code(0);

    let mut convert = sprof::command();
    convert
        .arg("convert")
        .arg(&file)
        .args(["--to", "jsonl", "-o", "-"]);
    convert.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = convert.spawn().unwrap();
    let mut some = [0; 100];
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut some).unwrap();
    drop(output);
    let outcome = sprof::finish(child);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
}

#[test]
fn what_is_no_recording_is_refused_in_words() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("odd.sprof");
    for bytes in [&b""[..], b"\n", b"\x7fELF", &[0xff; 4096]] {
        fs::write(&file, bytes).unwrap();
        for command in ["report", "convert"] {
            let mut sprof = sprof::command();
            sprof.arg(command).arg(&file);
            if command == "convert" {
                sprof.args(["--to", "jsonl", "-o", "-"]);
            }
            sprof::run(&mut sprof).assert_refused(&["odd.sprof"]);
        }
    }
}
