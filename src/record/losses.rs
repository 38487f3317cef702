//! What is missing, or otherwise from now on, written down.

use std::io::Write;

use super::samples::Recorder;
use crate::engine::TickBuffer;
use crate::format::FormatError;
use crate::profile::{Event, Loss, LossKind, LossSubject, Nanos, Timestamp};

/// A loss of the whole recording.
fn of_session(kind: LossKind, time: Timestamp) -> Loss {
    Loss {
        time,
        tick: None,
        kind,
        subject: LossSubject::Session,
        count: 1,
        detail: String::new(),
    }
}

impl<W: Write> Recorder<W> {
    pub(super) fn missed(
        &mut self,
        kind: LossKind,
        tick: u64,
        count: u64,
        time: Timestamp,
    ) -> Result<(), FormatError> {
        self.counts.missed(count);
        self.own.missed(count);
        self.lose(Loss {
            tick: Some(tick),
            count,
            ..of_session(kind, time)
        })
    }

    pub(super) fn records_lost(&mut self, buffer: &TickBuffer) -> Result<(), FormatError> {
        self.lose(Loss {
            tick: Some(buffer.index),
            count: buffer.records_lost,
            ..of_session(LossKind::RecordsLost, buffer.time)
        })
    }

    pub(super) fn paused(
        &mut self,
        before: u64,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<(), FormatError> {
        let length = until.since(from);
        self.counts.paused += length;
        // What threads used meanwhile is nothing of the first stack that is seen again.
        self.forget_cpu_times();
        self.lose(Loss {
            tick: Some(before),
            count: length.0,
            detail: format!("for {length}"),
            ..of_session(LossKind::Paused, from)
        })
    }

    pub(super) fn interval_changed(
        &mut self,
        time: Timestamp,
        interval: Nanos,
    ) -> Result<(), FormatError> {
        self.counts.longer_interval = Some(interval);
        self.lose(Loss {
            detail: format!("a tick each {interval} from here on"),
            ..of_session(LossKind::IntervalChanged, time)
        })
    }

    pub(super) fn engine_changed(
        &mut self,
        time: Timestamp,
        why: String,
    ) -> Result<(), FormatError> {
        // CPU times of two engines count from different moments on.
        self.forget_cpu_times();
        self.counts.engine_changed = Some(why.clone());
        self.lose(Loss {
            detail: why,
            ..of_session(LossKind::EngineChanged, time)
        })
    }

    fn forget_cpu_times(&mut self) {
        for thread in self.tree.threads_mut() {
            thread.cpu_total = None;
        }
    }

    fn lose(&mut self, loss: Loss) -> Result<(), FormatError> {
        self.writer.event(&Event::Loss(loss))
    }
}
