//! Programs in namespaces of their own, seen from outside and from inside.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::unistd::geteuid;

use crate::checks::wrong_max;
use crate::engine::each;
use crate::machine::{self, SOON, Scratch, shared, until};
use crate::recording::{Recording, Sample};
use crate::target::Target;
use crate::{program, sprof};

/// `unshare` into new mount, PID and user namespaces, to run a shell command there.
fn inside(script: &str) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "--pid", "--fork"]);
    unshare.args(["--kill-child", "--mount-proc", "sh", "-c", script]);
    unshare
}

/// Copies of `steady` and, as a decoy, of `layout`, in folders of the same structure. Inside, the
/// first is mounted over the second, so that one path means two programs.
struct Folders(Scratch);

impl Folders {
    fn new() -> Folders {
        let scratch = Scratch::new();
        for (folder, program) in [("real", "steady"), ("shown", "layout")] {
            fs::create_dir(scratch.file(folder)).unwrap();
            let copy = scratch.file(folder).join("app");
            fs::copy(program::usual(program), copy).unwrap();
        }
        Folders(scratch)
    }

    fn script(&self, then: &str) -> String {
        let (real, shown) = (self.0.file("real"), self.0.file("shown"));
        let (real, shown) = (real.display(), shown.display());
        format!(
            "mount --bind {real} {shown} && {}",
            then.replace("APP", &format!("{shown}/app"))
        )
    }
}

#[track_caller]
fn assert_is_steady(recording: &Recording, exe: &str) {
    let spinners: Vec<_> = recording
        .threads
        .iter()
        .filter(|t| t.name == "spinner")
        .collect();
    assert_eq!(spinners.len(), 1);
    let samples: Vec<_> = recording
        .samples_of(spinners[0].pid, spinners[0].tid)
        .collect();
    assert!(samples.len() >= 20, "{}", samples.len());
    // A thread that did not stop in time says so, and claims nothing.
    let claims = samples.iter().copied();
    let claims = claims.filter(|sample| !sample.is_without_stack());
    let (right, other): (Vec<&Sample>, Vec<&Sample>) =
        claims.partition(|sample| sample.shows("spin"));
    assert!(!right.is_empty());
    let wrong = other.len();
    assert!(
        wrong <= 1 + wrong_max(samples.len(), 0.01),
        "{wrong} of {}",
        samples.len()
    );
    let decoy = recording
        .samples
        .iter()
        .find(|sample| sample.frames.iter().any(|name| name.contains("layout")));
    assert!(decoy.is_none(), "{decoy:?}");
    assert!(recording.process(spinners[0].pid).exe.ends_with(exe));
}

#[test]
fn a_container_seen_from_outside() {
    let _cpus = shared();
    assert!(
        geteuid().is_root(),
        "needs root, to record another user namespace"
    );
    each(|engine| {
        let folders = Folders::new();
        let file = folders.0.file("outside.sprof");
        let mut target = Target::start(&mut inside(&folders.script("exec APP 1")));
        assert!(target.ready());
        assert_eq!(target.pid(), 1, "its number inside");
        let outer = target.child().id();
        let app = until("the program", SOON, || {
            let mut tree = machine::tree(outer).into_iter();
            tree.find(|&pid| machine::status_field(pid, "Name").as_deref() == Some("app"))
        });
        let mut record = engine.record(100, &file);
        record.args(["-d", "600ms", "-p", &outer.to_string()]);
        sprof::run(&mut record).assert_code(0);
        target.assert_alive();
        let recording = Recording::of(&file);
        assert_is_steady(&recording, "/shown/app");
        assert_eq!(recording.process(app).inner_pid, Some(1));
        assert_eq!(recording.process(outer).inner_pid, None);
        let both = format!("{app} (1 inside)");
        let report = sprof::run(sprof::command().arg("report").arg(&file));
        let report = report.assert_code(0).text();
        assert!(report.contains(&both), "{report}");
        for format in ["firefox", "perfetto", "speedscope"] {
            let output = folders.0.file(format);
            sprof::convert(&file, format, &output).assert_code(0);
            let bytes = fs::read(&output).unwrap();
            let wanted = b"app (1 inside)";
            assert!(
                bytes.windows(wanted.len()).any(|part| part == wanted),
                "{format}"
            );
        }
        assert_eq!(target.exit_code(), 0);
    });
}

/// `sprof record ... -- APP 1` as a word list for a shell.
fn record_in_shell(engine: &crate::engine::Engine, file: &Path) -> String {
    let sprof = sprof::binary();
    let options = engine.options.join(" ");
    let (sprof, file) = (sprof.display(), file.display());
    format!("exec {sprof} record {options} -r 100 -o {file} -- APP 1")
}

#[test]
fn a_container_seen_from_inside() {
    let _cpus = shared();
    each(|engine| {
        if !engine.must_trace {
            // In a user namespace of its own it is not permitted to be real-time.
            return;
        }
        let folders = Folders::new();
        let file = folders.0.file("inside.sprof");
        let script = folders.script(&record_in_shell(engine, &file));
        let mut target = Target::start(&mut inside(&script));
        assert!(target.ready());
        super::interrupt::recorded_ticks(&file, 40);
        target.assert_alive();
        assert_eq!(target.exit_code(), 0);
        assert_is_steady(&Recording::of(&file), "/shown/app");
    });
}

#[test]
fn a_proc_of_another_namespace_is_refused() {
    let _cpus = shared();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("foreign.sprof");
        let mut unshare = Command::new("unshare");
        unshare.args(["--pid", "--fork", "--kill-child"]);
        unshare
            .arg(sprof::binary())
            .arg("record")
            .args(engine.options);
        unshare.arg("-o").arg(&file).args(["--", "true"]);
        sprof::run(&mut unshare).assert_refused(&["/proc", "namespace", "hint:"]);
        assert!(!file.exists());
    });
}
