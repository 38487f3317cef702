//! Recordings out of a random number generator: legal, and odd in every way that is legal.

use sprof::profile::{
    Address, BuildId, Clocks, Counter, CounterId, CounterKind, CounterSubject, CounterUnit,
    CounterValue, CpuNumber, Event, ExitStatus, Frame, Image, Loss, LossKind, LossSubject, Mapping,
    Marker, Module, ModuleId, ModuleKind, ModuleOffset, Nanos, Pid, Process, ProcessId, RunState,
    Sample, Session, StackEnd, SymbolFrame, SymbolReason, SyscallNumber, Thread, ThreadId,
    ThreadName, Tick, Tid, Timestamp,
};

use crate::content::{FullSample, FullTick, Script, Step};

/// `SplitMix64`: small, and the same numbers on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }

    /// A number of any size, with the extremes among them.
    fn number(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => i64::MAX as u64 + self.below(2),
            _ => self.next() >> self.below(64),
        }
    }

    fn text(&mut self) -> String {
        let odd = [
            "",
            "a",
            "/usr/lib/libc.so.6",
            "\0",
            "line\nfeed",
            "ö\u{10ffff}",
            "\u{fffd} x",
        ];
        match self.below(3) {
            0 => (0..self.below(40))
                .map(|_| char::from(self.below(128) as u8))
                .collect(),
            1 => "x".repeat(self.below(300) as usize),
            _ => self.pick(&odd).to_owned(),
        }
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
        (!self.one_in(3)).then(|| make(self))
    }

    fn several<T>(&mut self, mut make: impl FnMut(&mut Random) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| make(self)).collect()
    }

    fn time(&mut self) -> Timestamp {
        Timestamp(self.number())
    }

    fn int(&mut self) -> i32 {
        self.number() as i32
    }

    pub(crate) fn clocks(&mut self) -> Clocks {
        Clocks {
            monotonic: self.time(),
            boottime_ns: self.number(),
            realtime_ns: self.number(),
            error: Nanos(self.number()),
        }
    }

    fn session(&mut self) -> Session {
        Session {
            version: self.text(),
            command: self.several(Random::text),
            roots: self.several(|random| Pid(random.int())),
            interval: Nanos(self.number()),
            engine: self.text(),
            scheduling: self.text(),
            host: self.text(),
            boot_id: self.text(),
            kernel: self.text(),
            arch: self.text(),
            page_size: self.number(),
            cpus: self.number() as u32,
            clocks: self.clocks(),
            options: Vec::new(),
        }
    }

    fn image(&mut self) -> Image {
        Image {
            from: self.time(),
            exe: self.text(),
            argv: self.several(Random::text),
        }
    }

    fn name(&mut self) -> ThreadName {
        ThreadName {
            from: self.time(),
            name: self.text(),
        }
    }

    fn status(&mut self) -> ExitStatus {
        if self.one_in(2) {
            ExitStatus::Code(self.int())
        } else {
            ExitStatus::Signal(self.int())
        }
    }

    fn pauses(&mut self) -> Vec<(ProcessId, Nanos)> {
        let mut processes = self.several(|random| random.number() as u32);
        processes.sort_unstable();
        processes.dedup();
        let pauses = processes.into_iter();
        pauses
            .map(|id| (ProcessId(id), Nanos(self.number())))
            .collect()
    }

    fn value(&mut self) -> CounterValue {
        CounterValue {
            time: self.time(),
            value: self.number(),
        }
    }

    fn symbol(&mut self) -> SymbolFrame {
        SymbolFrame {
            function: self.text(),
            file: self.maybe(Random::text),
            line: self.maybe(|random| random.number() as u32),
            inlined: self.one_in(2),
        }
    }

    fn frame(&mut self) -> Frame {
        match self.below(8) {
            0 => Frame::Unmapped {
                address: Address(self.number()),
            },
            1 => Frame::Marker(Marker::SignalHandler),
            2 => Frame::Marker(Marker::Omitted(self.number())),
            3 => Frame::Native {
                module: ModuleId(self.number() as u32),
                offset: ModuleOffset(self.number()),
            },
            _ => Frame::Native {
                module: ModuleId(self.below(3) as u32),
                offset: ModuleOffset(0x1000 + self.below(50)),
            },
        }
    }

    fn end(&mut self, version: u32) -> StackEnd {
        let copied = StackEnd::NotCopied(self.number());
        let all = [
            StackEnd::Root,
            StackEnd::NoUnwindInfo,
            StackEnd::Unreadable,
            copied,
            StackEnd::Implausible,
            StackEnd::Unmapped,
            StackEnd::TooDeep,
            StackEnd::NotStopped,
            StackEnd::Gone,
            StackEnd::NoRegisters,
            StackEnd::ForeignArchitecture,
            StackEnd::NotTraceable,
            StackEnd::RegistersUnknown,
            StackEnd::RecordsLost,
        ];
        self.pick(if version == 1 { &all[..12] } else { &all })
    }
}

