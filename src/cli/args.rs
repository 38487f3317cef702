//! What can be typed. What it means is each command's own affair.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::profile::{Nanos, Pid};

const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (sampling profiler; not glibc's sprof)"
);

/// Ticks a second: slower ones say nothing, faster ones would hold the target all the time.
const RATES: std::ops::RangeInclusive<f64> = 0.01..=10_000.0;

/// Record what every thread of a process tree does, on one timeline.
#[derive(Debug, Parser)]
#[command(
    name = "sprof",
    version = VERSION,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Examples:
  sprof record make -j8               record a command and all it starts
  sprof record -p 4711 -d 10s         record a running process for ten seconds
  sprof report sprof.make.*.sprof     where the time went, as text
  sprof convert FILE -o out.json      a timeline for https://profiler.firefox.com
  sprof dump -p 4711                  all stacks, now

`sprof help COMMAND` tells more."
)]
pub(super) struct Arguments {
    /// Say on stderr what is being done; twice: also why
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(super) verbose: u8,

    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Record a command, or processes that run, with all their children
    Record(RecordArgs),
    /// Convert a recording for another viewer
    Convert(ConvertArgs),
    /// Show a recording as text
    Report(ReportArgs),
    /// Show every thread's stack of a running process tree, now
    Dump(DumpArgs),
}

/// Whom to record of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Follow {
    All,
    None,
}

/// Names of the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    Auto,
    Barrier,
    Stop,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("target").args(["pids", "command"]).required(true))]
#[command(override_usage = "\
sprof record [OPTIONS] [--] COMMAND [ARGUMENT]...
       sprof record [OPTIONS] -p PID [-p PID]...")]
#[command(after_help = "\
Examples:
  sprof record ls -l                  everything behind `ls` belongs to it
  sprof record -r 1000 -- ./server    1000 times a second
  sprof record -p 4711 -p 4712        two trees on one timeline, until Ctrl-C
  sprof record -p 4711 -d 1m -o a.sprof
  pkill -USR2 -x sprof                pause all recordings; the same again goes on with them

Ctrl-C ends the recording and keeps it; a second one leaves the names out.
Exit status: that of the command (128+N where signal N ended it); 125 where sprof itself
failed, 126 where the command could not be executed, 127 where it was not found, 2 where this
command line is wrong.")]
pub(super) struct RecordArgs {
    /// Record this running process and its children; can be repeated
    #[arg(short, long = "pid", value_name = "PID", value_parser = pid)]
    pub(super) pids: Vec<Pid>,

    /// Ticks a second, in the mean
    #[arg(short, long = "rate", value_name = "HZ", value_parser = interval, default_value = "100")]
    pub(super) rate: Nanos,

    /// End after this time: 10, 500ms, 10s, 2m, 1h
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub(super) duration: Option<Duration>,

    /// Where to write; a file that is there is never overwritten
    /// [default: sprof.NAME.PID.TIME.sprof]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    /// Record only threads with a name that matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pub(super) threads: Option<regex::Regex>,

    /// Record only processes whose first thread has a name that matches this regular expression
    #[arg(long, value_name = "REGEX")]
    pub(super) processes: Option<regex::Regex>,

    /// Record children too, or only the processes asked for
    #[arg(long, value_name = "WHOM", value_enum, default_value_t = Follow::All)]
    pub(super) follow: Follow,

    /// Begin to take ticks after this time; -d counts from then
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) delay: Option<Duration>,

    /// Begin paused: take no ticks until SIGUSR2 comes (kill -USR2); each further one pauses or goes on
    #[arg(long)]
    pub(super) paused: bool,

    /// Hold the program for this share of the time at most, by taking ticks less often: 5%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(super) max_overhead: Option<f64>,

    /// How to take every thread's stack at one instant: `barrier` takes the CPUs away from the target
    /// for an instant and stops nothing, `stop` stops its threads, `auto` is the better one that is
    /// permitted
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = Engine::Auto)]
    pub(super) engine: Engine,

    /// Leave function names out; they are then looked up each time it is read
    #[arg(long)]
    pub(super) no_symbolize: bool,

    /// The command to run, and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("result").args(["output", "to"]).required(true).multiple(true))]
#[command(after_help = "\
Formats, and the ending of OUT that asks for each where --to does not:
  firefox      .json              for https://profiler.firefox.com
  perfetto     .pftrace           for https://ui.perfetto.dev
  speedscope   .speedscope.json   for https://www.speedscope.app
  chrome       .trace.json        Chrome trace events, read by many viewers
  collapsed    .folded            for flame graphs
  jsonl        .jsonl             for scripts: all that is known, an object a line

Examples:
  sprof convert a.sprof -o a.pftrace
  sprof convert a.sprof --to jsonl | less      without -o to stdout

OUT appears when it is whole, and replaces an older file of its name.")]
pub(super) struct ConvertArgs {
    /// The recording
    #[arg(value_name = "FILE")]
    pub(super) input: PathBuf,

    /// Where to write; - for stdout
    #[arg(short, long, value_name = "OUT")]
    pub(super) output: Option<PathBuf>,

    /// The format; unless told, by the ending of OUT
    #[arg(long, value_name = "FORMAT")]
    pub(super) to: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sprof report a.sprof
  sprof report --all a.sprof | less")]
pub(super) struct ReportArgs {
    /// The recording
    #[arg(value_name = "FILE")]
    pub(super) input: PathBuf,

    /// Show lists in full
    #[arg(long)]
    pub(super) all: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sprof dump -p 4711
  sprof dump -p $(pidof server) > stacks.txt")]
pub(super) struct DumpArgs {
    /// A running process, shown with its children; can be repeated
    #[arg(short, long = "pid", value_name = "PID", value_parser = pid, required = true)]
    pub(super) pids: Vec<Pid>,

    /// Leave function names out, which is faster
    #[arg(long)]
    pub(super) no_symbolize: bool,
}

fn pid(text: &str) -> Result<Pid, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(Pid(number)),
        _ => Err("a process number is wanted, such as 4711".to_owned()),
    }
}

fn interval(text: &str) -> Result<Nanos, String> {
    match text.parse() {
        Ok(rate) if RATES.contains(&rate) => Ok(Nanos((1e9 / rate).round() as u64)),
        _ => Err(format!(
            "ticks a second are wanted, from {} to {}",
            RATES.start(),
            RATES.end()
        )),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let seconds = match unit {
        "ms" => Some(1e-3),
        "" | "s" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    number
        .parse()
        .ok()
        .zip(seconds)
        .and_then(|(number, seconds): (f64, f64)| {
            Duration::try_from_secs_f64(number * seconds).ok()
        })
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "a time is wanted, such as 10, 500ms, 10s, 2m, 1h".to_owned())
}

/// A part of the whole, from a hundredth of a per cent to all of it, as a number up to 1.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if (0.01..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("not a share from 0.01% to 100%, such as 5%".to_owned()),
    }
}
