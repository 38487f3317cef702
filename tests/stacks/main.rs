//! Real stacks, checked at every instruction.
//!
//! A program is run one instruction at a time. Which calls are open is known without any unwind
//! information, since each call and each return was seen; the unwinder must find exactly them,
//! in prologues, epilogues, stubs and the dynamic linker too.
#![allow(missing_docs, clippy::unwrap_used)]

mod hostile;
mod live;
mod names;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use live::Live;
use sprof::module::DebugSearch;
use sprof::profile::{Address, Frame, StackEnd};
use sprof::symbolize::symbolize;
use sprof::unwind::Unwinder;

/// Compiles `program.c`; answers where it is.
pub(crate) fn build(name: &str, compiler: &str) -> PathBuf {
    build_source(name, compiler, "program.c")
}

fn build_source(name: &str, compiler: &str, source: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/stacks")
        .join(source);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("stacks");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join(name);
    let mut words = compiler.split_ascii_whitespace();
    let mut command = Command::new(words.next().unwrap());
    command.args(words).arg(source).arg("-o").arg(&program);
    assert!(command.status().unwrap().success(), "{command:?}");
    program
}

enum Step {
    Call,
    Return,
    Other,
}

/// What the instruction at the start of some bytes does to the open calls.
fn kind(code: &[u8]) -> Step {
    let prefixes = code
        .iter()
        .take_while(|byte| matches!(byte, 0x66 | 0x2e | 0x3e | 0xf2 | 0xf3 | 0x40..=0x4f));
    match &code[prefixes.count()..] {
        [0xe8, ..] => Step::Call,
        [0xff, modrm, ..] if modrm >> 3 & 7 == 2 => Step::Call,
        [0xc3 | 0xc2, ..] => Step::Return,
        _ => Step::Other,
    }
}

fn word(live: &Live, address: u64) -> u64 {
    u64::from_le_bytes(live.read(address, 8).try_into().unwrap())
}

/// The frames that open calls make: the address at hand, then each return address less one.
fn expected(live: &Live, ip: u64, open: &[u64]) -> Vec<Frame> {
    let callers = open.iter().rev().map(|returns_to| returns_to - 1);
    let addresses = std::iter::once(ip).chain(callers);
    let frame = |address| {
        let mapping = live.space.find(Address(address)).unwrap();
        Frame::Native {
            module: mapping.module,
            offset: mapping.module_offset(Address(address)),
        }
    };
    addresses.map(frame).collect()
}

/// The return addresses of the stack at hand, by the unwinder: where the truth starts from. Each
/// is proven when the program returns to it.
fn open_calls(live: &Live, unwinder: &mut Unwinder) -> Vec<u64> {
    let (frames, end) = live.unwind(unwinder);
    assert_eq!(end.end, StackEnd::Root);
    let mut callers: Vec<u64> = frames[1..]
        .iter()
        .map(|frame| {
            let Frame::Native { module, offset } = frame else {
                panic!("{frame:?}");
            };
            let mut mappings = live.space.mappings();
            let mapping = mappings.find(|it| it.module == *module).unwrap();
            offset.0.wrapping_add(mapping.bias) + 1
        })
        .collect();
    callers.reverse();
    callers
}

/// Whether an address lies in the program itself.
fn in_program(live: &Live, program: &Path, address: u64) -> bool {
    let mapping = live.space.find(Address(address));
    mapping.is_some_and(|it| live.files[it.module.index()].path() == program)
}

