//! Names of addresses: from DWARF, from symbols, from separate debug files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sprof::module::{DebugMissing, DebugSearch, ObjectFile};
use sprof::profile::{ModuleOffset, SymbolReason, Symbolized};
use sprof::symbolize::symbolize;

use super::build;

fn nowhere() -> DebugSearch {
    DebugSearch {
        directories: Vec::new(),
    }
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}");
}

/// Offsets of each fourth byte of the code.
fn code_offsets(file: &ObjectFile) -> Vec<ModuleOffset> {
    let code = file.segments().iter().find(|it| it.executable).unwrap();
    let end = code.address + code.file_size;
    (code.address..end).step_by(4).map(ModuleOffset).collect()
}

fn all_names(file: &ObjectFile, search: &DebugSearch) -> Vec<Symbolized> {
    let offsets = code_offsets(file);
    let mut done = 0;
    let names = symbolize(file, search, &offsets, &mut |count| done += count);
    assert_eq!((done, names.len()), (offsets.len(), offsets.len()));
    names
}

/// How many addresses have a function, and how many have a line.
fn counts(names: &[Symbolized], function: &str) -> (usize, usize) {
    let named = names.iter().flatten().flatten();
    let of_function = named.clone().filter(|it| it.function == function).count();
    (of_function, named.filter(|it| it.line.is_some()).count())
}

fn open(path: &Path) -> ObjectFile {
    ObjectFile::open(path).unwrap()
}

#[test]
fn debug_information_gives_functions_files_and_lines() {
    let file = open(&build("names-debug", "cc -O2 -g"));
    let names = all_names(&file, &nowhere());
    let (recurse, lines) = counts(&names, "recurse");
    assert!(recurse > 0 && lines > recurse);
    let frames = names.iter().flatten().flatten();
    let source = frames
        .filter_map(|it| it.file.as_deref())
        .find(|it| it.ends_with("program.c"));
    assert!(Path::new(source.unwrap()).is_absolute());
    for chain in names.iter().flatten() {
        assert!(!chain.last().unwrap().inlined);
        assert!(chain[..chain.len() - 1].iter().all(|it| it.inlined));
    }
}

#[test]
fn symbols_alone_give_functions() {
    let file = open(&build("names-symbols", "cc -O2"));
    let (recurse, lines) = counts(&all_names(&file, &nowhere()), "recurse");
    assert!(recurse > 0);
    assert_eq!(lines, 0);
}

#[test]
fn a_stripped_file_says_that_it_has_no_symbols_here() {
    let file = open(&build("names-stripped", "cc -O2 -s"));
    let names = all_names(&file, &nowhere());
    let missing = names.iter().filter(|it| it.is_err()).count();
    assert!(
        missing > 0
            && names
                .iter()
                .flatten()
                .flatten()
                .all(|it| it.function.ends_with("@plt"))
    );
    let outside = symbolize(&file, &nowhere(), &[ModuleOffset(1 << 40)], &mut |_| {});
    assert!(matches!(
        outside[0],
        Err(SymbolReason::NoSymbolHere | SymbolReason::NoSymbols)
    ));
}

#[test]
fn stubs_are_named_after_the_function_they_lead_to() {
    let file = open(&build("names-plt", "cc -O2 -Wl,-z,lazy"));
    let (found, _) = counts(&all_names(&file, &nowhere()), "qsort@plt");
    assert!(found > 0);
}

/// A stripped program and its debug file, in a folder of their own.
fn split(name: &str, compiler: &str) -> (PathBuf, PathBuf) {
    let built = build(name, compiler);
    let folder = built.with_extension("d");
    fs::create_dir_all(&folder).unwrap();
    let (program, debug) = (folder.join("program"), folder.join("program.debug"));
    let (from, to) = (built.to_str().unwrap(), debug.to_str().unwrap());
    run("objcopy", &["--only-keep-debug", from, to]);
    let link = format!("--add-gnu-debuglink={to}");
    run(
        "objcopy",
        &["--strip-all", &link, from, program.to_str().unwrap()],
    );
    (program, debug)
}

#[test]
fn a_debug_file_beside_the_program_gives_the_same_names() {
    let whole = open(&build("names-whole", "cc -O2 -g -Wl,--build-id=none"));
    let (program, _) = split("names-link", "cc -O2 -g -Wl,--build-id=none");
    let (whole, split) = (
        all_names(&whole, &nowhere()),
        all_names(&open(&program), &nowhere()),
    );
    assert!(counts(&whole, "recurse").0 > 0);
    assert_eq!(whole, split);
}

#[test]
fn a_debug_file_in_a_build_id_tree_is_found() {
    let (program, debug) = split("names-tree", "cc -O2 -g -Wl,--build-id");
    let file = open(&program);
    let id = file.build_id().unwrap().to_string();
    let tree = program.with_file_name("tree");
    let place = tree.join(".build-id").join(&id[..2]);
    fs::create_dir_all(&place).unwrap();
    fs::rename(debug, place.join(format!("{}.debug", &id[2..]))).unwrap();
    assert_eq!(nowhere().find(&file).err(), Some(DebugMissing::NotFound));
    let search = DebugSearch {
        directories: vec![tree],
    };
    assert!(counts(&all_names(&file, &search), "recurse").1 > 0);
}

#[test]
fn a_debug_file_of_another_program_is_refused() {
    for (name, id) in [
        ("decoy-id", "-Wl,--build-id"),
        ("decoy-crc", "-Wl,--build-id=none"),
    ] {
        let (program, debug) = split(name, &format!("cc -O2 -g {id}"));
        let (_, other) = split(&format!("{name}-other"), &format!("cc -O1 -g {id}"));
        fs::copy(other, &debug).unwrap();
        let file = open(&program);
        assert_eq!(
            nowhere().find(&file).err(),
            Some(DebugMissing::Refused(debug))
        );
        assert_eq!(counts(&all_names(&file, &nowhere()), "recurse"), (0, 0));
    }
}

#[test]
fn compressed_debug_sections_give_the_same_names() {
    let plain = open(&build("names-plain", "cc -O2 -g -Wl,--build-id=none"));
    let small = open(&build(
        "names-small",
        "cc -O2 -g -gz=zlib -Wl,--build-id=none",
    ));
    assert_eq!(all_names(&plain, &nowhere()), all_names(&small, &nowhere()));
}

#[test]
fn a_debug_file_is_looked_for_where_the_program_lies() {
    let (program, _) = split("names-moved", "cc -O2 -g");
    let alias = program.with_file_name("opened-by");
    let _ = fs::remove_dir_all(&alias);
    fs::create_dir_all(&alias).unwrap();
    let alias = alias.join("program");
    fs::copy(&program, &alias).unwrap();
    let file = open(&alias);
    assert_eq!(nowhere().find(&file).err(), Some(DebugMissing::NotFound));
    let file = file.known_by(&program);
    assert!(counts(&all_names(&file, &nowhere()), "recurse").1 > 0);
}
