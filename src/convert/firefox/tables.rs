//! The tables that all threads share.

use std::collections::HashMap;
use std::io::Write;

use serde::Serialize;

use super::super::ConvertError;
use super::super::json::List;
use super::super::stacks::{Function, Stacks};
use super::meta::CategoryId;
use crate::profile::{FrameKind, Module, NamedFrame, Profile};

/// A frame as this format tells them apart: by address and inlining, so that the page can show
/// lines and addresses; the page itself merges frames of one function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Frame<'a> {
    function: Function<'a>,
    address: Option<u64>,
    inline_depth: u16,
    line: Option<u32>,
    category: CategoryId,
}

impl<'a> Frame<'a> {
    pub(super) fn of(frame: &NamedFrame<'a>, inline_depth: u16) -> Frame<'a> {
        Frame {
            function: Function::of(frame, inline_depth),
            address: frame.address.map(|address| address.0),
            inline_depth,
            line: frame.line,
            category: match frame.kind {
                FrameKind::Marker => CategoryId::Marker,
                _ if frame.missing.is_some() => CategoryId::Other,
                FrameKind::Native => CategoryId::Native,
                FrameKind::Inlined => CategoryId::Inlined,
            },
        }
    }
}

/// A module.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lib<'a> {
    arch: &'static str,
    name: &'a str,
    path: &'a str,
    debug_name: &'a str,
    debug_path: &'a str,
    breakpad_id: &'static str,
    code_id: Option<String>,
}

impl<'a> Lib<'a> {
    pub(super) fn of(module: &'a Module) -> Lib<'a> {
        Lib {
            arch: "",
            name: module.name(),
            path: &module.path,
            debug_name: module.name(),
            debug_path: &module.path,
            // Only symbol servers ask for it, and the profile has its symbols.
            breakpad_id: "",
            code_id: module.build_id.as_ref().map(ToString::to_string),
        }
    }
}

/// Distinct values, numbered in the order they are first asked for.
struct Numbers<T> {
    values: Vec<T>,
    known: HashMap<T, usize>,
}

impl<T: Clone + Eq + std::hash::Hash> Numbers<T> {
    fn new() -> Self {
        Numbers {
            values: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn of(&mut self, value: T) -> usize {
        let next = self.values.len();
        *self.known.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            next
        })
    }
}

/// `profile.shared`.
pub(super) fn write_shared(
    out: &mut dyn Write,
    profile: &Profile,
    stacks: &Stacks<'_, Frame<'_>>,
) -> Result<(), ConvertError> {
    let mut functions = Numbers::new();
    let mut strings = Numbers::new();
    let mut shared = List::object(out)?;
    write_stacks(shared.member("stackTable")?, stacks)?;
    write_frames(
        shared.member("frameTable")?,
        stacks.entries(),
        &mut functions,
    )?;
    let mut resources = Numbers::new();
    let mut files = Numbers::new();
    write_functions(
        shared.member("funcTable")?,
        &functions.values,
        &mut strings,
        &mut resources,
        &mut files,
    )?;
    write_resources(
        shared.member("resourceTable")?,
        profile,
        &resources.values,
        &mut strings,
    )?;
    write_sources(shared.member("sources")?, &files.values, &mut strings)?;
    write_empty(
        shared.member("nativeSymbols")?,
        &["libIndex", "address", "name", "functionSize"],
    )?;
    write_empty(
        shared.member("sourceLocationTable")?,
        &["source", "line", "column"],
    )?;
    shared.set_all("stringArray", &strings.values)?;
    shared.end()
}

fn write_stacks(out: &mut dyn Write, stacks: &Stacks<'_, Frame<'_>>) -> Result<(), ConvertError> {
    let nodes = stacks.nodes();
    let mut table = List::object(out)?;
    table.set_all("frame", nodes.iter().map(|(_, entry)| entry.0))?;
    // The distance back to the caller; 0: it is a root.
    let offsets = nodes.iter().zip(0_u32..);
    let offsets = offsets.map(|((caller, _), at)| caller.map_or(0, |caller| at - caller.0));
    table.set_all("prefixOffset", offsets)?;
    // The same as row numbers, as older versions had it: the page passes over it, but scripts that
    // read profiles know it.
    let callers = nodes.iter().map(|(caller, _)| caller.map(|id| id.0));
    table.set_all("prefix", callers)?;
    table.set("length", &nodes.len())?;
    table.end()
}

fn write_frames<'a>(
    out: &mut dyn Write,
    frames: &[Frame<'a>],
    functions: &mut Numbers<Function<'a>>,
) -> Result<(), ConvertError> {
    let mut table = List::object(out)?;
    let address = |frame: &Frame<'_>| frame.address.map_or(-1, |a| i64::try_from(a).unwrap_or(-1));
    table.set_all("address", frames.iter().map(address))?;
    table.set_all("inlineDepth", frames.iter().map(|frame| frame.inline_depth))?;
    table.set_all("category", frames.iter().map(|frame| frame.category as u32))?;
    table.set_all("subcategory", frames.iter().map(|_| 0))?;
    let function = |frame: &Frame<'a>| functions.of(frame.function.clone());
    table.set_all("func", frames.iter().map(function))?;
    table.set_all("nativeSymbol", frames.iter().map(|_| ()))?;
    table.set_all("innerWindowID", frames.iter().map(|_| 0))?;
    table.set_all("line", frames.iter().map(|frame| frame.line))?;
    table.set_all("column", frames.iter().map(|_| ()))?;
    table.set_all("originalLocation", frames.iter().map(|_| ()))?;
    table.set("length", &frames.len())?;
    table.end()
}

fn write_functions<'a>(
    out: &mut dyn Write,
    functions: &[Function<'a>],
    strings: &mut Numbers<String>,
    resources: &mut Numbers<&'a str>,
    files: &mut Numbers<&'a str>,
) -> Result<(), ConvertError> {
    let mut table = List::object(out)?;
    let name = |function: &Function<'_>| strings.of(function.name.to_string());
    table.set_all("name", functions.iter().map(name))?;
    table.set_all("isJS", functions.iter().map(|_| false))?;
    table.set_all("relevantForJS", functions.iter().map(|_| false))?;
    let resource = |function: &Function<'a>| {
        function
            .module
            .map_or(-1, |module| resources.of(module) as i64)
    };
    table.set_all("resource", functions.iter().map(resource))?;
    let source = |function: &Function<'a>| function.file.map(|file| files.of(file));
    table.set_all("source", functions.iter().map(source))?;
    table.set_all("lineNumber", functions.iter().map(|_| ()))?;
    table.set_all("columnNumber", functions.iter().map(|_| ()))?;
    table.set_all("originalLocation", functions.iter().map(|_| ()))?;
    table.set("length", &functions.len())?;
    table.end()
}

