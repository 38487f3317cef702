//! What a reader sees in each format, brought to one form, so that formats can be compared.

use std::collections::BTreeMap;

use prost::Message;
use serde_json::Value;

/// A stretch of time in which a thread's stack stayed the same: begin and end in nanoseconds of
/// `CLOCK_MONOTONIC`, names root first.
pub(crate) type Lane = Vec<(u64, u64, Vec<String>)>;

/// Lanes by pid and tid.
pub(crate) type Lanes = BTreeMap<(i64, i64), Lane>;

fn add(lane: &mut Lane, begin: u64, end: u64, names: Vec<String>) {
    match lane.last_mut() {
        Some(last) if last.1 == begin && last.2 == names => last.1 = end,
        _ => lane.push((begin, end, names)),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn index(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

/// Also checks that weights fill the time from begin to end exactly.
pub(crate) fn of_speedscope(bytes: &[u8]) -> Lanes {
    let document: Value = serde_json::from_slice(bytes).unwrap();
    let frames = list(&document["shared"]["frames"]);
    let mut lanes = Lanes::new();
    for profile in list(&document["profiles"]) {
        let name = text(&profile["name"]);
        let numbers: Vec<i64> = name
            .split(['[', ']'])
            .filter_map(|part| part.parse().ok())
            .collect();
        let mut at = profile["startValue"].as_u64().unwrap();
        let (samples, weights) = (list(&profile["samples"]), list(&profile["weights"]));
        assert_eq!(samples.len(), weights.len());
        let mut lane = Lane::new();
        for (sample, weight) in samples.iter().zip(weights) {
            let end = at + weight.as_u64().unwrap();
            let names = list(sample)
                .iter()
                .map(|frame| text(&frames[index(frame)]["name"]));
            let names: Vec<String> = names.collect();
            if !names.is_empty() {
                add(&mut lane, at, end, names);
            }
            at = end;
        }
        assert_eq!(at, profile["endValue"].as_u64().unwrap(), "{name}");
        let pid_and_tid = (numbers[numbers.len() - 2], numbers[numbers.len() - 1]);
        assert!(lanes.insert(pid_and_tid, lane).is_none());
    }
    lanes
}

pub(crate) fn of_firefox(bytes: &[u8]) -> Lanes {
    let document: Value = serde_json::from_slice(bytes).unwrap();
    let shared = &document["shared"];
    let begin = document["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"].as_u64();
    let nanos = |ms: &Value| begin.unwrap() + (ms.as_f64().unwrap() * 1e6).round() as u64;
    let path = |stack: &Value| {
        let (mut names, mut at) = (Vec::new(), index(stack));
        loop {
            let frame = index(&shared["stackTable"]["frame"][at]);
            let function = index(&shared["frameTable"]["func"][frame]);
            let name = index(&shared["funcTable"]["name"][function]);
            names.push(text(&shared["stringArray"][name]));
            match index(&shared["stackTable"]["prefixOffset"][at]) {
                0 => break,
                offset => at -= offset,
            }
        }
        names.reverse();
        names
    };
    let mut lanes = Lanes::new();
    for thread in list(&document["threads"]) {
        let samples = &thread["samples"];
        let (stacks, times) = (list(&samples["stack"]), list(&samples["time"]));
        assert_eq!(stacks.len(), index(&samples["length"]));
        assert_eq!(times.len(), stacks.len());
        assert_eq!(list(&samples["threadCPUDelta"]).len(), stacks.len());
        let mut lane = Lane::new();
        for (pair, stack) in times.windows(2).zip(stacks) {
            if !stack.is_null() {
                add(&mut lane, nanos(&pair[0]), nanos(&pair[1]), path(stack));
            }
        }
        assert!(
            stacks.last().is_none_or(Value::is_null),
            "the end of a thread is open"
        );
        let pid = thread["pid"].as_str().unwrap().parse().unwrap();
        assert!(
            lanes
                .insert((pid, thread["tid"].as_i64().unwrap()), lane)
                .is_none()
        );
    }
    lanes
}

/// Begins and ends of one thread, turned to a lane; fails where they do not nest.
#[derive(Default)]
struct Open {
    names: Vec<String>,
    at: u64,
    lane: Lane,
    samples: u64,
}

impl Open {
    fn to(&mut self, time: u64) {
        assert!(time >= self.at, "time runs back");
        if !self.names.is_empty() && time > self.at {
            add(&mut self.lane, self.at, time, self.names.clone());
        }
        self.at = time;
    }

    fn begin(&mut self, time: u64, name: String) {
        self.to(time);
        self.names.push(name);
    }

    fn end(&mut self, time: u64, samples: u64) {
        self.to(time);
        self.names.pop().expect("an end without a begin");
        if self.names.is_empty() {
            self.samples += samples;
        }
    }
}

/// Lanes, and samples by thread as the outermost spans count them.
type Counted = (Lanes, BTreeMap<(i64, i64), u64>);

fn finish(threads: BTreeMap<(i64, i64), Open>) -> Counted {
    let mut counted = Counted::default();
    for (thread, open) in threads {
        assert!(
            open.names.is_empty(),
            "a span of {thread:?} is never closed"
        );
        counted.0.insert(thread, open.lane);
        counted.1.insert(thread, open.samples);
    }
    counted
}

pub(crate) fn of_chrome(bytes: &[u8]) -> Counted {
    let document: Value = serde_json::from_slice(bytes).unwrap();
    let mut threads: BTreeMap<(i64, i64), Open> = BTreeMap::new();
    for event in list(&document["traceEvents"]) {
        if matches!(event["ph"].as_str().unwrap(), "C" | "M") {
            continue;
        }
        let thread = (
            event["pid"].as_i64().unwrap(),
            event["tid"].as_i64().unwrap(),
        );
        let open = threads.entry(thread).or_default();
        let time = || event["ts"].as_u64().unwrap() * 1000;
        match event["ph"].as_str().unwrap() {
            "B" => open.begin(time(), text(&event["name"])),
            "E" => {
                assert_eq!(open.names.last(), Some(&text(&event["name"])));
                open.end(time(), event["args"]["samples"].as_u64().unwrap());
            }
            other => panic!("an event of the kind {other}"),
        }
    }
    finish(threads)
}

/// The parts of Perfetto's format that are looked at here.
mod proto {
    use prost::Message;

    #[derive(Message)]
    pub(crate) struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub(crate) packets: Vec<Packet>,
    }

    #[derive(Message)]
    pub(crate) struct Packet {
        #[prost(uint64, tag = "8")]
        pub(crate) timestamp: u64,
        #[prost(message, optional, tag = "11")]
        pub(crate) event: Option<Event>,
        #[prost(message, optional, tag = "12")]
        pub(crate) interned: Option<Interned>,
        #[prost(message, optional, tag = "60")]
        pub(crate) track: Option<Track>,
        #[prost(message, optional, tag = "66")]
        pub(crate) sample: Option<Sample>,
    }

    #[derive(Message)]
    pub(crate) struct Event {
        #[prost(message, repeated, tag = "4")]
        pub(crate) arguments: Vec<Argument>,
        #[prost(int32, tag = "9")]
        pub(crate) kind: i32,
        #[prost(uint64, tag = "10")]
        pub(crate) name: u64,
        #[prost(uint64, tag = "11")]
        pub(crate) track: u64,
        #[prost(string, tag = "23")]
        pub(crate) own_name: String,
    }

    #[derive(Message)]
    pub(crate) struct Argument {
        #[prost(uint64, tag = "3")]
        pub(crate) value: u64,
    }

    #[derive(Message)]
    pub(crate) struct Interned {
        #[prost(message, repeated, tag = "2")]
        pub(crate) event_names: Vec<Name>,
        #[prost(message, repeated, tag = "6")]
        pub(crate) frames: Vec<Frame>,
        #[prost(message, repeated, tag = "7")]
        pub(crate) callstacks: Vec<Callstack>,
    }

    #[derive(Message)]
    pub(crate) struct Name {
        #[prost(uint64, tag = "1")]
        pub(crate) iid: u64,
        #[prost(string, tag = "2")]
        pub(crate) name: String,
    }

    #[derive(Message)]
    pub(crate) struct Frame {
        #[prost(uint64, tag = "1")]
        pub(crate) iid: u64,
        #[prost(uint64, tag = "3")]
        pub(crate) mapping: u64,
    }

    #[derive(Message)]
    pub(crate) struct Callstack {
        #[prost(uint64, tag = "1")]
        pub(crate) iid: u64,
        #[prost(uint64, repeated, packed = "false", tag = "2")]
        pub(crate) frames: Vec<u64>,
    }

    #[derive(Message)]
    pub(crate) struct Track {
        #[prost(uint64, tag = "1")]
        pub(crate) uuid: u64,
        #[prost(message, optional, tag = "4")]
        pub(crate) thread: Option<Thread>,
        #[prost(uint64, tag = "5")]
        pub(crate) parent: u64,
    }

    #[derive(Message)]
    pub(crate) struct Thread {
        #[prost(int32, tag = "1")]
        pub(crate) pid: i32,
        #[prost(int32, tag = "2")]
        pub(crate) tid: i32,
    }

    #[derive(Message)]
    pub(crate) struct Sample {
        #[prost(uint32, tag = "2")]
        pub(crate) pid: u32,
        #[prost(uint32, tag = "3")]
        pub(crate) tid: u32,
        #[prost(uint64, tag = "4")]
        pub(crate) callstack: u64,
    }
}

/// The slices as lanes, their samples, and the samples proper by thread: time and names.
pub(crate) type Perfetto = (Counted, BTreeMap<(i64, i64), Vec<(u64, Vec<String>)>>);

pub(crate) fn of_perfetto(bytes: &[u8]) -> Perfetto {
    const BEGIN: i32 = 1;
    const END: i32 = 2;
    let trace = proto::Trace::decode(bytes).unwrap();
    let (mut names, mut stacks) = (BTreeMap::new(), BTreeMap::new());
    let (mut tracks, mut threads) = (BTreeMap::new(), BTreeMap::<_, Open>::new());
    let mut samples: BTreeMap<(i64, i64), Vec<_>> = BTreeMap::new();
    for packet in trace.packets {
        if let Some(thread) = packet
            .track
            .as_ref()
            .and_then(|track| track.thread.as_ref())
        {
            let uuid = packet.track.as_ref().map(|track| track.uuid);
            tracks.insert(
                uuid.unwrap(),
                (i64::from(thread.pid), i64::from(thread.tid)),
            );
        }
        if let Some(data) = packet.interned {
            names.extend(
                data.event_names
                    .into_iter()
                    .map(|name| (name.iid, name.name)),
            );
            assert!(
                data.frames
                    .iter()
                    .all(|frame| frame.mapping != 0 && frame.iid != 0)
            );
            stacks.extend(
                data.callstacks
                    .into_iter()
                    .map(|stack| (stack.iid, stack.frames)),
            );
        }
        if let Some(event) = packet
            .event
            .filter(|event| [BEGIN, END].contains(&event.kind))
        {
            // Those of states are looked at below.
            let Some(thread) = tracks.get(&event.track) else {
                continue;
            };
            let open = threads.entry(*thread).or_default();
            match event.kind {
                BEGIN => open.begin(packet.timestamp, names[&event.name].clone()),
                _ => open.end(packet.timestamp, event.arguments[0].value),
            }
        }
        if let Some(sample) = packet.sample {
            let path = stacks[&sample.callstack]
                .iter()
                .map(|frame| names[frame].clone());
            let thread = (i64::from(sample.pid), i64::from(sample.tid));
            samples
                .entry(thread)
                .or_default()
                .push((packet.timestamp, path.collect()));
        }
    }
    (finish(threads), samples)
}

/// Begin, end and name of the slices on the track below a thread's, by thread.
pub(crate) fn states_of_perfetto(bytes: &[u8]) -> Lanes {
    let trace = proto::Trace::decode(bytes).unwrap();
    let (mut threads, mut states) = (BTreeMap::new(), BTreeMap::new());
    let (mut lanes, mut open) = (Lanes::new(), BTreeMap::new());
    for packet in trace.packets {
        if let Some(track) = packet.track {
            if let Some(thread) = track.thread {
                let thread = (i64::from(thread.pid), i64::from(thread.tid));
                threads.insert(track.uuid, thread);
            } else if let Some(thread) = threads.get(&track.parent) {
                states.insert(track.uuid, *thread);
            }
        }
        let Some(event) = packet.event else { continue };
        let Some(thread) = states.get(&event.track) else {
            continue;
        };
        match event.kind {
            1 => {
                let begun = (packet.timestamp, event.own_name);
                assert_eq!(open.insert(*thread, begun), None);
            }
            2 => {
                let (begin, name) = open.remove(thread).unwrap();
                let slice = (begin, packet.timestamp, vec![name]);
                lanes.entry(*thread).or_default().push(slice);
            }
            _ => {}
        }
    }
    assert!(open.is_empty());
    lanes
}
