//! Recordings made up here, whose numbers are known.

use super::columns::{clean, counted, percent, shortened};
use super::gather::{Sums, gather};
use super::*;
use crate::profile::{
    Address, Clocks, Counter, CounterId, CounterKind, CounterSubject, CounterUnit, CounterValue,
    Event, ExitStatus, Frame, Image, Loss, LossKind, LossSubject, Marker, Module, ModuleId,
    ModuleKind, ModuleOffset, Nanos, Pid, Process, ProcessId, Profile, RunState, Sample, Session,
    Spread, StackEnd, StackTable, SymbolFrame, SymbolReason, SyscallNumber, Thread, ThreadId,
    ThreadName, Tick, Tid, Timestamp,
};

const MS: u64 = 1_000_000;
const ORIGIN: u64 = 5_000 * MS;

/// A recording in memory.
#[derive(Default)]
struct Made {
    profile: Profile,
    ticks: Vec<(Tick, StackTable)>,
}

impl Recording for Made {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn each_tick(
        &self,
        visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        self.ticks
            .iter()
            .try_for_each(|(tick, table)| visit(tick, table))
    }
}

impl Made {
    fn event(&mut self, event: Event) {
        assert!(self.profile.apply(event));
    }

    fn process(&mut self, parent: Option<u32>, exe: &str) -> u32 {
        let id = self.profile.processes.len() as u32;
        self.event(Event::ProcessStarted(Process {
            id: ProcessId(id),
            pid: Pid(100 + id as i32),
            inner_pid: None,
            parent: parent.map(ProcessId),
            parent_pid: Pid(1),
            start: Timestamp(ORIGIN),
            end: None,
            exit_status: None,
            images: vec![Image {
                from: Timestamp(ORIGIN),
                exe: exe.to_owned(),
                argv: vec![exe.to_owned(), "-l".to_owned()],
            }],
        }));
        id
    }

    fn thread(&mut self, process: u32, tid: i32, name: &str) -> ThreadId {
        let id = ThreadId(self.profile.threads.len() as u32);
        self.event(Event::ThreadStarted(Thread {
            id,
            process: ProcessId(process),
            tid: Tid(tid),
            start: Timestamp(ORIGIN),
            end: None,
            names: vec![ThreadName {
                from: Timestamp(ORIGIN),
                name: name.to_owned(),
            }],
        }));
        id
    }

    /// A module with these functions at the offsets 1, 2, 3…; an empty name is a missing one.
    fn module(&mut self, path: &str, functions: &[&str]) -> ModuleId {
        let id = ModuleId(self.profile.modules.len() as u32);
        self.event(Event::Module(Module {
            id,
            kind: ModuleKind::File,
            path: path.to_owned(),
            deleted: false,
            build_id: None,
            device: 0,
            inode: 0,
            size: 0,
            modified_ns: 0,
        }));
        for (index, name) in functions.iter().enumerate() {
            let found = if name.is_empty() {
                Err(SymbolReason::NoSymbols)
            } else {
                Ok(vec![symbol(name, false)])
            };
            self.symbol(id, index as u64 + 1, found);
        }
        id
    }

    fn symbol(&mut self, module: ModuleId, offset: u64, found: crate::profile::Symbolized) {
        let offset = ModuleOffset(offset);
        self.event(Event::Symbol {
            module,
            offset,
            found,
        });
    }

    fn lose(&mut self, kind: LossKind, count: u64, detail: &str) {
        self.event(Event::Loss(Loss {
            time: Timestamp(ORIGIN),
            tick: None,
            kind,
            subject: LossSubject::Session,
            count,
            detail: detail.to_owned(),
        }));
    }

    /// A tick at so many milliseconds, with these samples: thread, state, CPU ms, stack root first.
    fn tick(&mut self, at_ms: u64, samples: &[(ThreadId, RunState, u64, &[Frame])]) {
        let mut table = StackTable::default();
        let samples = samples
            .iter()
            .map(|&(thread, state, cpu_ms, frames)| {
                let stack = table.intern_all(frames.iter().copied());
                Sample {
                    state,
                    cpu: Some(Nanos(cpu_ms * MS)),
                    stack,
                    end: if stack.is_some() {
                        StackEnd::Root
                    } else {
                        StackEnd::NotStopped
                    },
                    ..Sample::of(thread)
                }
            })
            .collect();
        let tick = Tick {
            index: self.ticks.len() as u64,
            time: Timestamp(ORIGIN + at_ms * MS),
            planned: Timestamp(ORIGIN + at_ms * MS),
            stop: Nanos(MS / 10),
            samples,
            ..Tick::default()
        };
        self.ticks.push((tick, table));
    }

