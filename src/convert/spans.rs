//! Spans out of samples, for timelines that draw begins and ends.

use std::collections::BTreeMap;
use std::hash::Hash;

use super::ConvertError;
use super::stacks::{EntryId, Stacks};
use super::stretches::Stretch;
use crate::profile::{ThreadId, Timestamp};

/// The begin or the end of a span on a thread's track.
///
/// Edges of one thread come properly nested and in order of time; of two at the same time, ends
/// come before begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Begin {
        time: Timestamp,
        entry: EntryId,
    },
    /// Closes the innermost open span, which was seen in so many samples.
    End {
        time: Timestamp,
        entry: EntryId,
        samples: u64,
    },
}

/// The spans that are open, by thread.
#[derive(Default)]
pub(super) struct Spans {
    open: BTreeMap<ThreadId, Vec<(EntryId, u64)>>,
    path: Vec<EntryId>,
}

impl Spans {
    /// Takes a thread's next sample in, and calls `emit` with the edges it makes.
    pub(super) fn push<E: Clone + Eq + Hash>(
        &mut self,
        stretch: &Stretch,
        stacks: &Stacks<'_, E>,
        emit: &mut dyn FnMut(Edge) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        stacks.path(stretch.node, &mut self.path);
        let mut open = self.open.remove(&stretch.thread).unwrap_or_default();
        let pairs = open.iter().zip(&self.path);
        let same = pairs.take_while(|((was, _), now)| was == *now).count();
        close(&mut open, same, stretch.time, emit)?;
        for entry in self.path.iter().skip(same) {
            emit(Edge::Begin {
                time: stretch.time,
                entry: *entry,
            })?;
            open.push((*entry, 0));
        }
        for (_, samples) in &mut open {
            *samples += 1;
        }
        if stretch.joins_next {
            self.open.insert(stretch.thread, open);
        } else {
            close(&mut open, 0, stretch.until, emit)?;
        }
        Ok(())
    }
}

/// Ends the spans deeper than `depth`, innermost first.
fn close(
    open: &mut Vec<(EntryId, u64)>,
    depth: usize,
    time: Timestamp,
    emit: &mut dyn FnMut(Edge) -> Result<(), ConvertError>,
) -> Result<(), ConvertError> {
    while open.len() > depth {
        let Some((entry, samples)) = open.pop() else {
            break;
        };
        emit(Edge::End {
            time,
            entry,
            samples,
        })?;
    }
    Ok(())
}
