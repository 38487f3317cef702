//! The bytes of one record. Layouts: `include/uapi/linux/perf_event.h`, `enum perf_event_type`,
//! for events with `sample_type` TID, TIME, CPU and `sample_id_all`.

use perf_event_open_sys::bindings;

use crate::memory::Registers;
use crate::process::MapEntry;
use crate::profile::{Address, Pid, Tid, Timestamp};

/// One record: what happened, to whom, when and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Record {
    /// The process, in this PID namespace.
    pub(in crate::engine) pid: Pid,
    /// The thread.
    pub(in crate::engine) tid: Tid,
    pub(in crate::engine) time: Timestamp,
    pub(in crate::engine) cpu: u32,
    pub(in crate::engine) kind: Kind,
    /// Bytes it takes in its ring.
    pub(in crate::engine) size: u16,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Kind {
    /// The thread came to the CPU.
    SwitchIn,
    /// It left the CPU; `is_ready`: it was made to, and goes on as soon as it may.
    SwitchOut { is_ready: bool },
    /// Its registers and stack, as it is about to leave the CPU.
    Stack(StackPlace),
    /// It was born of this process and thread.
    Born { parent: Pid, creator: Tid },
    /// It ends.
    Exit,
    /// It bears this name from now on.
    Name(String),
    /// Its process runs a new program, and no other thread any more.
    Exec(String),
    /// Code is mapped.
    Map(Box<MapEntry>),
    /// So many records before this one had no room.
    Lost(u64),
    /// Of no interest.
    Other,
}

/// Where a stack lies in its ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct StackPlace {
    pub(super) ring: usize,
    /// `None`: the thread runs no 64-bit code.
    pub(super) registers_at: Option<u64>,
    pub(super) stack_at: u64,
    /// Bytes that could be copied.
    pub(in crate::engine) stack_len: u32,
}

/// Bytes in front of each record: type, flags, size.
pub(super) const HEADER: usize = 8;
/// Bytes of the registers: bx, …, as [`registers`] reads them.
pub(super) const REGISTER_BYTES: usize = 17 * 8;
/// Of a stack record, what stands in front of the registers: header, thread, time, CPU, ABI.
const STACK_FRONT: usize = 40;
/// What stands at the end of all other records: thread, time, CPU.
const TRAILER: usize = 24;

/// The bytes of a record, and how many of them [`decode`] wants to see.
pub(super) fn lengths(header: [u8; HEADER]) -> Option<(u16, usize)> {
    let (kind, size) = (u32_at(&header, 0)?, u16_at(&header, 6)?);
    if usize::from(size) < HEADER || size % 8 != 0 {
        return None;
    }
    let wanted = match kind {
        bindings::PERF_RECORD_SAMPLE => STACK_FRONT.min(size.into()),
        _ => size.into(),
    };
    Some((size, wanted))
}

/// Decodes a record from its bytes; `None`: it cannot be one. Of a stack record only the front is
/// looked at.
pub(in crate::engine) fn decode(bytes: &[u8]) -> Option<Record> {
    let (kind, flags, size) = (
        u32_at(bytes, 0)?,
        u32::from(u16_at(bytes, 4)?),
        u16_at(bytes, 6)?,
    );
    if kind == bindings::PERF_RECORD_SAMPLE {
        let is_64_bit = u64_at(bytes, 32)? == u64::from(bindings::PERF_SAMPLE_REGS_ABI_64);
        return Some(Record {
            pid: Pid(u32_at(bytes, 8)? as i32),
            tid: Tid(u32_at(bytes, 12)? as i32),
            time: Timestamp(u64_at(bytes, 16)?),
            cpu: u32_at(bytes, 24)?,
            kind: Kind::Stack(StackPlace {
                registers_at: is_64_bit.then_some(0),
                ..StackPlace::default()
            }),
            size,
        });
    }
    let trailer = bytes
        .len()
        .checked_sub(TRAILER)
        .filter(|&at| at >= HEADER)?;
    let mut record = Record {
        pid: Pid(u32_at(bytes, trailer)? as i32),
        tid: Tid(u32_at(bytes, trailer + 4)? as i32),
        time: Timestamp(u64_at(bytes, trailer + 8)?),
        cpu: u32_at(bytes, trailer + 16)?,
        kind: Kind::Other,
        size,
    };
    let body = &bytes[HEADER..trailer];
    match kind {
        bindings::PERF_RECORD_SWITCH => {
            record.kind = if flags & bindings::PERF_RECORD_MISC_SWITCH_OUT == 0 {
                Kind::SwitchIn
            } else {
                let is_ready = flags & bindings::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT != 0;
                Kind::SwitchOut { is_ready }
            };
        }
        bindings::PERF_RECORD_FORK | bindings::PERF_RECORD_EXIT => {
            // Child's process, its parent's, child's thread, its parent's.
            record.pid = Pid(u32_at(body, 0)? as i32);
            record.tid = Tid(u32_at(body, 8)? as i32);
            let parent = Pid(u32_at(body, 4)? as i32);
            record.kind = match kind {
                bindings::PERF_RECORD_FORK => Kind::Born {
                    parent,
                    creator: Tid(u32_at(body, 12)? as i32),
                },
                _ => Kind::Exit,
            };
        }
        bindings::PERF_RECORD_COMM => {
            record.pid = Pid(u32_at(body, 0)? as i32);
            record.tid = Tid(u32_at(body, 4)? as i32);
            let name = text(body.get(8..)?);
            record.kind = if flags & bindings::PERF_RECORD_MISC_COMM_EXEC == 0 {
                Kind::Name(name)
            } else {
                Kind::Exec(name)
            };
        }
        bindings::PERF_RECORD_MMAP2 => record.kind = map(body)?,
        bindings::PERF_RECORD_LOST => record.kind = Kind::Lost(u64_at(body, 8)?),
        bindings::PERF_RECORD_LOST_SAMPLES => record.kind = Kind::Lost(u64_at(body, 0)?),
        _ => {}
    }
    Some(record)
}

