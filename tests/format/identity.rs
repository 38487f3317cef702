//! What is written is what is read.

use std::io::Write;

use sprof::format::{FormatError, Limits, Reader, Writer, append, create};
use sprof::profile::{
    Clocks, Event, Module, ModuleId, ModuleKind, ModuleOffset, Nanos, Recording, Sample, Session,
    StackId, SymbolFrame, SymbolReason, ThreadId, Tick, Timestamp,
};

use crate::content::{Script, all_ticks, open, read};
use crate::generate::{Random, script};
use crate::second;

/// Limits of every size, down to a chunk and a group for each tick.
fn limits(seed: u64) -> Limits {
    let mut random = Random(seed ^ 0xabcd);
    Limits {
        flush: Nanos(random.pick(&[0, 50_000_000, 1_000_000_000])),
        flush_bytes: random.pick(&[0, 1, 100, 1 << 20, usize::MAX]),
        group: Nanos(random.pick(&[0, 100_000_000, 10_000_000_000])),
        group_stacks: random.pick(&[0, 1, 40, 1 << 17, usize::MAX]),
    }
}

fn check(script: &Script, bytes: &[u8]) {
    let found = read(&open(bytes).unwrap());
    assert_eq!(found.lost, 0, "{}", found.detail);
    assert_eq!(found.profile, script.profile(usize::MAX));
    assert_eq!(found.ticks, script.ticks());

    let second = second::read(bytes);
    assert_eq!(second.session, script.session);
    assert_eq!(second.events, script.events());
    assert_eq!(second.ticks, script.ticks());
    assert_eq!(second.lost, 0);
}

#[test]
fn what_is_written_is_read_by_both_readers() {
    for seed in 0..250 {
        let script = script(seed, 60);
        check(&script, &script.write(limits(seed)));
    }
}

#[test]
fn what_was_chosen_is_read_where_it_was_written() {
    let mut chosen = script(7, 60);
    chosen.session.options = vec!["--threads".to_owned(), "^io".to_owned()];
    check(&chosen, &chosen.write(limits(7)));
}

#[test]
fn the_same_recording_gives_the_same_bytes() {
    let script = script(7, 200);
    assert_eq!(
        script.write(Limits::default()),
        script.write(Limits::default())
    );
}

/// The places at which a tick has other samples than the one before, and some more; `None`: its
/// threads are others.
fn changes(random: &mut Random, before: &[Sample], now: &[Sample]) -> Option<Vec<usize>> {
    let mut pairs = before.iter().zip(now);
    if before.len() != now.len() || pairs.any(|(before, now)| before.thread != now.thread) {
        return None;
    }
    let may_change = |&place: &usize| before[place] != now[place] || random.one_in(4);
    Some((0..now.len()).filter(may_change).collect())
}

#[test]
fn a_tick_told_by_its_changes_gives_the_same_bytes() {
    let mut told = 0;
    for seed in 0..250 {
        let script = script(seed, 60);
        let mut random = Random(seed);
        let mut before: Vec<Sample> = Vec::new();
        let bytes = script.write_by(limits(seed), |writer, tick| {
            match changes(&mut random, &before, &tick.samples) {
                Some(changed) => {
                    told += 1;
                    writer.tick_changing(tick, &changed).unwrap();
                }
                None => writer.tick(tick).unwrap(),
            }
            before.clone_from(&tick.samples);
        });
        assert!(bytes == script.write(limits(seed)), "seed {seed}");
    }
    assert!(told > 1000, "{told}");
}

#[test]
fn changes_that_cannot_be_are_refused() {
    let mut writer = Writer::new(Vec::new(), &Session::default()).unwrap();
    let mut tick = Tick {
        samples: vec![sample(0, None), sample(1, None)],
        ..Tick::default()
    };
    // The first of a group is told whole.
    writer.tick_changing(&tick, &[]).unwrap();
    tick.samples[1] = sample(1, Some(StackId(0)));
    for changed in [&[1][..], &[1, 0], &[0, 0], &[2]] {
        let answer = writer.tick_changing(&tick, changed);
        assert!(
            matches!(answer, Err(FormatError::Refused(_))),
            "{changed:?}"
        );
    }
    for samples in [
        vec![sample(0, None)],
        vec![sample(0, None), sample(2, None)],
    ] {
        let tick = Tick {
            samples,
            ..Tick::default()
        };
        let answer = writer.tick_changing(&tick, &[tick.samples.len() - 1]);
        assert!(matches!(answer, Err(FormatError::Refused(_))));
    }
    tick.samples[1] = Sample::of(ThreadId(1));
    writer.tick_changing(&tick, &[1]).unwrap();
    let ticks = all_ticks(&open(&writer.close().unwrap()).unwrap());
    let times = ticks.iter().map(|tick| tick.samples[1].sample.cpu);
    assert_eq!(times.collect::<Vec<_>>(), [Some(Nanos(5)), None]);
}

