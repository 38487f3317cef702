//! Call frame information of one module: finding the entry of an address, and its row.
//!
//! Layouts: DWARF 5 section 6.4, and the Linux Standard Base core specification, "Exception
//! Frames" (`.eh_frame`, `.eh_frame_hdr`).

use std::borrow::Cow;
use std::sync::Arc;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, FrameDescriptionEntry, LittleEndian,
    UnwindContext, UnwindOffset, UnwindSection, UnwindTableRow,
};

use crate::module::ObjectFile;
use crate::profile::ModuleOffset;

pub(super) type Slice<'a> = EndianSlice<'a, LittleEndian>;
pub(super) type Context = UnwindContext<usize>;
pub(super) type CfiRow = UnwindTableRow<usize>;

/// Takes what was found for an address, with the section it was found in.
pub(super) trait Visitor {
    /// What it makes of it.
    type Output;

    /// Called once, with the row that covers the address.
    fn visit<'a, S: UnwindSection<Slice<'a>>>(
        self,
        section: &S,
        entry: &FrameDescriptionEntry<Slice<'a>>,
        row: &CfiRow,
    ) -> Self::Output;
}

/// Unwind information of one module. Entries are decoded when they are asked for.
#[derive(Debug)]
pub(super) struct ModuleCfi {
    file: Arc<ObjectFile>,
    bases: BaseAddresses,
    eh_frame: Option<EhFrameTable>,
    /// Filled when `.eh_frame` does not know an address for the first time.
    debug_frame: Option<Index>,
}

#[derive(Debug)]
struct EhFrameTable {
    /// Address of `.eh_frame`.
    address: u64,
    finder: Finder,
}

/// How entries of `.eh_frame` are found.
#[derive(Debug)]
enum Finder {
    /// By `.eh_frame_hdr`: a sorted table of pairs (function, entry), relative to its address.
    Header { address: u64, count: usize },
    /// There is no such table, or it is of another form.
    Index(Index),
}

/// Entries in order of address: first address, address behind the last, place in the section.
#[derive(Debug, Default)]
struct Index(Vec<(u64, u64, usize)>);

/// Bytes of `.eh_frame_hdr` before its table.
const HEADER: usize = 12;

impl ModuleCfi {
    pub(super) fn new(file: Arc<ObjectFile>) -> ModuleCfi {
        let address_of = |name: &str| file.section(name).map_or(0, |section| section.address);
        let bases = BaseAddresses::default()
            .set_text(address_of(".text"))
            .set_got(address_of(".got"));
        let eh_frame = EhFrameTable::new(&file, &bases);
        let bases = match &eh_frame {
            Some(table) => bases.set_eh_frame(table.address),
            None => bases,
        };
        ModuleCfi {
            file,
            bases,
            eh_frame,
            debug_frame: None,
        }
    }

    pub(super) fn file(&self) -> &ObjectFile {
        &self.file
    }

    /// Calls the visitor with the row for an address; `None` where there is none, or the bytes are
    /// no valid CFI.
    pub(super) fn row<V: Visitor>(
        &mut self,
        offset: ModuleOffset,
        context: &mut Context,
        visitor: V,
    ) -> Option<V::Output> {
        if let Some(table) = &self.eh_frame
            && let Some(place) = table.find(&self.file, offset.0)
        {
            let section = eh_frame(&self.file, table.address);
            if let Some(entry) = entry_at(&section, &self.bases, place.into())
                && entry.contains(offset.0)
            {
                return visit(&section, &self.bases, &entry, offset, context, visitor);
            }
        }
        let debug_frame = &mut self.debug_frame;
        let index = debug_frame.get_or_insert_with(|| debug_frame_index(&self.file, &self.bases));
        let place = index.find(offset.0)?;
        let data = debug_frame_bytes(&self.file)?;
        let section = debug_frame_section(&data);
        let entry = entry_at(&section, &self.bases, place.into())?;
        visit(&section, &self.bases, &entry, offset, context, visitor)
    }

    /// Whether any unwind information covers an address.
    pub(super) fn covers(&mut self, offset: ModuleOffset, context: &mut Context) -> bool {
        struct Found;
        impl Visitor for Found {
            type Output = ();
            fn visit<'a, S: UnwindSection<Slice<'a>>>(
                self,
                _: &S,
                _: &FrameDescriptionEntry<Slice<'a>>,
                _: &CfiRow,
            ) {
            }
        }
        self.row(offset, context, Found).is_some()
    }
}

