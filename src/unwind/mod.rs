//! Registers, stack bytes and modules to frames.
//!
//! An [`AddressSpace`] says which code lies where in one process; an [`Unwinder`] follows the call
//! chain of a thread through a copy of its stack. One unwinder serves all processes: what it has
//! learnt of a module holds wherever the module is mapped. Nothing here reads a live process.
//!
//! A wrong frame is worse than a missing one. Every step must lead up the stack, every return
//! address must lie in executable memory and stand behind a call where the code is at hand;
//! otherwise the stack ends there and says why.

mod cache;
mod cfi;
mod code;
mod cursor;
mod evaluate;
mod lookup;
mod row;
mod space;
mod stack;
mod unwinder;

pub use space::AddressSpace;
pub use unwinder::{MAX_FRAMES, Unwinder, Unwound};

#[cfg(test)]
mod tests;
