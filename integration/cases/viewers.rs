//! What sprof writes for other viewers, opened by these viewers' own code.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::machine::{Scratch, alone, shared};
use crate::sprof;
use crate::target::Target;

/// A recording of three processes of three threads each, made once for all viewers.
fn recording() -> &'static Path {
    static RECORDED: OnceLock<PathBuf> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let _cpus = alone();
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("three.sprof");
        let _ = std::fs::remove_file(&file); // an earlier run's: sprof overwrites no recording
        let mut target = Target::steady(3);
        let mut record = sprof::record(250, &file);
        record.args(["-d", "1s", "-p", &target.pid().to_string()]);
        sprof::run(&mut record).assert_code(0);
        assert_eq!(target.exit_code(), 0);
        file
    })
}

/// Converts the recording and has it judged by `viewers/check-VIEWER`.
fn assert_opens_in(viewer: &str, format: &str, extension: &str) {
    let file = recording();
    let _cpus = shared();
    let scratch = Scratch::new();
    let output = scratch.file(&format!("three.{extension}"));
    sprof::convert(file, format, &output).assert_code(0);
    let viewers = Path::new(env!("CARGO_MANIFEST_DIR")).join("integration/viewers");
    let mut check = Command::new(viewers.join(format!("check-{viewer}")));
    let outcome = sprof::run(check.arg(&output).stdin(Stdio::null()));
    let verdict: serde_json::Value = serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.text(), outcome.stderr));
    assert_eq!(verdict["ok"], true, "{verdict:#}\n{}", outcome.stderr);
    outcome.assert_code(0);
}

#[test]
fn firefox_profiler() {
    assert_opens_in("firefox", "firefox", "json");
}

#[test]
fn perfetto() {
    assert_opens_in("perfetto", "perfetto", "pftrace");
}

#[test]
fn speedscope() {
    assert_opens_in("speedscope", "speedscope", "speedscope.json");
}

#[test]
fn flame_graph() {
    assert_opens_in("collapsed", "collapsed", "folded");
}
