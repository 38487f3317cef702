//! Lives that end, begin or go on in ways that few programs use: each is recorded, or named as not
//! recordable; nothing waits for ever, and nothing is left stopped.

use std::process::{Command, Stdio};

use crate::checks::{Cover, Inside, wrong_max};
use crate::engine::{Engine, each};
use crate::machine::{self, SOON, Scratch, alone, shared, until};
use crate::recording::Recording;
use crate::target::Target;
use crate::{program, sprof};

/// A line of the program's account: a function, and the thread that was inside it.
struct Account {
    function: String,
    inside: Inside,
}

fn accounts(text: &str) -> Vec<Account> {
    let of_line = |line: &str| {
        let (function, rest) = line.split_once(' ')?;
        let (pid, inside) = rest.split_once(' ')?;
        Some(Account {
            function: function.to_owned(),
            inside: Inside::parse(pid.parse().ok()?, inside),
        })
    };
    text.lines().filter_map(of_line).collect()
}

/// Records `lives MODE` from its start to its end.
fn record(engine: &Engine, mode: &str) -> (Recording, Vec<Account>) {
    let scratch = Scratch::new();
    let file = scratch.file("lives.sprof");
    let mut record = engine.record(250, &file);
    record.arg("--").arg(program::usual("lives")).arg(mode);
    let outcome = sprof::run(&mut record);
    let accounts = accounts(&outcome.assert_code(0).text());
    sprof::assert_converts_to_all(&file);
    (Recording::of(&file), accounts)
}

/// Fails unless the thread has its samples in the span, and each shows the function.
#[track_caller]
fn assert_seen(recording: &Recording, account: &Account, from: u64) {
    let (function, inside) = (&account.function, account.inside);
    let begin = inside.begin + from;
    let cover = Cover::of(recording, inside.pid, inside.tid, begin, inside.end);
    assert!(cover.ticks >= 10, "{function}: {cover:?}");
    // One at its beginning may come before the kernel has told of it.
    let missed_max = wrong_max(cover.ticks, 0.01).max(1);
    assert!(cover.missed() <= missed_max, "{function}: {cover:?}");
    let verdict = inside.judge(recording, |sample| sample.shows(function));
    assert_eq!(verdict.lies, 0, "{function}: {verdict:?}");
    let wrong = verdict.judged - verdict.right;
    let wrong_max = wrong_max(verdict.judged, 0.01);
    assert!(wrong <= wrong_max, "{function}: {verdict:?}");
    assert!(verdict.right > 0, "{function}: {verdict:?}");
}

#[test]
fn the_parent_of_a_vfork_holds_nobody_up() {
    let _cpus = alone();
    each(|engine| {
        let (recording, accounts) = record(engine, "vfork");
        assert_eq!(accounts.len(), 2);
        for account in &accounts {
            assert_seen(&recording, account, 0);
        }
        let parent = &accounts
            .iter()
            .find(|a| a.function == "by_vfork")
            .unwrap()
            .inside;
        let states = recording
            .samples_of(parent.pid, parent.tid)
            .filter(|sample| (parent.begin + 50_000_000..parent.end).contains(&sample.time_ns));
        let (disk, other): (Vec<_>, Vec<_>) = states.partition(|sample| sample.state == "disk");
        assert!(
            disk.len() > other.len(),
            "{} of {}",
            disk.len(),
            other.len()
        );
    });
}

#[test]
fn a_process_whose_first_thread_has_ended() {
    let _cpus = alone();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("leader.sprof");
        let mut lives = Command::new(program::usual("lives"));
        let mut target = Target::start(lives.arg("leader"));
        assert!(target.ready());
        let pid = target.pid();
        until("the first thread's end", SOON, || {
            (machine::state(pid, pid) == Some('Z')).then_some(())
        });
        let mut record = engine.record(250, &file);
        record.args(["-d", "600ms", "-p", &pid.to_string()]);
        sprof::run(&mut record).assert_code(0);
        let recording = Recording::of(&file);
        let shown = recording.samples.iter().filter(|s| s.shows("left_behind"));
        let ticks = recording.ticks.len();
        assert!(ticks > 20, "{ticks}");
        assert!(shown.count() + wrong_max(ticks, 0.01) >= ticks);
        assert!(recording.process(pid).exe.ends_with("/lives"));
        assert!(
            recording
                .losses
                .iter()
                .all(|loss| loss["what"] != "no-mappings")
        );
        assert_eq!(target.exit_code(), 0);
    });
}

