//! Object files: opened once, checked to be the file that was mapped.
//!
//! An [`ObjectFile`] is an ELF file, or an ELF image copied from a target's memory (the vDSO). No
//! field of it is trusted: whatever the bytes say, reading them answers a value or nothing.

mod debug_file;
mod dynamic;
mod elf;
mod file;
mod identity;

pub use debug_file::{DebugMissing, DebugSearch};
pub use dynamic::DynamicSymbols;
pub use elf::Segment;
pub use file::{ObjectFile, OpenError, Section};
pub use identity::{FileIdentity, MappedFileId, open_mapped, open_recorded};

#[cfg(test)]
mod tests;
