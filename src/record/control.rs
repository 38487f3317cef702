//! What the tracer is told from outside while it works.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::sys::{self, Wake};

/// Ends or pauses the tracer's loop from another thread.
#[derive(Debug)]
pub(super) struct Control {
    is_stopped: AtomicBool,
    is_paused: AtomicBool,
    /// Is set when something has changed.
    pub(super) wake: Wake,
}

impl Control {
    /// # Errors
    /// The system's.
    pub(super) fn new(is_paused: bool) -> Result<Control, sys::Errno> {
        Ok(Control {
            is_stopped: AtomicBool::new(false),
            is_paused: AtomicBool::new(is_paused),
            wake: Wake::new()?,
        })
    }

    /// Ends the recording.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.wake.set();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Pauses the recording, or goes on with it.
    pub(super) fn pause_or_resume(&self) {
        self.is_paused.fetch_xor(true, Ordering::AcqRel);
        self.wake.set();
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }
}
