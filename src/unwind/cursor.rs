//! The frame at hand, and the steps from it to its caller.

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
    pub(super) general: [u64; 16],
    /// Registers whose value is not known, as in [`Registers::unknown`].
    pub(super) unknown: u16,
    pub(super) ip: u64,
    pub(super) via: Via,
    pub(super) switches: u32,
    pub(super) stacks: Stacks<'a>,
}

impl Cursor<'_> {
    pub(super) fn code(&self) -> CodeAddress {
        match self.via {
            Via::Registers => CodeAddress::Instruction(Address(self.ip)),
            Via::Call | Via::FramePointer => CodeAddress::Return(Address(self.ip)),
        }
    }

    fn sp(&self) -> u64 {
        self.general[Registers::SP]
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

    /// The value of a register, where it is known.
    pub(super) fn register(&self, register: usize) -> Result<u64, Stop> {
        if self.unknown >> register & 1 != 0 {
            return Err(StackEnd::RegistersUnknown.into());
        }
        Ok(self.general[register])
    }

    pub(super) fn by_rule(&mut self, rule: FrameRule) -> Result<(), Stop> {
        let base = self.register(usize::from(rule.cfa_register & 15))?;
        let cfa = base.wrapping_add_signed(i64::from(rule.cfa_offset));
        self.check_cfa(cfa)?;
        let ip = self.stacks.word(cfa.wrapping_sub(8), self.sp())?;
        let (mut general, mut unknown) = (self.general, self.unknown);
        for (register, words) in SAVED.into_iter().zip(rule.saved) {
            let slot = cfa.wrapping_add_signed(i64::from(words) * 8);
            // Below the stack pointer nothing is kept: an epilogue has restored the register, of
            // which compilers' CFI says nothing.
            if words != 0 && slot >= self.sp() {
                general[register] = self.stacks.word(slot, self.sp())?;
                unknown &= !(1 << register);
            }
        }
        general[Registers::SP] = cfa;
        self.unknown = unknown;
        self.advance(general, ip, Via::Call)
    }

    /// Goes on to a caller whose frame was computed without checks.
    pub(super) fn go(&mut self, general: [u64; 16], ip: u64, via: Via) -> Result<(), Stop> {
        self.check_cfa(general[Registers::SP])?;
        self.advance(general, ip, via)
    }

    fn advance(&mut self, general: [u64; 16], ip: u64, via: Via) -> Result<(), Stop> {
        if ip == 0 {
            return Err(StackEnd::Root.into());
        }
        if !self.stacks.same(self.sp(), general[Registers::SP]) {
            self.switch()?;
        }
        (self.general, self.ip, self.via) = (general, ip, via);
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
        let (sp, bp) = (self.sp(), self.register(Registers::BP)?);
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
        (self.general, self.ip, self.via) = (general, ip, Via::Registers);
        self.unknown = 0;
        Ok(())
    }
}
