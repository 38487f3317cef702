//! Perfetto: spans and samples in one protobuf trace.
//!
//! Slices are the flame chart of each thread. `PerfSample`s beside them hold the same stacks as
//! what they are, points in time, from which Perfetto makes the flame graph of any selected range.
//! A slice carries in how many samples it was seen, as the argument `samples`.
//!
//! Traps that Perfetto passes over in silence, and this file must not fall into: packets of a
//! sequence whose first one does not clear the incremental state are dropped; a frame without a
//! mapping loses its whole stack; frames of a callstack stand outermost first; without a clock
//! snapshot `CLOCK_MONOTONIC` is taken for `CLOCK_BOOTTIME`.
//!
//! Below each thread's track one says what the thread was doing (see `states`). Counters are tracks of
//! their processes, or of sprof.
//!
//! Everything is of one packet sequence, and interned numbers hold for the whole trace. Two tracks
//! of sprof's own show how long each tick held the threads, and its skew.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;

use prost::Message;

use super::ConvertError;
use super::counters::Place;
use super::source::Source;
use super::spans::{Edge, Spans};
use super::stacks::{EntryId, Function, NodeId, Stacks};
use super::stretches::{Stretch, Visit, each_stretch};
use super::titles::Title;
use crate::profile::{
    CounterId, CounterUnit, Doing, Process, ProcessId, Profile, Sample, StackTable, ThreadId, Tick,
    Timestamp,
};
use proto::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, InternedData, InternedName,
    InternedString, Mapping, PerfSample, ProcessDescriptor, ProcessTree, ProcessTreeEntry,
    ThreadDescriptor, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent,
};

mod interning;
mod proto;
mod states;

const SEQUENCE: u32 = 1;
const SEQUENCE_BEGINS: u32 = 1;
const NEEDS_STATE: u32 = 2;

/// `clock_id`s of Perfetto's `BuiltinClock`.
const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
const BOOTTIME: u32 = 6;

const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const COUNTER: i32 = 4;

const UNIT_NANOSECONDS: i32 = 1;
const UNIT_COUNT: i32 = 2;
const UNIT_BYTES: i32 = 3;

/// Tracks of sprof's own. Then come two for each number: a process and a thread of that number.
const SPROF_TRACK: u64 = 1;
const STOP_TRACK: u64 = 2;
const SKEW_TRACK: u64 = 3;
const FIRST_TRACK: u64 = 4;
/// Behind all numbers of processes and threads.
const FIRST_COUNTER_TRACK: u64 = 1 << 40;

/// Interned name of the argument that says in how many samples a slice was seen.
const SAMPLES_ARGUMENT: u64 = 1;
/// Mapping of frames that belong to no module, and its path.
const NO_MODULE: u64 = 1;

pub(super) fn write(source: &mut Source<'_>, out: &mut dyn Write) -> Result<(), ConvertError> {
    let profile = source.profile();
    let mut pass = Perfetto {
        profile,
        out,
        buffer: Vec::new(),
        stacks: Stacks::new(profile, Function::of),
        spans: Spans::default(),
        processes: BTreeSet::new(),
        threads: BTreeSet::new(),
        entries: 0,
        mappings: HashMap::new(),
        callstacks: HashMap::new(),
        states: BTreeMap::new(),
    };
    pass.begin()?;
    each_stretch(source, &mut pass)?;
    pass.put_counters()
}

struct Perfetto<'a, 'w> {
    profile: &'a Profile,
    out: &'w mut dyn Write,
    buffer: Vec<u8>,
    stacks: Stacks<'a, Function<'a>>,
    spans: Spans,
    /// Processes and threads that have their tracks.
    processes: BTreeSet<Option<ProcessId>>,
    threads: BTreeSet<ThreadId>,
    /// So many entries have been interned.
    entries: usize,
    mappings: HashMap<&'a str, u64>,
    callstacks: HashMap<NodeId, u64>,
    /// What the threads with an open slice for it are doing.
    states: BTreeMap<ThreadId, Doing>,
}

impl Visit for Perfetto<'_, '_> {
    fn tick(&mut self, tick: &Tick) -> Result<(), ConvertError> {
        self.count(STOP_TRACK, tick.time, tick.stop.0)?;
        self.count(SKEW_TRACK, tick.time, tick.skew.0)
    }

