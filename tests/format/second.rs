//! A second reader, made from `FORMAT.md` alone: it shares no code with `src/format`, and panics
//! on whatever that page does not allow. It also proves that the page says enough.

use sprof::profile::{
    Address, BuildId, Clocks, Counter, CounterId, CounterKind, CounterSubject, CounterUnit,
    CounterValue, CpuNumber, Event, ExitStatus, Frame, Image, Loss, LossKind, LossSubject, Mapping,
    Marker, Module, ModuleId, ModuleKind, ModuleOffset, Nanos, Pid, Process, ProcessId, RunState,
    Sample, Session, StackEnd, SymbolFrame, SymbolReason, SyscallNumber, Thread, ThreadId,
    ThreadName, Tick, Tid, Timestamp,
};

use crate::content::{FullSample, FullTick};

pub(crate) struct Content {
    pub(crate) session: Session,
    pub(crate) events: Vec<Event>,
    pub(crate) ticks: Vec<FullTick>,
    pub(crate) lost: usize,
}

/// A chunk as section 2 has it.
struct Chunk {
    kind: u8,
    payload: Vec<u8>,
    len: usize,
}

fn chunk(file: &[u8]) -> Option<Chunk> {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    if file.len() < 14 {
        return None;
    }
    let (stored, raw) = (number(2) as usize, number(6) as usize);
    if raw > 16_777_216 || file.len() - 14 < stored {
        return None;
    }
    let payload = &file[14..14 + stored];
    let mut crc = crc32fast::Hasher::new();
    crc.update(&file[..10]);
    crc.update(payload);
    if crc.finalize() != number(10) {
        return None;
    }
    let payload = match file[1] & 2 {
        0 if stored == raw => payload.to_vec(),
        2 if stored < raw && raw <= 4096 + 256 * stored => {
            zstd::bulk::decompress(payload, raw).unwrap()
        }
        _ => return None,
    };
    assert_eq!(payload.len(), raw);
    Some(Chunk {
        kind: file[0],
        payload,
        len: 14 + stored,
    })
}

pub(crate) fn read(file: &[u8]) -> Content {
    assert_eq!(file[..8], [0x89, 0x53, 0x50, 0x52, 0x4f, 0x46, 0x0d, 0x0a]);
    let head = chunk(&file[8..]).unwrap();
    assert_eq!((head.kind, file[9]), (1, 1));
    let mut bytes = Bytes(&head.payload);
    let version = bytes.u64();
    assert!(version == 1 || version == 2);
    let mut content = Content {
        session: bytes.session(),
        events: Vec::new(),
        ticks: Vec::new(),
        lost: 0,
    };
    let mut rest = &file[8 + head.len..];
    let mut group = Group::new(version);
    while let Some(chunk) = chunk(rest) {
        let mut bytes = Bytes(&chunk.payload);
        match chunk.kind {
            2 => {
                while !bytes.0.is_empty() {
                    let kind = bytes.u64();
                    let body = bytes.blob();
                    content.events.extend(Bytes(&body).event(kind));
                }
            }
            3 => group.ticks(&mut bytes, &mut content.ticks),
            _ => assert_eq!(rest[1] & 1, 0, "a critical chunk"),
        }
        rest = &rest[chunk.len..];
    }
    content.lost = rest.len();
    content
}

