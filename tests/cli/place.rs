//! A folder of one test, with a small recording in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use sprof::format::Writer;
use sprof::profile::{
    Address, Clocks, Event, Frame, Image, Nanos, Pid, Process, ProcessId, Sample, Session, Thread,
    ThreadId, ThreadName, Tick, Tid, Timestamp,
};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A folder that is removed at the end.
pub(crate) struct Place(PathBuf);

impl Place {
    /// An empty folder.
    pub(crate) fn new() -> Place {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cli-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    /// A folder with the recording `a.sprof`.
    pub(crate) fn with_recording() -> Place {
        let place = Place::new();
        place.write("a.sprof", &recording());
        place
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    /// Names of all there is, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One process with one thread in fifty ticks.
pub(crate) fn recording() -> Vec<u8> {
    let session = Session {
        version: "0.1.0".to_owned(),
        command: vec!["work".to_owned()],
        interval: Nanos(10_000_000),
        ..Session::default()
    };
    let mut writer = Writer::new(Vec::new(), &session).unwrap();
    let start = Timestamp(0);
    let process = Process {
        id: ProcessId(0),
        pid: Pid(4711),
        inner_pid: None,
        parent: None,
        parent_pid: Pid(1),
        start,
        end: None,
        exit_status: None,
        images: vec![Image {
            from: start,
            exe: "/bin/work".to_owned(),
            argv: vec!["work".to_owned()],
        }],
    };
    let thread = Thread {
        id: ThreadId(0),
        process: ProcessId(0),
        tid: Tid(4711),
        start,
        end: None,
        names: vec![ThreadName {
            from: start,
            name: "work".to_owned(),
        }],
    };
    writer.event(&Event::ProcessStarted(process)).unwrap();
    writer.event(&Event::ThreadStarted(thread)).unwrap();
    for index in 0..50 {
        let address = Address(0x1000 + index % 7);
        let stack = writer.stacks().intern_all([Frame::Unmapped { address }]);
        let time = Timestamp((index + 1) * 10_000_000);
        let sample = Sample {
            cpu: Some(Nanos(10_000_000)),
            stack,
            ..Sample::of(ThreadId(0))
        };
        let tick = Tick {
            index,
            time,
            planned: time,
            samples: vec![sample],
            ..Tick::default()
        };
        writer.tick(&tick).unwrap();
    }
    writer.finish(Clocks::default()).unwrap()
}
