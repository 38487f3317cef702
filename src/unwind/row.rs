//! How to get from a frame to its caller, in the form that is kept.

use super::code::LeafFrame;
use crate::memory::Registers;

/// Callee-saved registers, by DWARF number: rbx, rbp, r12 to r15 (System V ABI, AMD64 supplement,
/// 3.2.1). No rule ever depends on others in a caller.
pub(super) const SAVED: [usize; 6] = [3, 6, 12, 13, 14, 15];

/// What is known of one address of a module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) rule: Rule,
    /// What stands before the address one further, when this one is looked up for a return.
    pub(super) arrival: Arrival,
    /// Unwind information begins a function here.
    pub(super) function_start: bool,
    /// Where the caller goes on is the instruction that was interrupted, not behind a call.
    pub(super) interrupts: bool,
}

/// Whether a return address can be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It stands behind a call through a register or memory.
    AfterCall,
    /// It stands behind a call to a function that has unwind information.
    AfterCallToKnown,
    /// No call ends there.
    NoCall,
    /// The code is not at hand.
    Unknown,
}

/// The way to the caller.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// By registers and offsets: nearly all code.
    Frame(FrameRule),
    /// By DWARF expressions or rare rules, evaluated each time.
    Evaluate,
    /// The kernel's signal frame lies at the stack pointer.
    SignalReturn,
    /// There is no caller.
    Root,
    /// Behind the system call that makes a thread, where both come out: the new one has no caller,
    /// the old one's return address lies at the stack pointer.
    Cloned,
    /// No unwind information.
    NoCfi {
        /// For a leaf, by the instruction it stands at.
        leaf: Option<LeafFrame>,
        /// The function's code leaves rbp alone, so that it tells nothing of its frame.
        no_frame_pointer: bool,
    },
}

/// CFA = register + offset, return address at CFA - 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameRule {
    /// DWARF number, below 16.
    pub(super) cfa_register: u8,
    pub(super) cfa_offset: i32,
    /// Where each of [`SAVED`] is kept, in words from the CFA; zero: still in the register.
    pub(super) saved: [i16; 6],
}

impl FrameRule {
    pub(super) fn of_leaf(leaf: LeafFrame) -> FrameRule {
        let mut saved = [0; SAVED.len()];
        if leaf.saved_bp {
            saved[1] = -2;
        }
        FrameRule {
            cfa_register: Registers::SP as u8,
            cfa_offset: i32::from(leaf.cfa_from_sp),
            saved,
        }
    }
}
