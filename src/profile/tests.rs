use super::*;

#[test]
fn a_stack_is_read_back_leaf_first() {
    let mut table = StackTable::default();
    let frame = |address| Frame::Unmapped {
        address: Address(address),
    };
    let leaf = table.intern_all([frame(1), frame(2), frame(3)]);
    assert_eq!(
        table.frames(leaf).collect::<Vec<_>>(),
        [frame(3), frame(2), frame(1)]
    );
    assert_eq!(table.intern_all([frame(1), frame(2), frame(3)]), leaf);
    assert_eq!(table.len(), 3);
}

#[test]
fn an_event_about_nothing_known_is_refused() {
    let mut profile = Profile::default();
    let lost = Event::ThreadEnded {
        thread: ThreadId(4),
        time: Timestamp(1),
    };
    assert!(!profile.apply(lost));
    assert_eq!(profile, Profile::default());
}

#[test]
fn lengths_of_time_are_shown_with_three_digits() {
    let cases = [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 us"),
        (9_994, "9.99 us"),
        (9_996, "10.0 us"),
        (99_960, "100 us"),
        (999_400, "999 us"),
        (999_600, "1.00 ms"),
        (12_340_000, "12.3 ms"),
        (1_500_000_000, "1.50 s"),
        (99_400_000_000, "99.4 s"),
        (99_600_000_000, "1 min 40 s"),
        (185_000_000_000, "3 min 05 s"),
        (7_380_000_000_000, "2 h 03 min"),
        (u64::MAX, "5124095 h 35 min"),
    ];
    for (length, shown) in cases {
        assert_eq!(Nanos(length).to_string(), shown, "{length} ns");
    }
    assert_eq!(format!("[{:>8}]", Nanos(5)), "[    5 ns]");
}

#[test]
fn percentiles_are_by_nearest_rank() {
    let spread = |lengths: &[u64]| {
        let mut lengths: Vec<Nanos> = lengths.iter().copied().map(Nanos).collect();
        Spread::of(&mut lengths).map(|s| (s.p50.0, s.p99.0, s.max.0, s.sum.0))
    };
    assert_eq!(spread(&[]), None);
    assert_eq!(spread(&[7]), Some((7, 7, 7, 7)));
    assert_eq!(spread(&[9, 1]), Some((1, 9, 9, 10)));
    assert_eq!(spread(&[3, 1, 2]), Some((2, 3, 3, 6)));
    let hundred: Vec<u64> = (1..=100).rev().collect();
    assert_eq!(spread(&hundred), Some((50, 99, 100, 5050)));
    let thousand: Vec<u64> = (1..=1000).collect();
    assert_eq!(spread(&thousand), Some((500, 990, 1000, 500_500)));
}

#[test]
fn spreads_of_any_number_of_lengths_are_a_32nd_too_large_at_most() {
    assert_eq!(Lengths::default().spread(), None);
    let mut value = 1_u64;
    for count in [1, 2, 10, 100, 1000] {
        let mut all = Vec::new();
        let mut lengths = Lengths::default();
        for _ in 0..count {
            value = value
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Of all sizes.
            let length = Nanos(value >> (value % 40 + 20));
            all.push(length);
            lengths.add(length);
        }
        let (exact, told) = (Spread::of(&mut all).unwrap(), lengths.spread().unwrap());
        assert_eq!((told.max, told.sum), (exact.max, exact.sum));
        for (told, exact) in [(told.p50, exact.p50), (told.p99, exact.p99)] {
            assert!(
                exact <= told && told.0 <= exact.0 + exact.0 / 32,
                "{told} {exact}"
            );
        }
    }
    for edge in [0, 31, 32, 63, 64, 65, u64::MAX / 2, u64::MAX] {
        let mut lengths = Lengths::default();
        lengths.add(Nanos(edge));
        assert_eq!(lengths.spread().map(|spread| spread.p50), Some(Nanos(edge)));
    }
}

