//! A file of each version, which stay readable for good.
//!
//! Nothing ever rewrites them but a run with `SPROF_BLESS=1`, and that only the newest, which is for
//! a version that was never released: a later writer may make other bytes, and these must still be
//! understood.

use std::path::{Path, PathBuf};

use sprof::format::{Limits, VERSION};

use crate::content::{open, read};
use crate::generate::script_of;
use crate::second;

fn golden(version: u32) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(format!("v{version}.sprof"))
}

#[test]
fn all_versions_stay_readable() {
    if std::env::var_os("SPROF_BLESS").is_some() {
        let limits = Limits {
            flush_bytes: 2000,
            group_stacks: 300,
            ..Limits::default()
        };
        let bytes = script_of(VERSION, 2026, 60).write(limits);
        std::fs::write(golden(VERSION), bytes).unwrap();
        bless_fuzz_seeds();
    }
    for version in 1..=VERSION {
        let script = script_of(version, 2026, 60);
        let bytes = std::fs::read(golden(version)).unwrap();
        let found = read(&open(&bytes).unwrap());
        assert_eq!(found.lost, 0, "version {version}: {}", found.detail);
        assert_eq!(found.profile, script.profile(usize::MAX));
        assert_eq!(found.ticks, script.ticks());
        assert_eq!(second::read(&bytes).ticks, script.ticks());
    }
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
        let bytes = script_of(VERSION, seed, 16).write(limits);
        let name = format!("script-{seed}-v{VERSION}");
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}
