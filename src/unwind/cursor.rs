//! The frame at hand, and the steps from it to its caller.

use super::evaluate::Caller;
use super::row::{FrameRule, SAVED};
use super::stack::{Stacks, Stop};
use crate::memory::Registers;
use crate::profile::{Address, CodeAddress, StackEnd};

/// Most moves to another stack: a signal on its own stack, or a coroutine's caller.
const MAX_SWITCHES: u32 = 64;

/// A frame pointer further up than this is data, not a deeper part of the same stack.
const MAX_GUESSED_FRAME: u64 = 8 << 20;

/// How the frame at hand was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// The thread's own registers, or those a signal interrupted.
    Registers,
    Call,
    FramePointer,
}

/// The frame at hand.
pub(super) struct Cursor<'a> {
    pub(super) registers: Registers,
    pub(super) via: Via,
    pub(super) switches: u32,
    pub(super) stacks: Stacks<'a>,
}

impl Cursor<'_> {
    pub(super) fn code(&self) -> CodeAddress {
        match self.via {
            Via::Registers => CodeAddress::Instruction(self.registers.ip),
            Via::Call | Via::FramePointer => CodeAddress::Return(self.registers.ip),
        }
    }

    fn sp(&self) -> u64 {
        self.registers.sp().0
    }

    /// Why the stack ends when the address at hand is no code.
    pub(super) fn not_code(&self) -> StackEnd {
        match self.via {
            Via::Registers => StackEnd::Unmapped,
            Via::Call | Via::FramePointer => self.not_a_return(),
        }
    }

    pub(super) fn not_a_return(&self) -> StackEnd {
        match self.via {
            Via::FramePointer => StackEnd::NoUnwindInfo,
            Via::Registers | Via::Call => StackEnd::Implausible,
        }
    }

    pub(super) fn by_rule(&mut self, rule: FrameRule) -> Result<(), Stop> {
        let base = known(&self.registers, usize::from(rule.cfa_register & 15))?;
        let cfa = base.wrapping_add_signed(i64::from(rule.cfa_offset));
        self.check_cfa(cfa)?;
        let ip = self.stacks.word(cfa.wrapping_sub(8), self.sp())?;
        let mut caller = Caller {
            registers: self.registers,
            ip,
        };
        for (register, words) in SAVED.into_iter().zip(rule.saved) {
            let slot = cfa.wrapping_add_signed(i64::from(words) * 8);
            // Below the stack pointer nothing is kept: an epilogue has restored the register, of
            // which compilers' CFI says nothing.
            if words != 0 && slot >= self.sp() {
                caller.set(register, self.stacks.word(slot, self.sp())?);
            }
        }
        caller.set(Registers::SP, cfa);
        self.advance(&caller, Via::Call)
    }

    /// Goes on to a caller whose frame was computed without checks.
    pub(super) fn go(&mut self, caller: &Caller, via: Via) -> Result<(), Stop> {
        // A leaf may have taken its return address off the stack, as vfork does: its child uses
        // that slot.
        let is_popped = self.via == Via::Registers && caller.registers.sp().0 == self.sp();
        if !is_popped {
            self.check_cfa(caller.registers.sp().0)?;
        }
        self.advance(caller, via)
    }

    fn advance(&mut self, caller: &Caller, via: Via) -> Result<(), Stop> {
        if caller.ip == 0 {
            return Err(StackEnd::Root.into());
        }
        if !self.stacks.same(self.sp(), caller.registers.sp().0) {
            self.switch()?;
        }
        self.registers = caller.registers;
        self.registers.ip = Address(caller.ip);
        self.via = via;
        Ok(())
    }

    /// A caller's frame lies above its callee's, unless it is on another stack.
    fn check_cfa(&self, cfa: u64) -> Result<(), Stop> {
        let sp = self.sp();
        let leads_up = cfa > sp || !self.stacks.same(sp, cfa);
        if leads_up && cfa.is_multiple_of(8) {
            Ok(())
        } else {
            Err(StackEnd::Implausible.into())
        }
    }

    fn switch(&mut self) -> Result<(), Stop> {
        self.switches += 1;
        if self.switches > MAX_SWITCHES {
            return Err(StackEnd::Implausible.into());
        }
        Ok(())
    }

    /// Return address and frame pointer of the caller by the frame pointer at hand.
    pub(super) fn frame_pointer_caller(&self) -> Result<(u64, u64), Stop> {
        let (sp, bp) = (self.sp(), known(&self.registers, Registers::BP)?);
        let plausible = bp >= sp && bp.is_multiple_of(8) && bp - sp <= MAX_GUESSED_FRAME;
        if !plausible {
            return Err(StackEnd::NoUnwindInfo.into());
        }
        let ip = self.stacks.word(bp.saturating_add(8), sp)?;
        let caller_bp = self.stacks.word(bp, sp)?;
        Ok((ip, caller_bp))
    }

    /// Goes on to what a signal interrupted: the kernel's `ucontext` lies at the stack pointer,
    /// its `sigcontext` 40 bytes into it (Linux, `arch/x86/include/uapi/asm/sigcontext.h`).
    pub(super) fn interrupted(&mut self) -> Result<(), Stop> {
        /// DWARF numbers of the registers in the order of `sigcontext`: r8 to r15, rdi, rsi, rbp,
        /// rbx, rdx, rax, rcx, rsp; rip follows.
        const ORDER: [usize; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7];
        let sp = self.sp();
        let at = |index: u64| sp.wrapping_add(40 + index * 8);
        let mut general = [0; 16];
        for (index, register) in ORDER.into_iter().enumerate() {
            general[register] = self.stacks.word(at(index as u64), sp)?;
        }
        let ip = self.stacks.word(at(16), sp)?;
        if general[Registers::SP] <= sp || !self.stacks.same(sp, general[Registers::SP]) {
            self.switch()?;
        }
        self.registers = Registers {
            general,
            ip: Address(ip),
            ..Registers::default()
        };
        self.via = Via::Registers;
        Ok(())
    }
}

/// The value of a register by its DWARF number, below 16.
pub(super) fn known(registers: &Registers, register: usize) -> Result<u64, Stop> {
    if registers.knows(register) {
        Ok(registers.general[register])
    } else {
        Err(StackEnd::RegistersUnknown.into())
    }
}
