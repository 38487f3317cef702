//! Writing a recording as it happens.

use std::io::Write;

use super::chunk::{MAGIC, PAYLOAD_MAX, Packer, kind};
use super::column::STACKS_MAX;
use super::encode::TickEncoder;
use super::event::{breach, put_event};
use super::ids::Ids;
use super::wire::Wire;
use super::{FormatError, VERSION};
use crate::profile::{Clocks, Event, Nanos, Session, StackTable, Tick, Timestamp};

/// When chunks are written, and when stacks are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A chunk is written when its first tick is this long ago, by the times of the ticks.
    pub flush: Nanos,
    /// A chunk is written when so many bytes wait, before compression: at most 1 MiB. A tick adds
    /// its own bytes to that.
    pub flush_bytes: usize,
    /// Stacks are forgotten, and told anew, this long after the first tick that used them.
    pub group: Nanos,
    /// Stacks are forgotten when there are so many, which bounds the memory of writer and reader:
    /// at most 4194304.
    pub group_stacks: usize,
}

impl Default for Limits {
    /// A second or 1 MiB; ten seconds or 131072 stacks, which are about 10 MB of memory.
    fn default() -> Limits {
        Limits {
            flush: Nanos(1_000_000_000),
            flush_bytes: FLUSH_BYTES_MAX,
            group: Nanos(10_000_000_000),
            group_stacks: 1 << 17,
        }
    }
}

/// With the largest tick on top, a payload stays below its limit.
const FLUSH_BYTES_MAX: usize = 1 << 20;

/// Appends a recording to `sink`, whole chunks by single writes: what was written is a recording
/// at any time.
///
/// Nothing is written when a writer is dropped: end with [`finish`](Writer::finish) or
/// [`close`](Writer::close).
pub struct Writer<W> {
    sink: W,
    limits: Limits,
    packer: Packer,
    ids: Ids,
    events: Vec<u8>,
    encoder: TickEncoder,
    table: StackTable,
    /// Number of the group that the table's ids belong to.
    group: u64,
    group_start: Option<Timestamp>,
    /// Time of the first tick that waits.
    waiting_since: Option<Timestamp>,
    /// The payload being made.
    scratch: Vec<u8>,
    written: u64,
    broken: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a recording, and writes its beginning.
    ///
    /// # Errors
    /// Those of `sink`; `Refused` for a session of more than 16 MiB.
    pub fn new(sink: W, session: &Session) -> Result<Writer<W>, FormatError> {
        Writer::with_limits(sink, session, Limits::default())
    }

    /// As [`new`](Writer::new), with other limits than the usual.
    ///
    /// # Errors
    /// As [`new`](Writer::new).
    pub fn with_limits(
        sink: W,
        session: &Session,
        limits: Limits,
    ) -> Result<Writer<W>, FormatError> {
        let mut writer = Writer::resume(sink, Ids::default(), limits)?;
        VERSION.put(&mut writer.scratch);
        session.put(&mut writer.scratch);
        if writer.scratch.len() > PAYLOAD_MAX {
            return Err(FormatError::Refused("a session of more than 16 MiB"));
        }
        // By one write: whoever is killed leaves no file, or one that can be read.
        let mut beginning = MAGIC.to_vec();
        beginning.extend_from_slice(writer.packer.pack(kind::HEAD, &writer.scratch)?);
        writer.sink.write_all(&beginning)?;
        writer.written = beginning.len() as u64;
        writer.sink.flush()?;
        Ok(writer)
    }

    /// Goes on behind what `sink` holds.
    pub(super) fn resume(sink: W, ids: Ids, limits: Limits) -> Result<Writer<W>, FormatError> {
        let mut encoder = TickEncoder::default();
        encoder.restart();
        Ok(Writer {
            sink,
            limits: Limits {
                flush_bytes: limits.flush_bytes.clamp(1, FLUSH_BYTES_MAX),
                group_stacks: limits.group_stacks.clamp(1, STACKS_MAX),
                ..limits
            },
            packer: Packer::new()?,
            ids,
            events: Vec::new(),
            encoder,
            table: StackTable::default(),
            group: 0,
            group_start: None,
            waiting_since: None,
            scratch: Vec::new(),
            written: 0,
            broken: false,
        })
    }

    /// Records an event. Events keep their order, and come before ticks recorded after them.
    ///
    /// # Errors
    /// `Refused` for a session, for an event about an id that no earlier one introduced (ids count
    /// from zero), for a symbol without a function, and for an event of more than 16 MiB: nothing
    /// of it is recorded, and the writer can go on. Those of the sink.
    pub fn event(&mut self, event: &Event) -> Result<(), FormatError> {
        self.admit()?;
        if let Some(why) = breach(event) {
            return Err(FormatError::Refused(why));
        }
        let mut ids = self.ids;
        ids.admit(event)?;
        let before = self.events.len();
        if !put_event(event, &mut self.events, &mut self.scratch) {
            return Err(FormatError::Refused("a second session"));
        }
        if self.events.len() - before > PAYLOAD_MAX {
            self.events.truncate(before);
            return Err(FormatError::Refused("an event of more than 16 MiB"));
        }
        self.ids = ids;
        if self.events.len() > PAYLOAD_MAX {
            let last = self.events.split_off(before);
            self.write_events()?;
            self.events = last;
        }
        if self.events.len() >= self.limits.flush_bytes {
            self.write_events()?;
        }
        Ok(())
    }

