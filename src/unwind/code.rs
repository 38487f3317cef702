//! What x86-64 code bytes say about calls (Intel SDM volume 2, chapters 2 and 3).

/// Longest call instruction that is looked for: `FF /2` with SIB and 32-bit displacement.
pub(super) const LONGEST_CALL: usize = 7;

/// Bytes of code behind an address that the checks below look at.
pub(super) const AHEAD: usize = 24;

/// Bytes back from an address where the start of its function is looked for.
pub(super) const FUNCTION: usize = 16 << 10;

/// Compilers align the functions that are worth it to this.
const FUNCTION_ALIGNMENT: u64 = 16;

const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// The call a return address stands behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// `E8`: to this distance from the return address.
    Direct(i32),
    /// `FF /2`: through a register or memory.
    Indirect,
}

/// The call that ends where `before` ends.
pub(super) fn call_before(before: &[u8]) -> Option<Call> {
    let at = |back: usize| before.len().checked_sub(back).map(|start| &before[start..]);
    if let Some([0xe8, distance @ ..]) = at(5)
        && let Ok(distance) = <[u8; 4]>::try_from(distance)
    {
        return Some(Call::Direct(i32::from_le_bytes(distance)));
    }
    (2..=LONGEST_CALL)
        .filter_map(at)
        .any(is_indirect_call)
        .then_some(Call::Indirect)
}

/// Whether the bytes are one whole `FF /2`.
fn is_indirect_call(code: &[u8]) -> bool {
    let [0xff, modrm, rest @ ..] = code else {
        return false;
    };
    let (mode, operation, base) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
    if operation != 2 {
        return false;
    }
    let has_sib = mode != 3 && base == 4;
    let sib_base = rest.first().map_or(0, |sib| sib & 7);
    let displacement = match mode {
        0 if base == 5 || has_sib && sib_base == 5 => 4,
        1 => 1,
        2 => 4,
        _ => 0,
    };
    rest.len() == usize::from(has_sib) + displacement
}

/// Whether the code at an address is the trampoline a signal handler returns to: `mov $15, %eax`
/// (either form), `syscall`. 15 is `rt_sigreturn`.
pub(super) fn is_signal_return(code: &[u8]) -> bool {
    const LONG: &[u8] = &[0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05];
    const SHORT: &[u8] = &[0xb8, 15, 0, 0, 0, 0x0f, 0x05];
    code.starts_with(LONG) || code.starts_with(SHORT)
}

/// Whether the code ends its thread instead of returning: `mov $60, %al` (`exit`) and `syscall`
/// follow at once, as where musl's `clone` calls a thread's first function.
pub(super) fn is_thread_end(code: &[u8]) -> bool {
    let code = &code[..code.len().min(12)];
    code.windows(4).any(|it| it == [0xb0, 60, 0x0f, 0x05])
}

/// Whether the address is behind the system call by which glibc's `clone` (56) and `clone3` (435)
/// make a thread, and before the ways part: `test %rax, %rax; jl error; je child; ret`. The child
/// begins with what marks the outermost frame, `xor %ebp, %ebp` (System V ABI, AMD64 supplement,
/// 3.4.1). The CFI of both functions ends before the system call and begins again at its code.
pub(super) fn is_cloned(before: &[u8], code: &[u8]) -> bool {
    const CLONE: &[u8] = &[0xb8, 56, 0, 0, 0, 0x0f, 0x05];
    const CLONE3: &[u8] = &[0xb8, 0xb3, 1, 0, 0, 0x0f, 0x05];
    // Bytes of the instructions that have run since: none, the test, the first branch.
    [0, 3, 5].into_iter().any(|since| {
        let Some(at) = before.len().checked_sub(since) else {
            return false;
        };
        let (call, passed) = before.split_at(at);
        let branches = matches!(
            [passed, code].concat()[..],
            [0x48, 0x85, 0xc0, 0x7c, _, 0x74, 1, 0xc3, 0x31, 0xed, ..]
        );
        branches && (call.ends_with(CLONE) || call.ends_with(CLONE3))
    })
}

/// Where a leaf's frame stands, known by the instruction it stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeafFrame {
    /// Bytes from the stack pointer to the CFA.
    pub(super) cfa_from_sp: u8,
    /// The caller's frame pointer has been pushed just below the return address.
    pub(super) saved_bp: bool,
}

impl LeafFrame {
    /// Nothing has been pushed: the return address lies at the stack pointer.
    pub(super) const ENTERED: LeafFrame = LeafFrame {
        cfa_from_sp: 8,
        saved_bp: false,
    };
}

