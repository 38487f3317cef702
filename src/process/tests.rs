use super::*;
use crate::profile::{Address, Pid, RunState, Tid};

#[test]
fn a_name_may_look_like_the_rest_of_the_line() {
    let text = b"42 (a) R 1 (\nb) S 7 42 42 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99 0 0\n";
    let stat = parse_stat(text).unwrap();
    assert_eq!(stat.name, "a) R 1 (\nb");
    assert_eq!(
        (stat.state, stat.parent, stat.start_ticks),
        ('S', Pid(7), 99)
    );
    assert!(!stat.is_kernel_thread && !stat.is_exiting);
}

#[test]
fn every_cut_of_a_stat_line_is_refused_or_read() {
    let text = b"42 (x) S 7 42 42 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 1 0 99 0 0";
    assert!(parse_stat(text).unwrap().is_kernel_thread);
    for end in 0..text.len() {
        let _ = parse_stat(&text[..end]);
    }
}

#[test]
fn a_maps_line_is_read_with_blanks_in_its_path() {
    let text = b"7f00-7f10 r-xp 00001000 fd:01 17 /tmp/a b\\012c (deleted)\n\
        7ffe-7fff rw-p 00000000 00:00 0                          [stack]\nnonsense\n";
    let maps = parse_maps(text);
    assert_eq!(maps.len(), 2);
    assert_eq!(maps[0].path, "/tmp/a b\nc");
    assert!(maps[0].is_deleted && maps[0].is_executable && !maps[0].is_writable);
    assert_eq!(maps[0].device, nix::sys::stat::makedev(0xfd, 1));
    assert_eq!(
        (maps[0].start, maps[0].end),
        (Address(0x7f00), Address(0x7f10))
    );
    assert_eq!((maps[1].path.as_str(), maps[1].device), ("[stack]", 0));
}

#[test]
fn this_process_shows_itself() {
    let own = Pid(std::process::id() as i32);
    let clocks = read_clocks();
    let stat = read_stat(own).unwrap();
    assert!(start_time(stat.start_ticks, &clocks) <= clocks.monotonic);
    assert_eq!(read_status(own).unwrap().process, own.0);
    // The runtime of the tests catches segmentation faults, and nothing catches SIGURG.
    assert!(catches(own, 11) && !catches(own, 23) && !catches(own, 0) && !catches(own, 65));
    assert!(threads(own).contains(&Tid(own.0)));
    assert_eq!(ancestors().first(), Some(&stat.parent));
    assert!(!executable(own).is_empty() && !arguments(own).is_empty());
    assert!(
        read_maps(own)
            .unwrap()
            .iter()
            .any(|entry| entry.path == "[vdso]")
    );
}

#[test]
fn a_process_that_is_gone_shows_nothing() {
    // Above the largest pid that the kernel gives out (PID_MAX_LIMIT, 4 194 304).
    let none = Pid(i32::MAX);
    assert_eq!(read_stat(none), None);
    assert_eq!(read_maps(none), None);
    assert!(threads(none).is_empty());
    assert_eq!(sleeping_state(none, Tid(none.0)), RunState::Unknown);
}

#[test]
fn a_blocked_thread_shows_what_it_is_blocked_in() {
    let text = "202 0x55d0 0x189 0x1 0x0 0x0 0xffffffff 0x7ffe1000 0x7f0010\n";
    let blocked = super::blocked::parse_blocked(text).expect("blocked");
    assert_eq!(blocked.syscall, Some(202));
    let registers = blocked.registers;
    assert_eq!((registers.sp().0, registers.ip.0), (0x7ffe_1000, 0x7f_0010));
    // rdi, rsi, rdx, r9.
    let known = [5, 4, 1, 9].map(|register| registers.general[register]);
    assert_eq!(known, [0x55d0, 0x189, 1, 0xffff_ffff]);
    // All but the arguments and the stack pointer.
    assert_eq!(registers.unknown, !0b0000_0111_1011_0010);
}

#[test]
fn a_thread_in_a_fault_shows_its_pointers_only() {
    let blocked = super::blocked::parse_blocked("-1 0x7ffe1000 0x7f0010\n").expect("blocked");
    assert_eq!(blocked.syscall, None);
    assert_eq!(blocked.registers.unknown, !(1 << 7));
}

#[test]
fn what_does_not_tell_all_of_it_tells_nothing() {
    for text in [
        "",
        "running\n",
        "202 0x1 0x2\n",
        "-1 0x1\n",
        "-1 7 8\n",
        "x 0x1 0x2\n",
    ] {
        assert_eq!(super::blocked::parse_blocked(text), None, "{text:?}");
    }
}

#[test]
fn lists_of_cpus_have_ranges_and_singles() {
    assert_eq!(super::cpus::parse_list("0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
    assert_eq!(super::cpus::parse_list("\n"), [0u32; 0]);
    assert_eq!(super::cpus::parse_list("3-9999999999"), [0u32; 0]);
}
