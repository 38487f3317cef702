use crate::place::{Place, recording};
use crate::sprof;

/// The commands that read a recording, to be tried on each bad one.
const READERS: [&[&str]; 2] = [
    &["report"],
    &["convert", "--to", "jsonl", "-o", "out.jsonl"],
];

fn check(place: &Place, input: &str, words: &[&str]) {
    for reader in READERS {
        let args = [reader, &[input]].concat();
        let ran = sprof(place.path(), &args);
        ran.failed(1, &[&[input][..], words].concat());
        assert!(!place.names().contains(&"out.jsonl".to_owned()));
    }
}

#[test]
fn files_that_are_no_recordings_are_refused() {
    let place = Place::new();
    let noise: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 11) as u8)
        .collect();
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty", b"", "hint: the recording had not begun"),
        (
            "noise",
            &noise,
            "hint: give a file that `sprof record` wrote",
        ),
        (
            "text",
            b"main;work 12\n",
            "hint: give a file that `sprof record` wrote",
        ),
        ("elf", b"\x7fELF\x02\x01\x01", "ELF"),
        ("perf.data", b"PERFILE2 and more", "perf"),
    ];
    for (name, bytes, word) in cases {
        place.write(name, bytes);
        check(&place, name, &[word]);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("folder")).unwrap();
    check(&place, "folder", &["directory", "hint: name a file in it"]);
    check(
        &place,
        "missing",
        &["No such file", "hint: see which recordings there are"],
    );
    check(&place, "missing/a.sprof", &["No such file"]);
}

/// Every prefix opens or is refused in words; none is taken for whole.
#[test]
fn every_prefix_of_a_recording_is_read_or_refused() {
    let place = Place::new();
    let whole = recording();
    let step = (whole.len() / 40).max(1);
    for length in (1..16).chain((16..whole.len()).step_by(step)) {
        place.write("cut", &whole[..length]);
        let ran = sprof(place.path(), &["report", "cut"]);
        if ran.code == 0 {
            assert!(
                ran.stderr.starts_with("sprof: the end of cut is missing"),
                "{length}: {}",
                ran.stderr
            );
            assert!(
                ran.stdout.contains("the end of the recording is missing"),
                "{length}: {}",
                ran.stdout
            );
        } else {
            ran.failed(1, &["cut", "hint: "]);
        }
    }
}

#[test]
fn no_changed_byte_ends_in_a_panic() {
    let place = Place::new();
    let whole = recording();
    let step = (whole.len() / 60).max(1);
    for index in (0..whole.len()).step_by(step) {
        let mut bytes = whole.clone();
        bytes[index] ^= 0x55;
        place.write("changed", &bytes);
        let ran = sprof(place.path(), &["report", "changed"]);
        assert!(ran.code == 0 || ran.code == 1, "{index}: {}", ran.code);
        // What is wrong is said.
        assert!(!ran.stderr.is_empty(), "{index}: {}", ran.stdout);
    }
}

#[test]
fn a_whole_recording_is_reported_without_a_word_on_stderr() {
    let place = Place::with_recording();
    for args in [&["report", "a.sprof"][..], &["report", "--all", "a.sprof"]] {
        let ran = sprof(place.path(), args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(ran.stdout.contains("work [4711]"), "{}", ran.stdout);
        assert!(ran.stdout.contains("50 samples"), "{}", ran.stdout);
        assert!(ran.stdout.contains("Nothing was lost"), "{}", ran.stdout);
        assert!(!ran.stdout.contains('\x1b'), "{}", ran.stdout);
    }
}

#[test]
fn logging_is_off_until_asked_for() {
    let place = Place::with_recording();
    let cases = [
        (vec!["-v", "report", "a.sprof"], None),
        (vec!["report", "-v", "a.sprof"], None),
        (vec!["report", "a.sprof"], Some("info")),
    ];
    for (args, variable) in cases {
        let mut command = crate::command(place.path(), &args);
        let ran = crate::ran(
            &command
                .envs(variable.map(|level| ("SPROF_LOG", level)))
                .output()
                .unwrap(),
        );
        assert_eq!(ran.code, 0);
        let line = "info  cli::input: a.sprof has 50 ticks, 50 samples\n";
        assert!(ran.stderr.ends_with(line), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let place = Place::new();
    let gone = i32::MAX.to_string();
    for (args, code) in [(["dump", "-p", &gone], 1), (["record", "-p", &gone], 125)] {
        let ran = sprof(place.path(), &args);
        ran.failed(code, &[&gone, "no such process", "hint: see what runs"]);
        assert!(place.names().is_empty(), "{:?}", place.names());
    }
}

#[test]
fn sprof_does_not_stop_what_waits_for_it() {
    let place = Place::new();
    let own = std::process::id().to_string();
    let ran = sprof(place.path(), &["dump", "-p", &own]);
    ran.failed(1, &[&own, "hint: it would wait for sprof"]);
}