/// Reads the instruction at an address without unwind information. Only what leaves no doubt:
/// function entries, returns, and the stubs of a procedure linkage table, which lld and mold
/// describe by no CFI. `before` ends at the address, `code` starts there.
pub(super) fn leaf_frame(before: &[u8], code: &[u8]) -> Option<LeafFrame> {
    let frame = |cfa_from_sp, saved_bp| {
        Some(LeafFrame {
            cfa_from_sp,
            saved_bp,
        })
    };
    match code {
        // mov %rsp, %rbp, by either opcode, behind push %rbp
        [0x48, 0x89, 0xe5, ..] | [0x48, 0x8b, 0xec, ..] if before.ends_with(&[0x55]) => {
            frame(16, true)
        }
        // pop %rbp; ret
        [0x5d, 0xc3, ..] => frame(16, true),
        // A function's first instruction (push %rbp, endbr64, or what follows that), or its last
        // (ret, rep ret, ret $n).
        [0x55, 0x48, 0x89, 0xe5, ..]
        | [0xf3, 0x0f, 0x1e, 0xfa, ..]
        | [0xc3 | 0xc2, ..]
        | [0xf3, 0xc3, ..] => frame(8, false),
        _ if before.ends_with(&ENDBR64) => frame(8, false),
        // PLT header: push of the link map, on top of the index that the stub pushed
        [0xff, 0x35, _, _, _, _, 0xff, 0x25, ..] => frame(16, false),
        // jmp *memory: in the PLT header behind its push, or a stub's
        [0xff, 0x25, ..] => {
            let in_header =
                before.len() >= 6 && before[before.len() - 6..].starts_with(&[0xff, 0x35]);
            frame(if in_header { 24 } else { 8 }, false)
        }
        // tail call behind pop %rbp
        [0xe9 | 0xeb, ..] | [0xff, 0xe0..=0xe7, ..] if before.ends_with(&[0x5d]) => frame(8, false),
        // push of the index; jmp to the header
        [0x68, _, _, _, _, 0xe9, ..] => frame(8, false),
        [0xe9, ..] if before.len() >= 5 && before[before.len() - 5] == 0x68 => frame(16, false),
        _ => None,
    }
}

/// Whether the function at an address has set up a frame pointer there: the nearest
/// `mov %rsp, %rbp`, or Go's `lea n(%rsp), %rbp`, before it is nearer than what looks like the
/// function's first instruction. `before` ends at the address, `code` starts there.
pub(super) fn sets_frame_pointer(before: &[u8], code: &[u8], address: u64) -> bool {
    let starts_function = |at: usize| {
        let start = address.wrapping_sub((before.len() - at) as u64);
        let aligned = start.is_multiple_of(FUNCTION_ALIGNMENT);
        at == 0 || before[..at].ends_with(&ENDBR64) || aligned && ends_function(&before[..at])
    };
    for at in (0..=before.len()).rev() {
        let sets = matches!(
            &before[at..],
            [0x48, 0x89, 0xe5, ..]
                | [0x48, 0x8b, 0xec, ..]
                | [0x48, 0x8d, 0x6c, 0x24, _, ..]
                | [0x48, 0x8d, 0xac, 0x24, _, _, _, _, ..]
        );
        if sets {
            let first = before[..at].ends_with(&[0x55]) && starts_function(at - 1);
            let since = &before[at..];
            return (first || !returns(since)) && !in_epilogue(since, code);
        }
        if starts_function(at) {
            return false;
        }
    }
    false
}

/// Whether a frame is given up on the way: what follows may be a path that never had one, in a
/// function that sets its frame up late.
fn returns(code: &[u8]) -> bool {
    let leave = code.iter().position(|&byte| byte == 0xc9);
    let after_leave = leave.map_or(&[][..], |at| &code[at..]);
    code.windows(2).any(|it| it == [0x5d, 0xc3]) || after_leave.contains(&0xc3)
}

/// Whether the address seems to lie between `leave` or `pop %rbp` and the `ret` that follows.
fn in_epilogue(before: &[u8], code: &[u8]) -> bool {
    const NEAR: usize = 8;
    let nearest = &before[before.len().saturating_sub(NEAR)..];
    let given_up = nearest.iter().any(|byte| matches!(byte, 0xc9 | 0x5d));
    let still_there = matches!(code, [0xc9, ..] | [0x5d, 0xc3, ..]);
    given_up && !still_there && code[..code.len().min(NEAR)].contains(&0xc3)
}

/// Whether code ends with what execution does not pass: a return, a jump, `ud2` or `int3`, and
/// padding behind it. The padding before an aligned loop follows other instructions.
fn ends_function(mut code: &[u8]) -> bool {
    // The recommended forms of nop (Intel SDM, NOP), and the prefixes assemblers add to them.
    const PADDING: [&[u8]; 8] = [
        &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
        &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
        &[0x0f, 0x1f, 0x44, 0, 0],
        &[0x0f, 0x1f, 0x40, 0],
        &[0x0f, 0x1f, 0],
        &[0x90],
        &[0x66],
        &[0x2e],
    ];
    while let Some(rest) = PADDING.iter().find_map(|it| code.strip_suffix(*it)) {
        code = rest;
    }
    match code {
        [.., 0xc3 | 0xcc] | [.., 0x0f, 0x0b] | [.., 0xeb, _] | [.., 0xe9, _, _, _, _] => true,
        [.., 0xff, modrm] => modrm >> 3 & 7 == 4,
        _ => false,
    }
}
