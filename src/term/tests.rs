use super::{Hint, logger};

#[test]
fn hints_are_one_line_and_say_what_to_do() {
    let hints = [
        Hint::PtraceScope(0),
        Hint::PtraceScope(1),
        Hint::PtraceScope(2),
        Hint::PtraceScope(3),
        Hint::OtherUser,
        Hint::Guarded,
        Hint::NoSuchProcess,
        Hint::Zombie,
        Hint::KernelThread,
        Hint::OwnAncestor,
        Hint::ForeignProc,
        Hint::ProgramMissing,
        Hint::NotAProgram,
        Hint::ProgramDenied,
        Hint::DiskFull,
        Hint::FileTooLarge,
        Hint::FolderDenied,
        Hint::FolderMissing,
        Hint::IsFolder,
        Hint::OutputExists,
        Hint::OutputIsInput,
        Hint::InputMissing,
        Hint::InputDenied,
        Hint::InputEmpty,
        Hint::NotARecording,
        Hint::CutAtTheStart,
        Hint::TooNew,
        Hint::TooManyFiles,
        Hint::UnknownFormat(vec!["firefox"]),
    ];
    for hint in hints {
        let text = hint.to_string();
        assert!(!text.is_empty(), "{hint:?}");
        assert!(!text.contains('\n') && !text.contains("  "), "{text:?}");
    }
}

#[test]
fn a_hint_names_the_other_tracer() {
    let traced = |name: &str| {
        let name = name.to_owned();
        Hint::Traced { by: 42, name }.to_string()
    };
    assert_eq!(
        traced("strace"),
        "a process has one tracer at most; end or detach strace (pid 42) first"
    );
    assert!(traced("").contains("a program (pid 42)"));
}

#[test]
fn a_log_line_names_time_level_and_module() {
    let record = log::Record::builder()
        .args(format_args!("7 threads"))
        .level(log::Level::Info)
        .target("sprof::engine")
        .build();
    assert_eq!(
        logger::line(1.5, &record),
        "[    1.500] info  engine: 7 threads"
    );
}