/// How many ids there are so far.
#[derive(Default)]
struct Known {
    processes: u32,
    threads: u32,
    modules: u32,
    counters: u32,
    version: u32,
}

impl Known {
    fn event(&mut self, random: &mut Random) -> Event {
        let kind = random.below(if self.version == 1 { 12 } else { 14 });
        let of = |random: &mut Random, count: u32| random.below(u64::from(count.max(1))) as u32;
        let process = ProcessId(of(random, self.processes));
        let thread = ThreadId(of(random, self.threads));
        let module = ModuleId(of(random, self.modules));
        let time = random.time();
        match kind {
            _ if self.processes == 0 => self.process(random),
            0 => self.process(random),
            _ if self.threads == 0 => self.thread(random, process),
            1 => self.thread(random, process),
            _ if self.modules == 0 => self.module(random),
            2 => self.module(random),
            3 => Event::Clocks(random.clocks()),
            4 => Event::Exec {
                process,
                image: random.image(),
            },
            5 => Event::ProcessEnded {
                process,
                time,
                status: random.maybe(Random::status),
            },
            6 => Event::ThreadNamed {
                thread,
                name: random.name(),
            },
            7 => Event::ThreadEnded { thread, time },
            8 => Event::Mapped(Mapping {
                process,
                module,
                start: Address(random.number()),
                end: Address(random.number()),
                file_offset: random.number(),
                bias: random.number(),
                from: time,
                until: random.maybe(Random::time),
            }),
            9 => Event::Unmapped {
                process,
                start: Address(random.number()),
                time,
            },
            10 => self.loss(random, process, thread),
            11 if self.version == 1 => Known::symbol(random, module),
            _ if kind > 10 && self.counters == 0 => self.counter(random, process, thread),
            11 => self.counter(random, process, thread),
            12 => Event::Counted {
                counter: CounterId(of(random, self.counters)),
                value: random.value(),
            },
            _ => Known::symbol(random, module),
        }
    }

    fn process(&mut self, random: &mut Random) -> Event {
        self.processes += 1;
        Event::ProcessStarted(Process {
            id: ProcessId(self.processes - 1),
            pid: Pid(random.int()),
            inner_pid: random.maybe(|random| Pid(random.int())),
            parent: random.maybe(|random| ProcessId(random.number() as u32)),
            parent_pid: Pid(random.int()),
            start: random.time(),
            end: random.maybe(Random::time),
            exit_status: random.maybe(Random::status),
            images: random.several(Random::image),
        })
    }

    fn thread(&mut self, random: &mut Random, process: ProcessId) -> Event {
        self.threads += 1;
        Event::ThreadStarted(Thread {
            id: ThreadId(self.threads - 1),
            process,
            tid: Tid(random.int()),
            start: random.time(),
            end: random.maybe(Random::time),
            names: random.several(Random::name),
        })
    }

    fn module(&mut self, random: &mut Random) -> Event {
        self.modules += 1;
        Event::Module(Module {
            id: ModuleId(self.modules - 1),
            kind: random.pick(&[ModuleKind::File, ModuleKind::Vdso]),
            path: random.text(),
            deleted: random.one_in(2),
            build_id: random.maybe(|random| BuildId(random.several(|random| random.next() as u8))),
            device: random.number(),
            inode: random.number(),
            size: random.number(),
            modified_ns: random.number(),
        })
    }

    fn counter(&mut self, random: &mut Random, process: ProcessId, thread: ThreadId) -> Event {
        self.counters += 1;
        Event::Counter(Counter {
            id: CounterId(self.counters - 1),
            name: random.text(),
            subject: random.pick(&[
                CounterSubject::Session,
                CounterSubject::Process(process),
                CounterSubject::Thread(thread),
                CounterSubject::Cpu(CpuNumber(3)),
            ]),
            kind: random.pick(&[CounterKind::Level, CounterKind::Amount]),
            unit: random.pick(&[CounterUnit::Count, CounterUnit::Nanos, CounterUnit::Bytes]),
            values: random.several(Random::value),
        })
    }

    fn loss(&self, random: &mut Random, process: ProcessId, thread: ThreadId) -> Event {
        let kinds = [
            LossKind::TickSkipped,
            LossKind::TickDropped,
            LossKind::NotTraceable,
            LossKind::NoMappings,
            LossKind::FileCut,
            LossKind::RecordsLost,
            LossKind::IntervalChanged,
            LossKind::Paused,
            LossKind::EngineChanged,
        ];
        let known = if self.version == 1 { 5 } else { kinds.len() };
        Event::Loss(Loss {
            time: random.time(),
            tick: random.maybe(Random::number),
            kind: random.pick(&kinds[..known]),
            subject: random.pick(&[
                LossSubject::Session,
                LossSubject::Process(process),
                LossSubject::Thread(thread),
            ]),
            count: random.number(),
            detail: random.text(),
        })
    }

