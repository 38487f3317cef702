use super::*;
use crate::profile::Pid;

#[test]
fn the_status_of_the_command_is_passed_on() {
    let cases = [
        (ExitStatus::Code(0), 0),
        (ExitStatus::Code(7), 7),
        (ExitStatus::Code(255), 255),
        (ExitStatus::Signal(11), 139),
        (ExitStatus::Signal(9), 137),
    ];
    for (exit, code) in cases {
        let summary = |exit, left_by_signal| Summary {
            exit,
            left_by_signal,
            ..Summary::default()
        };
        assert_eq!(exit_code(&summary(Some(exit), None)), code);
        assert_eq!(exit_code(&summary(None, Some(15))), 143);
        assert_eq!(exit_code(&summary(None, None)), 0);
    }
}

#[test]
fn the_summary_says_what_was_kept_and_what_it_cost() {
    let summary = Summary {
        output: "a.sprof".into(),
        ticks: 90,
        ticks_missed: 10,
        samples: 270,
        processes: 2,
        threads: 3,
        perturbed: 4,
        pauses: Some(Spread {
            p50: Nanos(90_000),
            p99: Nanos(300_000),
            max: Nanos(1_200_000),
            sum: Nanos(9_000_000),
        }),
        paused: Nanos(2_000_000_000),
        duration: Nanos(1_000_000_000),
        own_cpu: Nanos(23_400_000),
        own_memory: 9_250_000,
        not_traceable: vec!["gdb (pid 7) traces 8".to_owned()],
        ..Summary::default()
    };
    assert_eq!(
        summary_text(&summary),
        "sprof: kept 90 of 100 ticks in 1.00 s: 270 samples, 3 threads, 2 processes\n\
         sprof: pauses: p50 90.0 us, p99 300 us, max 1.20 ms; 0.9 % of the time\n\
         sprof: paused for 2.00 s, as asked\n\
         sprof: itself: 23.4 ms of CPU (2.3 % of one), 9.2 MB of memory\n\
         sprof: 4 stops met a system call that a stop can interrupt\n\
         sprof: not recorded: gdb (pid 7) traces 8\n\
         sprof: recorded to a.sprof; see `sprof report a.sprof`"
    );
    let all_paused = Summary {
        paused: Nanos(1_000_000_000),
        ..Summary::default()
    };
    assert!(!summary_text(&all_paused).contains("before the first tick"));
    let too_short = Summary {
        output: "b.sprof".into(),
        processes: 1,
        threads: 1,
        ..Summary::default()
    };
    assert_eq!(
        summary_text(&too_short),
        "sprof: kept 0 of 0 ticks in 0 ns: 0 samples, 1 thread, 1 process\n\
         sprof: it ended before the first tick; record faster, with -r\n\
         sprof: recorded to b.sprof; see `sprof report b.sprof`"
    );
}

#[test]
fn each_refusal_has_its_hint() {
    let not_permitted = |ptrace_scope, same_user| Refusal::NotPermitted {
        ptrace_scope,
        same_user,
    };
    let cases = [
        (not_permitted(Some(1), true), Hint::PtraceScope(1)),
        (not_permitted(Some(1), false), Hint::OtherUser),
        (not_permitted(Some(0), true), Hint::Guarded),
        (not_permitted(None, true), Hint::Guarded),
        (Refusal::Zombie, Hint::Zombie),
        (Refusal::KernelThread, Hint::KernelThread),
        (Refusal::NoSuchProcess, Hint::NoSuchProcess),
    ];
    for (refusal, hint) in cases {
        assert_eq!(refusal_hint(&refusal), Some(hint));
    }
}

#[test]
fn a_failure_names_the_process_and_the_other_tracer() {
    let refusal = Refusal::AlreadyTraced {
        tracer: Pid(8),
        tracer_name: "strace".to_owned(),
    };
    let failure = failure(RecordError::Attach(AttachError {
        pid: Pid(7),
        refusal,
    }));
    assert_eq!(
        failure.text(),
        "sprof: cannot record process 7: it is already traced by strace (pid 8)\n\
         hint: a process has one tracer at most; end or detach strace (pid 8) first"
    );
    assert_eq!(failure.code(), RECORD_FAILED);
}

#[test]
fn programs_that_cannot_run_have_the_codes_of_env() {
    let program = || "prog".to_owned();
    let cannot = |why| RecordError::CannotExecute {
        program: program(),
        why,
    };
    let cases = [
        (RecordError::ProgramNotFound(program()), NOT_FOUND),
        (cannot(Errno::EACCES), CANNOT_EXECUTE),
        (cannot(Errno::ENOEXEC), CANNOT_EXECUTE),
    ];
    for (error, code) in cases {
        let failure = failure(error);
        assert_eq!(failure.code(), code);
        assert!(failure.text().contains("\nhint: "), "{}", failure.text());
    }
}
