//! What a stopped thread's registers say of the system call it was in.

use crate::profile::{Address, RunState};
use crate::sys::RawRegisters;

/// The kernel's answers of a call that was blocked and would be taken up again
/// (include/linux/errno.h: ERESTARTSYS, NOINTR, NOHAND, RESTARTBLOCK).
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];
const EINTR: i64 = -4;

/// System calls that answer `EINTR` to being stopped, although no signal handler ran: those that
/// signal(7) lists under "Interruption of system calls and library functions by stop signals", and
/// what measuring added to them. x86-64 numbers.
const ANSWER_EINTR: [i64; 21] = [
    0, 1, 19, 20, // read, write, readv, writev (of a socket with SO_*TIMEO)
    43, 44, 45, 46, 47, // accept, sendto, recvfrom, sendmsg, recvmsg (with SO_*TIMEO)
    65, 220, // semop, semtimedop
    128, // rt_sigtimedwait
    208, 333, // io_getevents, io_pgetevents
    232, 281, 441, // epoll_wait, epoll_pwait, epoll_pwait2
    288, 299, 307, // accept4, recvmmsg, sendmmsg
    426, // io_uring_enter
];

/// System calls that go on after a stop as if there had been none, with the rest of their timeout,
/// and nothing done by halves: measured, and the kernel's `ERESTART_RESTARTBLOCK`. x86-64 numbers.
const TAKE_NO_HARM: [i64; 16] = [
    7, 271, 23, 270, // poll, ppoll, select, pselect6
    35, 230, // nanosleep, clock_nanosleep
    202, 449, // futex, futex_waitv
    61, 247, 34, 130, // wait4, waitid, pause, rt_sigsuspend
    70, 243, 73,  // msgrcv, mq_timedreceive, flock
    219, // restart_syscall
];

/// Whether a thread that is blocked in this call can be stopped without the call noticing.
pub(super) fn takes_no_harm(syscall: Option<u64>) -> bool {
    syscall.is_some_and(|number| TAKE_NO_HARM.contains(&(number as i64)))
}

/// Whether the stop made a blocked call answer `EINTR`.
pub(super) fn is_cut_short(raw: &RawRegisters) -> bool {
    raw.result == EINTR && ANSWER_EINTR.contains(&raw.syscall)
}

/// Whether the thread was blocked in a system call when it was stopped.
pub(super) fn is_blocked(raw: &RawRegisters) -> bool {
    raw.syscall >= 0 && (RESTARTS.contains(&raw.result) || is_cut_short(raw))
}

/// `restart_syscall`: the kernel takes up a call with a timeout again by it after a stop, and does
/// not tell which one it was.
const RESTART_SYSCALL: i64 = 219;

/// A call that a thread was blocked in, and from where it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) number: u64,
    ip: Address,
    sp: Address,
}

impl Call {
    /// The call that a stopped 64-bit thread is blocked in; `before` is the last it was seen in.
    pub(super) fn of(raw: &RawRegisters, before: Option<Call>) -> Option<Call> {
        if !raw.is_64_bit || !is_blocked(raw) {
            return None;
        }
        let now = Call {
            number: u64::try_from(raw.syscall).ok()?,
            ip: raw.registers.ip,
            sp: raw.registers.sp(),
        };
        // The kernel has the same instruction make the other call.
        let is_same = |before: &Call| (before.ip, before.sp) == (now.ip, now.sp);
        match raw.syscall {
            RESTART_SYSCALL => before.filter(is_same).or(Some(now)),
            _ => Some(now),
        }
    }
}

/// What a thread that stands now was doing: its registers tell, as of the very instant.
pub(super) fn state_of(raw: &RawRegisters) -> RunState {
    if is_blocked(raw) {
        RunState::Sleeping
    } else {
        RunState::Running
    }
}

/// Whether the call was cut short and has no end of its own: taken up again, it goes on as if it
/// had never been stopped. One with a timeout would wait all of it anew: no harm only where it has
/// just begun.
pub(super) fn waits_forever(raw: &RawRegisters) -> bool {
    let [_, rdx, _, _, _, _, _, _, r8, _, r10, ..] = raw.registers.general;
    is_cut_short(raw)
        && match raw.syscall {
            // The timeout is an int: -1.
            232 | 281 => r10 as u32 == u32::MAX,
            65 => true,
            220 | 441 => r10 == 0,
            128 => rdx == 0,
            208 | 333 => r8 == 0,
            _ => false,
        }
}
