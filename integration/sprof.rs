//! Runs sprof.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::machine;

/// Longest any run of sprof may take in a test.
const LIMIT: Duration = Duration::from_secs(150);

/// The binary under test.
pub fn binary() -> PathBuf {
    std::env::var_os("SPROF_BIN").map_or_else(|| env!("CARGO_BIN_EXE_sprof").into(), PathBuf::from)
}

/// A command that runs sprof with nothing on its stdin, and what it tells people unheard.
pub fn command() -> Command {
    let mut command = Command::new(binary());
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

/// `sprof record -r RATE -o FILE`, to be followed by `-p PID` or `-- CMD`.
pub fn record(rate: u32, file: &Path) -> Command {
    let mut command = command();
    command.arg("record").args(["-r", &rate.to_string()]);
    command.arg("-o").arg(file);
    command
}

/// What came of a command.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit code, or 128 + the signal that killed it.
    pub code: i32,
    /// Bytes on its stdout.
    pub stdout: Vec<u8>,
    /// Text on its stderr.
    pub stderr: String,
}

impl Outcome {
    /// Its stdout as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Fails, showing what sprof said, when the code is another one.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Outcome {
        assert_eq!(self.code, code, "exit code; stderr:\n{}", self.stderr);
        self
    }

    /// Fails unless it ended by itself with a failure, saying these words in one message.
    #[track_caller]
    pub fn assert_refused(&self, words: &[&str]) {
        assert!(
            (1..128).contains(&self.code),
            "exit code {}; stderr:\n{}",
            self.code,
            self.stderr
        );
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(
                self.stderr.to_lowercase().contains(&word.to_lowercase()),
                "no {word:?} in:\n{}",
                self.stderr
            );
        }
    }
}

/// 128 + N for signal N, as a shell says it.
pub fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap())
}

/// Runs a command to its end.
#[track_caller]
pub fn run(command: &mut Command) -> Outcome {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    finish(child)
}

/// Waits for a child with piped output, and for the end of that output.
#[track_caller]
pub fn finish(mut child: Child) -> Outcome {
    let out = child.stdout.take().map(read_all);
    let err = child.stderr.take().map(read_all);
    let status = wait(&mut child);
    let text = |reader: Option<thread::JoinHandle<Vec<u8>>>| {
        reader.map_or_else(Vec::new, |reader| reader.join().unwrap())
    };
    Outcome {
        code: code(status),
        stdout: text(out),
        stderr: String::from_utf8_lossy(&text(err)).into_owned(),
    }
}

/// Waits for a child; kills it and fails when that takes too long.
#[track_caller]
pub fn wait(child: &mut Child) -> ExitStatus {
    let begin = std::time::Instant::now();
    machine::until("a command to end", LIMIT + machine::SOON, || {
        if begin.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("killed after {LIMIT:?}: process {}", child.id());
        }
        child.try_wait().unwrap()
    })
}

/// Converts a recording; `format` as `--to` has it.
#[track_caller]
pub fn convert(file: &Path, format: &str, output: &Path) -> Outcome {
    let mut convert = command();
    convert.arg("convert").arg(file).args(["--to", format]);
    run(convert.arg("-o").arg(output))
}

/// Fails unless the recording can be handed to every kind of viewer.
#[track_caller]
pub fn assert_converts_to_all(file: &Path) {
    for format in ["firefox", "perfetto", "speedscope", "collapsed", "jsonl"] {
        let mut output = OsString::from(file);
        output.push(".");
        output.push(format);
        let output = PathBuf::from(output);
        convert(file, format, &output).assert_code(0);
        assert!(output.exists(), "no {}", output.display());
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}
