//! The way from the tracer to the unwinder.
//!
//! Waking a thread takes the one who wakes it several microseconds, and the target a CPU for a
//! moment; at each tick that is much. So the unwinder looks by itself, some tens of times a second,
//! and is woken only where it must not wait.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use super::tracer::Message;

/// The tracer's end.
#[derive(Clone, Debug)]
pub(super) struct ToUnwinder {
    send: Sender<Message>,
    unwinder: Arc<OnceLock<Thread>>,
}

/// The unwinder's end.
#[derive(Debug)]
pub(super) struct FromTracer {
    receive: Receiver<Message>,
    unwinder: Arc<OnceLock<Thread>>,
    /// The engine is waiting for what the unwinder finds out.
    pub(super) is_urgent: bool,
}

/// The unwinder looks for messages this often…
const PAUSE: Duration = Duration::from_millis(20);
/// …and this often while the engine can use what it finds out.
const SHORT_PAUSE: Duration = Duration::from_millis(2);

/// A new way, both ends.
pub(super) fn to_unwinder() -> (ToUnwinder, FromTracer) {
    let (send, receive) = channel();
    let unwinder = Arc::<OnceLock<Thread>>::default();
    let to = ToUnwinder {
        send,
        unwinder: Arc::clone(&unwinder),
    };
    let from = FromTracer {
        receive,
        unwinder,
        is_urgent: true,
    };
    (to, from)
}

impl ToUnwinder {
    /// Sends a message, which is found within a few milliseconds.
    pub(super) fn send(&self, message: Message) {
        // The unwinder may have given up (a full disk): the stop flag is set then.
        let _ = self.send.send(message);
    }

    /// Lets the unwinder look now.
    pub(super) fn wake(&self) {
        if let Some(unwinder) = self.unwinder.get() {
            unwinder.unpark();
        }
    }
}

impl Iterator for FromTracer {
    type Item = Message;

    /// The next message; waits for it. `None`: the tracer has ended.
    fn next(&mut self) -> Option<Message> {
        self.unwinder.get_or_init(std::thread::current);
        loop {
            match self.receive.try_recv() {
                Ok(message) => return Some(message),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {
                    let pause = if self.is_urgent { SHORT_PAUSE } else { PAUSE };
                    std::thread::park_timeout(pause);
                }
            }
        }
    }
}
