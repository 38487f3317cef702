//! Processes, threads and mappings as the kernel shows them.
//!
//! A process that is gone answers `None` or nothing, never an error: that is the usual end.

mod blocked;
mod clock;
mod cpus;
mod live;
mod maps;
mod own;
mod stat;
mod tree;

pub use blocked::{Blocked, blocked, read_blocked};
pub use clock::{now, own_cpu, read_clocks, start_time};
pub use cpus::online_cpus;
pub use live::{
    LiveMemory, arguments, executable, exists, lacks_rights_of_program, map_file_paths,
    proc_is_ours, thread_name,
};
pub use maps::{MapEntry, parse_maps, read_maps};
pub use own::own_memory;
pub use stat::{
    Stat, Status, catches, cpu_time, parse_stat, read_stat, read_status, read_thread_stat,
    sleeping_state,
};
pub use tree::{ancestors, descendants, threads};

#[cfg(test)]
mod tests;
