//! Stacks of every kind of ELF file, whole and named.

use std::path::Path;

use crate::checks::{Inside, wrong_max};
use crate::machine::{Scratch, alone};
use crate::program::{self, Finish, Flavour};
use crate::recording::{Recording, Sample, is};
use crate::sprof;

/// Runs a program that prints `spun TID BEGIN END` for each thread, for half a second.
fn record_spun(program: &Path) -> (Recording, Vec<Inside>) {
    let scratch = Scratch::new();
    let file = scratch.file("spun.sprof");
    let mut record = sprof::record(1000, &file);
    let outcome = sprof::run(record.arg("--").arg(program).arg("0.5"));
    let text = outcome.assert_code(0).text();
    let recording = Recording::of(&file);
    let pid = recording.processes[0].pid;
    let threads = text.lines().map(|line| {
        let account = line.strip_prefix("spun ").expect("the program's account");
        Inside::parse(pid, account)
    });
    let threads = threads.collect();
    sprof::assert_converts_to_all(&file);
    (recording, threads)
}

/// Fails unless nearly every stack is right and not one is wrong and called whole.
#[track_caller]
fn assert_right(what: &str, program: &Path, right: impl Fn(&Sample, Inside) -> bool) {
    let (recording, threads) = record_spun(program);
    assert_eq!(threads.len(), 2, "{what}");
    for thread in threads {
        let verdict = thread.judge(&recording, |sample| right(sample, thread));
        assert!(verdict.judged >= 50, "{what}: {verdict:?}");
        let example = recording.samples_of(thread.pid, thread.tid).nth(20);
        let wrong = verdict.judged - verdict.right;
        assert!(
            wrong <= wrong_max(verdict.judged, 0.001),
            "{what}: {verdict:?}; a sample: {example:?}"
        );
    }
}

#[test]
fn thirty_calls_without_frame_pointers_or_symbols() {
    let _cpus = alone();
    let flavour = Flavour::cc("no-fp", &["-O2", "-fomit-frame-pointer"]);
    let program = program::build_chain(flavour.finished(Finish::Stripped));
    assert_right("chain", &program, |sample, _| {
        let links = sample.root_first(|name| {
            let digits = name.strip_prefix("chain_")?.get(..2)?;
            digits.parse::<usize>().ok()
        });
        sample.cut.is_none() && links.into_iter().eq(0..30)
    });
}

/// The same stack in every layout: three functions, then main or the thread's start, then the
/// root.
#[track_caller]
fn assert_layout(flavour: Flavour) {
    assert_layout_down_to(flavour, &[None]);
}

/// The same, where a stack may also end below main for the reasons in `ends`.
#[track_caller]
fn assert_layout_down_to(flavour: Flavour, ends: &[Option<&str>]) {
    let program = program::build("layout", flavour);
    assert_right(flavour.name, &program, |sample, thread| {
        let below = if thread.pid == thread.tid {
            "main"
        } else {
            "run"
        };
        let wanted = [below, "layout_outer", "layout_middle", "layout_inner"];
        let got = sample.root_first(|name| wanted.into_iter().find(|wanted| is(name, wanted)));
        got == wanted && ends.contains(&sample.cut.as_deref())
    });
}

#[test]
fn position_independent_and_not() {
    let _cpus = alone();
    assert_layout(Flavour::cc("pie", &["-O2", "-fPIE", "-pie"]));
    assert_layout(Flavour::cc("no-pie", &["-O2", "-fno-pie", "-no-pie"]));
    assert_layout(Flavour::cc(
        "low-base",
        &[
            "-O2",
            "-fno-pie",
            "-no-pie",
            "-Wl,-Ttext-segment=0x10000000",
        ],
    ));
}

#[test]
fn linked_statically() {
    let _cpus = alone();
    assert_layout(Flavour::cc("static", &["-O2", "-static"]));
    assert_layout(Flavour::cc("static-pie", &["-O2", "-static-pie", "-fPIE"]));
}

#[test]
fn linked_by_lld_with_addresses_unlike_offsets() {
    let _cpus = alone();
    let lld = Flavour::cc("lld", &["-O2", "-fuse-ld=lld"]).by("clang");
    assert_layout(lld);
}

#[test]
fn linked_with_musl() {
    let _cpus = alone();
    // musl comes without unwind information: what is below main is its own affair.
    let ends = [None, Some("no-unwind-info")];
    let musl = Flavour::cc("musl", &["-O2"]).by("musl-gcc");
    assert_layout_down_to(musl, &ends);
    let linked_in = Flavour::cc("musl-static", &["-O2", "-static"]).by("musl-gcc");
    assert_layout_down_to(linked_in, &ends);
}

#[test]
fn without_section_headers() {
    let _cpus = alone();
    let dynamic = Flavour::cc("no-sections", &["-O2", "-rdynamic"]);
    assert_layout(dynamic.finished(Finish::NoSectionHeaders));
}

#[test]
fn unoptimised_and_with_symbols_elsewhere() {
    let _cpus = alone();
    assert_layout(Flavour::cc("O0", &["-O0", "-g"]));
    let apart = Flavour::cc("debuglink", &["-O2", "-g"]);
    assert_layout(apart.finished(Finish::DebugLink));
}
