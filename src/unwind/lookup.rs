//! What a module says of one of its addresses.

use super::cfi::{Context, ModuleCfi};
use super::code::{self, Call};
use super::evaluate::Classify;
use super::row::{Arrival, Row, Rule};
use crate::module::ObjectFile;
use crate::profile::ModuleOffset;

/// Bytes after a program's entry point that may be its start code.
const START_CODE: u64 = 32;

/// Reads what the module says of an address.
pub(super) fn read_row(cfi: &mut ModuleCfi, context: &mut Context, offset: ModuleOffset) -> Row {
    let arrival = arrival(cfi, context, offset);
    let code = cfi.file().loaded(offset, code::AHEAD).to_vec();
    let signal_return = code::is_signal_return(&code) || at_sigreturn_syscall(cfi.file(), offset);
    let Some(found) = cfi.row(offset, context, Classify) else {
        return Row {
            rule: if signal_return {
                Rule::SignalReturn
            } else {
                without_cfi(cfi, context, offset, &code)
            },
            arrival,
            function_start: false,
            interrupts: false,
        };
    };
    Row {
        rule: if signal_return {
            Rule::SignalReturn
        } else {
            found.rule
        },
        arrival,
        function_start: found.start == offset.0,
        interrupts: found.interrupts,
    }
}

/// The rule where there is no unwind information.
fn without_cfi(
    cfi: &mut ModuleCfi,
    context: &mut Context,
    offset: ModuleOffset,
    code: &[u8],
) -> Rule {
    let entry = cfi.file().entry();
    let from_entry = offset.0.checked_sub(entry.0);
    let in_start = entry.0 != 0 && from_entry.is_some_and(|it| it < START_CODE);
    if in_start && !cfi.covers(entry, context) || code.get(1..).is_some_and(code::is_thread_end) {
        return Rule::Root;
    }
    let file = cfi.file();
    let function = before(file, offset, offset, code::FUNCTION);
    if code::is_cloned(function, code) {
        return Rule::Cloned;
    }
    Rule::NoCfi {
        leaf: code::leaf_frame(function, code),
        no_frame_pointer: !code.is_empty() && !code::sets_frame_pointer(function, code, offset.0),
    }
}

/// Whether the thread stands at the system call of the signal trampoline itself.
fn at_sigreturn_syscall(file: &ObjectFile, offset: ModuleOffset) -> bool {
    [5, 7].into_iter().any(|length| {
        let start = ModuleOffset(offset.0.wrapping_sub(length));
        let code = file.loaded(start, code::AHEAD);
        code.get(length as usize..)
            .is_some_and(|it| it.starts_with(&[0x0f, 0x05]))
            && code::is_signal_return(code)
    })
}

/// At most `size` bytes of code that end at `end`, from the section that holds `offset`.
fn before(file: &ObjectFile, offset: ModuleOffset, end: ModuleOffset, size: usize) -> &[u8] {
    let Some(start) = file.part_start(offset) else {
        return &[];
    };
    let size = size.min(usize::try_from(end.0.saturating_sub(start.0)).unwrap_or(size));
    let bytes = file.loaded(ModuleOffset(end.0 - size as u64), size);
    if bytes.len() == size { bytes } else { &[] }
}

/// Whether a call ends one behind `offset`.
fn arrival(cfi: &mut ModuleCfi, context: &mut Context, offset: ModuleOffset) -> Arrival {
    let returns_to = ModuleOffset(offset.0.wrapping_add(1));
    let bytes = before(cfi.file(), offset, returns_to, code::LONGEST_CALL);
    if bytes.is_empty() {
        return Arrival::Unknown;
    }
    match code::call_before(bytes) {
        None => Arrival::NoCall,
        Some(Call::Indirect) => Arrival::AfterCall,
        Some(Call::Direct(distance)) => {
            let target = returns_to.0.wrapping_add_signed(i64::from(distance));
            if cfi.covers(ModuleOffset(target), context) {
                Arrival::AfterCallToKnown
            } else {
                Arrival::AfterCall
            }
        }
    }
}
