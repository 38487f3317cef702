//! Is this the file that was mapped?
//!
//! The kernel names a mapped file in `/proc/PID/maps` by device and inode. Both are compared with
//! what `stat` says of the file that was opened. On some file systems the two disagree on the
//! device of one and the same file (btrfs gives each subvolume a device of its own, overlayfs may
//! show the layer's). Then the kernel itself decides: the candidate is mapped into our own memory
//! anyway, so our own maps name it by the very rule by which the target's maps name theirs. Equal
//! there means the same file; anything else is refused, since a wrong file gives wrong names.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, makedev, minor};

use super::file::{ObjectFile, OpenError};
use crate::profile::{Module, ModuleKind, SymbolReason};

/// What `stat` says of an open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device number (`makedev`); zero for an image from memory.
    pub device: u64,
    /// Inode; zero for an image from memory.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// Last change, nanoseconds since 1970.
    pub modified_ns: u64,
}

impl FileIdentity {
    pub(super) fn of(metadata: &Metadata) -> FileIdentity {
        let nanoseconds = i128::from(metadata.mtime()) * 1_000_000_000;
        FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified_ns: u64::try_from(nanoseconds + i128::from(metadata.mtime_nsec()))
                .unwrap_or(0),
        }
    }
}

/// How the kernel's maps name a mapped file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedFileId {
    /// Major device number.
    pub major: u64,
    /// Minor device number.
    pub minor: u64,
    /// Inode.
    pub inode: u64,
}

impl MappedFileId {
    /// From a device number made by `makedev`.
    pub fn new(device: u64, inode: u64) -> MappedFileId {
        MappedFileId {
            major: major(device),
            minor: minor(device),
            inode,
        }
    }

    /// The device number as `makedev` makes it.
    pub fn device(self) -> u64 {
        makedev(self.major, self.minor)
    }

    /// Reads device and inode of one line of a maps file: `start-end perms offset MM:mm inode path`
    /// (proc(5)).
    fn of_maps_line(line: &str) -> Option<((u64, u64), MappedFileId)> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let (major, minor) = fields.nth(2)?.split_once(':')?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let id = MappedFileId {
            major: hex(major)?,
            minor: hex(minor)?,
            inode: fields.next()?.parse().ok()?,
        };
        Some(((hex(start)?, hex(end)?), id))
    }
}

/// Opens the first of several paths that leads to the mapped file: usually the mapping's entry in
/// `/proc/PID/map_files`, then the path below `/proc/PID/root`.
///
/// # Errors
/// `FileMissing` when no path could be opened, `FileChanged` when one could and is another file,
/// `FileInvalid` when the mapped file is no ELF file of this architecture.
pub fn open_mapped(
    candidates: &[PathBuf],
    mapped: MappedFileId,
) -> Result<ObjectFile, SymbolReason> {
    open_first(candidates, |file| is_mapped_file(file, mapped))
}

/// Opens the first of several paths that leads to the file a recording speaks of: the build id
/// must agree; a file without one must have the size and the time of change it had then.
///
/// # Errors
/// As [`open_mapped`]; `FileMissing` for the vDSO, which is no file.
pub fn open_recorded(candidates: &[PathBuf], module: &Module) -> Result<ObjectFile, SymbolReason> {
    if module.kind == ModuleKind::Vdso {
        return Err(SymbolReason::FileMissing);
    }
    open_first(candidates, |file| {
        if let Some(recorded) = &module.build_id {
            return file.build_id() == Some(recorded);
        }
        let now = file.identity();
        if module.size == 0 {
            // It could not be opened while recording, so that only its inode is known.
            return (now.device, now.inode) == (module.device, module.inode);
        }
        let unchanged = (now.size, now.modified_ns) == (module.size, module.modified_ns);
        file.build_id().is_none() && unchanged
    })
}

fn open_first(
    candidates: &[PathBuf],
    accept: impl Fn(&ObjectFile) -> bool,
) -> Result<ObjectFile, SymbolReason> {
    let mut reason = SymbolReason::FileMissing;
    for path in candidates {
        match ObjectFile::open(path) {
            Ok(file) if accept(&file) => return Ok(file),
            Ok(_) => reason = SymbolReason::FileChanged,
            Err(error @ OpenError::NotElf) if reason == SymbolReason::FileMissing => {
                reason = error.reason();
            }
            Err(error) => log::debug!("{}: {error}", path.display()),
        }
    }
    Err(reason)
}

fn is_mapped_file(file: &ObjectFile, mapped: MappedFileId) -> bool {
    let identity = file.identity();
    let same_device = identity.device == mapped.device();
    if identity.inode == mapped.inode && same_device {
        return true;
    }
    own_maps_name_it(file.bytes().as_ptr() as u64) == Some(mapped)
}

/// How our own maps name the file mapped at an address of ours.
fn own_maps_name_it(address: u64) -> Option<MappedFileId> {
    let maps = fs::read_to_string(Path::new("/proc/self/maps")).ok()?;
    let mut lines = maps.lines().filter_map(MappedFileId::of_maps_line);
    lines
        .find(|((start, end), _)| (*start..*end).contains(&address))
        .map(|(_, id)| id)
}
