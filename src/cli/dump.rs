//! `sprof dump`

use super::args::DumpArgs;
use super::failure::{FAILED, Failure};
use super::input::{named, read_failed};
use super::record::failure;
use crate::format::Reader;
use crate::profile::Recording;
use crate::record;
use crate::report::stacks;
use crate::term;

pub(super) fn run(args: &DumpArgs) -> Result<(), Failure> {
    let bytes = record::dump(&args.pids).map_err(|error| failure(error).with_code(FAILED))?;
    let unreadable = |error| read_failed("the stacks", error);
    let reader = Reader::from_bytes(bytes).map_err(|error| unreadable(error.into()))?;
    let with_names;
    let recording: &dyn Recording = if args.no_symbolize {
        &reader
    } else {
        with_names = named(&reader).map_err(unreadable)?;
        &*with_names
    };
    let mut text = String::new();
    recording
        .each_tick(&mut |tick, table| {
            text.push_str(&stacks(recording.profile(), tick, table));
            Ok(())
        })
        .map_err(unreadable)?;
    term::print(&text).map_err(super::stdout_failed)
}
