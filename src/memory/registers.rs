//! The registers an unwinder starts from.

use crate::profile::Address;

/// User-mode registers of an x86-64 thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The general registers in the order of their DWARF numbers: rax, rdx, rcx, rbx, rsi, rdi,
    /// rbp, rsp, r8 to r15 (System V ABI, AMD64 supplement, figure 3.36).
    pub general: [u64; 16],
    /// The instruction pointer.
    pub ip: Address,
    /// Base of the thread's local storage.
    pub fs_base: u64,
    /// Registers whose value is not known: bit N for DWARF number N.
    pub unknown: u16,
}

impl Registers {
    /// DWARF number of rax, in which system calls answer.
    pub const AX: usize = 0;
    /// DWARF number of the frame pointer rbp.
    pub const BP: usize = 6;
    /// DWARF number of the stack pointer rsp.
    pub const SP: usize = 7;

    /// The stack pointer.
    pub fn sp(&self) -> Address {
        Address(self.general[Self::SP])
    }

    /// The lowest address of its stack that can hold live bytes: 128 below the stack pointer, the
    /// *red zone* (System V ABI, AMD64 supplement, 3.2.2). At a return instruction, unwind
    /// information may still name a slot there.
    pub fn stack_start(&self) -> Address {
        Address(self.general[Self::SP].saturating_sub(128))
    }

    /// Whether the value of a register is known, by its DWARF number.
    pub fn knows(&self, register: usize) -> bool {
        u32::try_from(register)
            .ok()
            .and_then(|bit| self.unknown.checked_shr(bit))
            .is_some_and(|bits| bits & 1 == 0)
    }

    /// The frame pointer register, whatever it holds.
    pub fn bp(&self) -> u64 {
        self.general[Self::BP]
    }
}
