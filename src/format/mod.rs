//! The `.sprof` file, written and read. `FORMAT.md` is its specification.
