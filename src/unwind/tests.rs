use std::sync::Arc;

use super::code::{
    Call, LeafFrame, call_before, is_cloned, is_signal_return, leaf_frame, sets_frame_pointer,
};
use super::cursor::{Cursor, Via};
use super::row::FrameRule;
use super::stack::Stacks;
use super::{AddressSpace, Unwinder};
use crate::memory::{MemoryCopy, Registers};
use crate::module::ObjectFile;
use crate::profile::{Address, Frame, Mapping, ModuleId, ProcessId, StackEnd, Timestamp};

fn mapping(module: u32, start: u64, end: u64) -> Mapping {
    Mapping {
        process: ProcessId(0),
        module: ModuleId(module),
        start: Address(start),
        end: Address(end),
        file_offset: 0,
        bias: start,
        from: Timestamp::default(),
        until: None,
    }
}

#[test]
fn calls_are_told_from_other_instructions() {
    let check = |code: &[u8], expected| assert_eq!(call_before(code), expected, "{code:x?}");
    check(&[0xe8, 0xfb, 0xff, 0xff, 0xff], Some(Call::Direct(-5)));
    check(&[0xff, 0xd0], Some(Call::Indirect)); // call *%rax
    check(&[0x41, 0xff, 0xd4], Some(Call::Indirect)); // call *%r12
    check(&[0xff, 0x50, 0x08], Some(Call::Indirect)); // call *8(%rax)
    check(&[0xff, 0x54, 0x24, 0x08], Some(Call::Indirect)); // call *8(%rsp)
    check(&[0xff, 0x15, 0, 0, 0, 0], Some(Call::Indirect)); // call *0(%rip)
    check(&[0xff, 0x94, 0xc8, 0, 1, 0, 0], Some(Call::Indirect)); // call *256(%rax,%rcx,8)
    check(&[0xff, 0xe0], None); // jmp *%rax
    check(&[0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90], None);
    check(&[], None);
}

#[test]
fn a_leaf_without_unwind_information_is_known_by_its_instruction() {
    let check = |before: &[u8], code: &[u8], cfa: Option<(u8, bool)>| {
        let expected = cfa.map(|(cfa_from_sp, saved_bp)| LeafFrame {
            cfa_from_sp,
            saved_bp,
        });
        assert_eq!(leaf_frame(before, code), expected, "{before:x?} {code:x?}");
    };
    check(&[], &[0x55, 0x48, 0x89, 0xe5], Some((8, false)));
    check(&[0x55], &[0x48, 0x89, 0xe5], Some((16, true)));
    check(&[], &[0x5d, 0xc3], Some((16, true)));
    check(&[0x5d], &[0xc3], Some((8, false)));
    check(&[], &[0xff, 0x25, 1, 2, 3, 4], Some((8, false)));
    check(&[], &[0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0], Some((8, false)));
    check(&[0x68, 0, 0, 0, 0], &[0xe9, 0, 0, 0, 0], Some((16, false)));
    check(
        &[],
        &[0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25],
        Some((16, false)),
    );
    check(&[0xff, 0x35, 0, 0, 0, 0], &[0xff, 0x25], Some((24, false)));
    check(&[], &[0x89, 0xc0], None);
}

#[test]
fn code_that_leaves_the_frame_pointer_alone_is_seen() {
    let check = |before: &[u8], code: &[u8], expected: bool| {
        // The address is such that the bytes before it begin a section at a multiple of 16.
        let address = 0x1000 + before.len() as u64;
        assert_eq!(sets_frame_pointer(before, code, address), expected);
    };
    check(&[0x55, 0x48, 0x89, 0xe5, 0x89, 0xc0], &[0x89, 0xc0], true);
    check(&[0x89, 0xc0], &[0x89, 0xc0], false);
    // The frame of the function before does not count.
    let mut next = vec![0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3];
    next.resize(16, 0x90);
    next.extend([0x89, 0xc0]);
    check(&next, &[0x89, 0xc0], false);
    // Padding before an aligned loop is no end of a function.
    let mut looped = vec![0x55, 0x48, 0x89, 0xe5, 0x89, 0xc0];
    looped.resize(16, 0x90);
    looped.extend([0x89, 0xc0]);
    check(&looped, &[0x89, 0xc0], true);
    // Between `leave` and `ret`.
    check(&[0x55, 0x48, 0x89, 0xe5, 0xc9], &[0x89, 0xc8, 0xc3], false);
}

#[test]
fn the_signal_trampoline_is_known_by_its_code() {
    assert!(is_signal_return(&[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 5]));
    assert!(is_signal_return(&[0xb8, 15, 0, 0, 0, 0x0f, 5]));
    assert!(!is_signal_return(&[0xb8, 60, 0, 0, 0, 0x0f, 5]));
}

