//! The machine's CPUs.

/// Numbers of the CPUs that are online, in ascending order.
pub fn online_cpus() -> Vec<u32> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online");
    let cpus = text.map(|text| parse_list(&text)).unwrap_or_default();
    if cpus.is_empty() {
        // No sysfs: as many as we may use, from the first on.
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        return (0..count as u32).collect();
    }
    cpus
}

/// A list as the kernel writes it: `0-3,5`.
pub(super) fn parse_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>())
            // The most CPUs that Linux can have.
            && last < 8192
        {
            cpus.extend(first..=last);
        }
    }
    cpus
}
