//! Limits of this process.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Allows this process as many open files as it may have: sprof keeps one a thread. Programs it
/// launched before keep the limit they had.
pub fn raise_file_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Refused: the limit stays, and threads beyond it have no CPU times.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
