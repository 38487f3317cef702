//! A recording made up in memory, with everything in it that is hard to convert.
//!
//! Two processes and one that no tick saw; a thread that lives for four ticks; missing ticks; a
//! thread missing in one tick; a tick that came late; inlined functions; the same function at
//! different lines; stacks that are cut, and samples without any; names that break careless
//! writers. The stack table begins anew in the middle, as that of a real recording does.

use sprof::profile::{
    Address, BuildId, Clocks, Counter, CounterId, CounterKind, CounterSubject, CounterUnit,
    CounterValue, CpuNumber, ExitStatus, Frame, Image, Loss, LossKind, LossSubject, Marker, Module,
    ModuleId, ModuleKind, ModuleOffset, Nanos, Pid, Process, ProcessId, Profile, Recording,
    RecordingError, RunState, Sample, Session, StackEnd, StackTable, SymbolFrame, SymbolReason,
    SyscallNumber, Thread, ThreadId, ThreadName, Tick, Tid, Timestamp,
};

const BEGIN: u64 = 5_000_000_000_000;
const INTERVAL: u64 = 10_000_000;
const TICKS: u64 = 26;
/// The recording's own end, less than an interval after its last tick.
pub(crate) const END: Timestamp = Timestamp(BEGIN + (TICKS + 3) * INTERVAL);

pub(crate) struct Synthetic {
    profile: Profile,
    ticks: Vec<(Tick, usize)>,
    tables: [StackTable; 2],
}

impl Recording for Synthetic {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn each_tick(
        &self,
        visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        for (tick, table) in &self.ticks {
            visit(tick, &self.tables[*table])?;
        }
        Ok(())
    }
}

/// When a tick is taken: on a grid with jitter, and from tick 20 on three intervals late.
pub(crate) fn time_of(tick: u64) -> Timestamp {
    let jitter = [0, 2_000_000, 1_000_000, 500_000][(tick % 4) as usize];
    let late = if tick >= 20 { 3 * INTERVAL } else { 0 };
    Timestamp(BEGIN + tick * INTERVAL + jitter + late)
}

pub(crate) fn synthetic() -> Synthetic {
    let mut tables = [StackTable::default(), StackTable::default()];
    // The second table numbers its stacks in another order.
    tables[1].intern_all([native(1, 0x9000), native(1, 0x9100)]);
    let mut ticks = Vec::new();
    for index in (0..TICKS).filter(|index| !(8..11).contains(index)) {
        let table = usize::from(index >= 13);
        let threads = (0..7).filter(|thread| lives(*thread, index));
        let samples = threads.map(|thread| sample(thread, index, &mut tables[table]));
        let tick = Tick {
            index,
            time: time_of(index),
            planned: Timestamp(BEGIN + index * INTERVAL),
            stop: Nanos(40_000 + index * 1000),
            skew: Nanos(9_000 + index),
            stops: 3,
            perturbed: u32::from(index == 4),
            pauses: vec![(ProcessId(0), Nanos(170_000 + index))],
            samples: samples.collect(),
        };
        ticks.push((tick, table));
    }
    Synthetic {
        profile: profile(),
        ticks,
        tables,
    }
}

fn lives(thread: u64, tick: u64) -> bool {
    match thread {
        1 => tick != 16,
        3 => (3..7).contains(&tick),
        4 | 5 => (12..19).contains(&tick),
        6 => tick >= 5,
        _ => true,
    }
}

fn native(module: u32, offset: u64) -> Frame {
    Frame::Native {
        module: ModuleId(module),
        offset: ModuleOffset(offset),
    }
}