    fn text(&self, length: Length) -> String {
        let text = report(self, length).unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{line:?} is too long");
            assert_eq!(line.trim_end(), line);
        }
        text
    }
}

fn symbol(function: &str, inlined: bool) -> SymbolFrame {
    SymbolFrame {
        function: function.to_owned(),
        file: Some("src/a.c".to_owned()),
        line: Some(7),
        inlined,
    }
}

fn at(module: ModuleId, offset: u64) -> Frame {
    Frame::Native {
        module,
        offset: ModuleOffset(offset),
    }
}

/// The cells (split at two or more spaces) of the first line that has `word`.
fn cells<'a>(text: &'a str, word: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.contains(word));
    let line = line.unwrap_or_else(|| panic!("no line with {word:?} in\n{text}"));
    line.split("  ")
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}

fn part<'a>(text: &'a str, from: &str) -> &'a str {
    let at = text
        .find(from)
        .unwrap_or_else(|| panic!("no {from:?} in\n{text}"));
    let part = &text[at..];
    part.split_once("\n\n").map_or(part, |(part, _)| part)
}

#[test]
fn recursion_and_inlining_count_once_in_the_total() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let thread = made.thread(process, 100, "prog");
    let module = made.module("/bin/prog", &["main", "fib"]);
    made.symbol(
        module,
        3,
        Ok(vec![symbol("add", true), symbol("fib", false)]),
    );
    let deep = [at(module, 1), at(module, 2), at(module, 2), at(module, 3)];
    made.tick(0, &[(thread, RunState::Running, 10, &deep)]);
    made.tick(10, &[(thread, RunState::Running, 30, &[at(module, 1)])]);
    let gathered = gather(&made).unwrap();
    let mut sums: Vec<_> = gathered
        .functions
        .list()
        .iter()
        .map(|f| {
            (
                f.name.as_str(),
                f.own.samples,
                f.own.cpu.0 / MS,
                f.total.samples,
                f.total.cpu.0 / MS,
            )
        })
        .collect();
    sums.sort_unstable();
    assert_eq!(
        sums,
        [
            ("add", 1, 10, 1, 10),
            ("fib", 0, 0, 1, 10),
            ("main", 1, 30, 2, 40)
        ]
    );
    let text = made.text(Length::Short);
    assert_eq!(
        part(&text, "CPU time 40.0 ms: functions").lines().nth(1),
        Some("  (what a thread used since its last sample counts where it is found)")
    );
    assert_eq!(
        cells(part(&text, "CPU time 40.0 ms: with"), "fib"),
        ["0.0 %", "25.0 %", "fib (prog)"]
    );
    assert_eq!(
        cells(
            part(
                &text,
                "Wall time 20.0 ms of all threads, waiting ones too: functions"
            ),
            "add"
        ),
        ["50.0 %", "50.0 %", "add (prog)"]
    );
}

#[test]
fn an_equal_id_in_another_table_is_another_stack() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let thread = made.thread(process, 100, "prog");
    let module = made.module("/bin/prog", &["one", "two"]);
    for (at_ms, offset) in [(0, 1), (10, 2), (20, 1), (30, 1)] {
        made.tick(
            at_ms,
            &[(thread, RunState::Running, 0, &[at(module, offset)])],
        );
    }
    let gathered = gather(&made).unwrap();
    let own: Vec<_> = gathered
        .functions
        .list()
        .iter()
        .map(|f| (f.name.as_str(), f.own.samples))
        .collect();
    assert_eq!(own, [("one", 3), ("two", 1)]);
}

