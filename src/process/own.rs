//! Memory of sprof itself.

/// Bytes of memory that this process has in RAM now; `None`: could not be read.
pub fn own_memory() -> Option<u64> {
    // proc(5): the second number is the resident set, in pages.
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let page_size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok()??;
    pages.checked_mul(u64::try_from(page_size).ok()?)
}
