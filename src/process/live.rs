//! What a live process shows of itself.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{MapEntry, read_stat, read_status, threads};
use crate::memory::Memory;
use crate::profile::{Address, Pid, Tid};
use crate::sys;

/// The memory of a live process. It may change between two reads.
#[derive(Clone, Copy, Debug)]
pub struct LiveMemory(pub Pid);

impl Memory for LiveMemory {
    fn read(&self, address: Address, into: &mut [u8]) -> usize {
        let got = sys::read_memory(Tid(self.0.0), address, into);
        if got > 0 {
            return got;
        }
        shown_elsewhere(self.0).map_or(0, |other| sys::read_memory(Tid(other.0), address, into))
    }
}

/// The number under which `/proc` shows the memory of a process whose first thread has ended
/// before the others: a living thread's. Under its own it then shows nothing, without an error.
/// `None`: its own number is right, or it is gone.
pub(super) fn shown_elsewhere(pid: Pid) -> Option<Pid> {
    let is_dead = |pid| read_stat(pid).is_none_or(|stat| matches!(stat.state, 'Z' | 'X'));
    if !is_dead(pid) {
        return None;
    }
    let mut others = threads(pid).into_iter().map(|tid| Pid(tid.0));
    others.find(|&other| other != pid && !is_dead(other))
}

/// Whether `/proc` shows processes by the numbers that this one knows them by. It does not in a PID
/// namespace whose `/proc` is still that of the one outside.
pub fn proc_is_ours() -> bool {
    let own = std::fs::read_link("/proc/self");
    own.is_ok_and(|own| own.as_os_str() == std::process::id().to_string().as_str())
}

/// Whether there is such a thread, perhaps one that has ended and was not waited for.
pub fn exists(tid: Tid) -> bool {
    std::fs::exists(format!("/proc/{tid}")).unwrap_or(false)
}

/// Path of the executable as the kernel shows it; empty when it cannot be read.
pub fn executable(pid: Pid) -> String {
    let link = |pid| std::fs::read_link(format!("/proc/{pid}/exe"));
    link(pid)
        .or_else(|error| shown_elsewhere(pid).map_or(Err(error), link))
        .map(|path| String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned())
        .unwrap_or_default()
}

/// Whether a process runs a program that should have given it its owner's rights, and has not
/// got them: the kernel grants them to a traced process only where the tracer may have them too
/// (execve(2)).
pub fn lacks_rights_of_program(pid: Pid) -> bool {
    use std::os::unix::fs::MetadataExt;
    const SET_USER: u32 = 0o4000;
    // With group execution; without, the bit is for locking (inode(7)).
    const SET_GROUP: u32 = 0o2010;
    let Ok(program) = std::fs::metadata(format!("/proc/{pid}/exe")) else {
        return false;
    };
    let wants_user = program.mode() & SET_USER != 0;
    let wants_group = program.mode() & SET_GROUP == SET_GROUP;
    if !wants_user && !wants_group {
        return false;
    }
    read_status(pid).is_some_and(|status| {
        (wants_user && status.effective_user != program.uid())
            || (wants_group && status.effective_group != program.gid())
    })
}

/// The arguments as they stand in the process's memory; empty when they cannot be read.
pub fn arguments(pid: Pid) -> Vec<String> {
    let read = |pid| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut text = read(pid);
    if text.is_empty() {
        text = shown_elsewhere(pid).map(read).unwrap_or_default();
    }
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
    let pid = shown_elsewhere(pid).unwrap_or(pid);
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