#[test]
fn a_new_mapping_replaces_what_it_overlaps() {
    let mut space = AddressSpace::new();
    space.map(&mapping(0, 0x1000, 0x5000), None);
    space.map(&mapping(1, 0x2000, 0x3000), None);
    let module = |space: &AddressSpace, at| space.find(Address(at)).map(|it| it.module.0);
    assert_eq!(module(&space, 0x1fff), Some(0));
    assert_eq!(module(&space, 0x2000), Some(1));
    assert_eq!(module(&space, 0x3000), Some(0));
    assert_eq!(module(&space, 0x5000), None);
    assert_eq!(
        space.find(Address(0x3000)).map(|it| it.file_offset),
        Some(0x2000)
    );
    assert!(space.unmap(Address(0x2000)));
    assert!(!space.unmap(Address(0x2000)));
    assert_eq!(module(&space, 0x2000), None);
    let child = space.forked(ProcessId(7));
    assert!(child.mappings().all(|it| it.process == ProcessId(7)));
    assert_eq!(child.mappings().count(), 2);
}

/// Generated code whose frame pointers are at hand: `frames` of (address of rbp, its content,
/// return address).
fn unwind_generated(words: &[u64], bp: u64, sp: u64) -> (Vec<Frame>, StackEnd, Option<Address>) {
    let mut space = AddressSpace::new();
    space.map_generated(Address(0x10000), Address(0x20000));
    let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
    let mut registers = Registers {
        ip: Address(0x10000),
        ..Registers::default()
    };
    registers.general[Registers::BP] = bp;
    registers.general[Registers::SP] = sp;
    let copy = MemoryCopy {
        start: Address(0x8000),
        bytes: &bytes,
    };
    let mut out = Vec::new();
    let found = Unwinder::new().unwind(&space, &registers, &[copy], &mut out);
    (out, found.end, found.wanted)
}

fn generated(address: u64) -> Frame {
    Frame::Unmapped {
        address: Address(address),
    }
}

#[test]
fn generated_code_is_unwound_by_frame_pointers() {
    let words = [0, 0x8020, 0x11000, 0, 0, 0];
    let (frames, end, _) = unwind_generated(&words, 0x8008, 0x8000);
    assert_eq!(frames, [generated(0x10000), generated(0x10fff)]);
    assert_eq!(end, StackEnd::Root);
}

#[test]
fn a_frame_pointer_that_leads_nowhere_ends_the_stack() {
    // Down the stack, to no code, and to an unaligned slot.
    for (words, bp) in [
        ([0x8000, 0x11000], 0x8000),
        ([0x8010, 0x99000], 0x8000),
        ([0, 0], 0x8001),
    ] {
        let (frames, end, _) = unwind_generated(&words, bp, 0x8000);
        assert_eq!(frames, [generated(0x10000)]);
        assert_eq!(end, StackEnd::NoUnwindInfo);
    }
}

#[test]
fn a_slot_behind_the_copy_is_asked_for() {
    let (frames, end, wanted) = unwind_generated(&[0, 0], 0x8020, 0x8000);
    assert_eq!(frames, [generated(0x10000)]);
    assert_eq!(end, StackEnd::NotCopied(0x8030 - 0x8010));
    assert_eq!(wanted, Some(Address(0x8028)));
}

#[test]
fn a_leaf_outside_code_is_shown_alone() {
    let registers = Registers::default();
    let mut out = Vec::new();
    let found = Unwinder::new().unwind(&AddressSpace::new(), &registers, &[], &mut out);
    assert_eq!(out, [generated(0)]);
    assert_eq!(found.end, StackEnd::Unmapped);
}

/// glibc's `clone3` from its system call to the child's code, loaded at address 0x1000; nothing
/// else, so that there is no CFI either.
fn clone3_image() -> Vec<u8> {
    let code = [
        0xb8, 0xb3, 1, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 1, 0xc3, 0x31, 0xed,
    ];
    let mut bytes = vec![0_u8; 0x200];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"\x7fELF\x02\x01\x01");
    put(18, &62_u16.to_le_bytes());
    put(32, &64_u64.to_le_bytes());
    put(54, &56_u16.to_le_bytes());
    put(56, &1_u16.to_le_bytes());
    let header: [u64; 7] = [1 | 5 << 32, 0x100, 0x1000, 0x1000, 0x100, 0x100, 0x1000];
    for (field, value) in header.iter().enumerate() {
        put(64 + field * 8, &value.to_le_bytes());
    }
    put(0x100, &code);
    bytes
}