#[test]
fn ticks_can_be_gone_through_again_and_left_early() {
    let script = script(3, 100);
    let reader = open(&script.write(limits(3))).unwrap();
    let mut visits = 0;
    let left = reader.each_tick(&mut |_, _| {
        visits += 1;
        if visits == 3 {
            Err("enough".into())
        } else {
            Ok(())
        }
    });
    assert_eq!(left.unwrap_err().to_string(), "enough");
    assert_eq!(visits, 3);
    assert_eq!(all_ticks(&reader), script.ticks());
    assert_eq!(all_ticks(&reader), script.ticks());
}

#[test]
fn a_visitor_may_read_the_recording_itself() {
    let script = script(5, 40);
    let reader = open(&script.write(limits(5))).unwrap();
    let mut inner = 0;
    reader
        .each_tick(&mut |_, _| {
            inner += all_ticks(&reader).len();
            Ok(())
        })
        .unwrap();
    assert_eq!(inner, script.ticks().len().pow(2));
}

fn sample(thread: u32, stack: Option<StackId>) -> Sample {
    Sample {
        cpu: Some(Nanos(5)),
        stack,
        ..Sample::of(ThreadId(thread))
    }
}

#[test]
fn ids_stay_valid_for_as_long_as_the_group() {
    let limits = Limits {
        group: Nanos(100),
        ..Limits::default()
    };
    let mut writer = Writer::with_limits(Vec::new(), &Session::default(), limits).unwrap();
    let frame = sprof::profile::Frame::Unmapped {
        address: sprof::profile::Address(77),
    };
    let mut known = None;
    let mut restarts = 0;
    for time in 0..1000 {
        let (group, stack) = match known {
            Some((group, stack)) if group == writer.group() => (group, stack),
            _ => {
                restarts += 1;
                let group = writer.group();
                assert!(writer.stacks().is_empty());
                (group, writer.stacks().intern(None, frame))
            }
        };
        known = Some((group, stack));
        let tick = Tick {
            time: Timestamp(time),
            samples: vec![sample(0, Some(stack))],
            ..Tick::default()
        };
        writer.tick(&tick).unwrap();
    }
    // Ticks 0 to 100, 101 to 201, …
    assert_eq!(restarts, 10);
    let ticks = all_ticks(&open(&writer.close().unwrap()).unwrap());
    assert_eq!(ticks.len(), 1000);
    assert!(ticks.iter().all(|tick| tick.samples[0].frames == [frame]));
}

#[test]
fn what_waits_is_written_each_second_of_ticks() {
    let mut writer = Writer::new(Vec::new(), &Session::default()).unwrap();
    let head = writer.bytes_written();
    let tick = |time| Tick {
        time: Timestamp(time),
        samples: vec![sample(0, None)],
        ..Tick::default()
    };
    writer.tick(&tick(5_000_000_000)).unwrap();
    writer.event(&Event::Clocks(Clocks::default())).unwrap();
    writer.tick(&tick(5_999_999_999)).unwrap();
    assert_eq!(writer.bytes_written(), head);
    writer.tick(&tick(6_000_000_000)).unwrap();
    let second = writer.bytes_written();
    assert!(second > head);
    writer.tick(&tick(6_500_000_000)).unwrap();
    assert_eq!(writer.bytes_written(), second);
    writer.flush().unwrap();
    assert!(writer.bytes_written() > second);
}

#[test]
fn what_is_refused_leaves_the_recording_whole() {
    let mut writer = Writer::new(Vec::new(), &Session::default()).unwrap();
    let bad_ticks = [
        vec![sample(2, None), sample(1, None)],
        vec![sample(1, None), sample(1, None)],
        vec![sample(1, Some(StackId(0)))],
        vec![sample(1, None); (1 << 18) + 1],
    ];
    let bad_events = [
        Event::Session(Box::default()),
        Event::ThreadEnded {
            thread: ThreadId(0),
            time: Timestamp(0),
        },
        Event::Symbol {
            module: ModuleId(0),
            offset: ModuleOffset(0),
            found: Err(SymbolReason::NoSymbols),
        },
    ];
    for event in &bad_events {
        let refused = writer.event(event).unwrap_err();
        assert!(matches!(refused, FormatError::Refused(_)), "{refused}");
    }
    writer.event(&Event::Module(module(0))).unwrap();
    let nameless = Event::Symbol {
        module: ModuleId(0),
        offset: ModuleOffset(0),
        found: Ok(Vec::new()),
    };
    assert!(writer.event(&nameless).is_err());
    let huge = Event::Module(Module {
        path: "x".repeat(16 << 20),
        ..module(1)
    });
    assert!(writer.event(&huge).is_err());
    writer.event(&Event::Module(module(1))).unwrap();
    for samples in bad_ticks {
        let tick = Tick {
            samples,
            ..Tick::default()
        };
        let refused = writer.tick(&tick).unwrap_err();
        assert!(matches!(refused, FormatError::Refused(_)), "{refused}");
    }
    writer.tick(&Tick::default()).unwrap();
    let found = read(&open(&writer.finish(Clocks::default()).unwrap()).unwrap());
    assert_eq!(found.profile.modules, [module(0), module(1)]);
    assert_eq!(found.ticks.len(), 1);
    assert_eq!(found.lost, 0);
}

