//! The kernel's records of what threads do, in rings of memory shared with it
//! (`perf_event_open(2)`).
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::libc;
use perf_event_open_sys as perf;
use perf_event_open_sys::bindings;

use crate::profile::Tid;

/// What the kernel is to record of a thread, and of all that it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// When it runs and when not. Permitted for one's own processes, at
    /// `kernel.perf_event_paranoid` 2 also.
    Switches,
    /// Births, deaths, names, code mappings and when it runs; at each switch away from it also its
    /// user registers and so many bytes of its stack. Needs `CAP_PERFMON`, or
    /// `kernel.perf_event_paranoid` 1.
    Stacks {
        /// A multiple of 8, below 65 000.
        bytes: u32,
    },
    /// Births, deaths, names and new programs.
    Births,
}

/// The general registers, and the instruction pointer, by their numbers in
/// `arch/x86/include/uapi/asm/perf_regs.h`: ax, bx, cx, dx, si, di, bp, sp, ip (0 to 8), r8 to r15
/// (16 to 23). A sample has them in this order.
const REGISTERS: u64 = 0x00ff_01ff;

/// Has the kernel record what `watch` says of thread `tid` on one CPU into that CPU's ring, as long
/// as the descriptor stays open; also of the threads and processes it starts. `from_exec`: from
/// when it runs a new program on.
///
/// # Errors
/// `ESRCH`: no such thread. `EACCES`, `EPERM`: not permitted. `EMFILE`: too many files.
pub fn watch(tid: Tid, ring: &PerfRing, watch: Watch, from_exec: bool) -> Result<OwnedFd, Errno> {
    let mut attributes = attributes(bindings::PERF_COUNT_SW_DUMMY);
    attributes.set_inherit(1);
    attributes.set_sample_id_all(1);
    attributes.set_disabled(from_exec.into());
    attributes.set_enable_on_exec(from_exec.into());
    match watch {
        Watch::Switches => {
            attributes.set_exclude_kernel(1);
            attributes.set_context_switch(1);
        }
        Watch::Births => {
            attributes.set_exclude_kernel(1);
            set_births(&mut attributes);
        }
        Watch::Stacks { bytes } => {
            attributes.config = u64::from(bindings::PERF_COUNT_SW_CONTEXT_SWITCHES);
            attributes.__bindgen_anon_1.sample_period = 1;
            attributes.set_context_switch(1);
            set_births(&mut attributes);
            attributes.set_mmap(1);
            attributes.set_mmap2(1);
            attributes.sample_regs_user = REGISTERS;
            attributes.sample_stack_user = bytes;
            attributes.sample_type |=
                u64::from(bindings::PERF_SAMPLE_REGS_USER | bindings::PERF_SAMPLE_STACK_USER);
        }
    }
    let event = open(&mut attributes, tid.0, ring.cpu)?;
    // SAFETY: plain descriptors.
    let answer = unsafe { perf::ioctls::SET_OUTPUT(event.as_raw_fd(), ring.event.as_raw_fd()) };
    Errno::result(answer)?;
    Ok(event)
}

fn set_births(attributes: &mut bindings::perf_event_attr) {
    attributes.set_task(1);
    attributes.set_comm(1);
    attributes.set_comm_exec(1);
}

/// What all events have in common: thread, time and CPU with each record, the clock sprof uses.
fn attributes(config: bindings::perf_sw_ids) -> bindings::perf_event_attr {
    let mut attributes = bindings::perf_event_attr {
        type_: bindings::PERF_TYPE_SOFTWARE,
        size: size_of::<bindings::perf_event_attr>() as u32,
        config: u64::from(config),
        clockid: libc::CLOCK_MONOTONIC,
        sample_type: u64::from(
            bindings::PERF_SAMPLE_TID | bindings::PERF_SAMPLE_TIME | bindings::PERF_SAMPLE_CPU,
        ),
        ..Default::default()
    };
    attributes.set_use_clockid(1);
    attributes
}

