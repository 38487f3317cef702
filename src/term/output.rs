//! Results and messages.

use std::io::{self, BufWriter, StdoutLock, Write};

/// Standard output, locked and buffered. What is left in it is written by `flush`, whose error
/// counts: dropping it loses that error.
pub type Stdout = BufWriter<StdoutLock<'static>>;

/// Standard output for a result that is written piece by piece.
pub fn stdout() -> Stdout {
    BufWriter::with_capacity(64 * 1024, io::stdout().lock())
}

/// Writes a result to standard output, all of it.
///
/// # Errors
/// The system's: a full disk, or a reader that has gone (`BrokenPipe`).
pub fn print(text: &str) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Tells people something, as lines of standard error. A standard error that cannot be written
/// to is no reason to fail: there is nobody to tell it.
pub fn message(text: &str) {
    super::logger::above_progress(|| {
        let mut err = io::stderr().lock();
        let _ = err.write_all(text.trim_end_matches('\n').as_bytes());
        let _ = err.write_all(b"\n");
    });
}
