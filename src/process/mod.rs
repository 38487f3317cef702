//! Processes, threads and mappings as the kernel shows them.
