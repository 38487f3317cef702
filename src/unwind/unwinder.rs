//! The loop from a thread's registers to the end of its stack.

use std::collections::HashMap;

use super::AddressSpace;
use super::cache::RowCache;
use super::cfi::{Context, ModuleCfi};
use super::code::LeafFrame;
use super::cursor::{Cursor, Via, known};
use super::evaluate::{Caller, Evaluate};
use super::lookup::read_row;
use super::row::{Arrival, FrameRule, Row, Rule};
use super::space::Backing;
use super::stack::{Stacks, Stop};
use crate::memory::{MemoryCopy, Registers};
use crate::profile::{Address, Frame, Marker, ModuleId, ModuleOffset, StackEnd};

/// Most frames of a stack: as many as 16 MiB of it can hold, if each but calls the next one.
pub const MAX_FRAMES: usize = 1 << 20;

/// How a stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unwound {
    /// Why it ends where it does.
    pub end: StackEnd,
    /// The stack slot that could not be read, where that was the reason: with a copy of the stack
    /// from there on as a further copy, the same call gets further.
    pub wanted: Option<Address>,
}

impl Unwound {
    /// Of a thread whose chain could not even be begun.
    pub fn without_frames(end: StackEnd) -> Unwound {
        Unwound { end, wanted: None }
    }
}

/// Follows call chains. It keeps what it learns of each module, for all processes: use one for
/// each unwinding thread.
#[derive(Debug)]
pub struct Unwinder {
    cache: RowCache,
    modules: HashMap<ModuleId, Option<ModuleCfi>>,
    context: Context,
}

impl Default for Unwinder {
    fn default() -> Unwinder {
        Unwinder::new()
    }
}

impl Unwinder {
    /// An unwinder that knows nothing yet; its row cache takes 640 KiB.
    pub fn new() -> Unwinder {
        Unwinder {
            cache: RowCache::new(),
            modules: HashMap::new(),
            context: Context::new(),
        }
    }

    /// Forgets all modules, and lets go of their files.
    pub fn clear(&mut self) {
        self.cache.clear();
        self.modules.clear();
    }

