//! Stubs of the procedure linkage table, named by the function they jump to.
//!
//! A stub jumps through a slot of the global offset table, and a relocation says whose address the
//! dynamic linker writes there (System V ABI, AMD64 supplement, 5.2).

use std::borrow::Cow;

use crate::module::ObjectFile;
use crate::profile::ModuleOffset;

/// Bytes of an `Elf64_Rela` and an `Elf64_Sym`.
const RELOCATION: usize = 24;
const SYMBOL: usize = 24;

/// Bytes of the largest kind of stub.
const STUB: u64 = 16;

const SECTIONS: [&str; 4] = [".plt", ".plt.sec", ".plt.got", ".iplt"];

/// The stubs of one module.
pub(super) struct Stubs<'a> {
    /// Address and bytes of each section of stubs.
    sections: Vec<(u64, Cow<'a, [u8]>)>,
    /// `.rela.plt`, in the order that stubs push.
    lazy: Vec<Slot>,
    /// All slots, by address.
    slots: Vec<Slot>,
    symbols: Cow<'a, [u8]>,
    strings: Cow<'a, [u8]>,
}

/// A slot, and the index of the symbol whose address it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Slot {
    address: u64,
    symbol: u32,
}

impl<'a> Stubs<'a> {
    pub(super) fn new(file: &'a ObjectFile) -> Stubs<'a> {
        let data = |name: &str| file.section(name).map(|it| it.data).unwrap_or_default();
        let sections = SECTIONS.iter().filter_map(|name| file.section(name));
        let lazy: Vec<Slot> = relocations(&data(".rela.plt")).collect();
        let mut slots = lazy.clone();
        slots.extend(relocations(&data(".rela.dyn")).filter(|slot| slot.symbol != 0));
        slots.sort_unstable();
        let strings = file.linked_section(".dynsym");
        Stubs {
            sections: sections.map(|it| (it.address, it.data)).collect(),
            lazy,
            slots,
            symbols: data(".dynsym"),
            strings: strings.map(|it| it.data).unwrap_or_default(),
        }
    }

    /// The name of the function that the stub at an address leads to.
    pub(super) fn find(&self, offset: ModuleOffset) -> Option<String> {
        let (address, code) = self.sections.iter().find_map(|(address, code)| {
            let distance = offset.0.checked_sub(*address)?;
            (distance < code.len() as u64).then_some((*address, code))
        })?;
        let start = (offset.0 - address) & !(STUB - 1);
        let stub = code.get(start as usize..)?;
        let stub = &stub[..stub.len().min(STUB as usize)];
        // Stubs of eight bytes come in pairs.
        let second = (offset.0 - address - start >= 8)
            .then(|| stub.get(8..))
            .flatten();
        let jump = |stub: &[u8], from: u64| {
            let at = stub.windows(2).position(|it| it == [0xff, 0x25])?;
            let distance = i32::from_le_bytes(stub.get(at + 2..at + 6)?.try_into().ok()?);
            let behind = address + from + at as u64 + 6;
            self.slot(behind.wrapping_add_signed(i64::from(distance)))
        };
        let symbol = second
            .and_then(|half| jump(half, start + 8))
            .or_else(|| jump(stub, start))
            .or_else(|| self.pushed(stub))?;
        self.name(symbol)
    }

    fn slot(&self, address: u64) -> Option<u32> {
        let at = self.slots.partition_point(|slot| slot.address < address);
        let slot = self.slots.get(at)?;
        (slot.address == address).then_some(slot.symbol)
    }

    /// By the index that a lazy stub pushes: `push $n; jmp header`.
    fn pushed(&self, stub: &[u8]) -> Option<u32> {
        let stub = stub.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(stub);
        let index = stub.strip_prefix(&[0x68])?.get(..4)?.try_into().ok()?;
        let slot = self.lazy.get(u32::from_le_bytes(index) as usize)?;
        Some(slot.symbol)
    }

    fn name(&self, symbol: u32) -> Option<String> {
        let entry = self.symbols.get((symbol as usize).checked_mul(SYMBOL)?..)?;
        let name = u32::from_le_bytes(entry.get(..4)?.try_into().ok()?);
        let name = self.strings.get(name as usize..)?;
        let name = name.split(|&byte| byte == 0).next()?;
        (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
    }
}

fn relocations(table: &[u8]) -> impl Iterator<Item = Slot> {
    table.chunks_exact(RELOCATION).filter_map(|entry| {
        let word = |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
        Some(Slot {
            address: word(0)?,
            symbol: (word(8)? >> 32) as u32,
        })
    })
}
