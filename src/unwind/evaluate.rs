//! CFI rows to rules, and the evaluation of those that no rule can hold.

use gimli::{
    CfaRule, EvaluationResult, Expression, FrameDescriptionEntry, Register, RegisterRule,
    UnwindExpression, UnwindSection, Value,
};

use super::cfi::{CfiRow, Slice, Visitor};
use super::cursor::known;
use super::row::{FrameRule, Rule, SAVED};
use super::stack::{Stacks, Stop};
use crate::memory::Registers;
use crate::profile::StackEnd;

/// DWARF number of the return address column (System V ABI, AMD64 supplement, figure 3.36).
const RETURN_ADDRESS: Register = Register(16);
const STACK_POINTER: Register = Register(Registers::SP as u16);

/// Steps of one expression; those of compilers and linkers have less than ten.
const MAX_STEPS: u32 = 1_000;

/// What a row says, apart from a thread's registers.
pub(super) struct Classified {
    pub(super) rule: Rule,
    /// First address of the function.
    pub(super) start: u64,
    /// The function is entered by interruption, not by a call (CIE augmentation `S`).
    pub(super) interrupts: bool,
}

/// Turns a row into a [`Rule`].
pub(super) struct Classify;

impl Visitor for Classify {
    type Output = Classified;

    fn visit<'a, S: UnwindSection<Slice<'a>>>(
        self,
        _: &S,
        entry: &FrameDescriptionEntry<Slice<'a>>,
        row: &CfiRow,
    ) -> Classified {
        let rule = match row.register(RETURN_ADDRESS) {
            Some(RegisterRule::Undefined) => Rule::Root,
            _ => frame_rule(row).map_or(Rule::Evaluate, Rule::Frame),
        };
        Classified {
            rule,
            start: entry.initial_address(),
            interrupts: entry.is_signal_trampoline(),
        }
    }
}

/// The compact form of a row; `None` when it does not fit.
fn frame_rule(row: &CfiRow) -> Option<FrameRule> {
    let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else {
        return None;
    };
    let mut rule = FrameRule {
        cfa_register: u8::try_from(register.0).ok().filter(|&it| it < 16)?,
        cfa_offset: i32::try_from(*offset).ok()?,
        saved: [0; SAVED.len()],
    };
    let mut returns = false;
    for (register, how) in row.registers() {
        if *register == RETURN_ADDRESS {
            returns = matches!(how, RegisterRule::Offset(-8));
            continue;
        }
        let place = SAVED.iter().position(|&it| it == usize::from(register.0));
        match (place, how) {
            (_, RegisterRule::SameValue | RegisterRule::Undefined) => {}
            (Some(place), RegisterRule::Offset(offset)) => {
                let words = i16::try_from(offset / 8).ok();
                rule.saved[place] = words.filter(|&it| it != 0 && offset % 8 == 0)?;
            }
            // A register that the callee need not keep: nothing in the caller depends on it.
            (None, _) if *register != STACK_POINTER => {}
            _ => return None,
        }
    }
    returns.then_some(rule)
}

/// A caller's registers, and where it goes on.
pub(super) struct Caller {
    pub(super) registers: Registers,
    pub(super) ip: u64,
}

impl Caller {
    /// Gives a register its value, which is known from then on.
    pub(super) fn set(&mut self, register: usize, value: u64) {
        if let Some(place) = self.registers.general.get_mut(register) {
            *place = value;
            self.registers.unknown &= !(1 << register);
        }
    }
}

/// Computes the caller's registers by the row itself.
pub(super) struct Evaluate<'a> {
    pub(super) registers: &'a Registers,
    pub(super) stacks: Stacks<'a>,
}

impl Visitor for Evaluate<'_> {
    type Output = Result<Caller, Stop>;

    fn visit<'a, S: UnwindSection<Slice<'a>>>(
        self,
        section: &S,
        entry: &FrameDescriptionEntry<Slice<'a>>,
        row: &CfiRow,
    ) -> Result<Caller, Stop> {
        let expression = |expression: &UnwindExpression<usize>, initial: Option<u64>| {
            let expression = expression.get(section);
            let expression = expression.map_err(|_| StackEnd::NoUnwindInfo)?;
            self.expression(expression, entry.cie().encoding(), initial)
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.register(*register)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(it) => expression(it, None)?,
        };
        let mut caller = Caller {
            registers: *self.registers,
            ip: 0,
        };
        caller.set(Registers::SP, cfa);
        let sp = self.registers.sp().0;
        let mut returns = false;
        for (register, rule) in row.registers() {
            let value = match rule {
                RegisterRule::Offset(offset) => {
                    let slot = cfa.wrapping_add_signed(*offset);
                    // Restored by an epilogue already, as in `FrameRule`.
                    if slot < sp {
                        continue;
                    }
                    self.stacks.word(slot, sp)?
                }
                RegisterRule::ValOffset(offset) => cfa.wrapping_add_signed(*offset),
                RegisterRule::Register(other) => self.register(*other)?,
                RegisterRule::Expression(it) => {
                    let slot = expression(it, Some(cfa))?;
                    if slot < sp {
                        continue;
                    }
                    self.stacks.word(slot, sp)?
                }
                RegisterRule::ValExpression(it) => expression(it, Some(cfa))?,
                _ => continue,
            };
            if *register == RETURN_ADDRESS {
                caller.ip = value;
                returns = true;
            } else {
                caller.set(register.0.into(), value);
            }
        }
        if returns {
            Ok(caller)
        } else {
            Err(StackEnd::NoUnwindInfo.into())
        }
    }
}

impl Evaluate<'_> {
    fn register(&self, register: Register) -> Result<u64, Stop> {
        if register == RETURN_ADDRESS {
            return Ok(self.registers.ip.0);
        }
        match usize::from(register.0) {
            register @ 0..16 => known(self.registers, register),
            _ => Err(StackEnd::NoUnwindInfo.into()),
        }
    }

    /// Runs a DWARF expression (DWARF 5 section 2.5) on registers and stack.
    fn expression(
        &self,
        expression: Expression<Slice<'_>>,
        encoding: gimli::Encoding,
        initial: Option<u64>,
    ) -> Result<u64, Stop> {
        let invalid = |_| Stop::from(StackEnd::NoUnwindInfo);
        let mut evaluation = expression.evaluation(encoding);
        evaluation.set_max_iterations(MAX_STEPS);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let mut state = evaluation.evaluate().map_err(invalid)?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = Value::Generic(self.register(register)?);
                    evaluation.resume_with_register(value).map_err(invalid)?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let word = self.stacks.word(address, self.registers.sp().0)?;
                    let bits = 8 * u32::from(size).min(8);
                    let value = word & u64::MAX.checked_shr(64 - bits).unwrap_or(0);
                    let value = Value::Generic(value);
                    evaluation.resume_with_memory(value).map_err(invalid)?
                }
                _ => return Err(StackEnd::NoUnwindInfo.into()),
            };
        }
        match evaluation.as_result() {
            [
                gimli::Piece {
                    location: gimli::Location::Address { address },
                    ..
                },
            ] => Ok(*address),
            _ => Err(StackEnd::NoUnwindInfo.into()),
        }
    }
}