    /// The table to intern the stacks of the next tick into. Its ids are valid for as long as
    /// [`group`](Writer::group) answers the same.
    pub fn stacks(&mut self) -> &mut StackTable {
        &mut self.table
    }

    /// Changes when the table was emptied and its ids became invalid: never but in
    /// [`tick`](Writer::tick).
    pub fn group(&self) -> u64 {
        self.group
    }

    /// Records a tick, whose stacks are in the table.
    ///
    /// # Errors
    /// `Refused` for samples that are not in the order of their threads, for stacks that are not in
    /// the table, and for more than 262144 samples or 4194304 stacks: nothing of the tick is
    /// recorded (and a table that is too large is emptied), and the writer can go on. Those of the
    /// sink.
    pub fn tick(&mut self, tick: &Tick) -> Result<(), FormatError> {
        self.admit()?;
        self.put_tick(tick, None)
    }

    /// As [`tick`](Writer::tick), where only the samples at the places `changed` can differ from
    /// those of the tick recorded last, and all are of the same threads: the others are not gone
    /// through.
    ///
    /// # Errors
    /// As [`tick`](Writer::tick), and `Refused` for places that do not rise, and where threads are others.
    pub fn tick_changing(&mut self, tick: &Tick, changed: &[usize]) -> Result<(), FormatError> {
        self.admit()?;
        let is_told_so = self.encoder.admit_changes(tick, changed, &self.table)?;
        self.put_tick(tick, is_told_so.then_some(changed))
    }

    /// Records a tick; one that is told by its changes was admitted.
    fn put_tick(&mut self, tick: &Tick, changed: Option<&[usize]>) -> Result<(), FormatError> {
        if changed.is_none()
            && let Err(refused) = TickEncoder::admit(tick, &self.table)
        {
            if self.table.len() >= self.limits.group_stacks {
                self.restart()?;
            }
            return Err(refused);
        }
        while !self
            .encoder
            .push_stacks(&self.table, self.limits.flush_bytes)
        {
            self.write_waiting()?;
        }
        self.encoder.push_tick(tick, changed);
        let since = *self.waiting_since.get_or_insert(tick.time);
        let start = *self.group_start.get_or_insert(tick.time);
        if tick.time.since(start) >= self.limits.group
            || self.table.len() >= self.limits.group_stacks
        {
            self.restart()
        } else if tick.time.since(since) >= self.limits.flush
            || self.encoder.len() >= self.limits.flush_bytes
        {
            self.write_waiting()
        } else {
            Ok(())
        }
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&mut self) -> Result<(), FormatError> {
        self.admit()?;
        self.write_waiting()?;
        self.sink.flush()?;
        Ok(())
    }

    /// Writes what waits, and that the recording ended as it should; answers the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(mut self, clocks: Clocks) -> Result<W, FormatError> {
        // What happened before the end stands before it, also the ticks.
        self.flush()?;
        self.event(&Event::Finished(clocks))?;
        self.close()
    }

    /// Writes what waits, and answers the sink: for a recording that did not end as it should, and
    /// for what was appended to one that did.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn close(mut self) -> Result<W, FormatError> {
        self.flush()?;
        Ok(self.sink)
    }

    /// Bytes written by this writer.
    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    fn admit(&self) -> Result<(), FormatError> {
        if self.broken {
            Err(FormatError::Broken)
        } else {
            Ok(())
        }
    }

    /// Forgets all stacks: the next tick begins a group.
    fn restart(&mut self) -> Result<(), FormatError> {
        self.write_waiting()?;
        self.encoder.restart();
        self.table.clear();
        self.group += 1;
        self.group_start = None;
        Ok(())
    }

    /// Events first: what ticks speak of must be known before them.
    fn write_waiting(&mut self) -> Result<(), FormatError> {
        self.write_events()?;
        self.waiting_since = None;
        if self.encoder.take_payload(&mut self.scratch) {
            self.write_chunk(kind::TICKS)?;
        }
        Ok(())
    }

    fn write_events(&mut self) -> Result<(), FormatError> {
        if self.events.is_empty() {
            return Ok(());
        }
        std::mem::swap(&mut self.events, &mut self.scratch);
        self.events.clear();
        self.write_chunk(kind::EVENTS)
    }

    /// Writes a chunk whose payload is in `scratch`.
    fn write_chunk(&mut self, kind: u8) -> Result<(), FormatError> {
        let chunk = self.packer.pack(kind, &self.scratch)?;
        if let Err(error) = self.sink.write_all(chunk) {
            // Perhaps a part of it was written: a reader stops there.
            self.broken = true;
            return Err(error.into());
        }
        self.written += chunk.len() as u64;
        Ok(())
    }
}
