//! The logger behind `-v`: lines on standard error, off by default.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indicatif::ProgressBar;
use log::{LevelFilter, Log, Metadata, Record};

static LOGGER: Logger = Logger {
    bar: Mutex::new(None),
    started: Mutex::new(None),
};

/// Where log lines go, and the progress bar that they must not be mixed with.
struct Logger {
    bar: Mutex<Option<ProgressBar>>,
    started: Mutex<Option<Instant>>,
}

/// Turns logging on: at 1 what sprof decides, at 2 and more also why. `variable` is the value of
/// `SPROF_LOG`, a level by its name, which counts where `verbosity` is 0.
pub fn start_logging(verbosity: u8, variable: Option<&str>) {
    let level = match verbosity {
        0 => variable
            .and_then(|level| level.parse().ok())
            .unwrap_or(LevelFilter::Off),
        1 => LevelFilter::Info,
        2 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    };
    *lock(&LOGGER.started) = Some(Instant::now());
    // An error means that a logger is set already: this one, when a test runs twice.
    let _ = log::set_logger(&LOGGER);
    log::set_max_level(level);
}

/// Runs `print` while the progress bar, if one is drawn, is out of the way.
pub(super) fn above_progress(print: impl FnOnce()) {
    let bar = lock(&LOGGER.bar).clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// Makes `bar` the one that lines are kept out of.
pub(super) fn set_bar(bar: Option<ProgressBar>) {
    *lock(&LOGGER.bar) = bar;
}

/// One line: time since the start, level, module, text.
pub(super) fn line(seconds: f64, record: &Record<'_>) -> String {
    let module = record.target().trim_start_matches("sprof::");
    let level = record.level().as_str().to_ascii_lowercase();
    format!("[{seconds:9.3}] {level:5} {module}: {}", record.args())
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Libraries have much to say that helps nobody find out about a recording.
        metadata.target().starts_with("sprof")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let started = *lock(&self.started);
            let seconds = started.map_or(0.0, |started| started.elapsed().as_secs_f64());
            super::message(&line(seconds, record));
        }
    }

    fn flush(&self) {}
}

/// A thread that panicked while it held the lock leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