fn sample(thread: u64, tick: u64, table: &mut StackTable) -> Sample {
    let main = native(0, 0x1000);
    let handle = native(0, 0x1200 + (tick % 2) * 8);
    let odd = native(0, 0x1400);
    let (frames, end): (Vec<Frame>, StackEnd) = match thread {
        0 => (
            vec![main, native(0, 0x1300), native(1, 0x2000)],
            StackEnd::Root,
        ),
        1 if tick % 5 == 4 => (vec![main, odd], StackEnd::Root),
        1 => (vec![main, handle], StackEnd::Root),
        2 if tick.is_multiple_of(3) => (vec![handle, odd], StackEnd::NotCopied(4096 + tick)),
        2 => (vec![main, handle, odd], StackEnd::Root),
        3 => {
            let handler = Frame::Marker(Marker::SignalHandler);
            (vec![main, handler, native(0, 0x1300)], StackEnd::Root)
        }
        4 => {
            let omitted = Frame::Marker(Marker::Omitted(12));
            let unknown = Frame::Unmapped {
                address: Address(0x7fff_1234_5678),
            };
            (vec![main, omitted, unknown], StackEnd::Root)
        }
        5 => (vec![], StackEnd::NotStopped),
        _ => (vec![main, main, main, native(0, 0x1300)], StackEnd::Root),
    };
    let busy = matches!(thread, 1 | 2);
    Sample {
        thread: ThreadId(thread as u32),
        state: match thread {
            1 | 2 => RunState::Running,
            5 => RunState::Disk,
            _ => RunState::Sleeping,
        },
        cpu: (thread != 5).then_some(Nanos(if busy { thread * 4_000_000 } else { 0 })),
        syscall: match thread {
            0 => Some(SyscallNumber(7)),
            6 => Some(SyscallNumber(9999)),
            _ => None,
        },
        since: (thread == 0).then_some(Timestamp(BEGIN - 1_500_000_000)),
        cpu_number: (thread < 3).then_some(CpuNumber(thread as u16)),
        carried: !busy && tick > 0,
        stack: table.intern_all(frames),
        end,
    }
}

fn profile() -> Profile {
    let mut profile = Profile {
        session: session(),
        finished: Some(clocks(END.0 - BEGIN + 1_000_000)),
        processes: processes(),
        threads: threads(),
        modules: vec![
            module(0, "/srv/app/bin/server", Some(vec![0xab, 0xcd, 0x01])),
            module(1, "/usr/lib/libc.so.6", None),
        ],
        losses: losses(),
        counters: counters(),
        ..Profile::default()
    };
    symbols(&mut profile);
    profile
}

fn clocks(since_begin: u64) -> Clocks {
    Clocks {
        monotonic: Timestamp(BEGIN - 1_000_000 + since_begin),
        boottime_ns: BEGIN + 7_000_000_000 + since_begin,
        realtime_ns: 1_790_000_000_000_000_000 + since_begin,
        error: Nanos(120),
    }
}

fn session() -> Session {
    Session {
        version: "0.1.0".to_owned(),
        command: vec!["server".to_owned(), "--name=\"a b\"".to_owned()],
        roots: vec![Pid(100)],
        interval: Nanos(INTERVAL),
        engine: "stop".to_owned(),
        scheduling: "SCHED_FIFO 1".to_owned(),
        host: "host".to_owned(),
        boot_id: "b00t".to_owned(),
        kernel: "6.1.0".to_owned(),
        arch: "x86_64".to_owned(),
        page_size: 4096,
        cpus: 2,
        clocks: clocks(0),
        options: vec!["--follow".to_owned(), "none".to_owned()],
    }
}

fn processes() -> Vec<Process> {
    let process = |id: u32, pid: i32, start: u64, end: Option<u64>, exe: &str| Process {
        id: ProcessId(id),
        pid: Pid(pid),
        inner_pid: (id == 1).then_some(Pid(7)),
        parent: (id > 0).then_some(ProcessId(0)),
        parent_pid: Pid(if id > 0 { 100 } else { 1 }),
        start: Timestamp(start),
        end: end.map(Timestamp),
        exit_status: end.map(|_| ExitStatus::Signal(9)),
        images: vec![Image {
            from: Timestamp(start),
            exe: exe.to_owned(),
            argv: vec![exe.to_owned(), "-x".to_owned()],
        }],
    };
    vec![
        process(0, 100, BEGIN - 9_000_000_000, None, "/srv/app/bin/server"),
        process(
            1,
            200,
            time_of(12).0 - 3_000_000,
            Some(time_of(18).0 + 4_000_000),
            ODD_PROCESS,
        ),
        process(
            2,
            300,
            time_of(13).0 + 100,
            Some(time_of(13).0 + 200),
            "/bin/true",
        ),
    ]
}

const ODD_PROCESS: &str = "/tmp/# a b;c\"d\\\n\u{1}é\u{fffd} (deleted)";
const ODD_FUNCTION: &str = "odd<\"q\"; [k=1]>::\u{7}\n\ttail 🦀 12";

