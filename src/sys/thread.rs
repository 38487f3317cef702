//! Threads of ours.

use std::thread::{Builder, JoinHandle};

use nix::errno::Errno;

/// Starts a thread.
///
/// # Errors
/// The system's: unlike memory, threads do run out, by limits of users and containers.
pub fn start_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Errno> {
    Builder::new()
        .spawn(work)
        .map_err(|error| error.raw_os_error().map_or(Errno::EAGAIN, Errno::from_raw))
}