fn open(
    attributes: &mut bindings::perf_event_attr,
    pid: libc::pid_t,
    cpu: u32,
) -> Result<OwnedFd, Errno> {
    let flags = bindings::PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: `attributes` is valid for the call; the other arguments are plain numbers.
    let fd = unsafe { perf::perf_event_open(&raw mut *attributes, pid, cpu as i32, -1, flags) };
    let fd = Errno::result(fd)?;
    // SAFETY: the kernel just made it for us; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The records of one CPU. The kernel appends; what has been consumed it may overwrite.
///
/// Positions count bytes since the beginning and never go back.
#[derive(Debug)]
pub struct PerfRing {
    cpu: u32,
    /// An event of our own that records nothing: it only holds the ring.
    event: OwnedFd,
    page: NonNull<bindings::perf_event_mmap_page>,
    /// Bytes of records it holds; a power of two.
    size: usize,
}

// SAFETY: the ring is memory of ours alone on this side; the kernel's side is synchronized by the
// positions, which are accessed atomically.
unsafe impl Send for PerfRing {}

/// In front of the records stands one page of positions.
const PAGE: usize = 4096;

impl PerfRing {
    /// A ring of `size` bytes, a power of two of at least a page, for the records of `cpu`. Its
    /// descriptor has input once `wake_at` bytes came since it had input last.
    ///
    /// # Errors
    /// `EPERM`: more memory than may be locked. `ENODEV`: the CPU is offline.
    pub fn new(cpu: u32, size: usize, wake_at: u32) -> Result<PerfRing, Errno> {
        let mut attributes = attributes(bindings::PERF_COUNT_SW_DUMMY);
        attributes.set_disabled(1);
        attributes.set_exclude_kernel(1);
        attributes.set_watermark(1);
        attributes.__bindgen_anon_2.wakeup_watermark = wake_at;
        let event = open(&mut attributes, 0, cpu)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; nobody else has it.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE + size,
                protection,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let page = NonNull::new(page.cast()).ok_or(Errno::ENOMEM)?;
        Ok(PerfRing {
            cpu,
            event,
            page,
            size,
        })
    }

    /// The CPU whose records it holds.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Bytes of records it holds.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Position behind the last whole record.
    pub fn head(&self) -> u64 {
        // SAFETY: the page is mapped as long as `self` is.
        let head = unsafe { &raw mut (*self.page.as_ptr()).data_head };
        // SAFETY: the field is aligned, lives as long as `self` does, and is never accessed other
        // than atomically.
        unsafe { AtomicU64::from_ptr(head) }.load(Ordering::Acquire)
    }

    /// Lets the kernel overwrite what lies before `position`.
    pub fn consume(&mut self, position: u64) {
        // SAFETY: the page is mapped as long as `self` is.
        let tail = unsafe { &raw mut (*self.page.as_ptr()).data_tail };
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(tail) }.store(position, Ordering::Release);
    }

    /// Copies bytes from `position` on. They are the kernel's record only where they lie between
    /// what was consumed and [`head`](Self::head).
    pub fn copy(&self, position: u64, into: &mut [u8]) {
        let at = position as usize & (self.size - 1);
        let first = into.len().min(self.size - at);
        let (front, back) = into.split_at_mut(first);
        let rest = back.len().min(self.size);
        // SAFETY: `at` is below `size`, and the records lie behind the page.
        let from = unsafe { self.page.as_ptr().cast::<u8>().add(PAGE + at) };
        // SAFETY: `first` bytes from there on lie inside the mapping, and not in `front`.
        unsafe { std::ptr::copy_nonoverlapping(from, front.as_mut_ptr(), first) };
        // SAFETY: inside the mapping, as `size` is at least `rest`.
        let from = unsafe { self.page.as_ptr().cast::<u8>().add(PAGE) };
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(from, back.as_mut_ptr(), rest) };
    }
}

impl AsFd for PerfRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and not used after this.
        unsafe { libc::munmap(self.page.as_ptr().cast(), PAGE + self.size) };
    }
}
