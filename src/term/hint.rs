//! What to do about a failure.

use std::fmt;

/// A fact about a failure that a person can do something about. Its text is that something: one
/// line, shown behind `hint:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Yama forbids tracing (`/proc/sys/kernel/yama/ptrace_scope`).
    PtraceScope(u8),
    /// The process belongs to someone else.
    OtherUser,
    /// The process is of our user and yet refuses: it changed its rights, or a filter forbids it.
    Guarded,
    /// Another program traces it.
    Traced {
        /// That program's pid.
        by: i32,
        /// Its name; empty when it could not be read.
        name: String,
    },
    /// No process has this pid.
    NoSuchProcess,
    /// The process has ended and waits for its parent.
    Zombie,
    /// The pid is one of the kernel's own threads.
    KernelThread,
    /// Stopping it would stop sprof, or the shell that sprof reports to.
    OwnAncestor,
    /// `/proc` belongs to another PID namespace.
    ForeignProc,
    /// The program to launch is in no folder of `PATH`.
    ProgramMissing,
    /// The program to launch is no program.
    NotAProgram,
    /// The program to launch may not be executed.
    ProgramDenied,
    /// No space is left.
    DiskFull,
    /// A file is larger than a limit allows.
    FileTooLarge,
    /// The folder of the output cannot be written to.
    FolderDenied,
    /// The folder of the output is not there.
    FolderMissing,
    /// A folder stands where a file is wanted.
    IsFolder,
    /// The output is there already.
    OutputExists,
    /// The output is the input.
    OutputIsInput,
    /// The input is not there.
    InputMissing,
    /// The input may not be read.
    InputDenied,
    /// The input has no byte.
    InputEmpty,
    /// The input is no recording of sprof.
    NotARecording,
    /// The input ends within its first bytes.
    CutAtTheStart,
    /// A newer sprof wrote the input.
    TooNew,
    /// The format could not be told from the name of the output. These are the names known.
    UnknownFormat(Vec<&'static str>),
    /// Too many files are open.
    TooManyFiles,
    /// Real-time threads, or records of context switches, are not permitted.
    BarrierDenied,
    /// Some CPUs are not ours to run on.
    CpusDenied,
    /// The kernel records no context switches.
    NoPerfEvents,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::PtraceScope(scope) => return ptrace_scope(*scope, f),
            Hint::Traced { by, name } => return traced(*by, name, f),
            Hint::UnknownFormat(names) => {
                return write!(f, "name it with --to, one of: {}", names.join(", "));
            }
            _ => {}
        }
        f.write_str(match self {
            Hint::BarrierDenied => {
                "run sprof as root, or permit it once: \
                 sudo setcap cap_perfmon,cap_sys_nice,cap_sys_ptrace+ep sprof"
            }
            Hint::CpusDenied => {
                "run sprof where all CPUs of the target may be used, outside of a cpuset; \
                 or use --engine stop"
            }
            Hint::NoPerfEvents => {
                "allow perf_event_open in the container or seccomp filter, and more open files \
                 (ulimit -n); or use --engine stop"
            }
            Hint::OtherUser => {
                "it belongs to another user; run sprof as that user or as root (sudo sprof …)"
            }
            Hint::Guarded => {
                "it changed its privileges, or a container or seccomp filter forbids ptrace; \
                 run sprof as root, and in a container with --cap-add=SYS_PTRACE"
            }
            Hint::NoSuchProcess => "see what runs with `ps -e`; pids are those of sprof's own /proc",
            Hint::Zombie => "its parent has yet to ask how it ended; record one that runs (`ps -e` shows them)",
            Hint::KernelThread => "threads of the kernel cannot be stopped; record a process with a program",
            Hint::OwnAncestor => "it would wait for sprof and sprof for it; record another process",
            Hint::ForeignProc => "mount the proc of this namespace (mount -t proc proc /proc), or use unshare --mount-proc",
            Hint::ProgramMissing => "it is in no folder of PATH; give its path, such as ./program",
            Hint::NotAProgram => {
                "it is neither an ELF program nor a script that begins with #!; name its interpreter first"
            }
            Hint::ProgramDenied => "make it executable (chmod +x), or name its interpreter first",
            Hint::DiskFull => "free some space, or write to another disk with -o",
            Hint::FileTooLarge => "raise the limit (ulimit -f), or write to another disk with -o",
            Hint::FolderDenied => "write to a folder of yours with -o",
            Hint::FolderMissing => "make the folder first, or write elsewhere with -o",
            Hint::IsFolder => "name a file in it",
            Hint::OutputExists => "give another name with -o, or remove it first",
            Hint::OutputIsInput => "give another name with -o; the recording is kept",
            Hint::InputMissing => "see which recordings there are with `ls -t *.sprof`",
            Hint::InputDenied => "read it as its owner, or copy it as root",
            Hint::InputEmpty => "the recording had not begun, or its disk was full; record again",
            Hint::NotARecording => "give a file that `sprof record` wrote",
            Hint::CutAtTheStart => {
                "it ends before the first of its data; record again, and let sprof end by itself or by Ctrl-C"
            }
            Hint::TooNew => "read it with the version of sprof that wrote it, or a newer one",
            Hint::TooManyFiles => "raise the limit (ulimit -n)",
            Hint::PtraceScope(_)
            | Hint::Traced { .. }
            | Hint::UnknownFormat(_) => "",
        })
    }
}

/// What the values mean: Linux, `Documentation/admin-guide/LSM/Yama.rst`.
fn ptrace_scope(scope: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match scope {
        1 => f.write_str(
            "only ancestors may trace here (yama ptrace_scope is 1); launch it with \
             `sprof record -- COMMAND`, run sprof as root, or allow it until the next boot: \
             sudo sysctl kernel.yama.ptrace_scope=0",
        ),
        2 => f.write_str(
            "only root may trace here (yama ptrace_scope is 2); run sprof as root (sudo sprof …)",
        ),
        3 => f.write_str(
            "nobody may trace here until the next boot (yama ptrace_scope is 3); \
             boot with kernel.yama.ptrace_scope=1 or less",
        ),
        scope => write!(
            f,
            "yama ptrace_scope is {scope}; run sprof as root (sudo sprof …)"
        ),
    }
}

fn traced(by: i32, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = if name.is_empty() { "a program" } else { name };
    write!(
        f,
        "a process has one tracer at most; end or detach {name} (pid {by}) first"
    )
}