/// The values of section 3, and the records of sections 4 and 5.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let byte = self.0[0];
        self.0 = &self.0[1..];
        byte
    }

    fn u64(&mut self) -> u64 {
        let mut value = 0u128;
        for place in 0.. {
            let byte = self.byte();
            value |= u128::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                break;
            }
        }
        value.try_into().unwrap()
    }

    fn u32(&mut self) -> u32 {
        self.u64().try_into().unwrap()
    }

    fn zz(&mut self) -> i64 {
        let number = self.u64();
        let half = (number / 2) as i64;
        if number.is_multiple_of(2) {
            half
        } else {
            -1 - half
        }
    }

    /// A number told against another one.
    fn against(&mut self, other: u64) -> u64 {
        other.wrapping_add_signed(self.zz())
    }

    fn i32(&mut self) -> i32 {
        self.zz().try_into().unwrap()
    }

    fn bool(&mut self) -> bool {
        let byte = self.byte();
        assert!(byte < 2);
        byte == 1
    }

    fn blob(&mut self) -> Vec<u8> {
        let len = self.u64() as usize;
        let blob = self.0[..len].to_vec();
        self.0 = &self.0[len..];
        blob
    }

    fn text(&mut self) -> String {
        String::from_utf8(self.blob()).unwrap()
    }

    fn maybe<T>(&mut self, get: fn(&mut Self) -> T) -> Option<T> {
        if self.bool() { Some(get(self)) } else { None }
    }

    fn list<T>(&mut self, get: fn(&mut Self) -> T) -> Vec<T> {
        let count = self.u64();
        (0..count).map(|_| get(self)).collect()
    }

    fn time(&mut self) -> Timestamp {
        Timestamp(self.u64())
    }

    fn nanos(&mut self) -> Nanos {
        Nanos(self.u64())
    }

    fn address(&mut self) -> Address {
        Address(self.u64())
    }

    fn process_id(&mut self) -> ProcessId {
        ProcessId(self.u32())
    }

    fn thread_id(&mut self) -> ThreadId {
        ThreadId(self.u32())
    }

    fn module_id(&mut self) -> ModuleId {
        ModuleId(self.u32())
    }

    fn pid(&mut self) -> Pid {
        Pid(self.i32())
    }

    fn session(&mut self) -> Session {
        Session {
            version: self.text(),
            command: self.list(Self::text),
            roots: self.list(Self::pid),
            interval: self.nanos(),
            engine: self.text(),
            scheduling: self.text(),
            host: self.text(),
            boot_id: self.text(),
            kernel: self.text(),
            arch: self.text(),
            page_size: self.u64(),
            cpus: self.u32(),
            clocks: self.clocks(),
            options: if self.0.is_empty() {
                Vec::new()
            } else {
                self.list(Self::text)
            },
        }
    }

    fn clocks(&mut self) -> Clocks {
        Clocks {
            monotonic: self.time(),
            boottime_ns: self.u64(),
            realtime_ns: self.u64(),
            error: self.nanos(),
        }
    }

    fn status(&mut self) -> ExitStatus {
        match self.byte() {
            0 => ExitStatus::Code(self.i32()),
            1 => ExitStatus::Signal(self.i32()),
            case => panic!("exit status {case}"),
        }
    }

    fn image(&mut self) -> Image {
        Image {
            from: self.time(),
            exe: self.text(),
            argv: self.list(Self::text),
        }
    }

    fn process(&mut self) -> Process {
        Process {
            id: self.process_id(),
            pid: self.pid(),
            inner_pid: self.maybe(Self::pid),
            parent: self.maybe(Self::process_id),
            parent_pid: self.pid(),
            start: self.time(),
            end: self.maybe(Self::time),
            exit_status: self.maybe(Self::status),
            images: self.list(Self::image),
        }
    }

    fn name(&mut self) -> ThreadName {
        ThreadName {
            from: self.time(),
            name: self.text(),
        }
    }

    fn thread(&mut self) -> Thread {
        Thread {
            id: self.thread_id(),
            process: self.process_id(),
            tid: Tid(self.i32()),
            start: self.time(),
            end: self.maybe(Self::time),
            names: self.list(Self::name),
        }
    }

    fn module(&mut self) -> Module {
        Module {
            id: self.module_id(),
            kind: match self.byte() {
                0 => ModuleKind::File,
                1 => ModuleKind::Vdso,
                case => panic!("module kind {case}"),
            },
            path: self.text(),
            deleted: self.bool(),
            build_id: self.maybe(Self::blob).map(BuildId),
            device: self.u64(),
            inode: self.u64(),
            size: self.u64(),
            modified_ns: self.u64(),
        }
    }

    fn mapping(&mut self) -> Mapping {
        Mapping {
            process: self.process_id(),
            module: self.module_id(),
            start: self.address(),
            end: self.address(),
            file_offset: self.u64(),
            bias: self.u64(),
            from: self.time(),
            until: self.maybe(Self::time),
        }
    }

    fn loss(&mut self) -> Loss {
        Loss {
            time: self.time(),
            tick: self.maybe(Self::u64),
            kind: match self.byte() {
                0 => LossKind::TickSkipped,
                1 => LossKind::TickDropped,
                2 => LossKind::NotTraceable,
                3 => LossKind::NoMappings,
                4 => LossKind::FileCut,
                5 => LossKind::RecordsLost,
                6 => LossKind::IntervalChanged,
                7 => LossKind::Paused,
                8 => LossKind::EngineChanged,
                case => panic!("loss kind {case}"),
            },
            subject: match self.byte() {
                0 => LossSubject::Session,
                1 => LossSubject::Process(self.process_id()),
                2 => LossSubject::Thread(self.thread_id()),
                case => panic!("subject {case}"),
            },
            count: self.u64(),
            detail: self.text(),
        }
    }

    fn cpu(&mut self) -> CpuNumber {
        CpuNumber(self.u64().try_into().unwrap())
    }

    fn value(&mut self) -> CounterValue {
        CounterValue {
            time: self.time(),
            value: self.u64(),
        }
    }

    fn counter(&mut self) -> Counter {
        Counter {
            id: CounterId(self.u32()),
            name: self.text(),
            subject: match self.byte() {
                0 => CounterSubject::Session,
                1 => CounterSubject::Process(self.process_id()),
                2 => CounterSubject::Thread(self.thread_id()),
                3 => CounterSubject::Cpu(self.cpu()),
                case => panic!("counter subject {case}"),
            },
            kind: match self.byte() {
                0 => CounterKind::Level,
                1 => CounterKind::Amount,
                case => panic!("counter kind {case}"),
            },
            unit: match self.byte() {
                0 => CounterUnit::Count,
                1 => CounterUnit::Nanos,
                2 => CounterUnit::Bytes,
                case => panic!("counter unit {case}"),
            },
            values: self.list(Self::value),
        }
    }

    fn function(&mut self) -> SymbolFrame {
        SymbolFrame {
            function: self.text(),
            file: self.maybe(Self::text),
            line: self.maybe(Self::u32),
            inlined: self.bool(),
        }
    }

    fn symbolized(&mut self) -> Result<Vec<SymbolFrame>, SymbolReason> {
        match self.byte() {
            0 => Err(match self.byte() {
                0 => SymbolReason::NotDone,
                1 => SymbolReason::FileMissing,
                2 => SymbolReason::FileChanged,
                3 => SymbolReason::FileInvalid,
                4 => SymbolReason::NoSymbols,
                5 => SymbolReason::NoSymbolHere,
                6 => SymbolReason::NoModule,
                case => panic!("reason {case}"),
            }),
            1 => Ok(self.list(Self::function)),
            case => panic!("symbolized {case}"),
        }
    }

    fn event(&mut self, kind: u64) -> Option<Event> {
        Some(match kind {
            1 => Event::Clocks(self.clocks()),
            2 => Event::ProcessStarted(self.process()),
            3 => Event::Exec {
                process: self.process_id(),
                image: self.image(),
            },
            4 => Event::ProcessEnded {
                process: self.process_id(),
                time: self.time(),
                status: self.maybe(Self::status),
            },
            5 => Event::ThreadStarted(self.thread()),
            6 => Event::ThreadNamed {
                thread: self.thread_id(),
                name: self.name(),
            },
            7 => Event::ThreadEnded {
                thread: self.thread_id(),
                time: self.time(),
            },
            8 => Event::Module(self.module()),
            9 => Event::Mapped(self.mapping()),
            10 => Event::Unmapped {
                process: self.process_id(),
                start: self.address(),
                time: self.time(),
            },
            11 => Event::Loss(self.loss()),
            12 => Event::Symbol {
                module: self.module_id(),
                offset: ModuleOffset(self.u64()),
                found: self.symbolized(),
            },
            13 => Event::Finished(self.clocks()),
            14 => Event::Counter(self.counter()),
            15 => Event::Counted {
                counter: CounterId(self.u32()),
                value: self.value(),
            },
            _ => return None,
        })
    }

    fn end(&mut self) -> StackEnd {
        match self.byte() {
            0 => StackEnd::Root,
            1 => StackEnd::NoUnwindInfo,
            2 => StackEnd::Unreadable,
            3 => StackEnd::NotCopied(self.u64()),
            4 => StackEnd::Implausible,
            5 => StackEnd::Unmapped,
            6 => StackEnd::TooDeep,
            7 => StackEnd::NotStopped,
            8 => StackEnd::Gone,
            9 => StackEnd::NoRegisters,
            10 => StackEnd::ForeignArchitecture,
            11 => StackEnd::NotTraceable,
            12 => StackEnd::RegistersUnknown,
            13 => StackEnd::RecordsLost,
            case => panic!("end {case}"),
        }
    }

    /// Gone or came: a count, and rising numbers.
    fn rising(&mut self) -> Vec<u64> {
        let count = self.u64();
        let mut numbers = Vec::new();
        for _ in 0..count {
            let before = numbers.last().map_or(0, |number| number + 1);
            numbers.push(before + self.u64());
        }
        numbers
    }
}