fn module(id: u32) -> Module {
    Module {
        id: ModuleId(id),
        kind: ModuleKind::File,
        path: "/bin/true".to_owned(),
        deleted: false,
        build_id: None,
        device: 0,
        inode: 0,
        size: 0,
        modified_ns: 0,
    }
}

#[test]
fn the_largest_event_is_written_and_read() {
    let mut writer = Writer::new(Vec::new(), &Session::default()).unwrap();
    let large = Module {
        path: "y".repeat((16 << 20) - 100),
        ..module(0)
    };
    writer.event(&Event::Module(large.clone())).unwrap();
    writer.event(&Event::Module(module(1))).unwrap();
    let found = read(&open(&writer.finish(Clocks::default()).unwrap()).unwrap());
    assert_eq!(found.profile.modules, [large, module(1)]);
    assert_eq!(found.lost, 0);
}

/// Takes so many bytes, then fails.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_is_written_behind_a_write_that_failed() {
    let mut writer = Writer::new(FullDisk(200), &Session::default()).unwrap();
    let clocks = Event::Clocks(Clocks::default());
    let failed = loop {
        writer.event(&clocks).unwrap();
        if let Err(error) = writer.flush() {
            break error;
        }
    };
    assert!(matches!(failed, FormatError::Io(_)), "{failed}");
    assert!(matches!(writer.event(&clocks), Err(FormatError::Broken)));
    assert!(matches!(
        writer.tick(&Tick::default()),
        Err(FormatError::Broken)
    ));
    assert!(matches!(
        writer.finish(Clocks::default()),
        Err(FormatError::Broken)
    ));
}

#[test]
fn symbols_can_be_added_to_a_whole_file_and_to_no_other() {
    let folder = std::env::temp_dir().join(format!("sprof-format-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("whole.sprof");
    let mut writer = Writer::new(create(&path).unwrap(), &Session::default()).unwrap();
    let again = create(&path).unwrap_err();
    assert!(
        matches!(&again, FormatError::Io(error) if error.kind() == std::io::ErrorKind::AlreadyExists)
    );
    writer.event(&Event::Module(module(0))).unwrap();
    writer.flush().unwrap();
    assert!(matches!(append(&path), Err(FormatError::NotWhole)));
    writer.finish(Clocks::default()).unwrap();

    let names = vec![SymbolFrame {
        function: "main".to_owned(),
        file: None,
        line: Some(3),
        inlined: false,
    }];
    let symbol = |module| Event::Symbol {
        module: ModuleId(module),
        offset: ModuleOffset(0x40),
        found: Ok(names.clone()),
    };
    let mut writer = append(&path).unwrap();
    writer.event(&symbol(0)).unwrap();
    assert!(writer.event(&symbol(1)).is_err());
    writer.close().unwrap();
    let reader = Reader::open(&path).unwrap();
    assert!(reader.is_whole());
    let symbols = &reader.profile().symbols;
    assert_eq!(
        symbols.get(ModuleId(0), ModuleOffset(0x40)),
        Ok(names.as_slice())
    );

    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(matches!(append(&path), Err(FormatError::NotWhole)));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What each write brings.
#[derive(Default)]
struct Writes(Vec<Vec<u8>>);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_kill_after_any_write_leaves_a_recording() {
    let mut writer = Writer::new(Writes::default(), &Session::default()).unwrap();
    writer.event(&Event::Module(module(0))).unwrap();
    writer.tick(&Tick::default()).unwrap();
    let writes = writer.finish(Clocks::default()).unwrap().0;
    assert!(writes.len() > 2, "{}", writes.len());
    for count in 1..=writes.len() {
        let found = read(&open(&writes[..count].concat()).unwrap());
        assert_eq!(found.lost, 0, "after {count} writes");
    }
}
