//! Function symbols of `.symtab` and `.dynsym` (System V gABI, chapter 4, "Symbol Table").

use std::borrow::Cow;

use super::alias::unversioned;
use crate::module::ObjectFile;
use crate::profile::ModuleOffset;

/// Bytes of an `Elf64_Sym`.
const ENTRY: usize = 24;
const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
const SHN_UNDEF: u16 = 0;
const STB_GLOBAL: u8 = 1;
const STB_WEAK: u8 = 2;

/// Symbols that begin at or before an address and are looked at: functions nest at most two deep.
const NESTING: usize = 16;

/// One entry, decoded. Equal addresses are told apart by the rank, the better one last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    address: u64,
    rank: u8,
    size: u64,
    table: u8,
    name: u32,
}

/// All function symbols of a module.
pub(super) struct SymbolTable<'a> {
    symbols: Vec<Symbol>,
    strings: Vec<Cow<'a, [u8]>>,
    /// The module itself: between its parts no symbol reaches.
    file: &'a ObjectFile,
}

impl<'a> SymbolTable<'a> {
    /// Reads the tables of a module and of its debug file, which has the same addresses.
    pub(super) fn new(file: &'a ObjectFile, debug_file: Option<&'a ObjectFile>) -> SymbolTable<'a> {
        let mut table = SymbolTable {
            symbols: Vec::new(),
            strings: Vec::new(),
            file,
        };
        for file in std::iter::once(file).chain(debug_file) {
            table.read_section(file, ".symtab");
            if table.read_section(file, ".dynsym").is_none()
                && let Some(dynamic) = file.dynamic_symbols()
            {
                let (entries, strings) = (dynamic.entries, dynamic.strings);
                table.read(entries, Cow::Borrowed(strings));
            }
        }
        table.symbols.sort_unstable();
        let key = |symbol: &mut Symbol| (symbol.address, symbol.rank, symbol.size);
        table.symbols.dedup_by_key(key);
        table
    }

    pub(super) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The raw name of the function that covers an address.
    pub(super) fn find(&self, offset: ModuleOffset) -> Option<String> {
        let behind = self.symbols.partition_point(|it| it.address <= offset.0);
        let next = self.symbols.get(behind).map(|it| it.address);
        let before = self.symbols.get(behind.saturating_sub(NESTING)..behind)?;
        let nearest = before.last()?.address;
        let covers = |symbol: &&Symbol| {
            let distance = offset.0 - symbol.address;
            if symbol.size > 0 {
                return distance < symbol.size;
            }
            // No size: up to the next symbol, and not out of its section.
            symbol.address == nearest
                && next.is_none_or(|next| offset.0 < next)
                && self.file.part_start(offset) == self.file.part_start(ModuleOffset(nearest))
        };
        let symbol = before.iter().rev().find(covers)?;
        let strings = self.strings.get(usize::from(symbol.table))?;
        let name = strings.get(symbol.name as usize..)?;
        let name = name.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(unversioned(name)).into_owned())
    }

    fn read_section(&mut self, file: &'a ObjectFile, name: &str) -> Option<()> {
        let entries = file.section(name)?.data;
        let strings = file.linked_section(name)?.data;
        self.read(&entries, strings);
        Some(())
    }

    fn read(&mut self, entries: &[u8], strings: Cow<'a, [u8]>) {
        // Two tables of two files at most.
        let table = self.strings.len() as u8;
        for entry in entries.chunks_exact(ENTRY) {
            self.symbols.extend(self.symbol(entry, table, &strings));
        }
        self.strings.push(strings);
    }

    fn symbol(&self, entry: &[u8], table: u8, strings: &[u8]) -> Option<Symbol> {
        let name = u32::from_le_bytes(entry.get(..4)?.try_into().ok()?);
        let (kind, binding) = (entry.get(4)? & 15, entry.get(4)? >> 4);
        let section = u16::from_le_bytes(entry.get(6..8)?.try_into().ok()?);
        let address = u64::from_le_bytes(entry.get(8..16)?.try_into().ok()?);
        let size = u64::from_le_bytes(entry.get(16..24)?.try_into().ok()?);
        let is_function = match kind {
            STT_FUNC | STT_GNU_IFUNC => true,
            // Assembly without a type. A dot begins labels that the compiler made for itself.
            STT_NOTYPE => !matches!(strings.get(name as usize)?, b'.' | b'$'),
            _ => false,
        };
        let first = *strings.get(name as usize)?;
        if section == SHN_UNDEF || !is_function || first == 0 {
            return None;
        }
        let mut segments = self.file.segments().iter();
        if !segments.any(|it| it.executable && it.holds(ModuleOffset(address))) {
            return None;
        }
        let typed = u8::from(kind != STT_NOTYPE);
        let bound = match binding {
            STB_GLOBAL => 2,
            STB_WEAK => 1,
            _ => 0,
        };
        // A name without underscores before it is the one people use (`read`, not `__read`).
        let plain = u8::from(first != b'_');
        Some(Symbol {
            address,
            rank: typed << 4 | u8::from(size > 0) << 3 | plain << 2 | bound,
            size,
            table,
            name,
        })
    }
}
