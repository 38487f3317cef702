//! Files of newer writers, of other programs, and of enemies.

use std::path::Path;

use sprof::format::{FormatError, Limits, Reader};
use sprof::profile::{Recording, Session};

use crate::content::{Script, open, read};
use crate::damage::{chunks, first_end};
use crate::generate::script;

const CRITICAL: u8 = 1;
const COMPRESSED: u8 = 2;

/// A chunk with a right checksum, whatever else is wrong with it.
fn chunk(kind: u8, flags: u8, raw_len: usize, stored: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, flags];
    bytes.extend((stored.len() as u32).to_le_bytes());
    bytes.extend((raw_len as u32).to_le_bytes());
    let mut crc = crc32fast::Hasher::new();
    crc.update(&bytes);
    crc.update(stored);
    bytes.extend(crc.finalize().to_le_bytes());
    bytes.extend(stored);
    bytes
}

fn plain(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    chunk(kind, flags, payload.len(), payload)
}

fn some_script() -> Script {
    script(9, 40)
}

/// A file with one more chunk behind each of its chunks.
fn with_chunk(bytes: &[u8], added: &[u8]) -> Vec<u8> {
    let mut into = bytes[..8].to_vec();
    let starts = chunks(bytes);
    let ends = starts[1..].iter().copied().chain([bytes.len()]);
    for (start, end) in starts.iter().zip(ends) {
        into.extend(&bytes[*start..end]);
        into.extend(added);
    }
    into
}

#[test]
fn unknown_chunks_are_stepped_over() {
    let script = some_script();
    let bytes = script.write(Limits::default());
    let strange = [
        plain(4, 0, b"not known"),
        plain(255, 0, b""),
        plain(4, 0x80, b"an unknown flag"),
        plain(3, 0x40, b"an unknown flag on a known type"),
        chunk(4, 4, 1000, b"compressed in an unknown way"),
        chunk(4, COMPRESSED, 1000, b"not really zstd"),
    ];
    for added in strange {
        let found = read(&open(&with_chunk(&bytes, &added)).unwrap());
        assert_eq!((found.lost, found.detail.as_str()), (0, ""));
        assert_eq!(found.profile, script.profile(usize::MAX));
        assert_eq!(found.ticks, script.ticks());
    }
}