#[test]
fn markers_are_not_functions_and_stacks_without_frames_are_named() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let thread = made.thread(process, 100, "prog");
    let module = made.module("/bin/prog", &["main", ""]);
    let frames = [
        at(module, 1),
        Frame::Marker(Marker::SignalHandler),
        at(module, 2),
        at(module, 9),
    ];
    made.tick(0, &[(thread, RunState::Running, 1, &frames)]);
    made.tick(1, &[(thread, RunState::Unknown, 1, &[])]);
    let text = made.text(Length::Short);
    let lists = part(&text, "Wall time");
    assert_eq!(
        cells(lists, "<no name in prog>"),
        ["50.0 %", "50.0 %", "<no name in prog>"]
    );
    assert_eq!(
        cells(lists, "<no stack"),
        ["50.0 %", "50.0 %", "<no stack: not-stopped>"]
    );
    assert!(!text.contains("signal handler"), "{text}");
    assert_eq!(
        cells(
            part(&text, "Stacks that are not whole: 1 of 2 (50.0 %)"),
            "not-stopped"
        ),
        ["1", "50.0 %", "not-stopped"]
    );
    let names = part(&text, "Names that are missing");
    assert_eq!(
        cells(names, "no-symbols"),
        ["50.0 %", "1", "no-symbols", "/bin/prog"]
    );
    assert_eq!(
        cells(names, "not-symbolized"),
        ["50.0 %", "1", "not-symbolized", "/bin/prog"]
    );
}

#[test]
fn late_ticks_are_those_skipped_and_dropped() {
    let mut made = Made::default();
    made.profile.session.interval = Nanos(10 * MS);
    for index in 0..99 {
        made.tick(index * 11, &[]);
        made.ticks[index as usize].0.stop = Nanos((index + 1) * 1000);
    }
    made.lose(LossKind::TickSkipped, 2, "the machine was late");
    made.lose(LossKind::TickSkipped, 3, "the machine was late");
    made.lose(LossKind::TickDropped, 6, "");
    let text = made.text(Length::Short);
    assert_eq!(cells(&text, "asked"), ["asked", "110"]);
    assert_eq!(cells(&text, "kept"), ["kept", "99", "90.0 %"]);
    assert_eq!(
        cells(&text, "late  "),
        ["late", "11", "(5 skipped, 6 dropped)"]
    );
    assert_eq!(
        cells(&text, "wanted"),
        ["interval", "10.0 ms wanted, 11.0 ms in the mean"]
    );
    // 1 to 99 us: 4.95 ms held in 98 * 11 ms.
    assert_eq!(
        cells(&text, "pause"),
        [
            "pause",
            "50.0 us",
            "99.0 us",
            "99.0 us",
            "0.5 % of the time"
        ]
    );
    assert_eq!(
        cells(part(&text, "Lost"), "tick-skipped"),
        ["5", "tick-skipped", "the machine was late"]
    );
    assert_eq!(
        cells(part(&text, "Lost"), "tick-dropped"),
        ["6", "tick-dropped"]
    );
}