#[test]
fn dates_follow_the_calendar() {
    let cases = [
        (0, "1970-01-01 00:00:00 UTC"),
        (951_782_399, "2000-02-28 23:59:59 UTC"),
        (951_782_400, "2000-02-29 00:00:00 UTC"),
        (951_868_800, "2000-03-01 00:00:00 UTC"),
        (1_709_251_199, "2024-02-29 23:59:59 UTC"),
        (1_796_081_045, "2026-11-30 23:24:05 UTC"),
        (4_107_542_400, "2100-03-01 00:00:00 UTC"),
    ];
    for (seconds, shown) in cases {
        let date = Utc::at(seconds * 1_000_000_000);
        assert_eq!(date.to_string(), shown);
        let digits: String = shown.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(date.compact(), format!("{}-{}", &digits[..8], &digits[8..]));
    }
    assert_eq!(Utc::at(u64::MAX).date, (2554, 7, 21));
}

#[test]
fn a_process_is_called_by_the_title_it_gave_itself() {
    let name = |exe: &str, argv: &[&str]| {
        let image = Image {
            from: Timestamp(0),
            exe: exe.to_owned(),
            argv: argv.iter().map(|&word| word.to_owned()).collect(),
        };
        let process = Process {
            id: ProcessId(0),
            pid: Pid(7),
            inner_pid: None,
            parent: None,
            parent_pid: Pid(1),
            start: Timestamp(0),
            end: None,
            exit_status: None,
            images: vec![image],
        };
        process.name()
    };
    let cases: [(&str, &[&str], &str); 8] = [
        (
            "/bin/nginx",
            &["nginx: worker process"],
            "nginx: worker process",
        ),
        (
            "/bin/postgres",
            &["postgres: walwriter   ", ""],
            "postgres: walwriter",
        ),
        (
            "/bin/python3",
            &["gunicorn: master [app]"],
            "gunicorn: master [app]",
        ),
        ("/bin/sh", &["sh", "-c", "echo a: b"], "sh"),
        ("/bin/sh", &["a: b", "c"], "sh"),
        ("/srv/my: dir/prog", &["/srv/my: dir/prog"], "prog"),
        ("/bin/prog (deleted)", &["prog"], "prog"),
        ("", &[], "pid 7"),
    ];
    for (exe, argv, shown) in cases {
        assert_eq!(name(exe, argv), shown, "{argv:?}");
    }
}

#[test]
fn system_calls_have_the_names_of_the_kernel() {
    let cases = [
        (0, "read"),
        (7, "poll"),
        (61, "wait4"),
        (202, "futex"),
        (219, "restart_syscall"),
        (232, "epoll_wait"),
        (334, "rseq"),
        (335, "uretprobe"),
        (336, "syscall 336"),
        (423, "syscall 423"),
        (424, "pidfd_send_signal"),
        (449, "futex_waitv"),
        (469, "file_setattr"),
        (470, "syscall 470"),
        (u32::MAX, "syscall 4294967295"),
    ];
    for (number, name) in cases {
        assert_eq!(SyscallNumber(number).name(), name);
    }
}

#[test]
fn values_of_a_counter_come_together() {
    let mut profile = Profile::default();
    let counter = |subject| Counter {
        id: CounterId(0),
        name: "held".to_owned(),
        subject,
        kind: CounterKind::Amount,
        unit: CounterUnit::Nanos,
        values: Vec::new(),
    };
    let value = CounterValue {
        time: Timestamp(3),
        value: 4,
    };
    let counted = || Event::Counted {
        counter: CounterId(0),
        value,
    };
    assert!(!profile.apply(counted()));
    let of_nobody = counter(CounterSubject::Process(ProcessId(0)));
    assert!(!profile.apply(Event::Counter(of_nobody)));
    assert!(profile.apply(Event::Counter(counter(CounterSubject::Session))));
    assert!(profile.apply(counted()));
    assert_eq!(profile.counters[0].values, [value]);
}
