//! What a thread was doing, as slices on a track of its own below the thread's.
//!
//! Perfetto draws states of threads from the kernel's scheduling events only, so they are plain
//! slices here, with names like `sleeping in futex`.

use super::super::ConvertError;
use super::super::stretches::Stretch;
use super::proto::{TracePacket, TrackDescriptor, TrackEvent};
use super::{Perfetto, SLICE_BEGIN, SLICE_END, thread_track};
use crate::profile::{Doing, ThreadId, Timestamp};

/// Behind all tracks of processes and threads.
const FIRST_STATE_TRACK: u64 = 2 << 40;

impl Perfetto<'_, '_> {
    /// The track, to be told when the thread's is.
    pub(super) fn introduce_states(&mut self, thread: ThreadId) -> Result<(), ConvertError> {
        self.put(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: state_track(thread),
                parent_uuid: Some(thread_track(thread)),
                name: Some("state".to_owned()),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        })
    }

    /// Goes on with the slice of a thread's state, or ends it and begins the next.
    pub(super) fn put_state(&mut self, stretch: &Stretch) -> Result<(), ConvertError> {
        let thread = stretch.thread;
        let before = self.states.insert(thread, stretch.doing);
        if before != Some(stretch.doing) {
            if before.is_some() {
                self.put_state_edge(thread, stretch.time, None)?;
            }
            self.put_state_edge(thread, stretch.time, Some(stretch.doing))?;
        }
        if !stretch.joins_next {
            self.states.remove(&thread);
            self.put_state_edge(thread, stretch.until, None)?;
        }
        Ok(())
    }

    /// The begin of a slice, or its end.
    fn put_state_edge(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        begins: Option<Doing>,
    ) -> Result<(), ConvertError> {
        self.put(TracePacket {
            timestamp: Some(time.0),
            track_event: Some(TrackEvent {
                r#type: if begins.is_some() {
                    SLICE_BEGIN
                } else {
                    SLICE_END
                },
                track_uuid: state_track(thread),
                name: begins.map(|doing| doing.to_string()),
                ..TrackEvent::default()
            }),
            ..TracePacket::default()
        })
    }
}

fn state_track(thread: ThreadId) -> u64 {
    FIRST_STATE_TRACK + u64::from(thread.0)
}