/// Runs the program to its end; answers instructions and those with another stack than the truth.
fn check_every_step(program: &Path) -> (u64, Vec<String>) {
    let mut live = Live::start(program);
    let mut unwinder = Unwinder::new();
    let mut open = open_calls(&live, &mut unwinder);
    let main_returned = open
        .iter()
        .rposition(|&it| in_program(&live, program, it))
        .unwrap();
    let mut ending = false;
    let (mut steps, mut wrong) = (0, Vec::new());
    loop {
        let before = live.registers();
        let step = kind(&live.read(before.ip.0, 16));
        if !live.step() {
            return (steps, wrong);
        }
        let registers = live.registers();
        match step {
            Step::Call => open.push(word(&live, registers.sp().0)),
            Step::Return if open.last() == Some(&registers.ip.0) => {
                open.pop();
            }
            // The dynamic linker jumps by a return now and then; no call is closed.
            Step::Return | Step::Other => {}
        }
        steps += 1;
        let (frames, end) = live.unwind(&mut unwinder);
        let truth = expected(&live, registers.ip.0, &open);
        ending |= open.len() <= main_returned;
        // The start files that end a program come without unwind information on many systems:
        // there a stack may be cut, but never be wrong.
        let cut = ending && end.end == StackEnd::NoUnwindInfo && truth.starts_with(&frames);
        let whole = end.end == StackEnd::Root && frames == truth;
        if !whole && !cut {
            wrong.push(format!(
                "step {steps} at {:x?}: {end:?}\n  found {frames:x?}\n  truth {truth:x?}",
                registers.ip
            ));
        }
    }
}

fn check(name: &str, compiler: &str) {
    let (steps, wrong) = check_every_step(&build(name, compiler));
    assert!(steps > 1_000, "{name}: only {steps} steps");
    assert!(
        wrong.is_empty(),
        "{name}: {} of {steps} wrong, first:\n{}",
        wrong.len(),
        wrong[0]
    );
}

#[test]
fn unoptimized_code_is_right_at_every_instruction() {
    check("O0", "cc -O0");
}

#[test]
fn optimized_code_is_right_at_every_instruction() {
    check("O2", "cc -O2");
}

#[test]
fn most_optimized_code_is_right_at_every_instruction() {
    check("O3", "cc -O3 -march=x86-64-v2");
}

#[test]
fn stripped_code_without_frame_pointers_is_right_at_every_instruction() {
    check("stripped", "cc -O2 -fomit-frame-pointer -s");
}

#[test]
fn code_at_a_fixed_address_is_right_at_every_instruction() {
    check(
        "fixed",
        "cc -O1 -no-pie -fno-pie -Wl,-Ttext-segment=0x10000000",
    );
}

#[test]
fn lazily_bound_calls_are_right_at_every_instruction() {
    check("lazy", "cc -O2 -Wl,-z,lazy -fcf-protection=none");
}

/// The function of each frame; a marker by its own name.
fn functions(live: &Live, frames: &[Frame]) -> Vec<String> {
    let search = DebugSearch {
        directories: Vec::new(),
    };
    let name = |frame: &Frame| match *frame {
        Frame::Native { module, offset } => {
            let file = &live.files[module.index()];
            let names = symbolize(file, &search, &[offset], &mut |_| {});
            names[0]
                .as_ref()
                .map_or(String::new(), |chain| chain[0].function.clone())
        }
        Frame::Unmapped { address } => panic!("{address:x?}"),
        Frame::Marker(marker) => marker.name(),
    };
    frames.iter().map(name).collect()
}

#[test]
fn nested_signals_on_their_own_stack_are_followed_to_the_thread_root() {
    for (name, compiler) in [
        ("signal-O2", "cc -O2 -pthread"),
        ("signal-O0", "cc -O0 -pthread"),
    ] {
        let live = Live::start(&build_source(name, compiler, "signal.c"));
        let (frames, end) = live.unwind_all(&mut Unwinder::new());
        assert_eq!(end.end, StackEnd::Root);
        let ours = [
            "wait_here",
            "inner",
            "outer",
            "deep",
            "thread",
            "<signal handler>",
        ];
        let mut names = functions(&live, &frames);
        names.retain(|it| ours.contains(&it.as_str()));
        let deep = names.iter().filter(|it| *it == "deep").count();
        names.dedup();
        let expected = [
            "wait_here",
            "inner",
            "<signal handler>",
            "outer",
            "<signal handler>",
            "deep",
            "thread",
        ];
        assert_eq!(names, expected, "{name}");
        assert_eq!(deep, 2_000, "{name}");
    }
}

/// Further builds, for machines that have more than `cc`: commands with a `;` between.
#[test]
fn builds_named_by_the_environment_are_right_at_every_instruction() {
    let builds = std::env::var("SPROF_STACK_BUILDS").unwrap_or_default();
    for (index, compiler) in builds
        .split(';')
        .filter(|it| !it.trim().is_empty())
        .enumerate()
    {
        check(&format!("named{index}"), compiler);
    }
}
