//! The clock, the loop, the tree and the writer.
