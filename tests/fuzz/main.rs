//! Each fuzz target with its seeds, and with thousands of damaged forms of them. For hours of it,
//! see `Cargo.toml` in this folder.
#![allow(clippy::unwrap_used, missing_docs)]

mod targets;

use std::path::Path;

/// Forms of each seed.
const FORMS: u64 = 1500;

/// `SplitMix64`: the same forms on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as usize % end.max(1)
    }
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Damages a few places: bits, bytes, numbers, pieces taken out, doubled and moved.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let len = random.below(16.min(bytes.len() - at.min(bytes.len())) + 1);
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => drop(bytes.drain(at..at + len)),
            3 => bytes.extend_from_within(at..at + len),
            4 => bytes.truncate(at),
            _ => {
                let piece: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                bytes.splice(at..at + len, piece);
            }
        }
    }
}

#[test]
fn reader() {
    let mut random = Random(1);
    for seed in seeds("reader") {
        targets::reader(&seed);
        for _ in 0..FORMS {
            let mut bytes = seed.clone();
            damage(&mut bytes, &mut random);
            targets::reader(&bytes);
        }
    }
}
