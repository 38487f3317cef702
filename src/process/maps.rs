//! `/proc/PID/maps`.

use super::live::shown_elsewhere;
use crate::profile::{Address, Pid};

/// One line of a maps file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapEntry {
    /// First address.
    pub start: Address,
    /// Address after the last.
    pub end: Address,
    /// Whether code may run there.
    pub is_executable: bool,
    /// Whether it may be written to.
    pub is_writable: bool,
    /// Offset in the file.
    pub file_offset: u64,
    /// Device of the file (`makedev(major, minor)`), zero without one.
    pub device: u64,
    /// Inode of the file, zero without one.
    pub inode: u64,
    /// Path of the file, or what the kernel calls it (`[stack]`, `[vdso]`); may be empty.
    pub path: String,
    /// The file's name is gone, or another file's now.
    pub is_deleted: bool,
}

/// The mappings of a process, or of any thread's; `None`: gone, or not to be read.
pub fn read_maps(pid: Pid) -> Option<Vec<MapEntry>> {
    let read = |pid| std::fs::read(format!("/proc/{pid}/maps")).ok();
    let text = read(pid).filter(|text| !text.is_empty());
    text.or_else(|| read(shown_elsewhere(pid)?))
        .map(|text| parse_maps(&text))
}

/// Reads the text of a maps file; lines that are not understood are passed over.
pub fn parse_maps(text: &[u8]) -> Vec<MapEntry> {
    text.split(|&byte| byte == b'\n')
        .filter_map(parse_line)
        .collect()
}

fn parse_line(line: &[u8]) -> Option<MapEntry> {
    // Six fields: range, permissions, offset, device, inode, and a path that may hold blanks.
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut next = || {
        fields
            .next()
            .and_then(|field| std::str::from_utf8(field).ok())
    };
    let (start, end) = next()?.split_once('-')?;
    let permissions = next()?.as_bytes();
    let file_offset = hex(next()?)?;
    let (major, minor) = next()?.split_once(':')?;
    let device = nix::sys::stat::makedev(hex(major)?, hex(minor)?);
    let inode = next()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    let path = unescape(&String::from_utf8_lossy(path));
    let kept = path.strip_suffix(" (deleted)");
    Some(MapEntry {
        start: Address(hex(start)?),
        end: Address(hex(end)?),
        is_executable: permissions.get(2) == Some(&b'x'),
        is_writable: permissions.get(1) == Some(&b'w'),
        file_offset,
        device: if inode == 0 { 0 } else { device },
        inode,
        is_deleted: kept.is_some(),
        path: kept.unwrap_or(&path).to_owned(),
    })
}

fn hex(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

/// The kernel writes a newline in a path as `\012` (`fs/proc/task_mmu.c`).
fn unescape(path: &str) -> String {
    path.replace("\\012", "\n")
}
