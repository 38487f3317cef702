//! What is fuzzed: a function for each parser of bytes that may come from anybody. It must end, use
//! bounded memory and never panic, whatever the bytes.

use std::io::Cursor;

use sprof::format::Reader;
use sprof::profile::Recording;

/// Samples that are looked at, so that a small file of many samples does not take long.
const SAMPLES_MAX: usize = 1 << 16;

/// Reads a recording as it is, and with the checksums made right, so that they hide no damage.
pub(crate) fn reader(data: &[u8]) {
    read(data);
    let mut mended = data.to_vec();
    mend_checksums(&mut mended);
    read(&mended);
}

/// Reads all frames of all samples, twice, with the same outcome.
fn read(data: &[u8]) {
    let Ok(reader) = Reader::new(Cursor::new(data)) else {
        return;
    };
    let once = count_frames(&reader);
    assert_eq!(once, count_frames(&reader));
    for process in &reader.profile().processes {
        let _ = process.name();
    }
}

fn count_frames(recording: &dyn Recording) -> (usize, Option<String>) {
    let (mut samples, mut frames) = (0, 0);
    let end = recording.each_tick(&mut |tick, table| {
        for sample in &tick.samples {
            frames += table.frames(sample.stack).take(1000).count();
        }
        samples += tick.samples.len() + 1;
        if samples > SAMPLES_MAX {
            return Err("enough".into());
        }
        Ok(())
    });
    (frames, end.err().map(|error| error.to_string()))
}

/// Makes the checksums of all chunks of a recording right.
fn mend_checksums(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(header) = bytes.get(at..at + 14) {
        let stored = u32::from_le_bytes([header[2], header[3], header[4], header[5]]) as usize;
        let Some(payload) = bytes.get(at + 14..).and_then(|rest| rest.get(..stored)) else {
            return;
        };
        let mut crc = crc32fast::Hasher::new();
        crc.update(&header[..10]);
        crc.update(payload);
        let crc = crc.finalize().to_le_bytes();
        bytes[at + 10..at + 14].copy_from_slice(&crc);
        at += 14 + stored;
    }
}
