use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::{CommandFactory as _, Parser as _};

use super::args::{Arguments, Command, RecordArgs};
use super::failure::{Failure, output_hint};
use super::output::OutputFile;
use crate::convert::Format;
use crate::profile::{Nanos, Pid};
use crate::term::Hint;

fn parse(line: &str) -> Result<Arguments, clap::error::ErrorKind> {
    let words = std::iter::once("sprof").chain(line.split_whitespace());
    Arguments::try_parse_from(words).map_err(|error| error.kind())
}

fn record(line: &str) -> RecordArgs {
    match parse(&format!("record {line}")).unwrap().command {
        Command::Record(args) => args,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn everything_behind_the_command_belongs_to_it() {
    let cases = [
        ("ls -l", "ls -l"),
        ("-- ls -l", "ls -l"),
        ("-r 50 ls -r -o x -p 3 --rate 9", "ls -r -o x -p 3 --rate 9"),
        ("ls -v --version --help -h", "ls -v --version --help -h"),
        ("ls -- -l", "ls -- -l"),
        ("-- -odd", "-odd"),
        ("-- -- x", "-- x"),
    ];
    for (line, command) in cases {
        let words: Vec<_> = command.split(' ').collect();
        assert_eq!(record(line).command, words, "{line}");
    }
    assert_eq!(parse("record ls -v").unwrap().verbose, 0);
    assert_eq!(parse("record -vv ls").unwrap().verbose, 2);
}

#[test]
fn numbers_are_understood_or_refused() {
    let rates = [
        ("1", 1_000_000_000),
        ("100", 10_000_000),
        ("99.9", 10_010_010),
        ("0.5", 2_000_000_000),
        ("10000", 100_000),
    ];
    for (rate, interval) in rates {
        assert_eq!(
            record(&format!("-r {rate} x")).rate,
            Nanos(interval),
            "{rate}"
        );
    }
    assert_eq!(record("x").rate, Nanos(10_000_000));
    let durations = [
        ("10", 10_000),
        ("10s", 10_000),
        ("500ms", 500),
        ("2m", 120_000),
        ("1.5h", 5_400_000),
        ("0.25", 250),
    ];
    for (duration, ms) in durations {
        let parsed = record(&format!("-d {duration} x")).duration;
        assert_eq!(parsed, Some(Duration::from_millis(ms)), "{duration}");
    }
    assert_eq!(record("-p 1 -p 22").pids, [Pid(1), Pid(22)]);
    let refused = [
        "-r 0",
        "-r -1",
        "-r nan",
        "-r inf",
        "-r 10001",
        "-r x",
        "-d 0",
        "-d 0ms",
        "-d x",
        "-d 5d",
        "-d 1e9",
        "-d .",
        "-d ms",
        "-d 99999999999999999999h",
    ];
    for flag in refused {
        let error = parse(&format!("record {flag} ls")).expect_err(flag);
        assert!(
            matches!(
                error,
                clap::error::ErrorKind::ValueValidation | clap::error::ErrorKind::UnknownArgument
            ),
            "{flag}: {error:?}"
        );
    }
    for pid in ["0", "-5", "x", "99999999999", ""] {
        assert!(parse(&format!("record -p {pid}")).is_err(), "{pid}");
    }
}

#[test]
fn what_makes_no_sense_together_is_refused() {
    let lines = [
        "record",
        "record -p 1 ls",
        "record --bogus ls",
        "convert a.sprof",
        "convert",
        "report",
        "dump",
        "dump -p x",
        "paint a.sprof",
    ];
    for line in lines {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn the_help_tells_every_format_and_an_ending_that_asks_for_it() {
    let mut command = Arguments::command();
    let convert = command.find_subcommand_mut("convert").unwrap();
    let help = convert.render_help().to_string();
    let table = help.split("\nFormats").nth(1).unwrap();
    let rows: Vec<_> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .skip(1)
        .take_while(|row| !row.is_empty())
        .collect();
    assert_eq!(rows.len(), Format::ALL.len());
    for format in Format::ALL {
        let row = rows.iter().find(|row| row[0] == format.name()).unwrap();
        let output = PathBuf::from(format!("a{}", row[1]));
        assert_eq!(Format::from_path(&output), Some(format));
    }
}

#[test]
fn what_is_missing_is_named_with_all_that_would_do() {
    let message = |line: &str| {
        let words = std::iter::once("sprof").chain(line.split_whitespace());
        let error = Arguments::try_parse_from(words).unwrap_err();
        error.render().to_string()
    };
    let record = message("record");
    assert!(record.contains("--pid <PID>|COMMAND"), "{record}");
    assert!(record.contains("[--] COMMAND [ARGUMENT]..."), "{record}");
    let convert = message("convert a.sprof");
    assert!(
        convert.contains("--output <OUT>|--to <FORMAT>"),
        "{convert}"
    );
}

#[test]
fn a_failure_is_one_line_and_a_hint() {
    let error = io::Error::from_raw_os_error(nix::libc::ENOSPC);
    let hint = output_hint(Path::new("a.json"), &error);
    let failure = Failure::new(anyhow!(error).context("cannot write a.json"), hint);
    assert_eq!(
        failure.text(),
        "sprof: cannot write a.json: No space left on device\n\
         hint: free some space, or write to another disk with -o"
    );
    assert_eq!(failure.code(), 1);
    assert!(!failure.is_broken_pipe());
}

#[test]
fn an_output_is_not_there_before_it_is_whole() {
    // In memory, where files without a name are known whatever the disk's file system.
    let folder = PathBuf::from(format!("/dev/shm/sprof-output-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("a.json");
    let names = || std::fs::read_dir(&folder).unwrap().count();
    let begin = |text: &str| {
        let mut output = OutputFile::create(&path, Path::new("a.sprof")).unwrap();
        output.write_all(text.as_bytes()).unwrap();
        output
    };
    drop(begin("left"));
    assert_eq!(names(), 0);
    let output = begin("first");
    assert_eq!(names(), 0, "a sprof that is killed here leaves nothing");
    output.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
    let output = begin("second");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "first");
    output.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(names(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_gone_reader_is_found_behind_other_errors() {
    let error = io::Error::from(io::ErrorKind::BrokenPipe);
    let failure = Failure::new(
        anyhow!(error).context("cannot write -").context("more"),
        None,
    );
    assert!(failure.is_broken_pipe());
}

#[test]
fn facts_about_outputs_become_hints() {
    let missing = PathBuf::from("/nowhere at all/a.json");
    let cases = [
        (nix::libc::ENOSPC, "a.json", Some(Hint::DiskFull)),
        (nix::libc::EDQUOT, "a.json", Some(Hint::DiskFull)),
        (nix::libc::EFBIG, "a.json", Some(Hint::FileTooLarge)),
        (nix::libc::EACCES, "/a.json", Some(Hint::FolderDenied)),
        (nix::libc::EROFS, "/a.json", Some(Hint::FolderDenied)),
        (nix::libc::EISDIR, "/tmp", Some(Hint::IsFolder)),
        (nix::libc::EEXIST, "a.sprof", Some(Hint::OutputExists)),
        (nix::libc::EEXIST, "/tmp", Some(Hint::IsFolder)),
        (nix::libc::EMFILE, "a.json", Some(Hint::TooManyFiles)),
        (
            nix::libc::ENOENT,
            "/nowhere at all/a.json",
            Some(Hint::FolderMissing),
        ),
        (nix::libc::EIO, "a.json", None),
    ];
    assert!(!missing.exists());
    for (errno, path, hint) in cases {
        let error = io::Error::from_raw_os_error(errno);
        assert_eq!(output_hint(Path::new(path), &error), hint, "{error}");
    }
}