#[test]
fn a_thread_that_clone_has_just_made_has_no_caller() {
    let file = Arc::new(ObjectFile::from_bytes("libc", clone3_image()).unwrap());
    let mut space = AddressSpace::new();
    let libc = Mapping {
        bias: 0,
        ..mapping(0, 0x1000, 0x1100)
    };
    space.map(&libc, Some(file));
    space.map_generated(Address(0x10000), Address(0x20000));
    // The stack holds the return address of the thread that called.
    let stack = 0x11000_u64.to_le_bytes();
    let copy = MemoryCopy {
        start: Address(0x8000),
        bytes: &stack,
    };
    // A new thread, the tid that the old one gets, and its system call still going on (-ENOSYS).
    for (answer, callers) in [(0, 0), (4711, 1), (-38_i64 as u64, 1)] {
        let mut registers = Registers {
            ip: Address(0x1007),
            ..Registers::default()
        };
        registers.general[Registers::AX] = answer;
        registers.general[Registers::SP] = 0x8000;
        let mut out = Vec::new();
        let found = Unwinder::new().unwind(&space, &registers, &[copy], &mut out);
        assert_eq!(out.len(), 1 + callers, "{answer}");
        assert_eq!(found.end.is_root(), callers == 0, "{answer}");
    }
}

#[test]
fn only_the_code_of_clone_is_taken_for_it() {
    let image = clone3_image();
    let (before, code) = (&image[0x100..0x107], &image[0x107..0x111]);
    for at in 0x107..0x10f {
        let between = matches!(at, 0x107 | 0x10a | 0x10c);
        assert_eq!(is_cloned(&image[0x100..at], &image[at..0x111]), between);
    }
    // Another system call, and a branch to code that is no outermost frame.
    assert!(!is_cloned(&[0xb8, 39, 0, 0, 0, 0x0f, 0x05], code));
    assert!(!is_cloned(before, &image[0x107..0x110]));
}

/// The step by `rule` from a frame whose stack pointer is 0x8000, where the copy begins.
fn step(rule: FrameRule, unknown: u16, stack: &[u64]) -> Result<Registers, StackEnd> {
    let bytes: Vec<u8> = stack.iter().flat_map(|it| it.to_le_bytes()).collect();
    let copies = [MemoryCopy {
        start: Address(0x8000),
        bytes: &bytes,
    }];
    let mut registers = Registers {
        unknown,
        ..Registers::default()
    };
    registers.general[Registers::SP] = 0x8000;
    registers.general[Registers::BP] = 0x8010;
    registers.general[RBX] = 77;
    let mut cursor = Cursor {
        registers,
        via: Via::Registers,
        switches: 0,
        stacks: Stacks::new(&copies),
    };
    let stepped = cursor.by_rule(rule);
    stepped
        .map(|()| cursor.registers)
        .map_err(|stopped| stopped.end)
}

/// DWARF number of rbx.
const RBX: usize = 3;
const BP_UNKNOWN: u16 = 1 << Registers::BP;

#[test]
fn an_unknown_register_ends_the_stack_where_it_is_needed() {
    let by_bp = FrameRule {
        cfa_register: Registers::BP as u8,
        cfa_offset: 16,
        saved: [0; 6],
    };
    let stack = [0, 0, 0x9000, 0x11000];
    assert!(step(by_bp, 0, &stack).is_ok());
    assert_eq!(
        step(by_bp, BP_UNKNOWN, &stack),
        Err(StackEnd::RegistersUnknown)
    );
    // Not needed: the caller's is not known either.
    let by_sp = FrameRule {
        cfa_register: Registers::SP as u8,
        cfa_offset: 32,
        saved: [0; 6],
    };
    let caller = step(by_sp, BP_UNKNOWN, &stack).unwrap();
    assert!(!caller.knows(Registers::BP) && caller.knows(Registers::SP));
    assert_eq!(caller.ip, Address(0x11000));
}

#[test]
fn a_register_restored_from_the_stack_is_known() {
    let saves_bp = FrameRule {
        cfa_register: Registers::SP as u8,
        cfa_offset: 32,
        saved: [0, -2, 0, 0, 0, 0],
    };
    let caller = step(saves_bp, !(1 << Registers::SP), &[0, 0, 0x9000, 0x11000]);
    let caller = caller.unwrap();
    assert!(caller.knows(Registers::BP) && !caller.knows(RBX));
    assert_eq!(caller.bp(), 0x9000);
}

#[test]
fn a_slot_below_the_stack_pointer_is_not_read() {
    // Behind `pop rbx`: the slot is still told, and the register holds the value already.
    let popped = FrameRule {
        cfa_register: Registers::SP as u8,
        cfa_offset: 8,
        saved: [-2, 0, 0, 0, 0, 0],
    };
    let caller = step(popped, 0, &[0x11000]).unwrap();
    assert_eq!(caller.general[RBX], 77);
    let unknown = step(popped, 1 << RBX, &[0x11000]).unwrap();
    assert!(!unknown.knows(RBX));
}

#[test]
fn an_unknown_frame_pointer_is_not_followed() {
    let mut space = AddressSpace::new();
    space.map_generated(Address(0x10000), Address(0x20000));
    let registers = Registers {
        ip: Address(0x10000),
        unknown: BP_UNKNOWN,
        ..Registers::default()
    };
    let mut out = Vec::new();
    let found = Unwinder::new().unwind(&space, &registers, &[], &mut out);
    assert_eq!(out, [generated(0x10000)]);
    assert_eq!(found.end, StackEnd::RegistersUnknown);
}