impl EhFrameTable {
    fn new(file: &ObjectFile, bases: &BaseAddresses) -> Option<EhFrameTable> {
        if let Some(table) = EhFrameTable::by_header(file) {
            return Some(table);
        }
        let address = file.section(".eh_frame")?.address;
        let bases = bases.clone().set_eh_frame(address);
        Some(EhFrameTable {
            address,
            finder: Finder::Index(Index::new(&eh_frame(file, address), &bases)),
        })
    }

    /// The form every linker writes: version 1, pointer to `.eh_frame` relative to itself
    /// (0x1b), 32-bit count (0x03), table of 32-bit pairs relative to the header (0x3b).
    fn by_header(file: &ObjectFile) -> Option<EhFrameTable> {
        let (header, bytes) = file.eh_frame_hdr()?;
        if bytes.get(..4)? != [1, 0x1b, 0x03, 0x3b] {
            return None;
        }
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let distance = i64::from(word(4)?.cast_signed());
        let address = header.wrapping_add(4).wrapping_add_signed(distance);
        let count = (word(8)? as usize).min((bytes.len() - HEADER) / 8);
        (count > 0).then_some(EhFrameTable {
            address,
            finder: Finder::Header {
                address: header,
                count,
            },
        })
    }

    /// Place in `.eh_frame` of the entry that may cover an address.
    fn find(&self, file: &ObjectFile, offset: u64) -> Option<usize> {
        let (header, count) = match &self.finder {
            Finder::Index(index) => return index.find(offset),
            Finder::Header { address, count } => (*address, *count),
        };
        let (_, bytes) = file.eh_frame_hdr()?;
        let table = bytes.get(HEADER..)?;
        let word = |at: usize| {
            let word = table.get(at..at + 4)?.try_into().ok()?;
            Some(header.wrapping_add_signed(i64::from(i32::from_le_bytes(word))))
        };
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            if word(middle * 8)? <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let entry = word(low.checked_sub(1)? * 8 + 4)?;
        usize::try_from(entry.checked_sub(self.address)?).ok()
    }
}

impl Index {
    /// Reads all entries of a section; stops at the first that cannot be read.
    fn new<'a, S>(section: &S, bases: &BaseAddresses) -> Index
    where
        S: UnwindSection<Slice<'a>>,
    {
        let mut found = Vec::new();
        let mut entries = section.entries(bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            // One entry with a broken CIE hides no other.
            let Ok(entry) = partial.parse(S::cie_from_offset) else {
                continue;
            };
            let (start, end) = (entry.initial_address(), entry.end_address());
            // Functions that the linker threw away are left at address zero.
            if start != 0 && start < end {
                found.push((start, end, entry.offset()));
            }
        }
        found.sort_unstable();
        Index(found)
    }

    fn find(&self, offset: u64) -> Option<usize> {
        let behind = self.0.partition_point(|&(start, ..)| start <= offset);
        let &(_, end, place) = self.0.get(behind.checked_sub(1)?)?;
        (offset < end).then_some(place)
    }
}

/// `.eh_frame`, from its address to the end of its segment: a terminator ends it before.
fn eh_frame(file: &ObjectFile, address: u64) -> EhFrame<Slice<'_>> {
    let bytes = file.loaded(ModuleOffset(address), usize::MAX);
    let mut section = EhFrame::new(bytes, LittleEndian);
    section.set_address_size(8);
    section
}

fn debug_frame_bytes(file: &ObjectFile) -> Option<Cow<'_, [u8]>> {
    Some(file.section(".debug_frame")?.data)
}

fn debug_frame_section(data: &[u8]) -> DebugFrame<Slice<'_>> {
    let mut section = DebugFrame::new(data, LittleEndian);
    section.set_address_size(8);
    section
}

/// The entries of `.debug_frame`; none where there is no such section.
fn debug_frame_index(file: &ObjectFile, bases: &BaseAddresses) -> Index {
    let data = debug_frame_bytes(file).unwrap_or_default();
    Index::new(&debug_frame_section(&data), bases)
}

fn entry_at<'a, S: UnwindSection<Slice<'a>>>(
    section: &S,
    bases: &BaseAddresses,
    place: S::Offset,
) -> Option<FrameDescriptionEntry<Slice<'a>>>
where
    S::Offset: UnwindOffset<usize>,
{
    let partial = section.partial_fde_from_offset(bases, place).ok()?;
    partial.parse(S::cie_from_offset).ok()
}

fn visit<'a, S: UnwindSection<Slice<'a>>, V: Visitor>(
    section: &S,
    bases: &BaseAddresses,
    entry: &FrameDescriptionEntry<Slice<'a>>,
    offset: ModuleOffset,
    context: &mut Context,
    visitor: V,
) -> Option<V::Output> {
    let row = entry
        .unwind_info_for_address(section, bases, context, offset.0)
        .ok()?;
    Some(visitor.visit(section, entry, row))
}
