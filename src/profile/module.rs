//! Object files as they are mapped, and where.

use super::{ModuleId, ProcessId, Timestamp};

/// An address in a target's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

/// An address in a module's own address space: the one its ELF program headers, symbol table and
/// DWARF speak of (not an offset in the file).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleOffset(pub u64);

/// The identity note of an object file (`NT_GNU_BUILD_ID`), any number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuildId(pub Vec<u8>);

/// An object file as it was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// This module.
    pub id: ModuleId,
    /// What it is.
    pub kind: ModuleKind,
    /// Path as the kernel shows it in the mappings, or `[vdso]`; ` (deleted)` taken off.
    pub path: String,
    /// The file had no name any more when it was seen.
    pub deleted: bool,
    /// Its identity note, where the file could be read and has one.
    pub build_id: Option<BuildId>,
    /// Device number (`makedev`) and inode of the mapping; zero without a file.
    pub device: u64,
    /// See `device`.
    pub inode: u64,
    /// Size of the file in bytes when it was opened; zero when it could not be.
    pub size: u64,
    /// Last change of the file, nanoseconds since 1970; zero when it could not be opened.
    pub modified_ns: u64,
}

/// Kinds of module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModuleKind {
    /// A file.
    File,
    /// The kernel's virtual library, read from the target's memory.
    Vdso,
}

/// An address range of a process backed by a module, while it lasted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The process.
    pub process: ProcessId,
    /// The module.
    pub module: ModuleId,
    /// First address.
    pub start: Address,
    /// Address after the last.
    pub end: Address,
    /// Offset in the file of the first byte.
    pub file_offset: u64,
    /// `address - bias` is the [`ModuleOffset`] (wrapping arithmetic).
    pub bias: u64,
    /// Seen from here on.
    pub from: Timestamp,
    /// Replaced, unmapped or discarded by exec; `None`: valid to the end.
    pub until: Option<Timestamp>,
}

impl Mapping {
    /// The one conversion from a target's address to a module's.
    pub fn module_offset(&self, address: Address) -> ModuleOffset {
        ModuleOffset(address.0.wrapping_sub(self.bias))
    }
}

impl Module {
    /// The file name without its folders, as shown to people.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl std::fmt::Display for BuildId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
