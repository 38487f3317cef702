//! Whether the target is being held: sprof's other threads then give way.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set while the engine waits for the target's threads to stop. A thread that is ready to run
/// must get a CPU to run into its stop; while sprof itself unwinds on that CPU it does not, and
/// all others are held for longer.
#[derive(Debug, Default)]
pub struct HoldFlag(AtomicBool);

impl HoldFlag {
    pub(super) fn set(&self, is_held: bool) {
        self.0.store(is_held, Ordering::Relaxed);
    }

    /// Lets others on this CPU first, if the target is held now.
    pub fn give_way(&self) {
        if self.0.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    }
}