#[test]
fn spreads_and_wall_time_come_from_real_times() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let thread = made.thread(process, 100, "prog");
    for at_ms in [0, 7, 30] {
        made.tick(at_ms, &[(thread, RunState::Sleeping, 0, &[])]);
    }
    made.ticks[1].0.planned = Timestamp(ORIGIN + 4 * MS);
    let gathered = gather(&made).unwrap();
    assert_eq!(gathered.interval(), Some(Nanos(15 * MS)));
    assert_eq!(gathered.wall(3), Some(Nanos(45 * MS)));
    let delay = Spread {
        p50: Nanos(0),
        p99: Nanos(3 * MS),
        max: Nanos(3 * MS),
        sum: Nanos(3 * MS),
    };
    assert_eq!(gathered.delay, Some(delay));
    let states = [0, 0, 3, 0, 0, 0];
    assert_eq!(
        gathered.threads,
        [Sums {
            samples: 3,
            cpu: Nanos(0),
            states
        }]
    );
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one scene, looked at from several sides"
)]
fn the_tree_nests_processes_and_adds_threads_up() {
    let mut made = Made::default();
    let make = made.process(None, "/usr/bin/make");
    let cc = made.process(Some(make), "/usr/bin/cc");
    let main = made.thread(make, 100, "make");
    let other = made.thread(make, 150, "worker");
    let only = made.thread(cc, 101, "cc");
    made.event(Event::ProcessEnded {
        process: ProcessId(cc),
        time: Timestamp(ORIGIN + 40 * MS),
        status: Some(ExitStatus::Signal(11)),
    });
    made.profile.session.clocks.monotonic = Timestamp(ORIGIN);
    made.tick(
        0,
        &[
            (main, RunState::Sleeping, 0, &[]),
            (other, RunState::Running, 5, &[]),
            (only, RunState::Disk, 1, &[]),
        ],
    );
    made.tick(
        10,
        &[
            (main, RunState::Runnable, 0, &[]),
            (other, RunState::Running, 6, &[]),
        ],
    );
    let text = made.text(Length::Short);
    let tree = part(&text, "Processes and threads");
    assert_eq!(
        cells(tree, "make [100]"),
        [
            "make [100]",
            "4",
            "11.0 ms",
            "50.0",
            "25.0",
            "25.0",
            "before …"
        ]
    );
    assert_eq!(
        cells(tree, "worker"),
        [
            "· worker [150]",
            "2",
            "11.0 ms",
            "100.0",
            "0.0",
            "0.0",
            "before …"
        ]
    );
    assert_eq!(
        cells(tree, "100, main"),
        [
            "· make [100, main]",
            "2",
            "0 ns",
            "0.0",
            "50.0",
            "50.0",
            "before …"
        ]
    );
    assert_eq!(
        cells(tree, "cc [101]"),
        [
            "cc [101]",
            "1",
            "1.00 ms",
            "0.0",
            "0.0",
            "100.0",
            "before - 0.04 SIGSEGV"
        ]
    );
    let places = ["make [100]", "worker", "100, main", "cc [101]"].map(|word| tree.find(word));
    assert!(places.is_sorted(), "{tree}");
}

#[test]
fn long_lists_end_in_a_count_and_all_shows_all() {
    let mut made = Made::default();
    let root = made.process(None, "/bin/root");
    let threads: Vec<ThreadId> = (0..50).map(|n| made.thread(root, 100 + n, "t")).collect();
    for _ in 0..40 {
        let child = made.process(Some(root), "/bin/child");
        made.thread(child, 100 + child as i32, "child");
    }
    let samples: Vec<_> = threads
        .iter()
        .map(|t| (*t, RunState::Running, 1, &[] as &[Frame]))
        .collect();
    made.tick(0, &samples);
    let text = made.text(Length::Short);
    assert_eq!(
        cells(&text, "more thread")[..3],
        ["· … 44 more threads (--all)", "44", "44.0 ms"]
    );
    assert_eq!(
        cells(&text, "more process")[..2],
        ["… 17 more processes (--all)", "0"]
    );
    let all = made.text(Length::All);
    assert!(!all.contains(" more "), "{all}");
    assert_eq!(all.matches("child [").count(), 40);
}

#[test]
fn a_wide_tree_keeps_its_lifetimes() {
    let mut made = Made::default();
    let mut parent = None;
    for _ in 0..12 {
        parent = Some(made.process(parent, "/bin/a-program-with-quite-a-long-name"));
    }
    let last = ProcessId(11);
    let thread = made.thread(11, 111, "x");
    made.event(Event::ProcessEnded {
        process: last,
        time: Timestamp(ORIGIN + 99_900 * MS),
        status: Some(ExitStatus::Signal(11)),
    });
    made.profile.session.clocks.monotonic = Timestamp(ORIGIN - 1_230 * MS);
    made.tick(0, &[(thread, RunState::Running, 5_999_000, &[])]);
    let text = made.text(Length::Short);
    assert!(text.contains(" 1.23 - 101.13 SIGSEGV"), "{text}");
}

#[test]
fn parents_in_a_circle_are_still_shown() {
    let mut made = Made::default();
    made.process(Some(1), "/bin/one");
    made.process(Some(0), "/bin/two");
    made.process(Some(2), "/bin/own");
    made.process(Some(99), "/bin/far");
    let text = made.text(Length::Short);
    for name in ["one [100]", "two [101]", "own [102]", "far [103]"] {
        assert_eq!(text.matches(name).count(), 1, "{text}");
    }
}

