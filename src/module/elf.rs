//! The headers of an ELF file (System V gABI, chapters 4 and 5), as plain values.

use crate::profile::{BuildId, ModuleOffset};

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_NOTE: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PF_X: u32 = 1;
const SHT_NOTE: u32 = 7;
const SHT_NOBITS: u32 = 8;
const SHF_COMPRESSED: u64 = 1 << 11;
const NT_GNU_BUILD_ID: u32 = 3;
const EM_X86_64: u16 = 62;
const ELFCLASS64: u8 = 2;
const ELFDATA2LSB: u8 = 1;
/// `e_phnum` of a file with more program headers than the field can say.
const PN_XNUM: u16 = 0xffff;
/// `e_shstrndx` of a file whose index does not fit in the field.
const SHN_XINDEX: u16 = 0xffff;
const PAGE: u64 = 4096;

/// A part of the file that is loaded into memory (`PT_LOAD`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins in the file.
    pub file_offset: u64,
    /// Its bytes in the file.
    pub file_size: u64,
    /// Its address in the module's own address space.
    pub address: u64,
    /// Its bytes in memory.
    pub memory_size: u64,
    /// Whether it holds code.
    pub executable: bool,
}

impl Segment {
    /// Whether an address is loaded by it.
    pub fn holds(&self, offset: ModuleOffset) -> bool {
        let distance = offset.0.checked_sub(self.address);
        let end = self.address.saturating_add(self.memory_size);
        distance.is_some() && offset.0 < end
    }

    /// Whether the pages that hold the segment's bytes hold this offset of the file too.
    pub(super) fn pages_cover(&self, file_offset: u64) -> bool {
        let first = self.first_page();
        let end = self.file_offset.saturating_add(self.file_size);
        let end = end.saturating_add(PAGE - 1) & !(PAGE - 1);
        (first..end).contains(&file_offset)
    }

    /// Offset in the file of the first page that is mapped for it.
    pub(super) fn first_page(&self) -> u64 {
        self.file_offset & !(PAGE - 1)
    }
}

/// Where a section lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SectionHeader {
    pub(super) name: String,
    pub(super) address: u64,
    pub(super) file_offset: u64,
    pub(super) size: u64,
    pub(super) in_file: bool,
    pub(super) compressed: bool,
    pub(super) entry_size: u64,
    /// `sh_link`: index of the section that this one refers to.
    pub(super) link: u32,
    note: bool,
}

/// What the headers say.
#[derive(Debug, Default)]
pub(super) struct Headers {
    pub(super) entry: u64,
    pub(super) segments: Vec<Segment>,
    pub(super) sections: Vec<SectionHeader>,
    /// Address and size of `.eh_frame_hdr`, by program header: there without section headers too.
    pub(super) eh_frame_hdr: Option<(u64, u64)>,
    /// Place and size in the file of the dynamic section, by program header.
    pub(super) dynamic: Option<(u64, u64)>,
    pub(super) build_id: Option<BuildId>,
}

/// Little-endian reads that never leave the bytes.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    /// `size` bytes at `offset`; `None` when they are not all there.
    pub(super) fn get(&self, offset: u64, size: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = usize::try_from(offset.checked_add(size)?).ok()?;
        self.0.get(start..end)
    }

    fn array<const N: usize>(&self, offset: u64) -> Option<[u8; N]> {
        self.get(offset, N as u64)?.try_into().ok()
    }

    pub(super) fn u16(&self, offset: u64) -> Option<u16> {
        self.array(offset).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, offset: u64) -> Option<u32> {
        self.array(offset).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, offset: u64) -> Option<u64> {
        self.array(offset).map(u64::from_le_bytes)
    }

    /// The string at `offset`, up to its NUL or the end of the bytes.
    pub(super) fn string(&self, offset: u64) -> Option<&'a [u8]> {
        let rest = self.0.get(usize::try_from(offset).ok()?..)?;
        rest.split(|&byte| byte == 0).next()
    }
}