/// What a group told so far (section 6).
#[derive(Default)]
struct Group {
    version: u64,
    /// Caller and frame.
    stacks: Vec<(Option<usize>, Frame)>,
    frames: Vec<Frame>,
    module: u64,
    offset: u64,
    address: u64,
    index: u64,
    planned: u64,
    time: u64,
    /// Sample and its stack as a number, 0 for none.
    before: Vec<(Sample, u64)>,
    any: bool,
}

impl Group {
    fn new(version: u64) -> Group {
        Group {
            version,
            ..Group::default()
        }
    }

    fn ticks(&mut self, bytes: &mut Bytes<'_>, into: &mut Vec<FullTick>) {
        if bytes.bool() {
            *self = Group::new(self.version);
        } else {
            assert!(self.any, "the first chunk of ticks opens a group");
        }
        self.any = true;
        let (ticks, samples, time) = (bytes.u64(), bytes.u64(), bytes.u64());
        let count = if self.version == 1 { 10 } else { 14 };
        let blobs: Vec<Vec<u8>> = (0..count).map(|_| bytes.blob()).collect();
        let mut columns: Vec<Bytes<'_>> = blobs.iter().map(|blob| Bytes(blob)).collect();
        while !columns[0].0.is_empty() {
            self.stack(&mut columns);
        }
        let first = into.len();
        for _ in 0..ticks {
            into.push(self.tick(&mut columns));
        }
        assert!(columns.iter().all(|column| column.0.is_empty()));
        assert_eq!(self.time, time);
        let count: usize = into[first..].iter().map(|tick| tick.samples.len()).sum();
        assert_eq!(count as u64, samples);
    }

