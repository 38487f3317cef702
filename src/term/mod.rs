//! The only place that prints: results to stdout; progress, messages and hints to stderr.
