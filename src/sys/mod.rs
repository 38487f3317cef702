//! Safe wrappers over system calls: the only place with `unsafe`.

mod mmap;

pub use mmap::MappedFile;
