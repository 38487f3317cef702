//! Separate debug files: where they may lie, and whether one belongs to a module.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::elf::Bytes;
use super::file::ObjectFile;
use crate::profile::BuildId;

/// Where to look for debug files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugSearch {
    /// Folders laid out as `/usr/lib/debug`: a `.build-id` tree, and the file system's tree again.
    pub directories: Vec<PathBuf>,
}

/// Why there is no debug file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DebugMissing {
    /// The module names none: it has neither build id nor `.gnu_debuglink`.
    NotNamed,
    /// It names one that is in none of the places.
    NotFound,
    /// Files of the right name were found, none of which was made with the module; one of them.
    Refused(PathBuf),
}

impl Default for DebugSearch {
    fn default() -> DebugSearch {
        DebugSearch {
            directories: vec![PathBuf::from("/usr/lib/debug")],
        }
    }
}

impl DebugSearch {
    /// Finds the debug file made with a module, in this mount namespace whatever the module's was:
    /// neither way accepts a file of another module. By build id first, then by the name and the
    /// checksum of `.gnu_debuglink` (layout and order of places: GDB manual, "Debugging
    /// Information in Separate Files").
    ///
    /// # Errors
    /// Why there is none.
    pub fn find(&self, file: &ObjectFile) -> Result<ObjectFile, DebugMissing> {
        let link = DebugLink::of(file);
        if link.is_none() && file.build_id().is_none() {
            return Err(DebugMissing::NotNamed);
        }
        let mut refused = None;
        let by_id = file.build_id().and_then(build_id_path);
        let by_id = by_id.iter().flat_map(|path| {
            let directories = self.directories.iter();
            directories.map(move |directory| directory.join(".build-id").join(path))
        });
        let by_name = link.iter().flat_map(|link| self.named(file.path(), link));
        for path in by_id.chain(by_name) {
            let Ok(found) = ObjectFile::open(&path) else {
                continue;
            };
            if belongs(file, &found, link.as_ref()) {
                return Ok(found);
            }
            log::debug!(
                "{}: not made with {}",
                path.display(),
                file.path().display()
            );
            refused.get_or_insert(path);
        }
        Err(refused.map_or(DebugMissing::NotFound, DebugMissing::Refused))
    }

    /// The places a debuglink speaks of: beside the file, in `.debug`, below each directory.
    fn named(&self, file: &Path, link: &DebugLink) -> Vec<PathBuf> {
        let mut places = Vec::new();
        // The path may be a symbolic link; debug files lie beside what it leads to as well.
        let real = file.canonicalize().ok();
        for path in std::iter::once(file).chain(real.as_deref()) {
            let Some(folder) = path.parent() else {
                continue;
            };
            places.push(folder.join(&link.name));
            places.push(folder.join(".debug").join(&link.name));
            let below_root = folder.strip_prefix("/").unwrap_or(folder);
            let directories = self.directories.iter();
            places.extend(directories.map(|it| it.join(below_root).join(&link.name)));
        }
        let beside = self.directories.iter().map(|it| it.join(&link.name));
        places.extend(beside);
        places
    }
}

/// `.gnu_debuglink`: a file name, padding to four bytes, and the CRC-32 of that file.
struct DebugLink {
    name: PathBuf,
    crc: u32,
}

impl DebugLink {
    fn of(file: &ObjectFile) -> Option<DebugLink> {
        let section = file.section(".gnu_debuglink")?;
        let bytes = Bytes(&section.data);
        let name = bytes.string(0).filter(|name| !name.is_empty())?;
        let crc = bytes.u32((name.len() as u64 + 1).next_multiple_of(4))?;
        // Only a plain name: a path could lead anywhere.
        let name = Path::new(OsStr::from_bytes(name)).file_name()?;
        Some(DebugLink {
            name: PathBuf::from(name),
            crc,
        })
    }
}

/// Whether the two were made together. Equal build ids prove it and different ones disprove it;
/// only without a pair of them does the checksum decide.
fn belongs(file: &ObjectFile, debug: &ObjectFile, link: Option<&DebugLink>) -> bool {
    if let (Some(ours), Some(theirs)) = (file.build_id(), debug.build_id()) {
        return ours == theirs;
    }
    link.is_some_and(|link| crc32fast::hash(debug.bytes()) == link.crc)
}

/// `xx/yyyy.debug`, as `.build-id` trees are laid out.
fn build_id_path(id: &BuildId) -> Option<PathBuf> {
    let text = id.to_string();
    let (first, rest) = text.split_at_checked(2)?;
    (!rest.is_empty()).then(|| PathBuf::from(first).join(format!("{rest}.debug")))
}
