//! Signals as input: blocked, and read where they are waited for.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;

/// What sprof was started with, to be given on to the program it launches. Rust's runtime sets
/// SIGPIPE to be ignored before `main`, so it must be read before that.
static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static SIGCHLD_IGNORED: AtomicBool = AtomicBool::new(false);
static SIGXFSZ_IGNORED: AtomicBool = AtomicBool::new(false);

// SAFETY: the C runtime calls the functions of this section once, before the Rust runtime starts;
// `note_dispositions` needs nothing of either.
#[unsafe(link_section = ".init_array")]
#[used]
static NOTE_DISPOSITIONS: extern "C" fn() = note_dispositions;

extern "C" fn note_dispositions() {
    SIGPIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    SIGCHLD_IGNORED.store(is_ignored(libc::SIGCHLD), Ordering::Relaxed);
    SIGXFSZ_IGNORED.store(is_ignored(libc::SIGXFSZ), Ordering::Relaxed);
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `action` is valid for the call, which only writes it.
    let answer = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all-zero bytes are a valid sigaction, so it is initialized in either case.
    let action = unsafe { action.assume_init() };
    answer == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Sets the signals that sprof has changed for itself to what sprof was started with. Async-signal-safe.
pub(super) fn restore_dispositions() {
    let restored = [
        (libc::SIGPIPE, &SIGPIPE_IGNORED),
        (libc::SIGCHLD, &SIGCHLD_IGNORED),
        (libc::SIGXFSZ, &SIGXFSZ_IGNORED),
    ];
    for (signal, ignored) in restored {
        let action = if ignored.load(Ordering::Relaxed) {
            libc::SIG_IGN
        } else {
            libc::SIG_DFL
        };
        // SAFETY: neither disposition runs code of ours.
        unsafe { libc::signal(signal, action) };
    }
}

/// The signal by which traced threads report.
pub fn child_signals() -> SigSet {
    [Signal::SIGCHLD].into_iter().collect()
}

/// The signals that end a recording.
pub fn stop_signals() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .collect()
}

/// The signal that pauses a recording, and the next one goes on with it.
pub fn pause_signal() -> Signal {
    Signal::SIGUSR2
}

/// Blocks signals in the calling thread and those it will start, to be read from
/// [`signal_source`]; answers the mask before. An ignored SIGCHLD would report nothing, so it is
/// set to its default, which does the same while it is blocked. Writing beyond the limit of a file's
/// size becomes an error instead of a signal.
///
/// # Errors
/// The system's.
pub fn block(signals: &SigSet) -> Result<SigSet, Errno> {
    // SAFETY: the default disposition runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    // SAFETY: an ignored signal runs no code of ours.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    signals.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK)
}

/// Something to wait on for blocked signals.
///
/// # Errors
/// The system's.
pub fn signal_source(signals: &SigSet) -> Result<SignalFd, Errno> {
    SignalFd::with_flags(signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
}

/// Wakes a thread that waits for input.
#[derive(Debug)]
pub struct Wake(EventFd);

impl Wake {
    /// A new one, not set.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> Result<Wake, Errno> {
        EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).map(Wake)
    }

    /// Wakes the one that waits; stays set.
    pub fn set(&self) {
        // A full counter is set already.
        let _ = self.0.write(1);
    }

    /// Is not set any more.
    pub fn clear(&self) {
        // An empty one is not set.
        let _ = self.0.read();
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Many sources of input as one.
#[derive(Debug)]
pub struct Gathered(Epoll);

impl Gathered {
    /// Gathers sources, which must stay open as long as they are to be heard of.
    ///
    /// # Errors
    /// The system's.
    pub fn new<'a>(sources: impl Iterator<Item = BorrowedFd<'a>>) -> Result<Gathered, Errno> {
        let gathered = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        for source in sources {
            gathered.add(source, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
        }
        Ok(Gathered(gathered))
    }

    /// Forgets the input there was up to now, for sources that tell of it once.
    pub fn clear(&self) {
        let mut events = [EpollEvent::empty(); 16];
        while self.0.wait(&mut events, EpollTimeout::ZERO) == Ok(events.len()) {}
    }
}

impl AsFd for Gathered {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.0.as_fd()
    }
}

/// Sleep in place of a wait that failed.
const BLIND_WAIT: Duration = Duration::from_millis(1);

/// Waits until one of the sources has input or the time is over (`None`: no limit); answers which
/// have. A signal handled elsewhere is no input. Where the system cannot wait, a limit is slept
/// away piece by piece, and without one all are said to have input: nobody may wait for ever.
pub fn wait_for_input<const N: usize>(
    sources: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> [bool; N] {
    let mut polled = sources.map(|source| PollFd::new(source, PollFlags::POLLIN));
    let answer = ppoll(&mut polled, timeout.map(TimeSpec::from_duration), None);
    match (answer, timeout) {
        (Ok(_), _) => polled.map(|poll| poll.any().unwrap_or(false)),
        (Err(Errno::EINTR), _) => [false; N],
        (Err(_), Some(timeout)) => {
            std::thread::sleep(timeout.min(BLIND_WAIT));
            [false; N]
        }
        (Err(_), None) => [true; N],
    }
}