/// Reads the headers; `None` for anything but a 64-bit little-endian x86-64 file.
pub(super) fn parse(data: &[u8]) -> Option<Headers> {
    let bytes = Bytes(data);
    let ident = bytes.get(0, 16)?;
    let known = ident.starts_with(b"\x7fELF") && ident[4] == ELFCLASS64 && ident[5] == ELFDATA2LSB;
    if !known || bytes.u16(18)? != EM_X86_64 {
        return None;
    }
    let mut headers = Headers {
        entry: bytes.u64(24)?,
        sections: section_headers(&bytes).unwrap_or_default(),
        ..Headers::default()
    };
    program_headers(&bytes, &mut headers);
    if headers.build_id.is_none() {
        headers.build_id = headers
            .sections
            .iter()
            .filter(|section| section.note)
            .find_map(|note| build_id(bytes.get(note.file_offset, note.size)?));
    }
    Some(headers)
}

/// Fills in what the program headers know. A table that leaves the file ends where the file does.
fn program_headers(bytes: &Bytes<'_>, headers: &mut Headers) -> Option<()> {
    let table = bytes.u64(32)?;
    let size = u64::from(bytes.u16(54)?);
    if size < 56 {
        return None;
    }
    let count = match bytes.u16(56)? {
        PN_XNUM => u64::from(bytes.u32(bytes.u64(40)?.checked_add(44)?)?),
        count => u64::from(count),
    };
    for index in 0..count {
        let at = table.checked_add(index.checked_mul(size)?)?;
        let header = Bytes(bytes.get(at, 56)?);
        let (file_offset, address) = (header.u64(8)?, header.u64(16)?);
        let (file_size, memory_size) = (header.u64(32)?, header.u64(40)?);
        match header.u32(0)? {
            PT_LOAD => headers.segments.push(Segment {
                file_offset,
                file_size,
                address,
                memory_size,
                executable: header.u32(4)? & PF_X != 0,
            }),
            PT_GNU_EH_FRAME => headers.eh_frame_hdr = Some((address, memory_size)),
            PT_DYNAMIC => headers.dynamic = Some((file_offset, file_size)),
            PT_NOTE if headers.build_id.is_none() => {
                headers.build_id = bytes.get(file_offset, file_size).and_then(build_id);
            }
            _ => {}
        }
    }
    Some(())
}

fn section_headers(bytes: &Bytes<'_>) -> Option<Vec<SectionHeader>> {
    let table = bytes.u64(40)?;
    let size = u64::from(bytes.u16(58)?);
    if table == 0 || size < 64 {
        return None;
    }
    let header = |index: u64| {
        let at = table.checked_add(index.checked_mul(size)?)?;
        bytes.get(at, 64).map(Bytes)
    };
    // A count or an index that does not fit in the file header is in section 0.
    let count = match bytes.u16(60)? {
        0 => header(0)?.u64(32)?,
        count => u64::from(count),
    };
    let names = match bytes.u16(62)? {
        SHN_XINDEX => u64::from(header(0)?.u32(40)?),
        index => u64::from(index),
    };
    let names = header(names).and_then(|header| bytes.get(header.u64(24)?, header.u64(32)?));
    let names = Bytes(names.unwrap_or_default());
    let mut sections = Vec::new();
    for index in 0..count {
        let Some(header) = header(index) else { break };
        let kind = header.u32(4)?;
        let name = names.string(u64::from(header.u32(0)?)).unwrap_or_default();
        sections.push(SectionHeader {
            name: String::from_utf8_lossy(name).into_owned(),
            address: header.u64(16)?,
            file_offset: header.u64(24)?,
            size: header.u64(32)?,
            in_file: kind != SHT_NOBITS,
            compressed: header.u64(8)? & SHF_COMPRESSED != 0,
            entry_size: header.u64(56)?,
            link: header.u32(40)?,
            note: kind == SHT_NOTE,
        });
    }
    Some(sections)
}

/// The build id among notes: name size, content size, type, name and content, each padded to four
/// bytes (the eight of `.note.gnu.property` are the same while names have four).
fn build_id(notes: &[u8]) -> Option<BuildId> {
    let notes = Bytes(notes);
    let mut at = 0_u64;
    loop {
        let name_size = u64::from(notes.u32(at)?);
        let size = u64::from(notes.u32(at + 4)?);
        let kind = notes.u32(at + 8)?;
        let content = at + 12 + name_size.next_multiple_of(4);
        if kind == NT_GNU_BUILD_ID && notes.get(at + 12, name_size)? == b"GNU\0" && size > 0 {
            return notes.get(content, size).map(|id| BuildId(id.to_vec()));
        }
        at = content + size.next_multiple_of(4);
    }
}
