//! `sprof convert`

use std::io::Write;
use std::path::Path;

use anyhow::anyhow;

use super::args::ConvertArgs;
use super::failure::{Failure, USAGE, output_hint};
use super::input;
use super::output::{OutputFile, cannot_write};
use crate::convert::{ConvertError, Format, convert};
use crate::profile::Recording;
use crate::term::{self, Hint, Progress, Work};

pub(super) fn run(args: &ConvertArgs) -> Result<(), Failure> {
    let output = args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"));
    let format = format(args.to.as_deref(), output)?;
    let reader = input::open(&args.input)?;
    input::with_names(&args.input, &reader, |recording| {
        write_to(recording, format, output, &args.input)
    })
}

fn write_to(
    recording: &dyn Recording,
    format: Format,
    output: Option<&Path>,
    input: &Path,
) -> Result<(), Failure> {
    match output {
        None => {
            let mut out = term::stdout();
            let path = Path::new("standard output");
            write(recording, format, &mut out, input, path)?;
            out.flush().map_err(super::stdout_failed)
        }
        Some(path) => {
            let mut out = OutputFile::create(path, input)?;
            write(recording, format, &mut out, input, path)?;
            out.finish()
        }
    }
}

/// The format asked for by name, else by the name of the output.
fn format(name: Option<&str>, output: Option<&Path>) -> Result<Format, Failure> {
    let error = match (name, output) {
        (Some(name), _) => match Format::from_name(name) {
            Some(format) => return Ok(format),
            None => anyhow!("there is no format named {name:?}"),
        },
        (None, Some(path)) => match Format::from_path(path) {
            Some(format) => return Ok(format),
            None => anyhow!("no format is known for files named like {}", path.display()),
        },
        (None, None) => anyhow!("nothing says which format to write to standard output"),
    };
    let names = Format::ALL.iter().map(|format| format.name()).collect();
    Err(Failure::new(error, Hint::UnknownFormat(names)).with_code(USAGE))
}

fn write(
    recording: &dyn Recording,
    format: Format,
    out: &mut dyn Write,
    input: &Path,
    output: &Path,
) -> Result<(), Failure> {
    let mut progress = Progress::new("converting", Work::Unknown);
    let written = convert(recording, format, out, &mut |ticks| progress.set(ticks));
    written.map_err(|error| match error {
        ConvertError::Read(error) => input::read_failed(input.display(), error),
        ConvertError::Write(error) => {
            let hint = output_hint(output, &error);
            Failure::new(anyhow!(error).context(cannot_write(output)), hint)
        }
    })
}
