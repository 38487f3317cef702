//! `sprof report`

use super::args::ReportArgs;
use super::failure::Failure;
use super::input;
use crate::report::{Length, report};
use crate::term;

pub(super) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let reader = input::open(&args.input)?;
    let length = if args.all { Length::All } else { Length::Short };
    let text = input::with_names(&args.input, &reader, |recording| {
        report(recording, length).map_err(|error| input::read_failed(args.input.display(), error))
    })?;
    term::print(&text).map_err(super::stdout_failed)
}
