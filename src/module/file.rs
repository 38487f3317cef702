//! One ELF file, open.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use object::read::{CompressedData, CompressionFormat};

use super::elf::{self, Bytes, Headers, Segment};
use super::identity::FileIdentity;
use crate::profile::{Address, BuildId, ModuleOffset, SymbolReason};
use crate::sys::MappedFile;

/// Most bytes a compressed section may say it grows to: its header is not to be trusted, and no
/// linker makes larger ones of 32-bit DWARF.
const MAX_SECTION: u64 = 1 << 32;

/// Why a file was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not a 64-bit x86-64 ELF file.
    #[error("not an x86-64 ELF file")]
    NotElf,
}

impl OpenError {
    /// What it means for the names of the module.
    pub fn reason(&self) -> SymbolReason {
        match self {
            // An empty file cannot be mapped: it is there, and no ELF file.
            OpenError::Io(error) if error.kind() != io::ErrorKind::InvalidInput => {
                SymbolReason::FileMissing
            }
            OpenError::Io(_) | OpenError::NotElf => SymbolReason::FileInvalid,
        }
    }
}

/// A section's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Its address in the module's own address space; zero when it is not loaded.
    pub address: u64,
    /// Its bytes, decompressed.
    pub data: Cow<'a, [u8]>,
}

/// An ELF file, or an ELF image in memory.
#[derive(Debug)]
pub struct ObjectFile {
    path: PathBuf,
    data: Data,
    identity: FileIdentity,
    headers: Headers,
}

#[derive(Debug)]
enum Data {
    Mapped(MappedFile),
    Copied(Vec<u8>),
}

impl ObjectFile {
    /// Opens a file by path, whatever it is.
    ///
    /// # Errors
    /// The system's, or that it is no ELF file of this architecture.
    pub fn open(path: &Path) -> Result<ObjectFile, OpenError> {
        let file = File::open(path)?;
        let identity = FileIdentity::of(&file.metadata()?);
        let data = Data::Mapped(MappedFile::new(&file)?);
        ObjectFile::new(path.to_owned(), data, identity)
    }

