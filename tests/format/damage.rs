//! Cut and damaged files: what is read is true, and what is lost is said.

use sprof::format::{FormatError, Limits};
use sprof::profile::{Nanos, Profile};

use crate::content::{FullTick, Script, open, read};
use crate::generate::script;

/// Chunks of a tick or less each, and groups of a few.
fn small_chunks() -> Limits {
    Limits {
        flush: Nanos(0),
        flush_bytes: 1,
        group_stacks: 30,
        ..Limits::default()
    }
}

/// All that a reader may find in damaged forms of one recording.
struct Truth {
    bytes: Vec<u8>,
    profiles: Vec<Profile>,
    ticks: Vec<FullTick>,
}

impl Truth {
    fn of(script: &Script, limits: Limits) -> Truth {
        Truth {
            bytes: script.write(limits),
            profiles: (0..=script.events().len())
                .map(|n| script.profile(n))
                .collect(),
            ticks: script.ticks(),
        }
    }

    /// Reads a damaged form; answers how many events and ticks of the recording are in it, and the
    /// bytes that are lost. Some neighbouring profiles are equal: the answer is the last of them.
    fn check(&self, bytes: &[u8]) -> Result<(usize, usize, u64), FormatError> {
        let found = read(&open(bytes)?);
        assert!(
            self.ticks.starts_with(&found.ticks),
            "the ticks are not those recorded"
        );
        let events = self
            .profiles
            .iter()
            .rposition(|profile| *profile == found.profile);
        let events = events.expect("the profile is none that the recording had");
        assert_eq!(found.lost > 0, !found.detail.is_empty());
        Ok((events, found.ticks.len(), found.lost))
    }
}

#[test]
fn every_prefix_is_a_recording() {
    for seed in [2, 5, 6] {
        let truth = Truth::of(&script(seed, 10), small_chunks());
        let head = first_end(&truth.bytes);
        let (mut events, mut ticks, mut ends) = (0, 0, 0);
        for len in 0..=truth.bytes.len() {
            match truth.check(&truth.bytes[..len]) {
                Ok((now_events, now_ticks, lost)) => {
                    assert!(now_events >= events && now_ticks >= ticks);
                    (events, ticks) = (now_events, now_ticks);
                    ends += usize::from(lost == 0);
                    assert!(lost <= len as u64 && len >= head);
                }
                Err(FormatError::NotSprof { .. }) => assert_eq!(len, 0),
                Err(FormatError::NothingReadable { .. }) => assert!(len < head),
                Err(error) => panic!("{len}: {error}"),
            }
        }
        assert_eq!(events + 1, truth.profiles.len());
        assert_eq!(ticks, truth.ticks.len());
        // Each chunk ends somewhere, and there the prefix is whole.
        assert_eq!(ends, chunks(&truth.bytes).len());
    }
}

#[test]
fn a_flipped_bit_never_gives_wrong_data() {
    let truth = Truth::of(&script(5, 10), small_chunks());
    let chunks = chunks(&truth.bytes);
    let len = truth.bytes.len();
    assert!(
        truth.ticks.len() > 2 && truth.profiles.len() > 2,
        "{} {}",
        truth.ticks.len(),
        truth.profiles.len()
    );
    for bit in 0..len * 8 {
        let mut bytes = truth.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // The chunk with the flipped bit and all behind it are lost.
        let start = chunks.iter().rfind(|start| **start <= bit / 8);
        match (truth.check(&bytes), start) {
            (Ok((_, _, lost)), Some(start)) => assert_eq!(lost, (len - start) as u64, "bit {bit}"),
            (Err(FormatError::NotSprof { .. }), None)
            | (Err(FormatError::NothingReadable { .. }), Some(8)) => {}
            (result, _) => panic!("bit {bit}: {result:?}"),
        }
    }
}

#[test]
fn bytes_behind_the_end_are_told_as_lost() {
    let truth = Truth::of(&script(2, 30), Limits::default());
    let whole = truth.check(&truth.bytes).unwrap();
    for tail in [
        &[0; 3][..],
        &[0; 4096],
        &[0xff; 20],
        &truth.bytes[..14],
        &truth.bytes,
    ] {
        let bytes = [&truth.bytes, tail].concat();
        let (events, ticks, lost) = truth.check(&bytes).unwrap();
        assert_eq!((events, ticks, lost), (whole.0, whole.1, tail.len() as u64));
        assert!(!open(&bytes).unwrap().is_whole());
    }
}

/// Where the chunks of a whole file begin.
pub(crate) fn chunks(bytes: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 8;
    while at < bytes.len() {
        starts.push(at);
        let stored = u32::from_le_bytes(bytes[at + 2..at + 6].try_into().unwrap());
        at += 14 + stored as usize;
    }
    assert_eq!(at, bytes.len());
    starts
}

/// Where the first chunk ends.
pub(crate) fn first_end(bytes: &[u8]) -> usize {
    chunks(bytes)[1]
}
