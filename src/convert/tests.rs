use super::rows::{Survey, each_thread};
use super::stacks::{Function, Stacks};
use super::stretches::Stretch;
use super::*;
use crate::profile::{
    Address, Frame, Nanos, Profile, Sample, StackTable, ThreadId, Tick, Timestamp,
};

#[test]
fn a_format_is_found_by_its_name() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
    }
    assert_eq!(Format::from_name("svg"), None);
}

#[test]
fn a_format_is_found_by_the_ending_of_a_path() {
    let check = |path: &str, expected| assert_eq!(Format::from_path(Path::new(path)), expected);
    check("a/b.jsonl", Some(Format::Jsonl));
    check("out.speedscope.json", Some(Format::Speedscope));
    check("out.Trace.JSON", Some(Format::Chrome));
    check("out.json", Some(Format::Firefox));
    check("out.pftrace", Some(Format::Perfetto));
    check("out.folded", Some(Format::Collapsed));
    check("out", None);
    check("json", None);
    check("..", None);
}

/// Two threads for five ticks, of which one is missing.
struct Small(Profile);

impl Recording for Small {
    fn profile(&self) -> &Profile {
        &self.0
    }

    fn each_tick(
        &self,
        visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        let mut table = StackTable::default();
        for index in [0, 1, 3, 4, 5] {
            let sample = |thread, table: &mut StackTable| Sample {
                cpu: Some(Nanos(1)),
                stack: table.intern_all([1, index].map(|at| Frame::Unmapped {
                    address: Address(at),
                })),
                ..Sample::of(ThreadId(thread))
            };
            let tick = Tick {
                index,
                time: Timestamp(index * 10),
                samples: [0, 1].map(|thread| sample(thread, &mut table)).to_vec(),
                ..Tick::default()
            };
            visit(&tick, &table)?;
        }
        Ok(())
    }
}

/// All rows of all threads, each gone through twice, and the number of ticks gone through.
fn rows(kept_max: u64) -> (Vec<Stretch>, u64) {
    let mut recording = Small(Profile::default());
    recording.0.session.interval = Nanos(10);
    let (mut found, mut ticks) = (Vec::new(), 0);
    let mut progress = |done| ticks = done;
    let mut source = Source::new(&recording, &mut progress);
    let survey = Survey::of(&mut source).unwrap();
    let titles = survey.titles(&source);
    let mut stacks = Stacks::new(&recording.0, Function::of);
    each_thread(
        &mut source,
        &mut stacks,
        &survey,
        &titles,
        kept_max,
        &mut |_, mut rows| {
            for _ in 0..2 {
                rows.each(&mut |row, _| {
                    found.push(*row);
                    Ok(())
                })?;
            }
            Ok(())
        },
    )
    .unwrap();
    (found, ticks)
}

#[test]
fn rows_are_the_same_kept_together_alone_or_not_at_all() {
    let (together, ticks) = rows(10);
    assert_eq!((together.len(), ticks), (20, 10));
    let (alone, ticks) = rows(5);
    assert_eq!(ticks, 15);
    let (not_kept, ticks) = rows(4);
    assert_eq!(ticks, 25);
    assert_eq!(alone, together);
    assert_eq!(not_kept, together);
}
