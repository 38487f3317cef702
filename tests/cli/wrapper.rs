//! `sprof record` around a command: whoever called it notices nothing but the recording.

use std::fs::{self, File};
use std::process::Stdio;

use crate::place::Place;
use crate::{command, sprof};

#[test]
fn the_status_of_the_command_is_passed_on() {
    let place = Place::new();
    let cases: [(&[&str], i32); 4] = [
        (&["true"], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -SEGV $$"], 139),
        (&["sh", "-c", "kill -KILL $$"], 137),
    ];
    for (index, (words, code)) in cases.into_iter().enumerate() {
        let name = format!("{index}.sprof");
        for dashes in [&[][..], &["--"]] {
            let _ = fs::remove_file(place.path().join(&name));
            let args = [&["record", "-o", &name], dashes, words].concat();
            let ran = sprof(place.path(), &args);
            assert_eq!(ran.code, code, "{words:?}: {}", ran.stderr);
            assert_eq!(ran.stdout, "");
            assert_eq!(sprof(place.path(), &["report", &name]).code, 0);
        }
    }
}

#[test]
fn the_command_reads_and_writes_as_without_sprof() {
    let place = Place::new();
    let bytes: Vec<u8> = (0..10_000_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    place.write("in", &bytes);
    let output = command(place.path(), &["record", "-o", "a.sprof", "cat"])
        .stdin(File::open(place.path().join("in")).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout == bytes, "stdin came out changed");
}

#[test]
fn a_command_that_cannot_run_has_the_code_of_env() {
    let place = Place::new();
    place.write("data", b"no program");
    let cases = [
        (
            "no-such-program-anywhere",
            127,
            "hint: it is in no folder of PATH",
        ),
        ("./no-such-program", 127, "hint: "),
        ("./data", 126, "hint: make it executable"),
        ("/", 126, "hint: "),
    ];
    for (program, code, hint) in cases {
        let ran = sprof(place.path(), &["record", program]);
        ran.failed(code, &[program, hint]);
        assert_eq!(place.names(), ["data"]);
    }
}

#[test]
fn a_recording_is_never_overwritten() {
    let place = Place::with_recording();
    let before = place.read("a.sprof");
    let ran = sprof(
        place.path(),
        &["record", "-o", "a.sprof", "sh", "-c", "touch ran"],
    );
    ran.failed(
        125,
        &["cannot create a.sprof", "hint: give another name with -o"],
    );
    assert_eq!(place.read("a.sprof"), before);
    assert_eq!(place.names(), ["a.sprof"], "the command must not run");
}

#[test]
fn an_output_that_cannot_be_made_is_found_before_the_command_runs() {
    let place = Place::new();
    for output in ["missing/a.sprof", "/sys/a.sprof", "."] {
        let ran = sprof(
            place.path(),
            &["record", "-o", output, "sh", "-c", "touch ran"],
        );
        ran.failed(125, &["cannot create", output, "hint: "]);
    }
    assert!(place.names().is_empty());
}

#[test]
fn without_o_the_recording_is_named_after_the_command() {
    let place = Place::new();
    let ran = sprof(place.path(), &["record", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let names = place.names();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(
        names[0].starts_with("sprof.true.") && names[0].rsplit('.').next() == Some("sprof"),
        "{names:?}"
    );
    assert!(ran.stderr.contains(&names[0]), "{}", ran.stderr);
}