    fn stack(&mut self, columns: &mut [Bytes<'_>]) {
        let caller = match columns[0].u64() as usize {
            0 => None,
            distance => Some(self.stacks.len() - distance),
        };
        let frame = match columns[1].u64() as usize {
            0 => {
                let frame = self.frame(&mut columns[2]);
                self.frames.push(frame);
                frame
            }
            number => self.frames[number - 1],
        };
        self.stacks.push((caller, frame));
    }

    fn frame(&mut self, column: &mut Bytes<'_>) -> Frame {
        match column.byte() {
            0 => {
                self.module = column.against(self.module);
                self.offset = column.against(self.offset);
                Frame::Native {
                    module: ModuleId(self.module.try_into().unwrap()),
                    offset: ModuleOffset(self.offset),
                }
            }
            1 => {
                self.address = column.against(self.address);
                Frame::Unmapped {
                    address: Address(self.address),
                }
            }
            2 => Frame::Marker(Marker::SignalHandler),
            3 => Frame::Marker(Marker::Omitted(column.u64())),
            kind => panic!("frame kind {kind}"),
        }
    }

    fn tick(&mut self, columns: &mut [Bytes<'_>]) -> FullTick {
        let instants = &mut columns[3];
        self.index = instants.against(self.index.wrapping_add(1));
        self.planned = instants.against(self.planned);
        let time = instants.against(self.planned);
        let elapsed = time.wrapping_sub(self.time);
        self.time = time;
        let mut tick = Tick {
            index: self.index,
            time: Timestamp(time),
            planned: Timestamp(self.planned),
            stop: instants.nanos(),
            skew: instants.nanos(),
            stops: instants.u32(),
            perturbed: instants.u32(),
            ..Tick::default()
        };
        if self.version > 1 {
            for process in columns[10].rising() {
                let pause = tick.stop.0.wrapping_sub(columns[10].against(0));
                let process = ProcessId(process.try_into().unwrap());
                tick.pauses.push((process, Nanos(pause)));
            }
        }
        for place in columns[4].rising().into_iter().rev() {
            self.before.remove(place as usize);
        }
        for thread in columns[4].rising() {
            let unseen = Sample {
                thread: ThreadId(thread.try_into().unwrap()),
                state: RunState::Running,
                syscall: None,
                since: None,
                cpu_number: None,
                cpu: None,
                carried: false,
                stack: None,
                end: StackEnd::Root,
            };
            self.before.push((unseen, 0));
        }
        self.before.sort_by_key(|(sample, _)| sample.thread);
        self.changes(columns, elapsed);
        let samples = self.before.iter().map(|(sample, stack)| FullSample {
            sample: *sample,
            frames: self.spell(*stack),
        });
        FullTick {
            tick,
            samples: samples.collect(),
        }
    }

    fn changes(&mut self, columns: &mut [Bytes<'_>], elapsed: u64) {
        let mut place = 0;
        let mut same = true;
        while place < self.before.len() {
            let run = columns[5].u64() as usize;
            if !same {
                for (sample, stack) in &mut self.before[place..place + run] {
                    change(columns, sample, stack, (self.time, elapsed));
                }
            }
            place += run;
            same = !same;
        }
        assert_eq!(place, self.before.len());
    }

    /// The frames of a stack, root first.
    fn spell(&self, stack: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut next = (stack as usize).checked_sub(1);
        while let Some(number) = next {
            let (caller, frame) = self.stacks[number];
            frames.insert(0, frame);
            next = caller;
        }
        frames
    }
}

fn change(
    columns: &mut [Bytes<'_>],
    sample: &mut Sample,
    stack: &mut u64,
    (now, elapsed): (u64, u64),
) {
    let mut head = columns[6].byte();
    if head & 0b111 == 6 {
        assert_eq!(columns.len(), 14);
        details(columns, head, sample, now);
        head = columns[6].byte();
    }
    sample.state = match head & 0b111 {
        0 => RunState::Running,
        1 => RunState::Runnable,
        2 => RunState::Sleeping,
        3 => RunState::Disk,
        4 => RunState::Stopped,
        5 => RunState::Unknown,
        state => panic!("state {state}"),
    };
    sample.carried = head & 0b1000 != 0;
    match head >> 4 & 0b11 {
        0 => sample.cpu = None,
        1 => sample.cpu = Some(columns[7].nanos()),
        2 => sample.cpu = Some(Nanos(elapsed.wrapping_sub(columns[7].against(0)))),
        _ => {}
    }
    if head & 0b100_0000 != 0 {
        *stack = columns[8].against(*stack);
    }
    if head & 0b1000_0000 != 0 {
        sample.end = columns[9].end();
    }
}

/// What stands before a head.
fn details(columns: &mut [Bytes<'_>], bits: u8, sample: &mut Sample, now: u64) {
    let number = |column: &mut Bytes<'_>| column.u64().checked_sub(1);
    if bits & 0b1000 != 0 {
        let number = number(&mut columns[11]);
        sample.syscall = number.map(|number| SyscallNumber(number.try_into().unwrap()));
    }
    match bits >> 4 & 0b11 {
        0 => {}
        1 => sample.since = None,
        2 => sample.since = Some(Timestamp(now.wrapping_sub(columns[12].against(0)))),
        form => panic!("form {form} of a time asleep"),
    }
    if bits & 0b100_0000 != 0 {
        let number = number(&mut columns[13]);
        sample.cpu_number = number.map(|number| CpuNumber(number.try_into().unwrap()));
    }
}