#[test]
fn a_recording_without_ticks_is_reported() {
    let mut made = Made::default();
    made.event(Event::Session(Box::new(Session {
        version: "0.1.0".to_owned(),
        command: vec!["true".to_owned()],
        cpus: 1,
        ..Session::default()
    })));
    made.event(Event::Finished(Clocks {
        monotonic: Timestamp(3 * MS),
        ..Clocks::default()
    }));
    let text = made.text(Length::Short);
    assert!(
        text.starts_with("Recording by sprof 0.1.0\n  recorded  true\n"),
        "{text}"
    );
    assert_eq!(cells(&text, "lasted"), ["lasted", "3.00 ms"]);
    assert_eq!(
        cells(&text, "content"),
        ["content", "0 processes, 0 threads, 0 samples"]
    );
    assert_eq!(cells(&text, "kept"), ["kept", "0"]);
    assert!(text.contains("Nothing was lost"));
}

#[test]
fn a_sample_of_an_unknown_thread_or_stack_does_no_harm() {
    let mut made = Made::default();
    made.tick(0, &[(ThreadId(u32::MAX), RunState::Running, 1, &[])]);
    made.ticks[0].0.samples[0].stack = Some(crate::profile::StackId(7));
    let text = made.text(Length::Short);
    assert!(text.contains("1 sample"), "{text}");
    assert!(stacks(&made.profile, &made.ticks[0].0, &made.ticks[0].1).contains("1 thread "));
}

#[test]
fn stacks_at_one_instant_are_grouped_and_running_comes_first() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let main = made.thread(process, 100, "prog");
    let a = made.thread(process, 101, "pool\x1b[31m");
    let b = made.thread(process, 102, "pool");
    let module = made.module("/bin/prog", &["main", ""]);
    made.symbol(
        module,
        3,
        Ok(vec![symbol("add", true), symbol("fib", false)]),
    );
    let waiting: &[Frame] = &[at(module, 1), at(module, 2)];
    made.tick(
        0,
        &[
            (a, RunState::Sleeping, 0, waiting),
            (b, RunState::Sleeping, 0, waiting),
            (main, RunState::Running, 1, &[at(module, 1), at(module, 3)]),
        ],
    );
    made.ticks[0].0.skew = Nanos(12_000);
    made.ticks[0].0.samples[0].end = StackEnd::TooDeep;
    made.ticks[0].0.samples[1].end = StackEnd::TooDeep;
    made.ticks[0].0.samples[0].syscall = Some(SyscallNumber(202));
    made.ticks[0].0.samples[0].since = Some(Timestamp(ORIGIN - 1230 * MS));
    made.ticks[0].0.samples[1].syscall = Some(SyscallNumber(7));
    let (tick, table) = &made.ticks[0];
    let text = stacks(&made.profile, tick, table);
    assert_eq!(
        text,
        "\
Process 100 (3 threads): /bin/prog -l
  Thread 100 (main) \"prog\" running
      add (inlined) at src/a.c:7 (prog)
      fib at src/a.c:7 (prog)
      main at src/a.c:7 (prog)

  Thread 101 \"pool\\u{1b}[31m\" sleeping in futex for 1.23 s
  Thread 102 \"pool\" sleeping in poll
      prog+0x2
      main at src/a.c:7 (prog)
      <the stack is cut: too-deep>

3 threads stopped within 12.0 us
"
    );
}

#[test]
fn unmapped_code_is_one_entry() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let thread = made.thread(process, 100, "prog");
    for address in [16, 32] {
        let frame = Frame::Unmapped {
            address: Address(address),
        };
        made.tick(address, &[(thread, RunState::Running, 1, &[frame])]);
    }
    let text = made.text(Length::Short);
    assert_eq!(
        cells(&text, "<code of"),
        ["100.0 %", "100.0 %", "<code of no module>"]
    );
    assert_eq!(
        cells(&text, "no-module"),
        ["100.0 %", "2", "no-module", "-"]
    );
}

#[test]
fn names_cannot_speak_to_the_terminal() {
    assert_eq!(
        clean("a\x1b]0;x\x07\n\u{202e}b"),
        "a\\u{1b}]0;x\\u{7}\\n\\u{202e}b"
    );
    assert_eq!(clean("größe→λ"), "größe→λ");
}

