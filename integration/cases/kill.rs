//! sprof killed at any moment leaves the program as it was, and a file that can be read.

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use crate::machine::{self, Scratch, full};
use crate::recording::Recording;
use crate::target::Target;
use crate::{program, sprof};

/// What may be missing at the end of the file of a killed sprof.
const UNWRITTEN_MAX_NS: u64 = 1_000_000_000;

fn rounds() -> u32 {
    if full() { 200 } else { 40 }
}

/// Lengths of life, spread evenly from nothing to `max` and the same in every run.
struct Moments {
    random: u64,
    max: Duration,
}

impl Moments {
    fn up_to(max: Duration) -> Moments {
        Moments {
            random: 0x9E37_79B9_7F4A_7C15,
            max,
        }
    }

    fn next(&mut self) -> Duration {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.max
            .mul_f64((self.random >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// A file cut at any byte can be read; `wanted`: a tick not older than this must be in it.
#[track_caller]
fn assert_readable(file: &Path, wanted: Option<u64>) {
    let written = fs::metadata(file).map_or(0, |about| about.len());
    if written == 0 && wanted.is_none() {
        return; // killed before it had begun to write
    }
    let recording = Recording::of(file);
    let Some(wanted) = wanted else { return };
    let last = recording.ticks.last().map_or(0, |tick| tick.time_ns);
    let missing = wanted.saturating_sub(last);
    assert!(
        missing <= UNWRITTEN_MAX_NS,
        "the last {missing} ns are not in the file"
    );
}

#[test]
fn a_kill_while_attached_leaves_every_thread_running() {
    let _cpus = machine::alone();
    let scratch = Scratch::new();
    let file = scratch.file("attach.sprof");
    let mut target = Target::steady(2);
    let mut moments = Moments::up_to(Duration::from_millis(150));
    for _ in 0..rounds() {
        let mut record = sprof::record(1000, &file);
        record.args(["-p", &target.pid().to_string()]);
        let mut child = record.spawn().unwrap();
        thread::park_timeout(moments.next());
        child.kill().unwrap();
        child.wait().unwrap();
        machine::assert_undisturbed(target.pid());
        target.assert_alive();
        assert_readable(&file, None);
        let _ = fs::remove_file(&file);
    }
    assert_eq!(target.exit_code(), 0);
}

#[test]
fn a_kill_of_the_launcher_leaves_its_program_running() {
    let _cpus = machine::alone();
    let scratch = Scratch::new();
    let file = scratch.file("launch.sprof");
    let mut moments = Moments::up_to(Duration::from_millis(150));
    let steady = program::usual("steady");
    for _ in 0..rounds() {
        let mut record = sprof::record(1000, &file);
        let mut target = Target::start(record.arg("--").arg(&steady).arg("2"));
        thread::park_timeout(moments.next());
        target.child().kill().unwrap();
        target.child().wait().unwrap();
        // Nothing is said where the kill came before the program.
        if target.ready() {
            machine::assert_undisturbed(target.pid());
            target.assert_alive();
            target.end();
        }
        assert_readable(&file, None);
        let _ = fs::remove_file(&file);
    }
}

#[test]
fn the_file_of_a_killed_sprof_ends_less_than_a_second_before_the_kill() {
    let _cpus = machine::alone();
    let scratch = Scratch::new();
    let mut target = Target::steady(1);
    for (round, millis) in [1_500, 2_200, 2_900].into_iter().enumerate() {
        let file = scratch.file(&format!("{round}.sprof"));
        let mut record = sprof::record(250, &file);
        record.args(["-p", &target.pid().to_string()]);
        let mut child = record.spawn().unwrap();
        thread::park_timeout(Duration::from_millis(millis));
        let killed = machine::now_ns();
        child.kill().unwrap();
        child.wait().unwrap();
        target.assert_alive();
        assert_readable(&file, Some(killed));
        sprof::assert_converts_to_all(&file);
    }
    assert_eq!(target.exit_code(), 0);
}
