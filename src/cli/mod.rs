//! One file a command: arguments become calls, outcomes become messages and exit codes.

mod args;
mod convert;
mod dump;
mod failure;
mod input;
mod output;
mod record;
mod report;

use std::process::ExitCode;

use clap::Parser as _;

use crate::term;
use args::{Arguments, Command};
use failure::{Failure, USAGE};

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return not_parsed(&error),
    };
    let variable = std::env::var("SPROF_LOG").ok();
    term::start_logging(arguments.verbose, variable.as_deref());
    match run(arguments.command) {
        Ok(code) => ExitCode::from(code),
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            term::message(&failure.text());
            ExitCode::from(failure.code())
        }
    }
}

fn run(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Record(args) => record::run(args),
        Command::Convert(args) => convert::run(&args).map(|()| 0),
        Command::Report(args) => report::run(&args).map(|()| 0),
        Command::Dump(args) => dump::run(&args).map(|()| 0),
    }
}

/// Help and version are results; the rest is a usage error.
fn not_parsed(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        return match term::print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let failure = stdout_failed(error);
                if failure.is_broken_pipe() {
                    return ExitCode::SUCCESS;
                }
                term::message(&failure.text());
                ExitCode::from(failure.code())
            }
        };
    }
    term::message(&text);
    ExitCode::from(USAGE)
}

/// Standard output could not be written to.
fn stdout_failed(error: std::io::Error) -> Failure {
    let hint = failure::output_hint(std::path::Path::new("-"), &error);
    Failure::new(
        anyhow::Error::new(error).context("cannot write to standard output"),
        hint,
    )
}

#[cfg(test)]
mod tests;
