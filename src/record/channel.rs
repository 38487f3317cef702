//! The way from the tracer to the unwinder.
//!
//! Waking a thread takes the one who wakes it several microseconds, and the target a CPU for a
//! moment; at each tick that is much. So the unwinder looks by itself, some tens of times a second,
//! and is woken only where it must not wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use super::tracer::Message;

/// The tracer's end. When the last one is dropped, the unwinder learns of it at once.
#[derive(Clone, Debug)]
pub(super) struct ToUnwinder {
    // Dropped in this order: whoever is woken finds that no more will come.
    send: Sender<Message>,
    unwinder: Arc<Sleeper>,
    _end: WakeAtEnd,
}

/// The unwinder's end.
#[derive(Debug)]
pub(super) struct FromTracer {
    receive: Receiver<Message>,
    unwinder: Arc<Sleeper>,
    /// The engine is waiting for what the unwinder finds out.
    pub(super) is_urgent: bool,
    /// Pauses since there was more than quiet ticks.
    quiet_pauses: u32,
    long_pause: Duration,
}

/// The unwinder, as the tracer sees it.
#[derive(Debug, Default)]
struct Sleeper {
    thread: OnceLock<Thread>,
    /// It is to be woken for all but quiet ticks.
    is_dozing: AtomicBool,
}

impl Sleeper {
    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Wakes the unwinder when it is dropped.
#[derive(Clone, Debug)]
struct WakeAtEnd(Arc<Sleeper>);

impl Drop for WakeAtEnd {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// The unwinder looks for messages this often…
const PAUSE: Duration = Duration::from_millis(20);
/// …this often while the engine can use what it finds out…
const SHORT_PAUSE: Duration = Duration::from_millis(2);
/// …and this often where there were only quiet ticks in the last few pauses. All else wakes it then.
const LONG_PAUSE: Duration = Duration::from_millis(200);
const QUIET_PAUSES: u32 = 10;

/// A new way, both ends.
pub(super) fn to_unwinder() -> (ToUnwinder, FromTracer) {
    let (send, receive) = channel();
    let unwinder = Arc::<Sleeper>::default();
    let to = ToUnwinder {
        send,
        unwinder: Arc::clone(&unwinder),
        _end: WakeAtEnd(Arc::clone(&unwinder)),
    };
    let from = FromTracer {
        receive,
        unwinder,
        is_urgent: true,
        quiet_pauses: 0,
        long_pause: LONG_PAUSE,
    };
    (to, from)
}

impl ToUnwinder {
    /// Sends a message, which is found within a few milliseconds; a quiet tick later.
    pub(super) fn send(&self, message: Message) {
        let is_quiet = matches!(message, Message::Quiet(_));
        // The unwinder may have given up (a full disk): the stop flag is set then.
        let _ = self.send.send(message);
        if !is_quiet && self.unwinder.is_dozing.swap(false, Ordering::SeqCst) {
            self.unwinder.wake();
        }
    }

    /// Lets the unwinder look now.
    pub(super) fn wake(&self) {
        self.unwinder.wake();
    }
}

impl Iterator for FromTracer {
    type Item = Message;

    /// The next message; waits for it. `None`: the tracer has ended.
    fn next(&mut self) -> Option<Message> {
        self.unwinder.thread.get_or_init(std::thread::current);
        let mut may_doze = false;
        loop {
            match self.receive.try_recv() {
                Ok(message) => {
                    if may_doze {
                        self.unwinder.is_dozing.store(false, Ordering::SeqCst);
                    }
                    if !matches!(message, Message::Quiet(_)) {
                        self.quiet_pauses = 0;
                    }
                    return Some(message);
                }
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            if may_doze {
                std::thread::park_timeout(self.long_pause);
                self.unwinder.is_dozing.store(false, Ordering::SeqCst);
                may_doze = false;
            } else if self.is_urgent {
                std::thread::park_timeout(SHORT_PAUSE);
            } else if self.quiet_pauses < QUIET_PAUSES {
                self.quiet_pauses += 1;
                std::thread::park_timeout(PAUSE);
            } else {
                // Whoever sends from here on wakes it. What was sent before is there: look again.
                self.unwinder.is_dozing.store(true, Ordering::SeqCst);
                may_doze = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
    use std::time::Duration;

    use super::{QUIET_PAUSES, ToUnwinder, to_unwinder};
    use crate::profile::Timestamp;
    use crate::record::tracer::{Message, QuietTick};

    /// The way to an unwinder that would now sleep for an hour, and what it gets.
    fn dozing() -> (ToUnwinder, Receiver<Message>) {
        let (to, mut from) = to_unwinder();
        from.is_urgent = false;
        from.quiet_pauses = QUIET_PAUSES;
        from.long_pause = Duration::from_secs(3600);
        let (tell, told) = channel();
        std::thread::spawn(move || from.try_for_each(|message| tell.send(message)));
        while !to.unwinder.is_dozing.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        (to, told)
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    #[test]
    fn news_wake_an_unwinder_that_dozes() {
        let (to, told) = dozing();
        let time = Timestamp(7);
        to.send(Message::Quiet(QuietTick {
            index: 0,
            planned: time,
            time,
        }));
        assert!(to.unwinder.is_dozing.load(Ordering::SeqCst));
        to.send(Message::Dropped { index: 1, time });
        assert!(matches!(told.recv_timeout(PATIENCE), Ok(Message::Quiet(_))));
        let news = told.recv_timeout(PATIENCE);
        assert!(matches!(news, Ok(Message::Dropped { .. })));
    }

    #[test]
    fn the_end_wakes_an_unwinder_that_dozes() {
        let (to, told) = dozing();
        drop(to.clone());
        drop(to);
        let end = told.recv_timeout(PATIENCE);
        assert!(matches!(end, Err(RecvTimeoutError::Disconnected)));
    }
}
