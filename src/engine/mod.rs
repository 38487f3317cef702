//! Taking one tick: stop, copy, resume.