fn threads() -> Vec<Thread> {
    let thread = |id: u32, process: u32, tid: i32, start: u64, end: Option<u64>, name: &str| {
        let names = ["", name].into_iter().filter(|name| !name.is_empty());
        Thread {
            id: ThreadId(id),
            process: ProcessId(process),
            tid: Tid(tid),
            start: Timestamp(start),
            end: end.map(Timestamp),
            names: names
                .map(|name| ThreadName {
                    from: Timestamp(start),
                    name: name.to_owned(),
                })
                .collect(),
        }
    };
    let before = BEGIN - 8_000_000_000;
    let born = time_of(12).0 - 3_000_000;
    let dead = Some(time_of(18).0 + 4_000_000);
    vec![
        thread(0, 0, 100, before, None, "server"),
        thread(1, 0, 101, before, None, "worker"),
        thread(2, 0, 102, before, None, "worker"),
        thread(
            3,
            0,
            103,
            time_of(3).0 - 50_000,
            Some(time_of(6).0 + 2_500_000),
            "w;o\"r\nk\u{fffd}",
        ),
        thread(4, 1, 200, born, dead, "odd main"),
        thread(5, 1, 201, born, dead, ""),
        thread(6, 0, 104, time_of(5).0 - 70_000, None, "recursive"),
        thread(
            7,
            2,
            300,
            time_of(13).0 + 100,
            Some(time_of(13).0 + 200),
            "true",
        ),
    ]
}

fn module(id: u32, path: &str, build_id: Option<Vec<u8>>) -> Module {
    Module {
        id: ModuleId(id),
        kind: ModuleKind::File,
        path: path.to_owned(),
        deleted: false,
        build_id: build_id.map(BuildId),
        device: 1,
        inode: u64::from(id) + 10,
        size: 4096,
        modified_ns: 0,
    }
}

fn losses() -> Vec<Loss> {
    vec![
        Loss {
            time: time_of(11),
            tick: Some(8),
            kind: LossKind::TickSkipped,
            subject: LossSubject::Session,
            count: 3,
            detail: "the machine was late".to_owned(),
        },
        Loss {
            time: time_of(12),
            tick: None,
            kind: LossKind::NoMappings,
            subject: LossSubject::Process(ProcessId(1)),
            count: 1,
            detail: String::new(),
        },
        Loss {
            time: Timestamp(time_of(25).0 + 1),
            tick: None,
            kind: LossKind::NotTraceable,
            subject: LossSubject::Thread(ThreadId(7)),
            count: 1,
            detail: "gone".to_owned(),
        },
    ]
}

fn counters() -> Vec<Counter> {
    let subjects = [
        CounterSubject::Session,
        CounterSubject::Process(ProcessId(1)),
        CounterSubject::Thread(ThreadId(1)),
        CounterSubject::Cpu(CpuNumber(1)),
        // Of a process that no tick saw.
        CounterSubject::Process(ProcessId(2)),
    ];
    let kinds = [
        (CounterKind::Level, CounterUnit::Bytes),
        (CounterKind::Amount, CounterUnit::Nanos),
        (CounterKind::Amount, CounterUnit::Count),
    ];
    let counter = |(id, subject): (u32, CounterSubject)| {
        let (kind, unit) = kinds[id as usize % kinds.len()];
        let values = [2, 13, 14, 25].map(|tick| CounterValue {
            time: time_of(tick),
            value: 1_500_000 * (30 - tick),
        });
        Counter {
            id: CounterId(id),
            name: format!("odd \"{id}\""),
            subject,
            kind,
            unit,
            values: values.to_vec(),
        }
    };
    (0..).zip(subjects).map(counter).collect()
}

fn symbols(profile: &mut Profile) {
    let function = |name: &str, file: &str, line: u32, inlined: bool| SymbolFrame {
        function: name.to_owned(),
        file: Some(file.to_owned()),
        line: Some(line),
        inlined,
    };
    let chain = |line| {
        vec![
            function("peek", "src/parse.h", 7, true),
            function("parse", "src/parse.c", line + 70, true),
            function("handle", "src/serve.c", line, false),
        ]
    };
    let bare = |name: &str| {
        vec![SymbolFrame {
            function: name.to_owned(),
            file: None,
            line: None,
            inlined: false,
        }]
    };
    let entries = [
        (
            0,
            0x1000,
            Ok(vec![function("main", "src/main.c", 12, false)]),
        ),
        (0, 0x1200, Ok(chain(31))),
        (0, 0x1208, Ok(chain(32))),
        (0, 0x1300, Ok(bare("wait_for"))),
        (0, 0x1400, Ok(bare(ODD_FUNCTION))),
        (1, 0x2000, Err(SymbolReason::NoSymbols)),
    ];
    for (module, offset, found) in entries {
        profile
            .symbols
            .insert(ModuleId(module), ModuleOffset(offset), found);
    }
}