#[test]
fn unknown_critical_chunks_are_refused() {
    let bytes = some_script().write(Limits::default());
    for added in [
        plain(4, CRITICAL, b"x"),
        plain(2, CRITICAL | 4, b""),
        plain(3, 0x81, b""),
    ] {
        match open(&with_chunk(&bytes, &added)).err() {
            Some(FormatError::UnknownChunk { kind, offset }) => {
                assert_eq!(kind, added[0]);
                assert_eq!(offset, first_end(&bytes) as u64);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn unknown_events_and_fields_are_stepped_over() {
    let script = some_script();
    let bytes = script.write(Limits::default());
    let unknown_event = plain(2, CRITICAL, &[99, 3, 1, 2, 3]);
    let longer_event = plain(2, CRITICAL, &[1, 7, 0, 0, 0, 0, 9, 9, 9]);
    for added in [unknown_event, longer_event] {
        let found = read(&open(&with_chunk(&bytes, &added)).unwrap());
        assert_eq!((found.lost, found.profile), (0, script.profile(usize::MAX)));
    }
}

#[test]
fn newer_versions_are_refused() {
    for version in [3, 77] {
        let mut bytes = b"\x89SPROF\r\n".to_vec();
        bytes.extend(plain(1, CRITICAL, &[version]));
        match open(&bytes).err() {
            Some(FormatError::NewerVersion { found, known: 2 }) => {
                assert_eq!(found, u64::from(version));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_beginning_without_a_head_is_refused() {
    let magic = b"\x89SPROF\r\n".to_vec();
    let heads = [
        vec![],
        plain(2, CRITICAL, &[]),
        plain(1, CRITICAL, &[]),
        plain(1, CRITICAL, &[0]),
        plain(1, CRITICAL, &[1, 5]),
        plain(1, CRITICAL | 8, &[1]),
        vec![0; 4096],
    ];
    for head in heads {
        let refused = open(&[magic.clone(), head].concat()).err();
        assert!(
            matches!(refused, Some(FormatError::NothingReadable { .. })),
            "{refused:?}"
        );
    }
}

#[test]
fn other_files_are_told_by_what_they_look_like() {
    let cases: [(&[u8], &str); 14] = [
        (b"", "is empty"),
        (
            b"\x89SPROF\nxxxx",
            "is one that was transferred as text, which damages it",
        ),
        (b"\x1f\x8b\x08\0\0\0\0\0\0", "is compressed by gzip"),
        (b"\x28\xb5\x2f\xfdxxxxxx", "is compressed by zstd"),
        (b"\xfd7zXZ\0\0\0", "is compressed by xz"),
        (b"BZh91AY&SY", "is compressed by bzip2"),
        (b"PK\x03\x04xxxxxxx", "is a zip archive"),
        (b"\x7fELF\x02\x01\x01\0\0", "is a program or library (ELF)"),
        (b"PERFILE2xxxxxxxx", "is a recording of perf (perf.data)"),
        (b"\n {\"meta\": 1}", "looks like JSON"),
        (b"[1]", "looks like JSON"),
        (b"<!doctype html>", "looks like HTML or XML"),
        (b"main;run 12\n", "looks like text"),
        (b"\0\0\0\0\0\0\0\0", "is something else"),
    ];
    for (bytes, expected) in cases {
        match open(bytes).err() {
            Some(FormatError::NotSprof { looks_like }) => assert_eq!(looks_like, expected),
            other => panic!("{bytes:?}: {other:?}"),
        }
    }
    let folder = Reader::open(&std::env::temp_dir()).err().unwrap();
    assert_eq!(
        folder.to_string(),
        "not a sprof recording: it is a directory"
    );
    let missing = Reader::open(Path::new("/nowhere/at.all")).err().unwrap();
    assert!(matches!(missing, FormatError::Io(_)));
}

/// The beginning of a file, and more chunks.
fn hostile(added: &[u8]) -> Vec<u8> {
    let script = Script {
        session: Session::default(),
        steps: Vec::new(),
        finished: None,
    };
    [script.write(Limits::default()).as_slice(), added].concat()
}

#[test]
fn lengths_that_lie_are_seen_before_memory_is_taken() {
    let bomb = |raw: usize| {
        let stored = zstd::bulk::compress(&vec![0; raw], 19).unwrap();
        chunk(2, CRITICAL | COMPRESSED, raw, &stored)
    };
    let small = zstd::bulk::compress(&[0; 4000], 3).unwrap();
    let cases = [
        chunk(2, CRITICAL, u32::MAX as usize, b"x"),
        chunk(2, CRITICAL | COMPRESSED, u32::MAX as usize, b"x"),
        bomb(1 << 20),
        bomb((16 << 20) + 1),
        chunk(2, CRITICAL | COMPRESSED, 3999, &small),
        chunk(2, CRITICAL | COMPRESSED, 4001, &small),
    ];
    for added in cases {
        let found = read(&open(&hostile(&added)).unwrap());
        assert_eq!(found.lost, added.len() as u64);
    }
    let mut long = plain(2, CRITICAL, b"");
    long[2..6].copy_from_slice(&(16u32 << 20).to_le_bytes());
    long[6..10].copy_from_slice(&(16u32 << 20).to_le_bytes());
    assert_eq!(read(&open(&hostile(&long)).unwrap()).lost, 14);
}

#[test]
fn impossible_events_end_the_recording() {
    let cases: [&[u8]; 9] = [
        &[13],                                                      // no length
        &[13, 200, 1, 0],                                           // a length beyond the chunk
        &[13, 2, 0, 0],                                             // fields cut off
        &[7, 2, 0, 0],                                              // a thread that is not there
        &[12, 4, 0, 0, 1, 0],                                       // a symbol without a function
        &[11, 6, 0, 0, 9, 0, 0, 0],                                 // an unknown kind of loss
        &[11, 7, 0, 0, 0, 0, 0, 1, 0xff],                           // a text that is not UTF-8
        &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], // more than 64 bits
        &[6, 7, 0xff, 0xff, 0xff, 0xff, 0x1f, 0, 0],                // more than 32 bits
    ];
    for payload in cases {
        let added = plain(2, CRITICAL, payload);
        let found = read(&open(&hostile(&added)).unwrap());
        assert_eq!(
            found.lost,
            added.len() as u64,
            "{payload:?}: {}",
            found.detail
        );
        assert_eq!(found.profile.finished, None);
    }
}

/// A payload of ticks: summary, then columns.
fn ticks(summary: [u8; 4], columns: [&[u8]; 14]) -> Vec<u8> {
    let mut payload = summary.to_vec();
    for column in columns {
        payload.push(column.len() as u8);
        payload.extend(column);
    }
    plain(3, CRITICAL, &payload)
}

/// One tick of thread 0 at time 0, with a stack of one signal handler frame.
const GOOD_SUMMARY: [u8; 4] = [1, 1, 1, 0];
const GOOD_COLUMNS: [&[u8]; 14] = [
    &[0],
    &[0],
    &[2],
    &[0, 0, 0, 0, 0, 0, 0],
    &[0, 1, 0],
    &[0, 1],
    &[0x40],
    &[],
    &[2],
    &[],
    &[0],
    &[],
    &[],
    &[],
];

#[test]
fn impossible_ticks_are_an_error_when_they_are_read() {
    let good = ticks(GOOD_SUMMARY, GOOD_COLUMNS);
    assert_eq!(read(&open(&hostile(&good)).unwrap()).ticks.len(), 1);
    let mut bad = Vec::new();
    for summary in [
        [1, 2, 1, 0],
        [1, 0, 1, 0],
        [1, 1, 2, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 9],
    ] {
        bad.push(ticks(summary, GOOD_COLUMNS));
    }
    let columns: [(usize, &[u8]); 26] = [
        (0, &[1]),                   // a caller before the first stack
        (0, &[0, 0]),                // a second stack without a leaf
        (0, &[]),                    // no stack
        (1, &[1]),                   // a frame that is not there
        (1, &[0, 0]),                // too many
        (2, &[4]),                   // an unknown kind of frame
        (2, &[]),                    // none
        (3, &[0, 0, 0]),             // cut off
        (4, &[1, 0, 1, 0]),          // a thread gone that never came
        (4, &[0, 2, 0, 1]),          // a thread that has no run
        (4, &[0, 0]),                // no thread
        (4, &[0, 0xff, 0xff, 0x7f]), // more threads than a tick may have
        (5, &[2]),                   // a run beyond the last sample
        (5, &[0, 2]),                // the same
        (5, &[0, 1, 0]),             // one behind the last sample
        (6, &[0x47]),                // an unknown state
        (6, &[0xc0]),                // no end for it
        (8, &[4]),                   // a stack that is not there
        (6, &[0x36, 0x40]),          // an unknown form of a time asleep
        (6, &[0x0e, 0x40]),          // no system call for it
        (6, &[0x06]),                // no head behind the details
        (9, &[12]),                  // not used
        (10, &[1, 0]),               // no pause for a process
        (10, &[]),                   // none at all
        (11, &[1]),                  // not used
        (13, &[1]),                  // not used
    ];
    for (column, bytes) in columns {
        let mut columns = GOOD_COLUMNS;
        columns[column] = bytes;
        bad.push(ticks(GOOD_SUMMARY, columns));
    }
    let mut twice = GOOD_COLUMNS;
    (twice[0], twice[1]) = (&[0, 0], &[0, 1]);
    bad.push(ticks(GOOD_SUMMARY, twice));
    for (number, added) in bad.iter().enumerate() {
        let reader = open(&hostile(added)).unwrap();
        let error = reader.each_tick(&mut |_, _| Ok(())).unwrap_err();
        let error = error.downcast::<FormatError>().unwrap();
        assert!(
            matches!(*error, FormatError::BadTicks { .. }),
            "{number}: {error}"
        );
    }
}

#[test]
fn ticks_without_the_beginning_of_their_group_end_the_recording() {
    let added = ticks([0, 0, 0, 0], [&[]; 14]);
    assert_eq!(
        read(&open(&hostile(&added)).unwrap()).lost,
        added.len() as u64
    );
}

#[test]
fn a_file_that_changed_since_it_was_opened_is_an_error() {
    let folder = std::env::temp_dir().join(format!("sprof-strange-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("changed.sprof");
    let mut bytes = some_script().write(Limits::default());
    std::fs::write(&path, &bytes).unwrap();
    let reader = Reader::open(&path).unwrap();
    let ticks = chunks(&bytes)
        .into_iter()
        .find(|start| bytes[*start] == 3)
        .unwrap();
    bytes[ticks + 14] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = reader.each_tick(&mut |_, _| Ok(())).unwrap_err();
    assert!(error.to_string().contains("has changed"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
