//! Reading a recording, whole or not.

use std::fs::File;
use std::io::{Cursor as Bytes, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::chunk::{Header, MAGIC, Next, Unpacker, kind};
use super::decode::{Stop, Summary, TickDecoder};
use super::event::get_event;
use super::wire::{Cursor, Invalid, Wire};
use super::{FormatError, VERSION};
use crate::profile::{
    Loss, LossKind, LossSubject, Profile, Recording, RecordingError, Session, StackTable, Tick,
    Timestamp,
};

/// A recording in a file, or in anything that can be read and sought in.
///
/// Opening goes through the file once and keeps the [`Profile`]; ticks are read from the file each
/// time they are asked for, and take a bounded amount of memory. What was appended to the file
/// since it was opened is not seen.
pub struct Reader<R> {
    source: Mutex<R>,
    profile: Profile,
    /// Where the chunks of ticks begin, in bytes from the start of the file.
    chunks: Vec<u64>,
    ticks: u64,
    samples: u64,
    is_cut: bool,
    version: u64,
}

impl Reader<File> {
    /// Opens a recording.
    ///
    /// # Errors
    /// Those of [`new`](Reader::new); `NotSprof` also for a directory.
    pub fn open(path: &Path) -> Result<Reader<File>, FormatError> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(FormatError::NotSprof {
                looks_like: "is a directory",
            });
        }
        Reader::new(file)
    }
}

impl Reader<Bytes<Vec<u8>>> {
    /// Opens a recording that is in memory.
    ///
    /// # Errors
    /// Those of [`new`](Reader::new).
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Reader<Bytes<Vec<u8>>>, FormatError> {
        Reader::new(Bytes::new(bytes))
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Opens a recording that begins at byte 0 of `source`.
    ///
    /// A cut or damaged one opens as well: it ends before the first chunk that is not whole or not
    /// right, and its profile has a loss of kind `FileCut`, whose count is the bytes from there on.
    ///
    /// # Errors
    /// `NotSprof`, `NothingReadable`, `NewerVersion` and `UnknownChunk`, and those of `source`.
    pub fn new(mut source: R) -> Result<Reader<R>, FormatError> {
        source.seek(SeekFrom::Start(0))?;
        check_magic(&mut source)?;
        let mut unpacker = Unpacker::new()?;
        let (version, session) = read_head(&mut source, &mut unpacker)?;
        let mut scan = Scan {
            profile: Profile {
                session,
                ..Profile::default()
            },
            ..Scan::default()
        };
        let mut offset = source.stream_position()?;
        let cut = loop {
            let why = match unpacker.next(&mut source)? {
                Next::End => break None,
                Next::Cut(why) => why,
                Next::Chunk(header) => match scan.take(header, &mut unpacker, offset)? {
                    Ok(()) => {
                        offset += header.chunk_len();
                        continue;
                    }
                    Err(Invalid(why)) => why,
                },
            };
            break Some(why);
        };
        if let Some(why) = cut {
            let end = source.seek(SeekFrom::End(0))?;
            scan.note_cut(offset, end, why);
        }
        Ok(Reader {
            source: Mutex::new(source),
            profile: scan.profile,
            chunks: scan.chunks,
            ticks: scan.ticks,
            samples: scan.samples,
            is_cut: cut.is_some(),
            version,
        })
    }

    /// Whether the recording ended as it should, and all of it could be read.
    pub fn is_whole(&self) -> bool {
        !self.is_cut && self.profile.finished.is_some()
    }

    /// Number of ticks, as the chunks say; going through them checks it.
    pub fn tick_count(&self) -> u64 {
        self.ticks
    }

    /// Number of samples of all ticks together, as the chunks say.
    pub fn sample_count(&self) -> u64 {
        self.samples
    }

    /// Reads one chunk of ticks again. The lock is not held while ticks are visited.
    fn read_ticks(&self, offset: u64, unpacker: &mut Unpacker) -> Result<Header, FormatError> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.seek(SeekFrom::Start(offset))?;
        match unpacker.next(&mut *source)? {
            Next::Chunk(header) if header.kind == kind::TICKS => Ok(header),
            _ => Err(FormatError::BadTicks {
                offset,
                why: "the file has changed since it was opened",
            }),
        }
    }
}

impl<R: Read + Seek> Recording for Reader<R> {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn each_tick(
        &self,
        visit: &mut dyn FnMut(&Tick, &StackTable) -> Result<(), RecordingError>,
    ) -> Result<(), RecordingError> {
        let mut unpacker = Unpacker::new()?;
        let mut decoder = TickDecoder::new(self.version);
        for &offset in &self.chunks {
            let header = self.read_ticks(offset, &mut unpacker)?;
            let decoded = unpacker
                .payload(header)
                .map_err(Stop::from)
                .and_then(|payload| decoder.decode(payload, visit));
            match decoded {
                Ok(()) => {}
                Err(Stop::Visitor(error)) => return Err(error),
                Err(Stop::Invalid(Invalid(why))) => {
                    return Err(FormatError::BadTicks { offset, why }.into());
                }
            }
        }
        Ok(())
    }
}

/// What going through the chunks has found so far.
#[derive(Default)]
struct Scan {
    profile: Profile,
    chunks: Vec<u64>,
    ticks: u64,
    samples: u64,
    last_tick: Option<Timestamp>,
}