/// Process, thread, address, length, file offset, device (major, minor), inode, its generation,
/// protection, flags, path.
fn map(body: &[u8]) -> Option<Kind> {
    let start = u64_at(body, 8)?;
    let protection = u32_at(body, 56)?;
    if protection & nix::libc::PROT_EXEC as u32 == 0 {
        return Some(Kind::Other);
    }
    let (major, minor) = (u64::from(u32_at(body, 32)?), u64::from(u32_at(body, 36)?));
    let path = text(body.get(64..)?);
    let kept = path.strip_suffix(" (deleted)");
    Some(Kind::Map(Box::new(MapEntry {
        start: Address(start),
        end: Address(start.checked_add(u64_at(body, 16)?)?),
        is_executable: true,
        is_writable: protection & nix::libc::PROT_WRITE as u32 != 0,
        file_offset: u64_at(body, 24)?,
        device: nix::libc::makedev(major as u32, minor as u32),
        inode: u64_at(body, 40)?,
        path: match kept.unwrap_or(&path) {
            "//anon" => String::new(),
            path => path.to_owned(),
        },
        is_deleted: kept.is_some(),
    })))
}

impl StackPlace {
    /// Finds the parts of a stack record of `size` bytes at `position`.
    pub(super) fn locate(&mut self, position: u64, size: u64, mut word: impl FnMut(u64) -> u64) {
        if self.registers_at.is_none() {
            // Of another ABI there are other registers, which nobody reads; none where it is none.
            return;
        }
        let registers_at = position + STACK_FRONT as u64;
        let length_at = registers_at + REGISTER_BYTES as u64;
        // The length of what was meant to be copied; the bytes; the length of what was copied.
        let meant = word(length_at);
        let end = position + size;
        let copied_at = (length_at + 8).saturating_add(meant);
        let copied = if meant > 0 && copied_at.saturating_add(8) <= end {
            word(copied_at).min(meant)
        } else {
            0
        };
        self.registers_at = (length_at + 8 <= end).then_some(registers_at);
        self.stack_at = length_at + 8;
        self.stack_len = copied as u32;
    }
}

/// Registers in the order of their perf numbers: ax, bx, cx, dx, si, di, bp, sp, ip, r8 to r15.
pub(super) fn registers(bytes: &[u8; REGISTER_BYTES]) -> Registers {
    let word = |index: usize| u64_at(bytes, index * 8).unwrap_or_default();
    let [ax, bx, cx, dx, si, di, bp, sp] = std::array::from_fn(word);
    let mut general = [ax, dx, cx, bx, si, di, bp, sp, 0, 0, 0, 0, 0, 0, 0, 0];
    for (index, register) in general[8..].iter_mut().enumerate() {
        *register = word(9 + index);
    }
    Registers {
        general,
        ip: Address(word(8)),
        fs_base: 0,
        unknown: 0,
    }
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at.checked_add(2)?)?;
    field.try_into().ok().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    field.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(8)?)?;
    field.try_into().ok().map(u64::from_le_bytes)
}
