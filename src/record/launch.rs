//! The target before its first tick, and the name of its recording.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use nix::sys::signal::SigSet;

use super::config::{EngineUsed, RecordError, Target};
use crate::engine::{AttachError, Refusal};
use crate::format;
use crate::process::{self, read_stat};
use crate::profile::{Nanos, Pid, Session, Utc};
use crate::sys::{Errno, Gated, GatedError, spawn_gated};

/// Whom the tracer is to trace.
#[derive(Clone, Debug)]
pub(super) enum Whom {
    /// A child that waits at its gate.
    Gated(Pid),
    /// Running processes.
    Running(Vec<Pid>),
}

/// A target that is ready to be traced.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) whom: Whom,
    /// The child, for a launch.
    pub(super) gated: Option<Gated>,
    pub(super) roots: Vec<Pid>,
    pub(super) command: Vec<String>,
    /// What the file is named after.
    name: String,
}

impl Prepared {
    /// Makes the child, or looks whether the processes are there.
    pub(super) fn new(target: &Target, mask: &SigSet) -> Result<Prepared, RecordError> {
        if !process::proc_is_ours() {
            return Err(RecordError::ForeignProc);
        }
        match target {
            Target::Launch(command) => {
                let gated = spawn_gated(command, mask).map_err(|why| failed(command, &why))?;
                Ok(Prepared {
                    whom: Whom::Gated(gated.pid),
                    roots: vec![gated.pid],
                    gated: Some(gated),
                    command: command
                        .iter()
                        .map(|word| word.to_string_lossy().into())
                        .collect(),
                    name: command.first().map_or_else(String::new, |program| {
                        let name = Path::new(program).file_name();
                        name.unwrap_or(program).to_string_lossy().into_owned()
                    }),
                })
            }
            Target::Attach(pids) => {
                let mut roots = pids.clone();
                roots.dedup();
                let mut name = String::new();
                for &pid in roots.iter().rev() {
                    let missing = AttachError {
                        pid,
                        refusal: Refusal::NoSuchProcess,
                    };
                    name = read_stat(pid).ok_or(missing)?.name;
                }
                let whom = Whom::Running(roots.clone());
                Ok(Prepared {
                    whom,
                    gated: None,
                    roots,
                    command: Vec::new(),
                    name,
                })
            }
        }
    }

    /// Makes the file: the one asked for, else `sprof.<name>.<pid>.<time>.sprof`. One that is
    /// there is never overwritten.
    pub(super) fn create_output(
        &self,
        output: Option<&Path>,
    ) -> Result<(PathBuf, File), RecordError> {
        let path = output.map_or_else(|| self.default_output(), Path::to_path_buf);
        match format::create(&path) {
            Ok(file) => Ok((path, file)),
            Err(format::FormatError::Io(error)) => Err(RecordError::Create { path, error }),
            Err(error) => Err(RecordError::Write { path, error }),
        }
    }

    fn default_output(&self) -> PathBuf {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        let plain = |c: char| if is_plain(c) { c } else { '_' };
        let name: String = self.name.chars().map(plain).take(64).collect();
        let pid = self.roots.first().map_or(0, |pid| pid.0);
        let time = Utc::at(process::read_clocks().realtime_ns).compact();
        PathBuf::from(format!("sprof.{name}.{pid}.{time}.sprof"))
    }

    /// The session as far as it is known before the first tick.
    pub(super) fn session(
        &self,
        interval: Nanos,
        used: &EngineUsed,
        options: Vec<String>,
    ) -> Session {
        let names = nix::sys::utsname::uname().ok();
        let text = |part: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
            names
                .as_ref()
                .map_or_else(String::new, |n| part(n).to_string_lossy().into_owned())
        };
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let setting = |which| nix::unistd::sysconf(which).ok().flatten().unwrap_or(0);
        Session {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.clone(),
            roots: self.roots.clone(),
            interval,
            engine: used.name.to_owned(),
            scheduling: used.scheduling.to_string(),
            host: text(nix::sys::utsname::UtsName::nodename),
            boot_id: boot_id.unwrap_or_default().trim().to_owned(),
            kernel: text(nix::sys::utsname::UtsName::release),
            arch: text(nix::sys::utsname::UtsName::machine),
            page_size: setting(nix::unistd::SysconfVar::PAGE_SIZE) as u64,
            cpus: setting(nix::unistd::SysconfVar::_NPROCESSORS_ONLN) as u32,
            clocks: process::read_clocks(),
            options,
        }
    }
}

/// What a failed launch means for the caller.
pub(super) fn failed(command: &[OsString], why: &GatedError) -> RecordError {
    let program = command
        .first()
        .map_or_else(String::new, |word| word.to_string_lossy().into());
    match why {
        GatedError::NotFound => RecordError::ProgramNotFound(program),
        GatedError::CannotExecute(Errno::ENOENT) if !Path::new(&program).exists() => {
            RecordError::ProgramNotFound(program)
        }
        GatedError::CannotExecute(why) => RecordError::CannotExecute { program, why: *why },
        GatedError::Fork(why) => RecordError::System {
            what: "start a process",
            why: *why,
        },
    }
}