impl Scan {
    /// Takes in the chunk that was read last. The outer error is for a file that must be refused,
    /// the inner one for a chunk that cannot be right.
    fn take(
        &mut self,
        header: Header,
        unpacker: &mut Unpacker,
        offset: u64,
    ) -> Result<Result<(), Invalid>, FormatError> {
        if !header.is_known() {
            if header.is_critical() {
                return Err(FormatError::UnknownChunk {
                    kind: header.kind,
                    offset,
                });
            }
            return Ok(Ok(()));
        }
        Ok(unpacker
            .payload(header)
            .and_then(|payload| match header.kind {
                kind::EVENTS => self.take_events(payload),
                kind::TICKS => self.take_ticks(payload, offset),
                _ => Err(Invalid("a second head")),
            }))
    }

    fn take_events(&mut self, payload: &[u8]) -> Result<(), Invalid> {
        let mut from = Cursor::new(payload);
        while !from.is_empty() {
            if let Some(event) = get_event(&mut from)?
                && !self.profile.apply(event)
            {
                return Err(Invalid("an event is about an id out of turn"));
            }
        }
        Ok(())
    }

    fn take_ticks(&mut self, payload: &[u8], offset: u64) -> Result<(), Invalid> {
        let summary = Summary::get(&mut Cursor::new(payload))?;
        if self.chunks.is_empty() && !summary.opens_group {
            return Err(Invalid("the first ticks refer to some before"));
        }
        self.chunks.push(offset);
        self.ticks = self.ticks.saturating_add(summary.ticks);
        self.samples = self.samples.saturating_add(summary.samples);
        if summary.ticks > 0 {
            self.last_tick = Some(summary.time);
        }
        Ok(())
    }

    fn note_cut(&mut self, offset: u64, end: u64, why: &str) {
        let time = self
            .last_tick
            .unwrap_or(self.profile.session.clocks.monotonic);
        self.profile.losses.push(Loss {
            time,
            tick: None,
            kind: LossKind::FileCut,
            subject: LossSubject::Session,
            count: end.saturating_sub(offset),
            detail: format!("{why} at byte {offset} of {end}: nothing from there on can be read"),
        });
    }
}

/// Reads and checks the first bytes.
fn check_magic(source: &mut impl Read) -> Result<(), FormatError> {
    let mut first = Vec::new();
    source.take(MAGIC.len() as u64).read_to_end(&mut first)?;
    if first == MAGIC {
        return Ok(());
    }
    if !first.is_empty() && MAGIC.starts_with(&first) {
        return Err(FormatError::NothingReadable {
            why: "it is cut in its first bytes",
        });
    }
    Err(FormatError::NotSprof {
        looks_like: looks_like(&first),
    })
}

/// What the first bytes of something else tell.
fn looks_like(first: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 12] = [
        (
            b"\x89SPROF\n",
            "is one that was transferred as text, which damages it",
        ),
        (b"\x1f\x8b", "is compressed by gzip"),
        (b"\x28\xb5\x2f\xfd", "is compressed by zstd"),
        (b"\xfd7zXZ", "is compressed by xz"),
        (b"BZh", "is compressed by bzip2"),
        (b"PK\x03\x04", "is a zip archive"),
        (b"\x7fELF", "is a program or library (ELF)"),
        (b"PERFILE2", "is a recording of perf (perf.data)"),
        (b"2ELIFREP", "is a recording of perf (perf.data)"),
        (b"{", "looks like JSON"),
        (b"[", "looks like JSON"),
        (b"<", "looks like HTML or XML"),
    ];
    let text = first.trim_ascii_start();
    if first.is_empty() {
        return "is empty";
    }
    let known = KNOWN
        .iter()
        .find(|(magic, _)| first.starts_with(magic) || text.starts_with(magic));
    match known {
        Some((_, what)) => what,
        None if first
            .iter()
            .all(|byte| matches!(byte, b'\t'..=b'\r' | b' '..=b'~')) =>
        {
            "looks like text"
        }
        None => "is something else",
    }
}

/// Reads the first chunk: the version, and the session.
fn read_head(
    source: &mut impl Read,
    unpacker: &mut Unpacker,
) -> Result<(u64, Session), FormatError> {
    let nothing = |why| FormatError::NothingReadable { why };
    let header = match unpacker.next(source)? {
        Next::Chunk(header) if header.kind == kind::HEAD => header,
        Next::Chunk(_) => return Err(nothing("its first chunk is not a head")),
        Next::End => return Err(nothing("it ends after its first bytes")),
        Next::Cut(why) => return Err(nothing(why)),
    };
    let payload = unpacker
        .payload(header)
        .map_err(|Invalid(why)| nothing(why))?;
    let mut from = Cursor::new(payload);
    let version = from.varint().map_err(|Invalid(why)| nothing(why))?;
    if version > u64::from(VERSION) {
        return Err(FormatError::NewerVersion {
            found: version,
            known: VERSION,
        });
    }
    if version == 0 || !header.is_known() {
        return Err(nothing("its head is impossible"));
    }
    let session = Session::get(&mut from).map_err(|Invalid(why)| nothing(why))?;
    Ok((version, session))
}
