//! Module offsets to functions, inlined functions, files and lines.
