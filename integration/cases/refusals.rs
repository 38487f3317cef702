//! What sprof cannot do it refuses at once, naming the cause.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::unistd::geteuid;

use crate::machine::{self, SOON, Scratch, shared, until};
use crate::target::Target;
use crate::{program, sprof};

/// A refusal that takes longer would leave people waiting for a recording that does not run.
const AT_ONCE: Duration = Duration::from_secs(1);

#[track_caller]
fn assert_attach_refused(pid: u32, words: &[&str]) {
    assert_refused_by(&[], pid, words);
}

#[track_caller]
fn assert_refused_by(engine: &[&str], pid: u32, words: &[&str]) {
    let scratch = Scratch::new();
    let file = scratch.file("refused.sprof");
    let begin = Instant::now();
    let mut record = sprof::record(100, &file);
    // The time is for a sprof that does not refuse.
    record.args(engine);
    let outcome = sprof::run(record.args(["-d", "5s", "-p", &pid.to_string()]));
    let took = begin.elapsed();
    outcome.assert_refused(words);
    assert!(took < AT_ONCE, "refused after {took:?}");
}

#[test]
fn a_process_that_does_not_exist() {
    let _cpus = shared();
    let mut ended = Command::new("true").spawn().unwrap();
    let pid = ended.id();
    ended.wait().unwrap();
    assert_attach_refused(pid, &[&pid.to_string()]);
}

#[test]
fn a_process_that_has_ended_and_was_not_waited_for() {
    let _cpus = shared();
    let mut zombie = Command::new("true").spawn().unwrap();
    let pid = zombie.id();
    until("a zombie", SOON, || {
        (machine::state(pid, pid) == Some('Z')).then_some(())
    });
    assert_attach_refused(pid, &[&pid.to_string()]);
    zombie.wait().unwrap();
}

#[test]
fn a_thread_of_the_kernel() {
    let _cpus = shared();
    // 2 is the kernel's kthreadd, except where a container hides it: there is none to try then.
    if machine::status_field(2, "VmSize").is_none() && machine::state(2, 2).is_some() {
        assert_attach_refused(2, &["2"]);
    }
}

#[test]
fn a_process_that_another_tracer_holds() {
    let _cpus = shared();
    let mut target = Target::steady(1);
    let mut tracer = Command::new(program::usual("tracer"));
    tracer.arg(target.pid().to_string());
    let mut tracer = tracer
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let held_by = tracer.id().to_string();
    until("the tracer", SOON, || {
        let now = machine::status_field(target.pid(), "TracerPid")?;
        (now == held_by).then_some(())
    });
    // The other engine needs not be the tracer.
    assert_refused_by(&["--engine", "stop"], target.pid(), &[&held_by, "tracer"]);
    drop(tracer.stdin.take());
    tracer.wait().unwrap();
    machine::assert_undisturbed(target.pid());
    target.assert_alive();
    assert_eq!(target.exit_code(), 0);
}

/// A copy of sprof that everybody may run, by the user `nobody` where we are root.
pub(super) fn as_nobody(scratch: &Scratch) -> Command {
    let copy = scratch.file("sprof");
    fs::copy(sprof::binary(), &copy).unwrap();
    let for_all = || fs::Permissions::from_mode(0o755);
    fs::set_permissions(&copy, for_all()).unwrap();
    fs::set_permissions(copy.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    if !geteuid().is_root() {
        return Command::new(copy);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(copy);
    command
}

#[test]
fn a_process_of_another_user() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("a.sprof");
    let mut record = as_nobody(&scratch);
    record.args(["record", "-o"]).arg(&file).args(["-p", "1"]);
    let begin = Instant::now();
    let outcome = sprof::run(record.stdin(Stdio::null()));
    outcome.assert_refused(&["1"]);
    assert!(begin.elapsed() < AT_ONCE);
    assert!(outcome.stderr.contains("hint:"), "{}", outcome.stderr);
}

#[test]
fn no_privilege_is_needed_to_record_ones_own_command() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let file = scratch.file("own.sprof");
    let program = scratch.file("layout");
    fs::copy(program::usual("layout"), &program).unwrap();
    let mut record = as_nobody(&scratch);
    record.args(["record", "-r", "250", "-o"]).arg(&file);
    record.arg("--").arg(&program).arg("0.4");
    sprof::run(record.stdin(Stdio::null())).assert_code(0);
    let recording = crate::recording::Recording::of(&file);
    let shown = recording.samples.iter().filter(|s| s.shows("layout_inner"));
    assert!(shown.count() > 0);
}

#[test]
fn yama_is_named_where_it_forbids_the_attach() {
    let _cpus = shared();
    let scratch = Scratch::new();
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let open = scope.map_or(true, |scope| scope.trim() == "0");
    let file = scratch.file("own.sprof");
    // A process of nobody's own that is not below sprof.
    let mut record = as_nobody(&scratch);
    let mut other = Command::new("sleep");
    if geteuid().is_root() {
        other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sleep"]);
    }
    let mut other = other.arg("60").spawn().unwrap();
    until("the program", SOON, || {
        let name = machine::status_field(other.id(), "Name")?;
        (name == "sleep").then_some(())
    });
    record.args(["record", "-d", "300ms", "-o"]).arg(&file);
    record.args(["-p", &other.id().to_string()]);
    let outcome = sprof::run(record.stdin(Stdio::null()));
    other.kill().unwrap();
    other.wait().unwrap();
    if open {
        outcome.assert_code(0);
    } else {
        outcome.assert_refused(&["ptrace_scope"]);
    }
}