#[test]
fn an_exec_by_another_than_the_first_thread() {
    let _cpus = alone();
    each(|engine| {
        let (recording, accounts) = record(engine, "exec");
        assert_eq!(accounts.len(), 1);
        assert_seen(&recording, &accounts[0], 0);
        assert_eq!(recording.processes.len(), 1);
        let inside = accounts[0].inside;
        // After the exec there is one thread, which bears the process's number.
        let others = recording.samples.iter();
        let others = others.filter(|s| s.time_ns > inside.begin && s.tid != inside.tid);
        assert_eq!(others.count(), 0);
    });
}

#[test]
fn what_was_made_untraced_is_found_within_two_seconds() {
    let _cpus = alone();
    each(|engine| {
        let (recording, accounts) = record(engine, "untraced");
        assert_eq!(accounts.len(), 2);
        for account in &accounts {
            assert_seen(&recording, account, 2_000_000_000);
        }
    });
}

#[test]
fn a_grandchild_that_is_its_grandparents_child() {
    let _cpus = alone();
    each(|engine| {
        let (recording, accounts) = record(engine, "sibling");
        assert_eq!(accounts.len(), 1);
        assert_seen(&recording, &accounts[0], 0);
        assert_eq!(recording.processes.len(), 3);
    });
}

#[test]
fn a_number_that_is_used_again_is_another_process() {
    let _cpus = alone();
    each(|engine| {
        let (recording, accounts) = record(engine, "reuse");
        assert_eq!(accounts.len(), 16);
        for pair in accounts.chunks(2) {
            let [old, new] = pair else { unreachable!() };
            assert_eq!(old.inside.pid, new.inside.pid);
            for account in pair {
                assert_seen(&recording, account, 0);
            }
            let mut lives: Vec<_> = recording
                .processes
                .iter()
                .filter(|process| process.pid == old.inside.pid)
                .collect();
            lives.sort_by_key(|life| life.start_ns);
            // A number may also have been that of an earlier round.
            let at = lives.partition_point(|life| life.start_ns <= old.inside.begin) - 1;
            let codes = [at, at + 1].map(|at| lives[at].exit_status.clone());
            assert_eq!(
                codes,
                [11, 12].map(|code| serde_json::json!({ "code": code }))
            );
            assert!(lives[at].end_ns.unwrap() <= lives[at + 1].start_ns);
            let named = recording.threads.iter().filter(|thread| {
                thread.tid == new.inside.tid && thread.start_ns >= lives[at + 1].start_ns
            });
            let first = named.min_by_key(|thread| thread.start_ns).unwrap();
            assert!(
                first.names.iter().all(|name| name.name != "the-old"),
                "{first:?}"
            );
        }
        assert!(
            recording
                .threads
                .iter()
                .any(|thread| thread.name == "the-old")
        );
        assert!(
            recording
                .threads
                .iter()
                .any(|thread| thread.name == "the-new")
        );
    });
}

#[test]
fn children_that_nobody_waits_for() {
    let _cpus = alone();
    each(|engine| {
        for (mode, killed) in [("zombies", false), ("crowd", true)] {
            let (recording, accounts) = record(engine, mode);
            assert_seen(&recording, &accounts[0], 0);
            let parent = accounts[0].inside.pid;
            let children = recording.processes.iter().filter(|p| p.pid != parent);
            let mut ends: Vec<_> = children
                .map(|child| {
                    let end = child.end_ns.expect("a child that has ended");
                    assert!(end < accounts[0].inside.end, "{child:?}");
                    child.exit_status.clone()
                })
                .collect();
            ends.sort_by_key(|end| end["code"].as_u64());
            let wanted = |i: u32| match killed {
                true => serde_json::json!({ "signal": 9 }),
                false => serde_json::json!({ "code": i }),
            };
            assert_eq!(ends, (0..50).map(wanted).collect::<Vec<_>>());
        }
    });
}