    /// Appends the frames of a thread to `out`, leaf first, and says how the stack ends.
    ///
    /// `stacks` are the copied parts of its stack: usually one, from the stack pointer on. Frames
    /// carry *lookup* addresses (see [`CodeAddress::lookup`](crate::profile::CodeAddress::lookup)).
    pub fn unwind(
        &mut self,
        space: &AddressSpace,
        registers: &Registers,
        stacks: &[MemoryCopy<'_>],
        out: &mut Vec<Frame>,
    ) -> Unwound {
        let mut cursor = Cursor {
            registers: *registers,
            via: Via::Registers,
            switches: 0,
            stacks: Stacks::new(stacks),
        };
        for count in 0..MAX_FRAMES {
            if let Err(stop) = self.frame(space, &mut cursor, count == 0, out) {
                return Unwound {
                    end: stop.end,
                    wanted: stop.wanted,
                };
            }
        }
        Unwound {
            end: StackEnd::TooDeep,
            wanted: None,
        }
    }

    /// Appends the frame at hand and goes on to its caller.
    fn frame(
        &mut self,
        space: &AddressSpace,
        cursor: &mut Cursor<'_>,
        leaf: bool,
        out: &mut Vec<Frame>,
    ) -> Result<(), Stop> {
        let address = cursor.code().lookup();
        let Some(range) = space.range(address.0) else {
            if leaf {
                out.push(Frame::Unmapped { address });
            }
            return Err(cursor.not_code().into());
        };
        let Some(backing) = &range.backing else {
            out.push(Frame::Unmapped { address });
            return self.by_frame_pointer(space, cursor);
        };
        let mut offset = backing.mapping.module_offset(address);
        let mut row = self.row(backing, offset);
        if cursor.via != Via::Registers && row.arrival == Arrival::NoCall {
            // No call put it there: it can only be made up to be returned to, as the signal
            // trampoline and the start of a prepared context are.
            offset = backing.mapping.module_offset(cursor.registers.ip);
            row = self.row(backing, offset);
            let entered = row.function_start && cursor.via == Via::Call;
            if !entered && !matches!(row.rule, Rule::SignalReturn) {
                return Err(cursor.not_a_return().into());
            }
        }
        if matches!(row.rule, Rule::SignalReturn) {
            out.push(Frame::Marker(Marker::SignalHandler));
            return cursor.interrupted();
        }
        out.push(Frame::Native {
            module: backing.mapping.module,
            offset,
        });
        match row.rule {
            Rule::Frame(rule) => cursor.by_rule(rule),
            // What the system call answers the new thread: zero.
            Rule::Cloned if known(&cursor.registers, Registers::AX)? == 0 => {
                Err(StackEnd::Root.into())
            }
            Rule::Cloned => cursor.by_rule(FrameRule::of_leaf(LeafFrame::ENTERED)),
            Rule::Evaluate => self.evaluate(backing, offset, cursor),
            Rule::NoCfi {
                leaf: Some(leaf), ..
            } if cursor.via == Via::Registers => cursor.by_rule(FrameRule::of_leaf(leaf)),
            Rule::NoCfi {
                no_frame_pointer: true,
                ..
            } => Err(StackEnd::NoUnwindInfo.into()),
            Rule::NoCfi { .. } => return self.by_frame_pointer(space, cursor),
            Rule::Root | Rule::SignalReturn => Err(StackEnd::Root.into()),
        }?;
        if row.interrupts {
            cursor.via = Via::Registers;
        }
        Ok(())
    }

    /// The row of an address, from the cache or the module.
    fn row(&mut self, backing: &Backing, offset: ModuleOffset) -> Row {
        let module = backing.mapping.module;
        if let Some(row) = self.cache.get(module, offset) {
            return row;
        }
        let row = match self.module(backing) {
            Some((cfi, context)) => read_row(cfi, context, offset),
            None => Row {
                rule: Rule::NoCfi {
                    leaf: None,
                    no_frame_pointer: false,
                },
                arrival: Arrival::Unknown,
                function_start: false,
                interrupts: false,
            },
        };
        self.cache.insert(module, offset, row);
        row
    }

    fn module(&mut self, backing: &Backing) -> Option<(&mut ModuleCfi, &mut Context)> {
        let new = || backing.file.clone().map(ModuleCfi::new);
        let module = self
            .modules
            .entry(backing.mapping.module)
            .or_insert_with(new);
        Some((module.as_mut()?, &mut self.context))
    }

    fn evaluate(
        &mut self,
        backing: &Backing,
        offset: ModuleOffset,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Stop> {
        let Some((cfi, context)) = self.module(backing) else {
            return Err(StackEnd::NoUnwindInfo.into());
        };
        let evaluate = Evaluate {
            registers: &cursor.registers,
            stacks: cursor.stacks,
        };
        let caller = cfi.row(offset, context, evaluate);
        cursor.go(
            &caller.unwrap_or(Err(StackEnd::NoUnwindInfo.into()))?,
            Via::Call,
        )
    }

    /// The caller by the frame pointer: `[rbp]` holds the caller's, `[rbp + 8]` the return address
    /// (System V ABI, AMD64 supplement, figure 3.3). Code without unwind information need not keep
    /// to it, so everything must fit.
    fn by_frame_pointer(
        &mut self,
        space: &AddressSpace,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Stop> {
        let (ip, bp) = cursor.frame_pointer_caller()?;
        if ip == 0 {
            return Err(StackEnd::Root.into());
        }
        let lookup = Address(ip.wrapping_sub(1));
        let Some(range) = space.range(lookup.0) else {
            return Err(StackEnd::NoUnwindInfo.into());
        };
        // Code with unwind information may use rbp for anything, other code keeps the chain.
        let mut chained = true;
        if let Some(backing) = &range.backing {
            let row = self.row(backing, backing.mapping.module_offset(lookup));
            // A call to a function with unwind information did not call code without: this is the
            // caller's caller, and the code at hand leaves rbp alone.
            if row.arrival == Arrival::AfterCallToKnown {
                return Err(StackEnd::NoUnwindInfo.into());
            }
            chained = matches!(row.rule, Rule::NoCfi { .. });
        }
        let own = cursor.registers.bp();
        if chained && bp != 0 && bp <= own {
            return Err(StackEnd::NoUnwindInfo.into());
        }
        let mut caller = Caller {
            registers: cursor.registers,
            ip,
        };
        caller.set(Registers::SP, own.wrapping_add(16));
        caller.set(Registers::BP, bp);
        cursor.go(&caller, Via::FramePointer)
    }
}
