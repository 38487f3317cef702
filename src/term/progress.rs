//! Progress of what takes more than a second.

use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows no progress: a bar that flashes by is noise.
const QUIET: Duration = Duration::from_secs(1);

/// How much there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// So many things.
    Count(u64),
    /// So many bytes.
    Bytes(u64),
    /// Nobody knows.
    Unknown,
}

/// A progress bar on standard error, where that is a terminal; elsewhere it does nothing.
/// It appears after a second and is erased when it is dropped.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    work: Work,
    begun: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Begins work, named by what is being done: `symbolizing`.
    pub fn new(what: &'static str, work: Work) -> Progress {
        Progress {
            what,
            work,
            begun: Instant::now(),
            wanted: stderr().is_terminal(),
            bar: None,
        }
    }

    /// Names what is being done anew.
    pub fn set_what(&mut self, what: &'static str) {
        if self.what != what {
            self.what = what;
            if let Some(bar) = &self.bar {
                bar.set_message(what);
            }
        }
    }

    /// Tells how much is done by now.
    pub fn set(&mut self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        } else if self.wanted && self.begun.elapsed() >= QUIET {
            let bar = self.draw();
            bar.set_position(done);
            super::logger::set_bar(Some(bar.clone()));
            self.bar = Some(bar);
        }
    }

    /// Tells how much there is to do, once that is known.
    pub fn set_work(&mut self, work: Work) {
        self.work = work;
        if let (Some(bar), Work::Count(length) | Work::Bytes(length)) = (&self.bar, work) {
            bar.set_length(length);
        }
    }

    fn draw(&self) -> ProgressBar {
        let (length, template) = match self.work {
            Work::Count(length) => (
                Some(length),
                "{msg} [{bar:30}] {human_pos} of {human_len}, {eta}",
            ),
            Work::Bytes(length) => (
                Some(length),
                "{msg} [{bar:30}] {bytes} of {total_bytes}, {eta}",
            ),
            Work::Unknown => (None, "{msg} {spinner} {human_pos}, {elapsed}"),
        };
        let style = ProgressStyle::with_template(template)
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("=> ");
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
        bar.with_style(style).with_message(self.what)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            super::logger::set_bar(None);
            bar.finish_and_clear();
        }
    }
}
