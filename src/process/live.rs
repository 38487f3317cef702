//! What a live process shows of itself.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::MapEntry;
use crate::memory::Memory;
use crate::profile::{Address, Pid, Tid};
use crate::sys;

/// The memory of a live process. It may change between two reads.
#[derive(Clone, Copy, Debug)]
pub struct LiveMemory(pub Pid);

impl Memory for LiveMemory {
    fn read(&self, address: Address, into: &mut [u8]) -> usize {
        sys::read_memory(Tid(self.0.0), address, into)
    }
}

/// Path of the executable as the kernel shows it; empty when it cannot be read.
pub fn executable(pid: Pid) -> String {
    std::fs::read_link(format!("/proc/{pid}/exe"))
        .map(|path| String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned())
        .unwrap_or_default()
}

/// The arguments as they stand in the process's memory; empty when they cannot be read.
pub fn arguments(pid: Pid) -> Vec<String> {
    let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = text.strip_suffix(b"\0").unwrap_or(&text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|&byte| byte == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

/// The name of a thread, bytes that are not UTF-8 replaced; `None`: gone.
pub fn thread_name(pid: Pid, tid: Tid) -> Option<String> {
    let text = std::fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    let name = text.strip_suffix(b"\n").unwrap_or(&text);
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Where the file behind a mapping may be opened, the surest first: the mapping itself (also for
/// a deleted file; needs privileges), then its path as the process sees it.
pub fn map_file_paths(pid: Pid, entry: &MapEntry) -> Vec<PathBuf> {
    let (start, end) = (entry.start.0, entry.end.0);
    let mut paths = vec![PathBuf::from(format!(
        "/proc/{pid}/map_files/{start:x}-{end:x}"
    ))];
    if entry.path.starts_with('/') {
        paths.push(PathBuf::from(format!("/proc/{pid}/root{}", entry.path)));
        paths.push(PathBuf::from(&entry.path));
    }
    paths.push(PathBuf::from(format!("/proc/{pid}/exe")));
    paths
}
