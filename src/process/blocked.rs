//! What a thread is blocked in: `/proc/PID/task/TID/syscall`.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::memory::Registers;
use crate::profile::{Address, Pid, Tid};

/// A thread that is off its CPU, as the kernel shows it without stopping it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// Number of its system call; `None`: it is blocked in none, but in a fault or a stop.
    pub syscall: Option<u64>,
    /// Its registers, as far as they are shown.
    pub registers: Registers,
}

/// DWARF numbers of the registers that hold a system call's arguments: rdi, rsi, rdx, r10, r8, r9
/// (System V ABI, AMD64 supplement, A.2.1).
const ARGUMENTS: [usize; 6] = [5, 4, 1, 10, 8, 9];

/// What a thread is blocked in; `None`: it runs, is ready to, is gone, or may not be looked at.
pub fn blocked(pid: Pid, tid: Tid) -> Option<Blocked> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall"));
    parse_blocked(&text.ok()?)
}

/// The same from its open `syscall` file. Allocates nothing.
pub fn read_blocked(file: &File) -> Option<Blocked> {
    let mut text = [0; 256];
    let length = file.read_at(&mut text, 0).ok()?;
    parse_blocked(std::str::from_utf8(&text[..length]).ok()?)
}

/// Reads the text of a syscall file: the number, six arguments, stack pointer and instruction
/// pointer; or -1 and the two pointers; or `running` (`fs/proc/base.c`, `proc_pid_syscall`).
pub(super) fn parse_blocked(text: &str) -> Option<Blocked> {
    let mut words = text.split_whitespace();
    let syscall = words.next()?.parse::<i64>().ok()?;
    let mut hex = || {
        let digits = words.next()?.strip_prefix("0x")?;
        u64::from_str_radix(digits, 16).ok()
    };
    let mut registers = Registers {
        unknown: !(1 << Registers::SP),
        ..Registers::default()
    };
    let syscall = u64::try_from(syscall).ok();
    if syscall.is_some() {
        for register in ARGUMENTS {
            registers.general[register] = hex()?;
            registers.unknown &= !(1 << register);
        }
    }
    registers.general[Registers::SP] = hex()?;
    registers.ip = Address(hex()?);
    Some(Blocked { syscall, registers })
}
