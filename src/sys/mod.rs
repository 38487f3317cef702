//! Safe wrappers over system calls: the only place with `unsafe`.
//!
//! Where `nix` has the call, callers use `nix` through here or directly; what stands here is what
//! it has not, or what it decodes too narrowly (stops by real-time signals).

mod limits;
mod mmap;
mod perf;
mod pidfd;
mod ptrace;
mod sched;
mod signals;
mod spawn;
mod thread;
mod thread_group;
mod vm;
mod wait;

pub use limits::raise_file_limit;
pub use mmap::MappedFile;
pub use nix::errno::Errno;
pub use perf::{PerfRing, Watch, watch};
pub use pidfd::{exit_status, open_pidfd};
pub use ptrace::{
    RawRegisters, event_message, interrupt, listen, registers, restart_call, resume, seize,
};
pub use sched::{
    Affinity, Scheduling, become_normal, become_real_time, current_cpu, outrank_holders, pin_to,
    raise_niceness, raise_priority,
};
pub use signals::{
    Gathered, Wake, block, child_signals, pause_signal, signal_source, stop_signals, wait_for_input,
};
pub use spawn::{Gated, GatedError, spawn_gated};
pub use thread::start_thread;
pub use thread_group::is_thread_of;
pub use vm::{RemoteRange, read_memory, read_ranges};
pub use wait::{GroupStop, Stop, reap, wait_any, wait_for};
