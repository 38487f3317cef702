//! Chunks: what a file is made of.

use std::io::{self, Read};

use super::wire::Invalid;

/// First bytes of every file: like PNG's, they show a transfer that took the file for text.
pub(super) const MAGIC: [u8; 8] = *b"\x89SPROF\r\n";

/// Bytes of a chunk's header.
pub(super) const HEADER_LEN: usize = 14;

/// Most bytes of a payload, compressed or not.
pub(super) const PAYLOAD_MAX: usize = 16 << 20;

/// A payload may be this many times longer than its compressed form (and 4 KiB more), so that a
/// small file can never unfold into a huge one.
const EXPANSION_MAX: usize = 256;

/// Level of compression. Higher ones gain hardly anything: the columns do the work.
const LEVEL: i32 = 3;

/// A reader that does not know the type of the chunk must give up.
const CRITICAL: u8 = 1;
/// The payload is one zstd frame.
const COMPRESSED: u8 = 2;

/// Types of chunk.
pub(super) mod kind {
    /// Format version and session: the first chunk.
    pub(crate) const HEAD: u8 = 1;
    /// Events.
    pub(crate) const EVENTS: u8 = 2;
    /// Ticks, and the stacks that are new in them.
    pub(crate) const TICKS: u8 = 3;
}

/// What precedes a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) kind: u8,
    flags: u8,
    stored_len: u32,
    raw_len: u32,
    crc: u32,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Header> {
        let (&[kind, flags], rest) = bytes.split_first_chunk()?;
        let (stored_len, rest) = rest.split_first_chunk()?;
        let (raw_len, rest) = rest.split_first_chunk()?;
        let crc = rest.try_into().ok()?;
        Some(Header {
            kind,
            flags,
            stored_len: u32::from_le_bytes(*stored_len),
            raw_len: u32::from_le_bytes(*raw_len),
            crc: u32::from_le_bytes(crc),
        })
    }

    /// The fields that the checksum covers besides the payload.
    fn checked_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind, self.flags];
        bytes.extend_from_slice(&self.stored_len.to_le_bytes());
        bytes.extend_from_slice(&self.raw_len.to_le_bytes());
        bytes
    }

    fn checksum(&self, stored: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.checked_bytes());
        hasher.update(stored);
        hasher.finalize()
    }

    fn is_compressed(&self) -> bool {
        self.flags & COMPRESSED != 0
    }

    fn has_unknown_flags(&self) -> bool {
        self.flags & !(CRITICAL | COMPRESSED) != 0
    }

    /// Looked at before anything is allocated for the payload.
    fn has_possible_lengths(&self) -> bool {
        let (stored, raw) = (self.stored_len as usize, self.raw_len as usize);
        if self.has_unknown_flags() {
            raw <= PAYLOAD_MAX && stored <= PAYLOAD_MAX
        } else if self.is_compressed() {
            raw <= PAYLOAD_MAX && stored < raw && raw <= longest_raw(stored)
        } else {
            raw <= PAYLOAD_MAX && stored == raw
        }
    }

    /// Whether a reader may step over the chunk when it does not understand it.
    pub(super) fn is_critical(&self) -> bool {
        self.flags & CRITICAL != 0
    }

    /// Whether the chunk is used in a way this version knows: an unknown flag makes it unknown.
    pub(super) fn is_known(&self) -> bool {
        !self.has_unknown_flags() && matches!(self.kind, kind::HEAD | kind::EVENTS | kind::TICKS)
    }

    /// Bytes of the whole chunk.
    pub(super) fn chunk_len(&self) -> u64 {
        HEADER_LEN as u64 + u64::from(self.stored_len)
    }
}

fn longest_raw(stored: usize) -> usize {
    4096 + EXPANSION_MAX * stored
}

/// What there is where a chunk is looked for.
#[derive(Debug)]
pub(super) enum Next {
    /// A whole chunk with the right checksum.
    Chunk(Header),
    /// The end of the file.
    End,
    /// Something else, and what.
    Cut(&'static str),
}

/// Makes chunks.
pub(super) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    chunk: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> io::Result<Packer> {
        Ok(Packer {
            compressor: zstd::bulk::Compressor::new(LEVEL)?,
            chunk: Vec::new(),
        })
    }

    /// The bytes of a chunk of a type that readers of this version must know. The payload is not
    /// longer than [`PAYLOAD_MAX`].
    pub(super) fn pack(&mut self, kind: u8, payload: &[u8]) -> io::Result<&[u8]> {
        let packed = match kind {
            // Readers of all versions must be able to read the version.
            kind::HEAD => None,
            _ => Some(self.compressor.compress(payload)?)
                .filter(|packed| packed.len() < payload.len())
                .filter(|packed| payload.len() <= longest_raw(packed.len())),
        };
        let stored = packed.as_deref().unwrap_or(payload);
        let mut header = Header {
            kind,
            flags: CRITICAL | if packed.is_some() { COMPRESSED } else { 0 },
            stored_len: stored.len() as u32,
            raw_len: payload.len() as u32,
            crc: 0,
        };
        header.crc = header.checksum(stored);
        self.chunk.clear();
        self.chunk.extend_from_slice(&header.checked_bytes());
        self.chunk.extend_from_slice(&header.crc.to_le_bytes());
        self.chunk.extend_from_slice(stored);
        Ok(&self.chunk)
    }
}

/// Reads chunks, one at a time.
pub(super) struct Unpacker {
    decompressor: zstd::bulk::Decompressor<'static>,
    stored: Vec<u8>,
    raw: Vec<u8>,
}

impl Unpacker {
    pub(super) fn new() -> io::Result<Unpacker> {
        Ok(Unpacker {
            decompressor: zstd::bulk::Decompressor::new()?,
            stored: Vec::new(),
            raw: Vec::new(),
        })
    }

    /// Reads the next chunk as it is stored, and checks it.
    pub(super) fn next(&mut self, source: &mut impl Read) -> io::Result<Next> {
        self.fill(source, HEADER_LEN)?;
        if self.stored.is_empty() {
            return Ok(Next::End);
        }
        let Some(header) = Header::parse(&self.stored) else {
            return Ok(Next::Cut("the header of a chunk is cut off"));
        };
        if !header.has_possible_lengths() {
            return Ok(Next::Cut("the lengths of a chunk are impossible"));
        }
        self.fill(source, header.stored_len as usize)?;
        if self.stored.len() != header.stored_len as usize {
            return Ok(Next::Cut("a chunk is cut off"));
        }
        if header.checksum(&self.stored) != header.crc {
            return Ok(Next::Cut("the checksum of a chunk is wrong"));
        }
        Ok(Next::Chunk(header))
    }

    /// Reads up to `len` bytes, and allocates only for what is there.
    fn fill(&mut self, source: &mut impl Read, len: usize) -> io::Result<()> {
        self.stored.clear();
        source.take(len as u64).read_to_end(&mut self.stored)?;
        Ok(())
    }

    /// The payload of the chunk that was read last.
    pub(super) fn payload(&mut self, header: Header) -> Result<&[u8], Invalid> {
        if !header.is_compressed() {
            return Ok(&self.stored);
        }
        self.raw.clear();
        self.raw.reserve(header.raw_len as usize);
        let len = self
            .decompressor
            .decompress_to_buffer(&self.stored, &mut self.raw)
            .map_err(|_| Invalid("a chunk cannot be decompressed"))?;
        if len != header.raw_len as usize {
            return Err(Invalid("a chunk has another length than it says"));
        }
        Ok(&self.raw)
    }
}