#[test]
fn long_names_lose_their_middle() {
    let cases = [
        ("short", 5, "short"),
        ("0123456789", 7, "0123…89"),
        ("ääääääää", 4, "ää…ä"),
    ];
    for (text, width, short) in cases {
        assert_eq!(shortened(text, width), short);
        assert!(shortened(text, width).chars().count() <= width);
    }
}

#[test]
fn counts_and_shares_are_worded() {
    assert_eq!(counted(1, "process"), "1 process");
    assert_eq!(counted(0, "process"), "0 processes");
    assert_eq!(counted(2, "thread"), "2 threads");
    assert_eq!(percent(1, 0), "");
    assert_eq!(percent(1, 3), "33.3 %");
    assert_eq!(percent(u64::MAX, u64::MAX), "100.0 %");
}

#[test]
fn waits_are_told_by_thread_and_system_call() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let main = made.thread(process, 100, "prog");
    let other = made.thread(process, 101, "other");
    for at in 0..10 {
        made.tick(
            at * 10,
            &[
                (main, RunState::Sleeping, 0, &[]),
                (other, RunState::Sleeping, 0, &[]),
            ],
        );
        let (tick, _) = made.ticks.last_mut().unwrap();
        tick.samples[0].syscall = Some(SyscallNumber(202));
        tick.samples[1].syscall = Some(SyscallNumber(if at < 3 { 7 } else { 0 }));
        // What runs does not wait.
        if at == 9 {
            tick.samples[1].state = RunState::Running;
        }
    }
    let text = made.text(Length::Short);
    let waits = part(&text, "Waiting in system calls");
    let lines: Vec<_> = waits.lines().skip(2).collect();
    assert_eq!(
        lines,
        [
            "   100 ms  100.0 %  futex        prog [100] of prog",
            "  60.0 ms   60.0 %  read         other [101] of prog",
            "  30.0 ms   30.0 %  poll         other [101] of prog",
        ]
    );
}

#[test]
fn what_sprof_itself_cost_comes_last() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/prog");
    let thread = made.thread(process, 100, "prog");
    assert!(!made.text(Length::Short).contains("sprof itself"));
    let counters = [
        ("sprof cpu", CounterKind::Amount, [20 * MS, 5 * MS]),
        ("sprof memory", CounterKind::Level, [9_000_000, 7_000_000]),
        ("ticks missed", CounterKind::Amount, [2, 1]),
    ];
    for (id, (name, kind, values)) in (0..).zip(counters) {
        made.event(Event::Counter(Counter {
            id: CounterId(id),
            name: name.to_owned(),
            subject: CounterSubject::Session,
            kind,
            unit: CounterUnit::Count,
            values: Vec::new(),
        }));
        for value in values {
            let time = Timestamp(ORIGIN);
            made.event(Event::Counted {
                counter: CounterId(id),
                value: CounterValue { time, value },
            });
        }
    }
    made.tick(0, &[(thread, RunState::Running, 1, &[])]);
    made.tick(1000, &[(thread, RunState::Running, 1, &[])]);
    let text = made.text(Length::Short);
    assert_eq!(
        part(&text, "sprof itself").trim_end(),
        "sprof itself\n  CPU     25.0 ms, 2.5 % of one CPU\n  memory  9.0 MB at most\n  \
         pauses  200 us in all, 100 us at most\n  losses  3 ticks missed"
    );
    assert!(text.trim_end().ends_with("3 ticks missed"));
}

#[test]
fn time_that_was_paused_is_nobodys() {
    let mut made = Made::default();
    let process = made.process(None, "/bin/one");
    let thread = made.thread(process, 101, "one");
    let module = made.module("/bin/one", &["work"]);
    let stack = [at(module, 1)];
    for at_ms in [10, 20, 30, 1030, 1040] {
        made.tick(at_ms, &[(thread, RunState::Running, 10, &stack)]);
    }
    made.event(Event::Loss(Loss {
        time: Timestamp(ORIGIN + 35 * MS),
        tick: Some(3),
        kind: LossKind::Paused,
        subject: LossSubject::Session,
        count: 990 * MS,
        detail: "for 990 ms".to_owned(),
    }));
    let text = made.text(Length::Short);
    assert!(text.contains("10.0 ms in the mean"), "{text}");
    assert!(text.contains("  1  paused  for 990 ms\n"), "{text}");
}
