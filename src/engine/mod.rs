//! Taking one tick: registers and stacks of all threads at one instant.
//!
//! An engine hands out *snapshots*: registers, stack bytes, a state, and where there is no stack
//! the reason. Nothing behind it sees a live process, so every engine feeds the same unwinder.

pub mod barrier;
mod buffer;
mod event;
mod hold;
mod records;
mod refusal;
mod scope;
pub mod stop;

pub use buffer::{Amendment, Snapshot, TickBuffer};
pub use event::TreeEvent;
pub use hold::HoldFlag;
pub use refusal::{AttachError, Refusal};
pub use scope::Scope;

use crate::profile::{Pid, Tid, Timestamp};
use crate::sys::Wake;

/// Why [`Engine::serve`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// The time is there.
    Due,
    /// Someone set the wake.
    Woken,
    /// All of the target has ended.
    NobodyLeft,
}

/// A way of taking ticks. All calls come from one thread, the tracer; when that thread ends,
/// the target runs on as if it had never been traced.
pub trait Engine {
    /// Serves what happens in the target, at once when it happens, until the time `until`.
    fn serve(&mut self, until: Timestamp, wake: &Wake, report: &mut dyn FnMut(TreeEvent))
    -> Served;

    /// Takes one instant of the whole target: fills `buffer` with a snapshot of every thread, or of
    /// every one that may have run since its last ([`TickBuffer::carries`]), and lets it run on.
    /// Births and deaths met on the way are reported before it returns.
    fn tick(&mut self, buffer: &mut TickBuffer, report: &mut dyn FnMut(TreeEvent));

    /// Why another engine would cost this target less, in words; `None`: it would not.
    fn too_costly(&self) -> Option<String> {
        None
    }

    /// Reports what is known and was not yet reported, as no tick will follow.
    fn finish(&mut self, _report: &mut dyn FnMut(TreeEvent)) {}

    /// All threads of the target, each after its process.
    fn threads(&self) -> Vec<(Pid, Tid)>;
}
