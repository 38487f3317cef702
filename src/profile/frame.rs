//! One entry of a call chain.

use super::{Address, ModuleId, ModuleOffset};

/// A code address, and which instruction it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeAddress {
    /// The instruction a thread stands at (a leaf, or a frame interrupted by a signal).
    Instruction(Address),
    /// The address a call returns to: one behind the call.
    Return(Address),
}

impl CodeAddress {
    /// The address itself.
    pub fn address(self) -> Address {
        match self {
            CodeAddress::Instruction(address) | CodeAddress::Return(address) => address,
        }
    }

    /// The address to look up: for a return address one byte before it, which lies in the call.
    pub fn lookup(self) -> Address {
        match self {
            CodeAddress::Instruction(address) => address,
            CodeAddress::Return(address) => Address(address.0.wrapping_sub(1)),
        }
    }
}

/// One entry of a stack, before names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frame {
    /// Code of a module.
    Native {
        /// The module.
        module: ModuleId,
        /// The *lookup* address in it (see [`CodeAddress::lookup`]).
        offset: ModuleOffset,
    },
    /// Code that no known module backs (generated code, or a mapping that could not be read).
    Unmapped {
        /// The *lookup* address in the target's memory.
        address: Address,
    },
    /// Not code: something to be shown between frames.
    Marker(Marker),
}

/// What a marker frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Marker {
    /// Below this, the frames a signal interrupted.
    SignalHandler,
    /// Frames left out of the middle of a deep stack, exactly so many.
    Omitted(u64),
}

impl Marker {
    /// The name it is shown by.
    pub fn name(self) -> String {
        match self {
            Marker::SignalHandler => "<signal handler>".to_owned(),
            Marker::Omitted(count) => format!("<{count} frames omitted>"),
        }
    }
}

/// Why a stack ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StackEnd {
    /// The outermost frame was reached: the stack is whole.
    Root,
    /// No unwind information for the outermost address shown.
    NoUnwindInfo,
    /// The caller's frame lies in memory that could not be read.
    Unreadable,
    /// The caller's frame lies behind the bytes that were copied: so many more bytes of stack.
    NotCopied(u64),
    /// The unwind information leads back or nowhere: following it would be a guess.
    Implausible,
    /// The outermost address shown lies in no executable mapping that is known.
    Unmapped,
    /// More frames than sprof keeps.
    TooDeep,
    /// No stack: the thread did not stop in time.
    NotStopped,
    /// No stack: the thread was ending, or gone.
    Gone,
    /// No stack: its registers or its memory could not be read.
    NoRegisters,
    /// No stack: a thread of another architecture than x86-64.
    ForeignArchitecture,
    /// No stack: the thread is traced by another program, or sprof may not trace it.
    NotTraceable,
    /// The stack was read of a sleeping thread that was not stopped, and the caller's frame needs
    /// a register that is therefore not known.
    RegistersUnknown,
    /// No stack: the kernel dropped the records that would have told whether the thread ran.
    RecordsLost,
}

impl StackEnd {
    /// Whether the stack is whole.
    pub fn is_root(self) -> bool {
        self == StackEnd::Root
    }

    /// The short, stable word for it, used in exports; `None` for a whole stack.
    pub fn reason(self) -> Option<&'static str> {
        Some(match self {
            StackEnd::Root => return None,
            StackEnd::NoUnwindInfo => "no-unwind-info",
            StackEnd::Unreadable => "unreadable",
            StackEnd::NotCopied(_) => "not-copied",
            StackEnd::Implausible => "implausible",
            StackEnd::Unmapped => "unmapped",
            StackEnd::TooDeep => "too-deep",
            StackEnd::NotStopped => "not-stopped",
            StackEnd::Gone => "gone",
            StackEnd::NoRegisters => "no-registers",
            StackEnd::ForeignArchitecture => "foreign-architecture",
            StackEnd::NotTraceable => "not-traceable",
            StackEnd::RegistersUnknown => "registers-unknown",
            StackEnd::RecordsLost => "records-lost",
        })
    }
}