    fn fold(&mut self, sample: &Sample, table: &StackTable) -> NodeId {
        self.stacks.fold(sample, table)
    }

    fn stretch(&mut self, stretch: Stretch) -> Result<(), ConvertError> {
        if self.threads.insert(stretch.thread) {
            self.introduce(stretch.thread)?;
        }
        self.intern(stretch.node)?;
        let mut edges = Vec::new();
        self.spans.push(&stretch, &self.stacks, &mut |edge| {
            edges.push(edge);
            Ok(())
        })?;
        for edge in edges {
            self.put_edge(stretch.thread, edge)?;
        }
        self.put_state(&stretch)?;
        self.put_sample(&stretch)
    }
}

impl Perfetto<'_, '_> {
    /// One packet, as a field of the trace.
    fn put(&mut self, packet: TracePacket) -> Result<(), ConvertError> {
        /// Field 1, length-delimited: `Trace.packet`.
        const PACKET_FIELD: u8 = 0x0a;
        self.buffer.clear();
        self.buffer.push(PACKET_FIELD);
        let packet = TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            sequence_flags: packet.sequence_flags | NEEDS_STATE,
            ..packet
        };
        // Encoding into a growing buffer fails only when memory does.
        let encoded = packet.encode_length_delimited(&mut self.buffer);
        encoded.map_err(std::io::Error::other)?;
        Ok(self.out.write_all(&self.buffer)?)
    }

    /// The first packets: state cleared, defaults, clocks, sprof's own tracks.
    fn begin(&mut self) -> Result<(), ConvertError> {
        self.put(TracePacket {
            incremental_state_cleared: true,
            sequence_flags: SEQUENCE_BEGINS,
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: MONOTONIC,
            }),
            interned_data: Some(InternedData {
                debug_annotation_names: vec![InternedName {
                    iid: SAMPLES_ARGUMENT,
                    name: "samples".to_owned(),
                }],
                mapping_paths: vec![InternedString {
                    iid: NO_MODULE,
                    str: b"[no module]".to_vec(),
                }],
                mappings: vec![Mapping {
                    iid: NO_MODULE,
                    build_id: None,
                    path_string_ids: vec![NO_MODULE],
                }],
                ..InternedData::default()
            }),
            ..TracePacket::default()
        })?;
        self.put_clocks()?;
        let unit = UNIT_NANOSECONDS;
        self.put_own_track(SPROF_TRACK, None, "sprof", unit)?;
        self.put_own_track(STOP_TRACK, Some(SPROF_TRACK), "threads held", unit)?;
        self.put_own_track(SKEW_TRACK, Some(SPROF_TRACK), "skew", unit)
    }

    /// A track each, below that of its process.
    fn put_counters(&mut self) -> Result<(), ConvertError> {
        for counter in &self.profile.counters {
            let place = Place::of(self.profile, counter);
            let process = place.process.map(|process| process.id);
            let shown = process.filter(|id| self.processes.contains(&Some(*id)));
            let parent = shown.map_or(SPROF_TRACK, process_track);
            let unit = match counter.unit {
                CounterUnit::Nanos => UNIT_NANOSECONDS,
                CounterUnit::Count => UNIT_COUNT,
                CounterUnit::Bytes => UNIT_BYTES,
            };
            let track = counter_track(counter.id);
            self.put_own_track(track, Some(parent), &place.name, unit)?;
            for value in &counter.values {
                self.count(track, value.time, value.value)?;
            }
        }
        Ok(())
    }

    fn put_clocks(&mut self) -> Result<(), ConvertError> {
        let clocks = self.profile.session.clocks;
        let clock = |clock_id, timestamp| Clock {
            clock_id,
            timestamp,
        };
        self.put(TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock(BOOTTIME, clocks.boottime_ns),
                    clock(MONOTONIC, clocks.monotonic.0),
                    clock(REALTIME, clocks.realtime_ns),
                ],
                primary_trace_clock: BOOTTIME,
            }),
            ..TracePacket::default()
        })
    }

    fn put_own_track(
        &mut self,
        uuid: u64,
        parent_uuid: Option<u64>,
        name: &str,
        unit: i32,
    ) -> Result<(), ConvertError> {
        self.put(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid,
                parent_uuid,
                name: Some(name.to_owned()),
                counter: parent_uuid.map(|_| CounterDescriptor { unit }),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        })
    }

    fn count(&mut self, track: u64, time: Timestamp, value: u64) -> Result<(), ConvertError> {
        self.put(TracePacket {
            timestamp: Some(time.0),
            track_event: Some(TrackEvent {
                r#type: COUNTER,
                track_uuid: track,
                counter_value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
                ..TrackEvent::default()
            }),
            ..TracePacket::default()
        })
    }

    /// The track of a thread, and that of its process where this is its first thread.
    fn introduce(&mut self, thread: ThreadId) -> Result<(), ConvertError> {
        let title = Title::of(self.profile, thread);
        if self
            .processes
            .insert(title.process.map(|process| process.id))
        {
            self.introduce_process(&title)?;
        }
        self.put(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: thread_track(thread),
                thread: Some(ThreadDescriptor {
                    pid: title.pid,
                    tid: title.tid,
                    thread_name: title.thread_name,
                }),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        })?;
        self.introduce_states(thread)
    }

    fn introduce_process(&mut self, title: &Title<'_>) -> Result<(), ConvertError> {
        let Some(process) = title.process else {
            return Ok(());
        };
        self.put(TracePacket {
            process_tree: Some(ProcessTree {
                processes: vec![process_tree_entry(process)],
            }),
            timestamp: Some(process.start.0),
            ..TracePacket::default()
        })?;
        self.put(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: process_track(process.id),
                process: Some(ProcessDescriptor {
                    pid: title.pid,
                    process_name: title.process_name.clone(),
                }),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        })
    }

    fn put_edge(&mut self, thread: ThreadId, edge: Edge) -> Result<(), ConvertError> {
        let track_uuid = thread_track(thread);
        let (time, event) = match edge {
            Edge::Begin { time, entry } => (
                time,
                TrackEvent {
                    r#type: SLICE_BEGIN,
                    track_uuid,
                    name_iid: Some(entry_iid(entry)),
                    ..TrackEvent::default()
                },
            ),
            Edge::End { time, samples, .. } => (
                time,
                TrackEvent {
                    r#type: SLICE_END,
                    track_uuid,
                    debug_annotations: vec![DebugAnnotation {
                        name_iid: SAMPLES_ARGUMENT,
                        uint_value: Some(samples),
                    }],
                    ..TrackEvent::default()
                },
            ),
        };
        self.put(TracePacket {
            timestamp: Some(time.0),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn put_sample(&mut self, stretch: &Stretch) -> Result<(), ConvertError> {
        let thread = self.profile.thread(stretch.thread);
        let process = thread.and_then(|thread| self.profile.process(thread.process));
        let callstack_iid = self.callstacks.get(&stretch.node).copied();
        self.put(TracePacket {
            timestamp: Some(stretch.time.0),
            perf_sample: Some(PerfSample {
                pid: process.map_or(0, |process| process.pid.0 as u32),
                tid: thread.map_or(0, |thread| thread.tid.0 as u32),
                callstack_iid: callstack_iid.unwrap_or_default(),
            }),
            ..TracePacket::default()
        })
    }
}

/// Parent and arguments; the name on screen is that of the track.
fn process_tree_entry(process: &Process) -> ProcessTreeEntry {
    let argv = process.image().map(|image| image.argv.clone());
    ProcessTreeEntry {
        pid: process.pid.0,
        ppid: process.parent_pid.0,
        cmdline: argv.unwrap_or_default(),
    }
}

/// Interned numbers begin at 1.
fn entry_iid(entry: EntryId) -> u64 {
    u64::from(entry.0) + 1
}

fn counter_track(counter: CounterId) -> u64 {
    FIRST_COUNTER_TRACK + u64::from(counter.0)
}

fn process_track(process: ProcessId) -> u64 {
    FIRST_TRACK + 2 * u64::from(process.0)
}

fn thread_track(thread: ThreadId) -> u64 {
    FIRST_TRACK + 2 * u64::from(thread.0) + 1
}
