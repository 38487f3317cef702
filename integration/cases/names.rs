//! Names of threads, as odd as they come.

use std::collections::HashMap;

use crate::machine::{Scratch, shared};
use crate::recording::Recording;
use crate::{program, sprof};

/// The names in `programs/names.c` as text: the kernel keeps 15 bytes of each, and bytes that are
/// no UTF-8 are shown by the replacement character.
const ODD: [&str; 6] = [
    "two words",
    ") R 1 (",
    "quote\"back\\",
    "line\nbreak",
    "bad\u{fffd}\u{fffd}utf",
    "abcdefghijklm\u{fffd}",
];

#[test]
fn each_name_a_thread_bore_is_kept_and_the_last_is_its_name() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("names.sprof");
    let mut record = sprof::record(100, &file);
    record.arg("--").arg(program::usual("names"));
    let outcome = sprof::run(&mut record);
    let text = outcome.assert_code(0).text();
    let tids: HashMap<usize, u32> = text
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            (words[1].parse().unwrap(), words[2].parse().unwrap())
        })
        .collect();
    assert_eq!(tids.len(), ODD.len());

    let recording = Recording::of(&file);
    for (number, odd) in ODD.into_iter().enumerate() {
        let thread = recording.threads.iter().find(|t| t.tid == tids[&number]);
        let thread = thread.expect("a track for each thread");
        let names: Vec<&str> = thread.names.iter().map(|n| n.name.as_str()).collect();
        let early = format!("early-{number}");
        let last = format!("last-{number}");
        for wanted in [early.as_str(), odd, last.as_str()] {
            assert!(names.contains(&wanted), "no {wanted:?} in {names:?}");
        }
        assert_eq!(thread.name, last);
        let states = recording.samples_of(thread.pid, thread.tid);
        let known = states.filter(|sample| sample.state != "unknown").count();
        assert!(known > 0, "the state of {odd:?} could not be read");
    }
    sprof::assert_converts_to_all(&file);
}
