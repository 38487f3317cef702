use std::os::fd::OwnedFd;
use std::time::Duration;

use super::Records;
use super::decode::{Kind, decode, lengths};
use crate::process;
use crate::profile::{Address, Pid, Tid, Timestamp};
use crate::sys::{self, Errno};

/// A record: type, flags, body, and where the kind has one the trailer for thread 7 of process 6,
/// time 5, CPU 4.
fn record(kind: u32, flags: u16, body: &[u8], has_trailer: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(kind.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(0u16.to_le_bytes());
    bytes.extend(body);
    if has_trailer {
        bytes.extend(6u32.to_le_bytes());
        bytes.extend(7u32.to_le_bytes());
        bytes.extend(5u64.to_le_bytes());
        bytes.extend(4u64.to_le_bytes());
    }
    let size = bytes.len() as u16;
    bytes[6..8].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// Two numbers of 32 bits as one word.
fn pair(first: u64, second: u64) -> u64 {
    first + (second << 32)
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn switches_tell_thread_time_and_whether_it_may_go_on() {
    let kinds = [
        (0, Kind::SwitchIn),
        (1 << 13, Kind::SwitchOut { is_ready: false }),
        (1 << 13 | 1 << 14, Kind::SwitchOut { is_ready: true }),
    ];
    for (flags, kind) in kinds {
        let read = decode(&record(14, flags, &[], true)).expect("a record");
        assert_eq!(
            (read.pid, read.tid, read.time, read.cpu, read.kind),
            (Pid(6), Tid(7), Timestamp(5), 4, kind)
        );
    }
}

#[test]
fn births_and_ends_tell_the_thread_concerned() {
    let body = words(&[pair(11, 12), pair(13, 14), 99]);
    let born = decode(&record(7, 0, &body, true)).expect("a record");
    assert_eq!(
        (born.pid, born.tid, born.kind),
        (
            Pid(11),
            Tid(13),
            Kind::Born {
                parent: Pid(12),
                creator: Tid(14)
            }
        )
    );
    let exit = decode(&record(4, 0, &body, true)).expect("a record");
    assert_eq!(
        (exit.pid, exit.tid, exit.kind),
        (Pid(11), Tid(13), Kind::Exit)
    );
}

#[test]
fn names_end_at_their_zero() {
    let mut body = words(&[pair(11, 13)]);
    body.extend(b"a b)\0\0\0\0");
    let named = decode(&record(3, 0, &body, true)).expect("a record");
    assert_eq!(
        (named.tid, named.kind),
        (Tid(13), Kind::Name("a b)".to_owned()))
    );
    let exec = decode(&record(3, 1 << 13, &body, true)).expect("a record");
    assert_eq!(exec.kind, Kind::Exec("a b)".to_owned()));
}

#[test]
fn only_code_is_a_mapping() {
    let mut body = words(&[pair(11, 13), 0x1000, 0x2000, 0x3000, pair(8, 1), 77, 1, 5]);
    body.extend(b"/bin/x\0\0");
    let mapped = decode(&record(10, 0, &body, true)).expect("a record");
    let Kind::Map(entry) = mapped.kind else {
        panic!("{:?}", mapped.kind);
    };
    assert_eq!(
        (entry.start, entry.end, entry.file_offset, entry.inode),
        (Address(0x1000), Address(0x3000), 0x3000, 77)
    );
    assert_eq!(entry.device, nix::sys::stat::makedev(8, 1));
    assert_eq!(entry.path, "/bin/x");
    body[56] = 1;
    let data = decode(&record(10, 0, &body, true)).expect("a record");
    assert_eq!(data.kind, Kind::Other);
}

/// A stack record of `meant` bytes of stack, of which `copied` could be copied.
fn stack_record(abi: u64, meant: u64, copied: u64) -> Vec<u8> {
    let mut body = words(&[pair(6, 7), 5, 4, abi]);
    body.extend(words(&(100..117).collect::<Vec<u64>>()));
    body.extend(words(&[meant]));
    body.extend(vec![0xee; meant as usize]);
    body.extend(words(&[copied]));
    record(9, 0, &body, false)
}

#[test]
fn stacks_are_found_in_their_record() {
    let bytes = stack_record(2, 64, 40);
    let mut read = decode(&bytes[..40]).expect("a record");
    assert_eq!(
        (read.pid, read.tid, read.time, read.cpu),
        (Pid(6), Tid(7), Timestamp(5), 4)
    );
    let Kind::Stack(place) = &mut read.kind else {
        panic!("{:?}", read.kind);
    };
    place.locate(0, read.size.into(), |at| {
        u64::from_le_bytes(
            bytes[at as usize..at as usize + 8]
                .try_into()
                .expect("a word"),
        )
    });
    assert_eq!(
        (place.registers_at, place.stack_at, place.stack_len),
        (Some(40), 184, 40)
    );
    let registers = super::decode::registers(bytes[40..176].try_into().expect("registers"));
    // ax, dx, cx, bx, si, di, bp, sp, r8 to r15.
    let expected = [
        100, 103, 102, 101, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116,
    ];
    assert_eq!((registers.general, registers.ip), (expected, Address(108)));
}

#[test]
fn other_than_64_bit_code_has_no_registers() {
    let read = decode(&stack_record(1, 64, 40)[..40]).expect("a record");
    let Kind::Stack(place) = read.kind else {
        panic!("{:?}", read.kind);
    };
    assert_eq!(place.registers_at, None);
}

#[test]
fn lengths_that_lie_stay_inside_the_record() {
    for (meant, copied) in [
        (64, 65),
        (64, u64::MAX),
        (u64::MAX, 1),
        (1 << 40, 1),
        (0, 9),
    ] {
        let mut bytes = stack_record(2, 64, 40);
        bytes[176..184].copy_from_slice(&u64::to_le_bytes(meant));
        let length_at = bytes.len() - 8;
        bytes[length_at..].copy_from_slice(&u64::to_le_bytes(copied));
        let Kind::Stack(mut place) = decode(&bytes[..40]).expect("a record").kind else {
            panic!("no stack");
        };
        place.locate(0, bytes.len() as u64, |at| {
            let word = bytes.get(at as usize..at as usize + 8).expect("inside");
            u64::from_le_bytes(word.try_into().expect("a word"))
        });
        assert!(place.stack_at + u64::from(place.stack_len) + 8 <= bytes.len() as u64);
    }
}

#[test]
fn no_bytes_are_a_panic() {
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as u32
    };
    for _ in 0..200_000 {
        let mut bytes: Vec<u8> = (0..next() % 160).map(|_| next() as u8).collect();
        if let Some(first) = bytes.first_mut() {
            *first %= 20;
        }
        for zero in bytes.iter_mut().take(4).skip(1) {
            *zero = 0;
        }
        if let Some(read) = decode(&bytes)
            && let Kind::Stack(mut place) = read.kind
        {
            place.locate(u64::from(next()), read.size.into(), |_| {
                u64::from(next()) << 20
            });
        }
        if let Some(header) = bytes.first_chunk() {
            let _ = lengths(*header);
        }
    }
}

/// Switches of a thread of this process, as they are recorded; `None`: not permitted here.
fn of_own_switches() -> Option<(Records, Vec<OwnedFd>)> {
    let records = Records::new(&process::online_cpus());
    let records = records.map_err(assert_forbidden).ok()?;
    let own = Tid(nix::unistd::gettid().as_raw());
    let watched = |ring| sys::watch(own, ring, sys::Watch::Switches, false);
    let events = records.rings().map(watched).collect::<Result<_, _>>();
    Some((records, events.map_err(assert_forbidden).ok()?))
}

fn assert_forbidden(why: Errno) {
    let forbidden = [Errno::EPERM, Errno::EACCES, Errno::ENOSYS, Errno::ENOENT];
    assert!(forbidden.contains(&why), "{why}");
}

#[test]
fn a_record_that_was_seen_and_left_is_news() {
    let Some((mut records, _events)) = of_own_switches() else {
        return;
    };
    while !records.has_news() {
        std::thread::park_timeout(Duration::from_micros(100));
    }
    records.look();
    assert_eq!(records.next(Timestamp(0)), None);
    assert!(records.has_news());
    while records.has_news() {
        records.look();
        while records.next(Timestamp(u64::MAX)).is_some() {}
    }
}
