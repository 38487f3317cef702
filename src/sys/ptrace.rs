//! The ptrace requests that sprof makes. All but [`seize`] must come from the thread that seized.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::unistd::Pid as NixPid;

use crate::memory::Registers;
use crate::profile::{Address, Tid};

/// The registers of a stopped thread, and what they say of the system call it was in.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawRegisters {
    /// What an unwinder needs.
    pub registers: Registers,
    /// The system call the thread is in, negative when in none.
    pub syscall: i64,
    /// What the call answers, when it answers (negative: an error number).
    pub result: i64,
    /// Whether the thread runs 64-bit code.
    pub is_64_bit: bool,
}

/// `__USER_CS` of x86-64 Linux (arch/x86/include/asm/segment.h): code segment of 64-bit programs.
const USER_CODE_64: u64 = 0x33;

/// Begins to trace a thread without stopping it. Its future threads and children are traced from
/// their first instruction on; if sprof dies, all of them run on untraced.
///
/// `follow`: also the processes it forks, not only its threads.
///
/// # Errors
/// `EPERM`: not allowed, already traced, or ending; `ESRCH`: gone.
pub fn seize(tid: Tid, follow: bool) -> Result<(), Errno> {
    use ptrace::Options as O;
    let mut options = O::PTRACE_O_TRACECLONE | O::PTRACE_O_TRACEEXEC | O::PTRACE_O_TRACEEXIT;
    if follow {
        options |= O::PTRACE_O_TRACEFORK | O::PTRACE_O_TRACEVFORK | O::PTRACE_O_TRACEVFORKDONE;
    }
    ptrace::seize(NixPid::from_raw(tid.0), options)
}

/// Asks a traced thread to stop; the stop is to be waited for.
///
/// # Errors
/// `ESRCH`: gone, or not traced.
pub fn interrupt(tid: Tid) -> Result<(), Errno> {
    ptrace::interrupt(NixPid::from_raw(tid.0))
}

/// Lets a stopped thread run on, with this signal delivered (0: none).
///
/// # Errors
/// `ESRCH`: gone (killed while it was stopped), or not stopped.
pub fn resume(tid: Tid, signal: i32) -> Result<(), Errno> {
    request(libc::PTRACE_CONT, tid, signal as usize)
}

/// Leaves a thread in its group stop, as it would be without a tracer, and stays informed.
///
/// # Errors
/// As [`resume`].
pub fn listen(tid: Tid) -> Result<(), Errno> {
    request(libc::PTRACE_LISTEN, tid, 0)
}

/// The number that comes with an event stop: a new thread's tid, an exit status, a former tid.
///
/// # Errors
/// As [`resume`].
pub fn event_message(tid: Tid) -> Result<i64, Errno> {
    ptrace::getevent(NixPid::from_raw(tid.0))
}

/// The registers of a stopped thread.
///
/// # Errors
/// As [`resume`].
pub fn registers(tid: Tid) -> Result<RawRegisters, Errno> {
    let r = ptrace::getregs(NixPid::from_raw(tid.0))?;
    let general = [
        r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12,
        r.r13, r.r14, r.r15,
    ];
    Ok(RawRegisters {
        registers: Registers {
            general,
            ip: Address(r.rip),
            fs_base: r.fs_base,
            unknown: 0,
        },
        syscall: r.orig_rax as i64,
        result: r.rax as i64,
        is_64_bit: r.cs == USER_CODE_64,
    })
}

/// Has the kernel take up a call again that a stop made answer `EINTR`, unless a signal handler is
/// to run: what it does of itself for the calls that know how to (`ERESTARTNOHAND`,
/// include/linux/errno.h).
///
/// # Errors
/// As [`resume`].
pub fn restart_call(tid: Tid) -> Result<(), Errno> {
    const ERESTARTNOHAND: i64 = -514;
    let tid = NixPid::from_raw(tid.0);
    let mut registers = ptrace::getregs(tid)?;
    registers.rax = ERESTARTNOHAND as u64;
    ptrace::setregs(tid, registers)
}

fn request(request: libc::c_uint, tid: Tid, data: usize) -> Result<(), Errno> {
    let no_address: *mut libc::c_void = std::ptr::null_mut();
    // SAFETY: these requests take numbers, not pointers; the kernel checks the thread.
    let answer = unsafe { libc::ptrace(request, tid.0, no_address, data) };
    Errno::result(answer).map(drop)
}