    /// Takes an image that was copied from memory, such as the vDSO's; `name` is shown as its path.
    ///
    /// # Errors
    /// `NotElf`.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<ObjectFile, OpenError> {
        let identity = FileIdentity {
            size: bytes.len() as u64,
            ..FileIdentity::default()
        };
        ObjectFile::new(PathBuf::from(name), Data::Copied(bytes), identity)
    }

    fn new(path: PathBuf, data: Data, identity: FileIdentity) -> Result<ObjectFile, OpenError> {
        let headers = elf::parse(data.bytes()).ok_or(OpenError::NotElf)?;
        Ok(ObjectFile {
            path,
            data,
            identity,
            headers,
        })
    }

    /// The same file, known by the path where it lies: one that was opened through a live process's
    /// `/proc` entries has to be found again, and its debug file beside it, when that has ended.
    #[must_use]
    pub fn known_by(self, path: &Path) -> ObjectFile {
        ObjectFile {
            path: path.to_owned(),
            ..self
        }
    }

    /// The path it was opened by, or is known by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device, inode, size and time of last change when it was opened.
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// The identity note.
    pub fn build_id(&self) -> Option<&BuildId> {
        self.headers.build_id.as_ref()
    }

    /// The whole file.
    pub fn bytes(&self) -> &[u8] {
        self.data.bytes()
    }

    /// The loaded parts, in the file's order.
    pub fn segments(&self) -> &[Segment] {
        &self.headers.segments
    }

    /// Where the program starts (`e_entry`); zero in most libraries.
    pub fn entry(&self) -> ModuleOffset {
        ModuleOffset(self.headers.entry)
    }

    /// What to subtract from addresses of an *executable* mapping of this file, to get the file's
    /// own: `start` is the mapping's first address, `file_offset` the place in the file it shows.
    ///
    /// The segment decides whose pages hold that place. Neighbouring segments may share a page of
    /// the file and give it different addresses; code is preferred, then the segment whose first
    /// page it is. `None`: no segment holds it, so the mapping is not the dynamic linker's.
    pub fn bias(&self, start: Address, file_offset: u64) -> Option<u64> {
        let covering = self.headers.segments.iter();
        let segment = covering
            .filter(|segment| segment.file_size > 0 && segment.pages_cover(file_offset))
            .max_by_key(|segment| (segment.executable, segment.first_page() == file_offset))?;
        let own = (file_offset.wrapping_sub(segment.file_offset)).wrapping_add(segment.address);
        Some(start.0.wrapping_sub(own))
    }

    /// The file's bytes that are loaded from `offset` on, at most `size`; fewer where the segment
    /// ends, none where no segment has file bytes for it.
    pub fn loaded(&self, offset: ModuleOffset, size: usize) -> &[u8] {
        let inside = |segment: &&Segment| {
            let distance = offset.0.checked_sub(segment.address);
            distance.is_some_and(|distance| distance < segment.file_size)
        };
        let found = self.headers.segments.iter().find(inside);
        found
            .and_then(|segment| {
                let distance = offset.0 - segment.address;
                let size = (size as u64).min(segment.file_size - distance);
                let at = segment.file_offset.checked_add(distance)?;
                Bytes(self.bytes()).get(at, size)
            })
            .unwrap_or_default()
    }

    /// Where the segment, or the section, that holds an address begins: no function reaches over it.
    pub fn part_start(&self, offset: ModuleOffset) -> Option<ModuleOffset> {
        let holds = |start: u64, size: u64| {
            let distance = offset.0.checked_sub(start);
            distance.is_some_and(|distance| distance < size)
        };
        let segments = self.headers.segments.iter();
        let segments = segments.filter(|it| holds(it.address, it.file_size));
        let sections = self.headers.sections.iter();
        let sections = sections.filter(|it| it.in_file && it.address != 0);
        let sections = sections.filter(|it| holds(it.address, it.size));
        let segment = segments.map(|it| it.address).max()?;
        let section = sections.map(|it| it.address).max().unwrap_or(segment);
        Some(ModuleOffset(segment.max(section)))
    }

    /// `.eh_frame_hdr`: its address and what is loaded from there to the end of the segment, of
    /// which the table is the beginning. Needs no section headers.
    pub fn eh_frame_hdr(&self) -> Option<(u64, &[u8])> {
        let (address, size) = self.headers.eh_frame_hdr?;
        let data = self.loaded(ModuleOffset(address), usize::try_from(size).ok()?);
        (!data.is_empty()).then_some((address, data))
    }

    /// The dynamic section, which the dynamic linker reads. Needs no section headers.
    pub(super) fn dynamic(&self) -> Option<&[u8]> {
        let (file_offset, size) = self.headers.dynamic?;
        Bytes(self.bytes()).get(file_offset, size)
    }

    /// A section by name, decompressed (`SHF_COMPRESSED`, or the older `.zdebug_…` in place of
    /// `.debug_…`). `None` when there is none or its header lies.
    pub fn section(&self, name: &str) -> Option<Section<'_>> {
        let found = self.headers.sections.iter().find(|it| it.name == name);
        let Some(header) = found else {
            return self.old_compressed_section(name);
        };
        if !header.in_file {
            return None;
        }
        let data = Bytes(self.bytes()).get(header.file_offset, header.size)?;
        let data = if header.compressed {
            // Elf64_Chdr: type, reserved, size, alignment.
            let chdr = Bytes(data);
            let format = match chdr.u32(0)? {
                1 => CompressionFormat::Zlib,
                2 => CompressionFormat::Zstandard,
                _ => return None,
            };
            Cow::Owned(decompress(format, data.get(24..)?, chdr.u64(8)?)?)
        } else {
            Cow::Borrowed(data)
        };
        Some(Section {
            address: header.address,
            data,
        })
    }

    /// The section that the named one refers to by `sh_link` (a symbol table's strings).
    pub fn linked_section(&self, name: &str) -> Option<Section<'_>> {
        let link = self
            .headers
            .sections
            .iter()
            .find(|it| it.name == name)?
            .link;
        let linked = self.headers.sections.get(link as usize)?;
        let data = Bytes(self.bytes()).get(linked.file_offset, linked.size)?;
        (linked.in_file && !linked.compressed).then_some(Section {
            address: linked.address,
            data: Cow::Borrowed(data),
        })
    }

    /// Size in bytes of one entry of a section that is a table; zero where it does not say.
    pub fn entry_size(&self, name: &str) -> u64 {
        let found = self.headers.sections.iter().find(|it| it.name == name);
        found.map_or(0, |header| header.entry_size)
    }

    /// Whether there is a section of this name with bytes in the file.
    pub fn has_section(&self, name: &str) -> bool {
        let mut sections = self.headers.sections.iter();
        sections.any(|it| it.name == name && it.in_file && it.size > 0)
    }

    /// The form before `SHF_COMPRESSED`: another name, "ZLIB", the size in big endian, the stream.
    fn old_compressed_section(&self, name: &str) -> Option<Section<'_>> {
        let old = format!(".zdebug_{}", name.strip_prefix(".debug_")?);
        let header = self.headers.sections.iter().find(|it| it.name == old)?;
        let data = Bytes(self.bytes()).get(header.file_offset, header.size)?;
        let size = data.strip_prefix(b"ZLIB")?.get(..8)?.try_into().ok()?;
        let data = decompress(
            CompressionFormat::Zlib,
            data.get(12..)?,
            u64::from_be_bytes(size),
        )?;
        Some(Section {
            address: header.address,
            data: Cow::Owned(data),
        })
    }
}

fn decompress(format: CompressionFormat, data: &[u8], size: u64) -> Option<Vec<u8>> {
    let compressed = CompressedData {
        format,
        data,
        uncompressed_size: size,
    };
    if size > MAX_SECTION {
        return None;
    }
    compressed.decompress().ok().map(Cow::into_owned)
}

impl Data {
    fn bytes(&self) -> &[u8] {
        match self {
            Data::Mapped(file) => file,
            Data::Copied(bytes) => bytes,
        }
    }
}
