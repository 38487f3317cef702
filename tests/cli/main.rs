//! The command line from outside: what is typed, what is answered, which code is left.
//!
//! - `usage`: help, version, and what cannot be understood
//! - `inputs`: files that are no recordings, or not whole
//! - `outputs`: where results go, and what happens when they cannot
//! - `wrapper`: `sprof record` around a command

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod inputs;
mod outputs;
mod place;
mod usage;
mod wrapper;

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What a run of sprof left.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

/// The built program in `folder`, with nothing to read and no settings of the outside.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sprof"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("SPROF_LOG")
        .stdin(Stdio::null());
    command
}

/// Runs sprof to its end.
fn sprof(folder: &Path, args: &[&str]) -> Ran {
    ran(&command(folder, args).output().expect("sprof runs"))
}

fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let ran = Ran {
        code: output.status.code().expect("sprof is not killed"),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    };
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

impl Ran {
    /// It failed with this code, nothing on stdout, and a message with these words; the hint, where
    /// there is one, is one line.
    fn failed(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}", self.stderr);
        assert_eq!(self.stdout, "");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {}", self.stderr);
        }
        assert!(self.stderr.starts_with("sprof: "), "{}", self.stderr);
        let hints = self
            .stderr
            .lines()
            .filter(|line| line.starts_with("hint: "));
        assert!(hints.count() <= 1, "{}", self.stderr);
        assert!(!self.stderr.contains("os error"), "{}", self.stderr);
        assert!(self.stderr.lines().count() <= 2, "{}", self.stderr);
    }
}
