//! Files and stacks that are anything: whatever they hold, the answer comes, and soon.

use std::fs;
use std::sync::Arc;

use sprof::memory::{MemoryCopy, Registers};
use sprof::module::{DebugSearch, ObjectFile};
use sprof::profile::{Address, Mapping, ModuleId, ModuleOffset, ProcessId, Timestamp};
use sprof::symbolize::symbolize;
use sprof::unwind::{AddressSpace, MAX_FRAMES, Unwinder};

use super::build;

const BASE: u64 = 0x5500_0000_0000;

/// Xorshift (Marsaglia, 2003): the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Words of which many are addresses of code or of the stack.
    fn word(&mut self, stack: u64, code: &ObjectFile) -> u64 {
        let segment = code.segments().iter().find(|it| it.executable);
        match (self.below(4), segment) {
            (0, _) => stack.wrapping_add(self.below(0x1000) & !7),
            (1 | 2, Some(it)) => {
                let size = it.file_size.clamp(1, 1 << 20);
                BASE.wrapping_add(it.address).wrapping_add(self.below(size))
            }
            _ => self.next(),
        }
    }
}

fn try_unwind(file: &Arc<ObjectFile>, random: &mut Random) {
    let mut space = AddressSpace::new();
    let segments = file.segments().iter().filter(|it| it.executable);
    for (index, segment) in segments.take(4).enumerate() {
        let start = BASE.wrapping_add(segment.address);
        space.map(
            &Mapping {
                process: ProcessId(0),
                module: ModuleId(index as u32),
                start: Address(start),
                end: Address(start.saturating_add(segment.memory_size.min(1 << 30))),
                file_offset: segment.file_offset,
                bias: BASE,
                from: Timestamp::default(),
                until: None,
            },
            Some(file.clone()),
        );
    }
    let mut unwinder = Unwinder::new();
    for _ in 0..40 {
        let start = 0x7ffc_0000_0000;
        let words: Vec<u64> = (0..512).map(|_| random.word(start, file)).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        let mut registers = Registers::default();
        for register in &mut registers.general {
            *register = random.word(start, file);
        }
        registers.general[Registers::SP] = start;
        registers.ip = Address(random.word(start, file));
        let copy = MemoryCopy {
            start: Address(start),
            bytes: &bytes,
        };
        let mut frames = Vec::new();
        unwinder.unwind(&space, &registers, &[copy], &mut frames);
        assert!(frames.len() < MAX_FRAMES);
    }
}

fn try_names(file: &ObjectFile, random: &mut Random) {
    let search = DebugSearch {
        directories: Vec::new(),
    };
    let mut offsets: Vec<ModuleOffset> = (0..50)
        .map(|_| ModuleOffset(random.below(0x5000)))
        .collect();
    offsets.push(ModuleOffset(u64::MAX));
    offsets.sort();
    assert_eq!(symbolize(file, &search, &offsets, &mut |_| {}).len(), 51);
}

#[test]
fn no_changed_file_and_no_stack_does_harm() {
    let program = build("hostile", "cc -O2 -g");
    let whole = fs::read(program).unwrap();
    let file = Arc::new(ObjectFile::from_bytes("whole", whole.clone()).unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    // What to change: anywhere, the headers, and the sections that are parsed.
    let places: Vec<(usize, usize)> = [
        "",
        ".eh_frame",
        ".eh_frame_hdr",
        ".debug_info",
        ".debug_line",
        ".debug_abbrev",
        ".debug_rnglists",
        ".symtab",
        ".rela.plt",
    ]
    .iter()
    .filter_map(|name| {
        let section = file.section(name).filter(|it| !it.data.is_empty())?;
        let at = whole
            .windows(section.data.len())
            .position(|it| it == &*section.data)?;
        Some((at, section.data.len()))
    })
    .chain([(0, whole.len()), (0, 1024), (whole.len() - 2048, 2048)])
    .collect();
    try_unwind(&file, &mut random);
    for round in 0..400 {
        let mut changed = whole.clone();
        let (at, size) = places[round % places.len()];
        for _ in 0..=random.below(20) {
            let byte = at + random.below(size as u64) as usize;
            changed[byte] = random.next() as u8;
        }
        if round % 10 == 0 {
            changed.truncate(random.below(whole.len() as u64) as usize);
        }
        let Ok(file) = ObjectFile::from_bytes("changed", changed) else {
            continue;
        };
        let file = Arc::new(file);
        try_unwind(&file, &mut random);
        try_names(&file, &mut random);
    }
}

#[test]
fn an_image_that_lies_about_everything_does_no_harm() {
    let mut random = Random(1);
    for _ in 0..200 {
        let mut bytes: Vec<u8> = (0..2048).map(|_| random.next() as u8).collect();
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[18..20].copy_from_slice(&62_u16.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..58].copy_from_slice(&[56, 0, 8, 0]);
        if let Ok(file) = ObjectFile::from_bytes("random", bytes) {
            let file = Arc::new(file);
            try_unwind(&file, &mut random);
            try_names(&file, &mut random);
        }
    }
}
