//! A file of version 1 that stays readable for good.
//!
//! Nothing ever rewrites `v1.sprof` but a run with `SPROF_BLESS=1`, which is for a version that was
//! never released: a later writer may make other bytes, and these must still be understood.

use std::path::Path;

use sprof::format::Limits;

use crate::content::{open, read};
use crate::generate::script;
use crate::second;

#[test]
fn version_1_stays_readable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.sprof");
    let script = script(2026, 60);
    if std::env::var_os("SPROF_BLESS").is_some() {
        let limits = Limits {
            flush_bytes: 2000,
            group_stacks: 300,
            ..Limits::default()
        };
        std::fs::write(&path, script.write(limits)).unwrap();
        bless_fuzz_seeds();
    }
    let bytes = std::fs::read(&path).unwrap();
    let found = read(&open(&bytes).unwrap());
    assert_eq!(found.lost, 0, "{}", found.detail);
    assert_eq!(found.profile, script.profile(usize::MAX));
    assert_eq!(found.ticks, script.ticks());
    assert_eq!(second::read(&bytes).ticks, script.ticks());
}

/// Small files of many small chunks, most of which compression does not make smaller: damage to
/// them goes deep.
fn bless_fuzz_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus/reader");
    for (seed, flush_bytes) in [(1, 1), (2, 60), (5, 300)] {
        let limits = Limits {
            flush_bytes,
            group_stacks: 60,
            ..Limits::default()
        };
        let bytes = script(seed, 16).write(limits);
        std::fs::write(folder.join(format!("script-{seed}")), bytes).unwrap();
    }
}
