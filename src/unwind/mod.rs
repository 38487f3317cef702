//! Registers, stack bytes and modules to frames.
