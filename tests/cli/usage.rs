use crate::place::Place;
use crate::sprof;

#[test]
fn the_version_tells_this_sprof_from_the_other() {
    let ran = sprof(Place::new().path(), &["--version"]);
    assert_eq!(ran.code, 0);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        ran.stdout,
        format!("sprof {version} (sampling profiler; not glibc's sprof)\n")
    );
    assert_eq!(ran.stderr, "");
}

#[test]
fn help_goes_to_stdout_and_has_examples() {
    let place = Place::new();
    for command in ["", "record", "convert", "report", "dump"] {
        for args in [vec![command, "--help"], vec!["help", command]] {
            let args: Vec<_> = args.into_iter().filter(|word| !word.is_empty()).collect();
            let ran = sprof(place.path(), &args);
            assert_eq!(ran.code, 0, "{args:?}");
            assert_eq!(ran.stderr, "");
            let example = format!("  sprof {command}");
            let (_, examples) = ran.stdout.split_once("Examples:\n").expect("examples");
            assert!(examples.contains(&example), "{}", ran.stdout);
            for line in ran.stdout.lines() {
                assert!(line.chars().count() <= 100, "{line:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_understood_is_a_usage_error() {
    let cases: [(&[&str], &str); 14] = [
        (&[], "Usage"),
        (&["paint"], "paint"),
        (&["--bogus"], "--bogus"),
        (&["record"], "--pid"),
        (&["record", "--bogus", "ls"], "--bogus"),
        (&["record", "-p", "1", "ls"], "cannot be used with"),
        (&["record", "-p", "zero"], "a process number is wanted"),
        (&["record", "-p", "0"], "a process number is wanted"),
        (&["record", "-r", "0", "ls"], "from 0.01 to 10000"),
        (&["record", "-d", "5 days", "ls"], "a time is wanted"),
        (&["convert", "a.sprof"], "--output"),
        (&["report"], "FILE"),
        (&["report", "a", "b"], "b"),
        (&["dump"], "--pid"),
    ];
    let place = Place::new();
    for (args, word) in cases {
        let ran = sprof(place.path(), args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn an_unknown_format_names_those_that_are_known() {
    let place = Place::with_recording();
    let cases: [&[&str]; 3] = [
        &["convert", "a.sprof", "--to", "bmp"],
        &["convert", "a.sprof", "-o", "a.bmp"],
        &["convert", "a.sprof", "-o", "-"],
    ];
    for args in cases {
        let ran = sprof(place.path(), args);
        ran.failed(
            2,
            &["hint: name it with --to, one of: ", "firefox", "perfetto"],
        );
    }
    assert_eq!(place.names(), ["a.sprof"]);
}
