//! Reading a target's memory, wherever it is kept, and the registers that go with it.

mod registers;

pub use registers::Registers;

use crate::profile::Address;

/// Memory of a target: of a live process, or a copy of a part of it.
pub trait Memory {
    /// Reads from `address` on into the front of `into`; answers how many bytes could be read.
    fn read(&self, address: Address, into: &mut [u8]) -> usize;

    /// The 64-bit word at `address` (little endian), where all of it can be read.
    fn read_u64(&self, address: Address) -> Option<u64> {
        let mut word = [0; 8];
        (self.read(address, &mut word) == word.len()).then(|| u64::from_le_bytes(word))
    }
}

/// A copy of a contiguous part of a target's memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCopy<'a> {
    /// Address of the first byte.
    pub start: Address,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl MemoryCopy<'_> {
    /// Address behind the last byte.
    pub fn end(&self) -> Address {
        Address(self.start.0.saturating_add(self.bytes.len() as u64))
    }
}

impl Memory for MemoryCopy<'_> {
    fn read(&self, address: Address, into: &mut [u8]) -> usize {
        let Some(offset) = address.0.checked_sub(self.start.0) else {
            return 0;
        };
        let Some(rest) = usize::try_from(offset)
            .ok()
            .and_then(|at| self.bytes.get(at..))
        else {
            return 0;
        };
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        count
    }
}
