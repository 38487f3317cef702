//! Files mapped into memory.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

/// A file mapped read-only.
#[derive(Debug)]
pub struct MappedFile(memmap2::Mmap);

impl MappedFile {
    /// Maps the whole of a file.
    ///
    /// # Errors
    /// The system's, and `InvalidInput` for an empty file, which cannot be mapped.
    pub fn new(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the mapping is read-only and private. If someone else shrinks or overwrites the
        // file, reads of it may see other bytes or end the process by SIGBUS; object files in use
        // are replaced by rename in practice, and everything read from them is bounds-checked.
        unsafe { memmap2::Mmap::map(file) }.map(MappedFile)
    }
}

impl std::ops::Deref for MappedFile {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