fn write_resources(
    out: &mut dyn Write,
    profile: &Profile,
    paths: &[&str],
    strings: &mut Numbers<String>,
) -> Result<(), ConvertError> {
    const LIBRARY: u32 = 1;
    let module = |path: &&str| {
        profile
            .modules
            .iter()
            .position(|module| module.path == **path)
    };
    let mut table = List::object(out)?;
    table.set_all("lib", paths.iter().map(module))?;
    let name = |path: &&str| strings.of(path.rsplit('/').next().unwrap_or(path).to_owned());
    table.set_all("name", paths.iter().map(name))?;
    table.set_all("host", paths.iter().map(|_| ()))?;
    table.set_all("type", paths.iter().map(|_| LIBRARY))?;
    table.set("length", &paths.len())?;
    table.end()
}

fn write_sources(
    out: &mut dyn Write,
    files: &[&str],
    strings: &mut Numbers<String>,
) -> Result<(), ConvertError> {
    let mut table = List::object(out)?;
    table.set_all("id", files.iter().map(|_| ()))?;
    table.set_all(
        "filename",
        files.iter().map(|file| strings.of((*file).to_owned())),
    )?;
    table.set_all("startLine", files.iter().map(|_| 1))?;
    table.set_all("startColumn", files.iter().map(|_| 1))?;
    table.set_all("sourceMapURL", files.iter().map(|_| ()))?;
    table.set_all("content", files.iter().map(|_| ()))?;
    table.set("length", &files.len())?;
    table.end()
}

/// A table without rows. All tables must be there.
fn write_empty(out: &mut dyn Write, columns: &[&str]) -> Result<(), ConvertError> {
    let mut table = List::object(out)?;
    for column in columns {
        table.set(column, &[(); 0])?;
    }
    table.set("length", &0)?;
    table.end()
}

/// The marker table of a thread without markers.
pub(super) fn write_no_markers(out: &mut dyn Write) -> Result<(), ConvertError> {
    write_empty(
        out,
        &["data", "name", "startTime", "endTime", "phase", "category"],
    )
}
