//! What the calling thread of a recording is told while it waits.

use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::profile::Pid;
use crate::sys::{self, Errno};

/// Something to react to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// A signal asks for the end.
    Signal(i32),
    /// A signal asks for a pause, or for its end.
    PauseOrResume,
    /// All there was to record has been.
    Recorded,
    /// The launched command has ended.
    CommandEnded,
}

/// Where notices arrive.
///
/// Signals are waited for by a thread of their own: a signal descriptor would wake its reader at
/// every signal of the process, and each stop of the target is one.
#[derive(Debug)]
pub(super) struct Notices {
    send: Sender<Notice>,
    receive: Receiver<Notice>,
}

impl Notices {
    /// Begins to watch for [`sys::stop_signals`] and [`sys::pause_signal`], which must be blocked in all threads.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new() -> Result<Notices, Errno> {
        let (send, receive) = channel();
        let signals = send.clone();
        sys::start_thread(move || {
            let mut watched = sys::stop_signals();
            watched.add(sys::pause_signal());
            while let Ok(signal) = watched.wait() {
                let notice = match signal {
                    signal if signal == sys::pause_signal() => Notice::PauseOrResume,
                    signal => Notice::Signal(signal as i32),
                };
                if signals.send(notice).is_err() {
                    return;
                }
            }
        })?;
        Ok(Notices { send, receive })
    }

    /// For those who have something to tell.
    pub(super) fn sender(&self) -> Sender<Notice> {
        self.send.clone()
    }

    /// The next notice, if one comes in time.
    pub(super) fn next(&self, patience: Duration) -> Option<Notice> {
        self.receive.recv_timeout(patience).ok()
    }

    /// Whether a signal has come meanwhile.
    pub(super) fn has_signal(&self) -> bool {
        self.receive
            .try_iter()
            .any(|notice| matches!(notice, Notice::Signal(_)))
    }

    /// Waits until `command` has ended (`None`), or a signal comes.
    pub(super) fn until_ended(&self, command: Pid) -> Option<i32> {
        let ended = sys::open_pidfd(command).ok()?;
        let send = self.sender();
        sys::start_thread(move || {
            sys::wait_for_input([ended.as_fd()], None);
            // Nobody waits any more after a signal.
            let _ = send.send(Notice::CommandEnded);
        })
        .ok()?;
        loop {
            match self.receive.recv() {
                Ok(Notice::Signal(signal)) => return Some(signal),
                Ok(Notice::CommandEnded) | Err(_) => return None,
                Ok(Notice::Recorded | Notice::PauseOrResume) => {}
            }
        }
    }
}
