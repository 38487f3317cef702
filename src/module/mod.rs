//! Object files: opened once, checked to be the file that was mapped.
