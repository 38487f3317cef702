//! The copied parts of a thread's stack.

use crate::memory::{Memory, MemoryCopy};
use crate::profile::{Address, StackEnd};

/// A slot further behind the copy than this is no deep stack but another one, or garbage.
const FURTHEST: u64 = 1 << 30;

/// Why the chain could not be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) end: StackEnd,
    pub(super) wanted: Option<Address>,
}

impl From<StackEnd> for Stop {
    fn from(end: StackEnd) -> Stop {
        Stop { end, wanted: None }
    }
}

/// Reads stack slots and explains what cannot be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stacks<'a> {
    copies: &'a [MemoryCopy<'a>],
}

impl<'a> Stacks<'a> {
    pub(super) fn new(copies: &'a [MemoryCopy<'a>]) -> Stacks<'a> {
        Stacks { copies }
    }

    /// The word at an address, read for a frame whose stack pointer is `sp`.
    pub(super) fn word(&self, address: u64, sp: u64) -> Result<u64, Stop> {
        self.try_word(address)
            .ok_or_else(|| self.missing(address, sp))
    }

    pub(super) fn try_word(&self, address: u64) -> Option<u64> {
        let mut copies = self.copies.iter();
        copies.find_map(|copy| copy.read_u64(Address(address)))
    }

    /// Whether both addresses lie in one copy; an address at the very end counts.
    pub(super) fn same(&self, one: u64, other: u64) -> bool {
        let holding = |address| {
            let mut copies = self.copies.iter();
            copies.position(|copy| (copy.start.0..=copy.end().0).contains(&address))
        };
        holding(one) == holding(other)
    }

    fn missing(&self, address: u64, sp: u64) -> Stop {
        let mut copies = self.copies.iter();
        let own = copies.find(|copy| (copy.start.0..=copy.end().0).contains(&sp));
        let last = address.saturating_add(8);
        let beyond = own.and_then(|copy| last.checked_sub(copy.end().0));
        let end = match beyond {
            Some(beyond) if (1..=FURTHEST).contains(&beyond) => StackEnd::NotCopied(beyond),
            _ => StackEnd::Unreadable,
        };
        // Of a stack that is not at hand at all, everything from its pointer on is needed.
        let wanted = if own.is_none() {
            address.min(sp)
        } else {
            address
        };
        Stop {
            end,
            wanted: Some(Address(wanted)),
        }
    }
}
