//! How long each process was held.

use super::StopEngine;
use crate::engine::TickBuffer;
use crate::profile::Timestamp;

impl StopEngine {
    /// Adds up, from its first interrupt to its last resume, how long each process of
    /// `self.held`, which is in the order of processes, was held in the tick that began at
    /// `begin` and ended just now.
    pub(super) fn note_pauses(&self, begin: Timestamp, buffer: &mut TickBuffer) {
        let pid = |index: usize| self.tracees[index].pid;
        let processes = self.held.chunk_by(|a, b| pid(a.index) == pid(b.index));
        for threads in processes {
            // One that stopped of its own was not interrupted in this tick; one with an event of
            // its own to be served has not been let go yet.
            let interrupted = |index: usize| self.tracees[index].interrupted.max(begin);
            let first = threads.iter().map(|held| interrupted(held.index)).min();
            let end = begin + buffer.stop;
            let last = threads.iter().map(|held| held.let_go.unwrap_or(end)).max();
            if let (Some(first), Some(last), Some(held)) = (first, last, threads.first()) {
                buffer.pauses.push((pid(held.index), last.since(first)));
            }
        }
    }
}
