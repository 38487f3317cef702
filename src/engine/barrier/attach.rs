//! Beginning to watch: a command that waits at its gate, or processes that run.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::BarrierEngine;
use super::BarrierError;
use super::deep::DeepReader;
use super::doze::Dozing;
use super::holders::Holders;
use super::rates::{Ends, Rates};
use super::task::{Place, Tasks};
use super::witness::Witness;
use crate::engine::records::Records;
use crate::engine::refusal::explain;
use crate::engine::{AttachError, Refusal, Scope, TreeEvent};
use crate::process::{self, ancestors, descendants, read_stat, read_thread_stat, threads};
use crate::profile::{Pid, Tid};
use crate::sys::{self, Affinity, Errno, Gathered, Watch};

/// Bytes of stack that are recorded at each switch. Recording four times as many costs 1 to 4 % of
/// a busy target at 1000 ticks a second; nearly all stacks are smaller.
const STACK_BYTES: u32 = 16 << 10;
/// Watching births and deaths at once takes a file for each thread and CPU, too: for so many
/// threads at most.
const MOST_WITNESSED: usize = 256;

/// Why nothing is watched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BarrierRefusal {
    /// The engine cannot be had; another may.
    #[error(transparent)]
    Engine(#[from] BarrierError),
    /// The target cannot be had.
    #[error(transparent)]
    Target(#[from] AttachError),
}

/// What the engine is made of, before it watches anyone.
struct Parts {
    cpus: Vec<u32>,
    records: Records,
    holders: Holders,
    deep: DeepReader,
    events: Vec<OwnedFd>,
}

impl Parts {
    /// Everything here is done as a real-time thread: beside a thousand busy threads, a normal one
    /// would wait for its CPU at each event it opens.
    fn new() -> Result<Parts, BarrierError> {
        let cpus = process::online_cpus();
        let records = Records::new(&cpus).map_err(refused)?;
        if !sys::become_real_time() {
            return Err(BarrierError::NotRealTime);
        }
        let holders = Holders::start(&cpus);
        Ok(Parts {
            cpus,
            records,
            holders: holders?,
            deep: DeepReader::start().map_err(BarrierError::NoThread)?,
            events: Vec::new(),
        })
    }

    /// As [`watch`].
    fn watch(&mut self, tid: Tid, from_exec: bool) -> Result<bool, Errno> {
        watch(&self.records, &mut self.events, tid, from_exec)
    }

    fn into_engine(
        self,
        mut tasks: Tasks,
        command: Option<Pid>,
    ) -> Result<BarrierEngine, BarrierError> {
        tasks.exits.command = command;
        let fill = Gathered::new(self.records.sources()).map_err(BarrierError::NoRecords)?;
        let before = Affinity::of_this_thread();
        let cpu = sys::current_cpu();
        let seat = self.cpus.iter().position(|&c| c == cpu).unwrap_or(0);
        sys::pin_to(self.cpus[seat]);
        let cpus = self.cpus.len();
        Ok(BarrierEngine {
            cpus: self.cpus,
            records: self.records,
            holders: self.holders,
            tasks,
            fill,
            deep: self.deep,
            dozing: Dozing::new(),
            rates: Rates::new(cpus),
            ends: Ends::new(),
            events: self.events,
            before,
            seat,
            astray: 0,
            switches: Vec::new(),
        })
    }
}

/// Watches a thread, and all it starts, as long as `events` are open. `false`: it is gone.
pub(super) fn watch(
    records: &Records,
    events: &mut Vec<OwnedFd>,
    tid: Tid,
    from_exec: bool,
) -> Result<bool, Errno> {
    let what = Watch::Stacks { bytes: STACK_BYTES };
    for ring in records.rings() {
        match sys::watch(tid, ring, what, from_exec) {
            Ok(event) => events.push(event),
            Err(Errno::ESRCH) => return Ok(false),
            Err(errno) => return Err(errno),
        }
    }
    Ok(true)
}

fn refused(errno: Errno) -> BarrierError {
    match errno {
        Errno::EACCES | Errno::EPERM => BarrierError::NotPermitted,
        errno => BarrierError::NoRecords(errno),
    }
}

impl BarrierEngine {
    /// Watches the gated child `pid` of sprof, from the moment it becomes its command.
    ///
    /// # Errors
    /// When the engine cannot be had.
    pub fn attach_gated(
        pid: Pid,
        scope: &Arc<Scope>,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Result<BarrierEngine, BarrierRefusal> {
        let mut parts = Parts::new()?;
        let tid = Tid(pid.0);
        parts.watch(tid, true).map_err(refused)?;
        let witness = if scope.follow {
            Witness::start(&parts.cpus, &[tid], true).ok()
        } else {
            None
        };
        let mut tasks = Tasks::new(&parts.cpus, witness, Arc::clone(scope));
        let start = process::now();
        tasks.add(pid, tid, Place::Gated, start);
        TreeEvent::gated(pid, start).into_iter().for_each(report);
        Ok(parts.into_engine(tasks, Some(pid))?)
    }

    /// Watches the processes `roots` and all that is below them. What is below and refuses is
    /// reported and left alone.
    ///
    /// # Errors
    /// When one of the roots refuses, or the engine cannot be had.
    pub fn attach(
        roots: &[Pid],
        scope: &Arc<Scope>,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Result<BarrierEngine, BarrierRefusal> {
        let own = Pid(std::process::id() as i32);
        for &pid in roots {
            let refusal = if pid == own || ancestors().contains(&pid) {
                Some(Refusal::OwnAncestor)
            } else {
                unfit(pid)
            };
            if let Some(refusal) = refusal {
                return Err(AttachError { pid, refusal }.into());
            }
        }
        let mut parts = Parts::new()?;
        let all = roots.iter().copied().chain(descendants(roots));
        let tids: Vec<Tid> = all.flat_map(threads).collect();
        // Of children that are not recorded, nobody would ever ask what it has seen.
        let witness = if scope.follow && tids.len() <= MOST_WITNESSED {
            Witness::start(&parts.cpus, &tids, false).ok()
        } else {
            None
        };
        let mut tasks = Tasks::new(&parts.cpus, witness, Arc::clone(scope));
        let mut refused = HashSet::new();
        // A process that was not yet watched may have forked meanwhile: until a pass is empty.
        for pass in 0.. {
            let mut found = roots.to_vec();
            if scope.follow {
                found.extend(descendants(roots));
            }
            found.retain(|pid| !tasks.has_process(*pid) && !refused.contains(pid));
            if found.is_empty() {
                break;
            }
            for pid in found {
                let watched = parts.attach_process(pid, &mut tasks, report);
                let refusal = match watched {
                    Ok(()) => continue,
                    Err(BarrierRefusal::Target(error)) => error.refusal,
                    Err(error) => return Err(error),
                };
                refused.insert(pid);
                if roots.contains(&pid) && pass == 0 {
                    return Err(AttachError { pid, refusal }.into());
                }
                if !matches!(refusal, Refusal::NoSuchProcess | Refusal::Zombie) {
                    let (time, why) = (process::now(), refusal.to_string());
                    report(TreeEvent::NotTraceable { pid, time, why });
                }
            }
        }
        let mut engine = parts.into_engine(tasks, None)?;
        engine.settle(report);
        Ok(engine)
    }
}

/// Why a process cannot be recorded by any engine.
fn unfit(pid: Pid) -> Option<Refusal> {
    match explain(pid, Errno::ESRCH) {
        refusal @ (Refusal::Zombie | Refusal::KernelThread) => Some(refusal),
        // Being traced by another program is no hindrance, and ESRCH was only said.
        _ if read_stat(pid).is_none() => Some(Refusal::NoSuchProcess),
        _ => None,
    }
}

impl Parts {
    /// Watches all threads of a process, also those that it starts meanwhile.
    fn attach_process(
        &mut self,
        pid: Pid,
        tasks: &mut Tasks,
        report: &mut dyn FnMut(TreeEvent),
    ) -> Result<(), BarrierRefusal> {
        let clocks = process::read_clocks();
        let target = |refusal| BarrierRefusal::from(AttachError { pid, refusal });
        let stat = read_stat(pid).ok_or(target(Refusal::NoSuchProcess))?;
        if let Some(refusal) = unfit(pid) {
            return Err(target(refusal));
        }
        loop {
            // What was born of watched threads meanwhile is watched already.
            self.catch_up(tasks, report);
            let mut found = threads(pid);
            found.retain(|tid| !tasks.by_tid.contains_key(tid));
            let mut is_new = false;
            for tid in found {
                if tasks.by_tid.contains_key(&tid) {
                    continue;
                }
                match self.watch(tid, false) {
                    Ok(true) => {}
                    Ok(false) => continue,
                    // Not permitted, or too many files: another engine needs neither.
                    Err(errno) => return Err(refused(errno).into()),
                }
                is_new = true;
                if !tasks.has_process(pid) {
                    let start = process::start_time(stat.start_ticks, &clocks);
                    report(TreeEvent::Process {
                        pid,
                        forked_by: None,
                        start,
                        is_gated: false,
                    });
                }
                tasks.add(pid, tid, Place::Unknown, process::now());
                let start = read_thread_stat(pid, tid).map_or(clocks.monotonic, |stat| {
                    process::start_time(stat.start_ticks, &clocks)
                });
                report(TreeEvent::Thread {
                    pid,
                    tid,
                    start,
                    is_new: false,
                });
                tasks.read_name(tid, report);
            }
            if !is_new {
                return if tasks.has_process(pid) {
                    Ok(())
                } else {
                    Err(target(unfit(pid).unwrap_or(Refusal::NoSuchProcess)))
                };
            }
        }
    }

    fn catch_up(&mut self, tasks: &mut Tasks, report: &mut dyn FnMut(TreeEvent)) {
        let now = process::now();
        self.records.look();
        while let Some(record) = self.records.next(now) {
            tasks.take(record, report);
        }
        tasks.rescue_stacks(&self.records);
        self.records.release();
    }
}