    fn symbol(random: &mut Random, module: ModuleId) -> Event {
        let found = if random.one_in(2) {
            let mut chain = random.several(Random::symbol);
            chain.push(random.symbol());
            Ok(chain)
        } else {
            Err(random.pick(&[
                SymbolReason::NotDone,
                SymbolReason::FileMissing,
                SymbolReason::FileChanged,
                SymbolReason::FileInvalid,
                SymbolReason::NoSymbols,
                SymbolReason::NoSymbolHere,
                SymbolReason::NoModule,
            ]))
        };
        Event::Symbol {
            module,
            offset: ModuleOffset(random.number()),
            found,
        }
    }
}

/// The next tick: most threads as before, some changed, some gone, some new.
fn next_tick(random: &mut Random, last: &FullTick, interval: u64, version: u32) -> FullTick {
    let odd = random.one_in(20);
    let time = if odd {
        random.number()
    } else {
        last.tick.time.0.wrapping_add(interval)
    };
    let mut samples = last.samples.clone();
    if random.one_in(4) {
        samples.retain(|_| !random.one_in(4));
    }
    for _ in 0..random.below(3) {
        let thread = ThreadId(random.below(30) as u32 * if odd { 99_999_999 } else { 1 });
        if let Err(place) = samples.binary_search_by_key(&thread, |full| full.sample.thread) {
            let sample = random_sample(random, thread, interval, version);
            samples.insert(place, sample);
        }
    }
    for full in &mut samples {
        match random.below(4) {
            0 => *full = random_sample(random, full.sample.thread, interval, version),
            1 => {
                full.frames.pop();
                full.frames.push(random.frame());
                full.sample.cpu = Some(Nanos(interval - random.below(interval)));
            }
            _ => {}
        }
    }
    FullTick {
        tick: Tick {
            index: if odd {
                random.number()
            } else {
                last.tick.index.wrapping_add(1)
            },
            time: Timestamp(time),
            planned: Timestamp(time.wrapping_sub(random.below(1000))),
            stop: Nanos(random.number()),
            skew: Nanos(random.number()),
            stops: random.number() as u32,
            perturbed: random.number() as u32,
            pauses: if version > 1 {
                random.pauses()
            } else {
                Vec::new()
            },
            samples: Vec::new(),
        },
        samples,
    }
}

fn random_sample(random: &mut Random, thread: ThreadId, interval: u64, version: u32) -> FullSample {
    let frames = (0..random.below(12)).map(|_| random.frame()).collect();
    let mut full = FullSample {
        sample: Sample {
            state: random.pick(&RunState::ALL),
            cpu: random.maybe(|random| match random.below(4) {
                0 => Nanos(random.number()),
                1 => Nanos(0),
                _ => Nanos(interval.wrapping_sub(random.below(99))),
            }),
            carried: random.one_in(2),
            stack: None,
            end: random.end(version),
            ..Sample::of(thread)
        },
        frames,
    };
    if version > 1 {
        let sample = &mut full.sample;
        sample.syscall = random.maybe(|random| SyscallNumber(random.number() as u32));
        sample.since = random.maybe(Random::time);
        sample.cpu_number = random.maybe(|random| CpuNumber(random.number() as u16));
    }
    full
}

/// A recording of about `steps` steps, the same for the same seed.
pub(crate) fn script(seed: u64, steps: usize) -> Script {
    script_of(2, seed, steps)
}

/// One with nothing in it that this version of the format does not have.
pub(crate) fn script_of(version: u32, seed: u64, steps: usize) -> Script {
    let mut random = Random(seed);
    let session = random.session();
    let interval = 1 + random.below(20_000_000);
    let mut known = Known {
        version,
        ..Known::default()
    };
    let mut last = FullTick {
        tick: Tick {
            time: Timestamp(random.below(1 << 50)),
            ..Tick::default()
        },
        samples: Vec::new(),
    };
    let steps = (0..steps).map(|_| match random.below(8) {
        0 => Step::Flush,
        1..=3 => Step::Event(known.event(&mut random)),
        _ => {
            last = next_tick(&mut random, &last, interval, version);
            Step::Tick(last.clone())
        }
    });
    let steps = steps.collect();
    Script {
        session,
        steps,
        finished: (!seed.is_multiple_of(4)).then(|| random.clocks()),
    }
}
