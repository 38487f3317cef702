//! The clocks of this machine.

use nix::time::{ClockId, clock_gettime};

use crate::profile::{Clocks, Nanos, Timestamp};

/// `CLOCK_MONOTONIC` now.
pub fn now() -> Timestamp {
    Timestamp(read(ClockId::CLOCK_MONOTONIC))
}

/// CPU time of sprof so far, all its threads together.
pub fn own_cpu() -> Nanos {
    Nanos(read(ClockId::CLOCK_PROCESS_CPUTIME_ID))
}

/// The three clocks, as close together as three tries bring them.
pub fn read_clocks() -> Clocks {
    let once = || {
        let before = now();
        let boottime_ns = read(ClockId::CLOCK_BOOTTIME);
        let realtime_ns = read(ClockId::CLOCK_REALTIME);
        Clocks {
            monotonic: before,
            boottime_ns,
            realtime_ns,
            error: now().since(before),
        }
    };
    [once(), once(), once()]
        .into_iter()
        .min_by_key(|clocks| clocks.error)
        .unwrap_or_default()
}

/// When something started that the kernel says started `ticks` clock ticks after boot
/// (`/proc/PID/stat`, field 22; `ticks_a_second` is `sysconf(_SC_CLK_TCK)`).
pub fn start_time(ticks: u64, clocks: &Clocks) -> Timestamp {
    let ticks_a_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)
        .ok()
        .flatten()
        .and_then(|ticks| u64::try_from(ticks).ok())
        .filter(|&ticks| ticks > 0)
        .unwrap_or(100);
    let since_boot = u128::from(ticks) * 1_000_000_000 / u128::from(ticks_a_second);
    let age = clocks.boottime_ns.saturating_sub(since_boot as u64);
    clocks.monotonic - Nanos(age)
}

fn read(clock: ClockId) -> u64 {
    // These clocks exist on every Linux that sprof can run on.
    clock_gettime(clock).map_or(0, |time| {
        time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
    })
}