#[test]
fn one_process_of_a_tree_that_another_tracer_holds() {
    let _cpus = alone();
    each(|engine| {
        let scratch = Scratch::new();
        let file = scratch.file("held.sprof");
        let mut target = Target::steady(3);
        let held = *machine::tree(target.pid()).last().unwrap();
        let mut tracer = Command::new(program::usual("tracer"));
        let tracer = tracer.arg(held.to_string());
        let mut tracer = tracer
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let holder = tracer.id().to_string();
        until("the tracer", SOON, || {
            let now = machine::status_field(held, "TracerPid")?;
            (now == holder).then_some(())
        });
        let mut record = engine.record(100, &file);
        // Longer than from one look at the tree to the next: the warning comes once.
        record.args(["-d", "2500ms", "-p", &target.pid().to_string()]);
        let outcome = sprof::run(&mut record);
        outcome.assert_code(0);
        drop(tracer.stdin.take());
        tracer.wait().unwrap();
        let recording = Recording::of(&file);
        let whole = if engine.must_trace { 2 } else { 3 };
        assert_eq!(recording.processes.len(), whole);
        let losses: Vec<String> = recording.losses.iter().map(ToString::to_string).collect();
        let told = losses.iter().filter(|loss| loss.contains("not-traceable"));
        let told: Vec<_> = told.collect();
        assert_eq!(told.len(), usize::from(engine.must_trace), "{told:?}");
        if engine.must_trace {
            assert!(
                told[0].contains(&holder) && told[0].contains(&held.to_string()),
                "{told:?}"
            );
        }
        machine::assert_undisturbed(target.pid());
        target.assert_alive();
        assert_eq!(target.exit_code(), 0);
    });
}

/// `id -u` with the rights of its owner, root, in a place that everybody may enter.
fn set_user_id(scratch: &Scratch) -> std::path::PathBuf {
    let path = scratch.file("whoami");
    std::fs::copy("/usr/bin/id", &path).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(&path, mode).unwrap();
    path
}

#[test]
fn a_program_that_is_to_have_its_owners_rights() {
    let _cpus = shared();
    assert!(
        nix::unistd::geteuid().is_root(),
        "needs root, to make the program"
    );
    each(|engine| {
        let scratch = Scratch::new();
        let program = set_user_id(&scratch);
        let losses = |file: &std::path::Path| -> Vec<String> {
            let recording = Recording::of(file);
            let told = recording.losses.iter().map(ToString::to_string);
            told.filter(|loss| loss.contains("set-user-id")).collect()
        };
        // An ordinary user is not permitted the other engine.
        let stop = ["--engine", "stop"];
        let file = scratch.file("user.sprof");
        let mut record = super::refusals::as_nobody(&scratch);
        record.arg("record").args(stop).arg("-o").arg(&file);
        record
            .arg("--")
            .arg(&program)
            .arg("-u")
            .stdin(Stdio::null());
        let outcome = sprof::run(&mut record);
        let user = outcome.assert_code(0).text();
        // Either it got them, or the file and the summary say that it did not.
        if user == "0\n" {
            assert!(losses(&file).is_empty());
        } else {
            assert_eq!(losses(&file).len(), 1);
            assert!(outcome.stderr.contains("set-user-id"), "{}", outcome.stderr);
        }
        assert_eq!(user, "65534\n");

        let file = scratch.file("root.sprof");
        let mut record = engine.record(100, &file);
        record.args(["--", "setpriv", "--reuid=65534", "--clear-groups"]);
        let outcome = sprof::run(record.arg(&program).arg("-u"));
        assert_eq!(
            outcome.assert_code(0).text(),
            "0\n",
            "root may trace it with all its rights"
        );
        assert!(losses(&file).is_empty());
    });
}
