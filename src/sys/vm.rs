//! Reading another process's memory in few calls.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc;

use crate::profile::{Address, Tid};

/// A part of another process's memory that is wanted, and where it goes.
#[derive(Clone, Copy, Debug)]
pub struct RemoteRange {
    /// First address.
    pub address: Address,
    /// Where its bytes begin in the buffer.
    pub at: usize,
    /// Bytes wanted; after the read, bytes got (from the front).
    pub len: usize,
}

/// Ranges a call: the kernel takes up to 1024 (`UIO_MAXIOV`); this many fit on the stack.
const RANGES_A_CALL: usize = 128;

/// Reads ranges of the memory of the process that `tid` belongs to, as many as possible in one
/// call. A call ends at the first page it cannot read: the next one goes on behind that range.
/// Each range's `len` becomes what was got of it. Allocates nothing.
///
/// # Panics
/// When a range does not fit into `buffer`.
pub fn read_ranges(tid: Tid, ranges: &mut [RemoteRange], buffer: &mut [u8]) {
    let mut done = 0;
    while done < ranges.len() {
        let batch_end = ranges.len().min(done + RANGES_A_CALL);
        let mut got = read_batch(tid, &ranges[done..batch_end], buffer).unwrap_or(0);
        let mut short = false;
        while done < batch_end && !short {
            let range = &mut ranges[done];
            short = got < range.len;
            range.len = range.len.min(got);
            got -= range.len;
            done += 1;
        }
    }
}

fn read_batch(tid: Tid, ranges: &[RemoteRange], buffer: &mut [u8]) -> Result<usize, Errno> {
    const NONE: libc::iovec = libc::iovec {
        iov_base: std::ptr::null_mut(),
        iov_len: 0,
    };
    let mut local = [NONE; RANGES_A_CALL];
    let mut remote = [NONE; RANGES_A_CALL];
    for ((range, local), remote) in ranges.iter().zip(&mut local).zip(&mut remote) {
        let into = &mut buffer[range.at..range.at + range.len];
        local.iov_base = into.as_mut_ptr().cast();
        local.iov_len = into.len();
        remote.iov_base = range.address.0 as *mut libc::c_void;
        remote.iov_len = range.len;
    }
    let count = ranges.len() as libc::c_ulong;
    // SAFETY: the first `count` entries of `local` lie in `buffer`, which is borrowed mutably;
    // remote addresses are only looked at by the kernel, in the other process.
    let got =
        unsafe { libc::process_vm_readv(tid.0, local.as_ptr(), count, remote.as_ptr(), count, 0) };
    Errno::result(got).map(|got| got as usize)
}

/// Reads from `address` on into the front of `into`; answers how many bytes could be read.
pub fn read_memory(tid: Tid, address: Address, into: &mut [u8]) -> usize {
    let mut range = [RemoteRange {
        address,
        at: 0,
        len: into.len(),
    }];
    read_ranges(tid, &mut range, into);
    range[0].len
}
