use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::process::Stdio;

use crate::place::{Place, recording};
use crate::{command, sprof};

#[test]
fn a_conversion_appears_under_its_name_alone() {
    let place = Place::with_recording();
    let ran = sprof(place.path(), &["convert", "a.sprof", "-o", "a.jsonl"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "", "")
    );
    assert_eq!(place.names(), ["a.jsonl", "a.sprof"]);
    let file = place.read("a.jsonl");
    for args in [
        &["convert", "a.sprof", "--to", "jsonl"][..],
        &["convert", "a.sprof", "--to", "jsonl", "-o", "-"],
    ] {
        assert_eq!(sprof(place.path(), args).stdout.as_bytes(), file);
    }
}

#[test]
fn every_format_writes_something() {
    let place = Place::with_recording();
    for format in sprof::convert::Format::ALL {
        let ran = sprof(
            place.path(),
            &["convert", "a.sprof", "--to", format.name(), "-o", "out"],
        );
        assert_eq!(
            (ran.code, ran.stderr.as_str()),
            (0, ""),
            "{}",
            format.name()
        );
        assert!(!place.read("out").is_empty(), "{}", format.name());
    }
}

#[test]
fn an_older_conversion_is_replaced_also_through_a_link() {
    let place = Place::with_recording();
    place.write("real.jsonl", b"old");
    std::os::unix::fs::symlink("real.jsonl", place.path().join("link.jsonl")).unwrap();
    let ran = sprof(place.path(), &["convert", "a.sprof", "-o", "link.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(place.read("real.jsonl").len() > 3);
    assert!(
        fs::symlink_metadata(place.path().join("link.jsonl"))
            .unwrap()
            .is_symlink()
    );
    assert_eq!(place.names(), ["a.sprof", "link.jsonl", "real.jsonl"]);
}

#[test]
fn the_recording_itself_is_never_written_over() {
    let place = Place::with_recording();
    fs::hard_link(
        place.path().join("a.sprof"),
        place.path().join("same.jsonl"),
    )
    .unwrap();
    for output in ["a.sprof", "./a.sprof", "same.jsonl"] {
        let ran = sprof(
            place.path(),
            &["convert", "a.sprof", "--to", "jsonl", "-o", output],
        );
        ran.failed(1, &[output, "it is the recording itself", "hint: "]);
        assert_eq!(place.read("a.sprof"), recording());
    }
}

#[test]
fn outputs_that_cannot_be_made_are_named_with_a_hint() {
    let place = Place::with_recording();
    fs::create_dir(place.path().join("folder.json")).unwrap();
    // Not even root can make files there.
    let cases = [
        ("folder.json", "hint: name a file in it"),
        ("missing/a.json", "hint: make the folder first"),
        ("a.sprof/a.json", "hint: make the folder first"),
        ("/sys/a.json", "hint: write to a folder of yours"),
    ];
    for (output, hint) in cases {
        let ran = sprof(place.path(), &["convert", "a.sprof", "-o", output]);
        ran.failed(1, &["cannot write", output, hint]);
    }
    assert_eq!(place.names(), ["a.sprof", "folder.json"]);
}

#[test]
fn a_full_disk_is_said_and_leaves_nothing() {
    let place = Place::with_recording();
    let ran = sprof(
        place.path(),
        &["convert", "a.sprof", "--to", "firefox", "-o", "/dev/full"],
    );
    ran.failed(
        1,
        &[
            "cannot write /dev/full: No space left on device",
            "hint: free some space",
        ],
    );
    let cases = [
        &["convert", "a.sprof", "--to", "jsonl"][..],
        &["report", "a.sprof"],
        &["--version"],
        &["record", "--help"],
    ];
    for args in cases {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(place.path(), args).stdout(full).output().unwrap();
        crate::ran(&output).failed(
            1,
            &["cannot write", "standard output", "No space left on device"],
        );
    }
    assert_eq!(place.names(), ["a.sprof"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = Place::with_recording();
    let cases = [
        &["convert", "a.sprof", "--to", "jsonl"][..],
        &["report", "a.sprof"],
        &["--help"],
        &["--version"],
    ];
    for args in cases {
        let mut child = command(place.path(), args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before anything is read: each write fails, or what was written is lost.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let ran = crate::ran(&output);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_closed_stderr_is_no_failure() {
    let place = Place::with_recording();
    let cut = recording();
    place.write("cut.sprof", &cut[..cut.len() - 3]);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(place.path(), &["report", "cut.sprof"])
        .stderr(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(!output.stdout.is_empty());
}

#[test]
fn devices_and_pipes_are_written_to_as_they_are() {
    let place = Place::with_recording();
    let ran = sprof(
        place.path(),
        &["convert", "a.sprof", "--to", "jsonl", "-o", "/dev/null"],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let fifo = place.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut child = command(
        place.path(),
        &["convert", "a.sprof", "--to", "jsonl", "-o", "fifo"],
    )
    .spawn()
    .unwrap();
    let mut read = Vec::new();
    File::open(&fifo).unwrap().read_to_end(&mut read).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(
        read,
        sprof(place.path(), &["convert", "a.sprof", "--to", "jsonl"])
            .stdout
            .as_bytes()
    );
}

#[test]
fn a_conversion_that_fails_in_the_middle_leaves_the_older_one() {
    let place = Place::with_recording();
    place.write("a.jsonl", b"old");
    // A limit on the size of files stands for a disk that gets full.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" convert a.sprof -o a.jsonl";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_sprof")])
        .current_dir(place.path())
        .output()
        .unwrap();
    crate::ran(&output).failed(
        1,
        &[
            "cannot write a.jsonl: File too large",
            "hint: raise the limit",
        ],
    );
    assert_eq!(place.names(), ["a.jsonl", "a.sprof"]);
    assert_eq!(place.read("a.jsonl"), b"old");
}
