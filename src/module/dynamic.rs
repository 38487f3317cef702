//! The dynamic symbol table as the dynamic linker finds it, without section headers (System V gABI,
//! chapter 5, "Dynamic Section" and "Hash Table"; for `DT_GNU_HASH` the glibc sources that read it,
//! `elf/dl-lookup.c`).

use super::elf::Bytes;
use super::file::ObjectFile;
use crate::profile::ModuleOffset;

const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_GNU_HASH: u64 = 0x6fff_fef5;

/// Bytes of an `Elf64_Dyn` and an `Elf64_Sym`.
const ENTRY: usize = 16;
const SYMBOL: u64 = 24;

/// A symbol table and its strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicSymbols<'a> {
    /// Whole entries (`Elf64_Sym`).
    pub entries: &'a [u8],
    /// What their names point into.
    pub strings: &'a [u8],
}

/// What the dynamic section points to: addresses in the module, but for the size.
#[derive(Default)]
struct Pointers {
    symbols: Option<u64>,
    strings: Option<u64>,
    strings_size: Option<u64>,
    hash: Option<u64>,
    gnu_hash: Option<u64>,
}

impl ObjectFile {
    /// The dynamic symbols, by program headers alone; `None` when there are none, or nothing says
    /// how many.
    pub fn dynamic_symbols(&self) -> Option<DynamicSymbols<'_>> {
        let pointers = Pointers::of(self.dynamic()?);
        let strings = self.loaded_at(pointers.strings?, pointers.strings_size?);
        let counted = pointers.gnu_hash.and_then(|at| self.count_by_gnu_hash(at));
        let count = counted.or_else(|| self.count_by_hash(pointers.hash?))?;
        let entries = self.loaded_at(pointers.symbols?, u64::from(count) * SYMBOL);
        Some(DynamicSymbols { entries, strings })
    }

    fn loaded_at(&self, address: u64, size: u64) -> &[u8] {
        self.loaded(
            ModuleOffset(address),
            usize::try_from(size).unwrap_or(usize::MAX),
        )
    }

    /// The old table says it: buckets, chains, and there is a chain entry for each symbol.
    fn count_by_hash(&self, address: u64) -> Option<u32> {
        Bytes(self.loaded_at(address, 8)).u32(4)
    }

    /// The newer one does not: the last symbol is the end of the chain that begins last. Symbols
    /// before the first hashed one are not defined here.
    fn count_by_gnu_hash(&self, address: u64) -> Option<u32> {
        let table = Bytes(self.loaded_at(address, u64::MAX));
        let (buckets, first, bloom) = (table.u32(0)?, table.u32(4)?, table.u32(8)?);
        let start = 16 + u64::from(bloom) * 8;
        let chains = start + u64::from(buckets) * 4;
        let bytes = table.get(start, chains - start)?;
        let (words, _) = bytes.as_chunks::<4>();
        let last = words.iter().map(|&word| u32::from_le_bytes(word)).max()?;
        if last < first {
            return Some(first);
        }
        let mut index = last;
        // The lowest bit marks the end of a chain.
        while table.u32(chains + u64::from(index - first) * 4)? & 1 == 0 {
            index = index.checked_add(1)?;
        }
        index.checked_add(1)
    }
}

impl Pointers {
    fn of(dynamic: &[u8]) -> Pointers {
        let mut pointers = Pointers::default();
        for entry in dynamic.chunks_exact(ENTRY).map(Bytes) {
            let (Some(tag), value) = (entry.u64(0), entry.u64(8)) else {
                break;
            };
            match tag {
                DT_NULL => break,
                DT_HASH => pointers.hash = value,
                DT_STRTAB => pointers.strings = value,
                DT_SYMTAB => pointers.symbols = value,
                DT_STRSZ => pointers.strings_size = value,
                DT_GNU_HASH => pointers.gnu_hash = value,
                _ => {}
            }
        }
        pointers
    }
}
