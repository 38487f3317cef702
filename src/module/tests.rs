use std::fs;
use std::path::PathBuf;

use super::{
    DebugMissing, DebugSearch, DynamicSymbols, MappedFileId, ObjectFile, OpenError, open_mapped,
};
use crate::profile::{Address, BuildId, ModuleOffset, SymbolReason};

/// An ELF file of two segments that lld would lay out: code at offset 0x600, address 0x1600.
fn image() -> Vec<u8> {
    let mut bytes = vec![0_u8; 0x1000];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"\x7fELF\x02\x01\x01");
    put(16, &3_u16.to_le_bytes());
    put(18, &62_u16.to_le_bytes());
    put(24, &0x1610_u64.to_le_bytes());
    put(32, &64_u64.to_le_bytes());
    put(54, &56_u16.to_le_bytes());
    put(56, &3_u16.to_le_bytes());
    // type, flags, offset, address, physical address, size in file, size in memory, alignment
    let headers: [[u64; 7]; 3] = [
        [1 | 4 << 32, 0, 0, 0, 0x600, 0x600, 0x1000],
        [1 | 5 << 32, 0x600, 0x1600, 0x1600, 0x200, 0x200, 0x1000],
        [4 | 4 << 32, 0x400, 0x400, 0x400, 36, 36, 4],
    ];
    for (index, header) in headers.iter().enumerate() {
        for (field, value) in header.iter().enumerate() {
            put(64 + index * 56 + field * 8, &value.to_le_bytes());
        }
    }
    put(0x400, &[4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]);
    put(0x40c, b"GNU\0");
    put(0x410, &[0xab; 20]);
    put(0x600, &[0x90, 0xc3]);
    bytes
}

#[test]
fn an_image_without_section_headers_is_known_by_its_program_headers() {
    let file = ObjectFile::from_bytes("image", image()).unwrap();
    assert_eq!(file.build_id(), Some(&BuildId(vec![0xab; 20])));
    assert_eq!(file.entry(), ModuleOffset(0x1610));
    assert_eq!(file.segments().len(), 2);
    assert_eq!(file.loaded(ModuleOffset(0x1600), 2), [0x90, 0xc3]);
    assert_eq!(file.loaded(ModuleOffset(0x17ff), 8).len(), 1);
    assert_eq!(file.loaded(ModuleOffset(0x1800), 8).len(), 0);
    assert_eq!(file.section(".text"), None);
}

#[test]
fn the_bias_is_that_of_the_segment_a_mapping_shows() {
    let file = ObjectFile::from_bytes("image", image()).unwrap();
    // The code shares the file's first page with the headers and lies a page further in memory.
    assert_eq!(file.bias(Address(0x7000_1000), 0), Some(0x7000_0000));
    assert_eq!(file.bias(Address(0x7000_1000), 0x4000), None);
}

#[test]
fn no_cut_or_changed_header_is_more_than_an_error() {
    let whole = image();
    for size in 0..whole.len() {
        if let Ok(file) = ObjectFile::from_bytes("cut", whole[..size].to_vec()) {
            let _ = (file.eh_frame_hdr(), file.section(".debug_info"));
            let _ = file.bias(Address(u64::MAX), u64::MAX);
        }
    }
    for at in 0..0x440 {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            if let Ok(file) = ObjectFile::from_bytes("changed", changed) {
                let _ = (file.eh_frame_hdr(), file.section(".debug_info"));
                let _ = file.loaded(ModuleOffset(u64::MAX), usize::MAX);
                let _ = file.bias(Address(0), 0x1000);
                let _ = DebugSearch::default().find(&file);
            }
        }
    }
}

#[test]
fn what_is_no_elf_file_says_so() {
    assert!(matches!(
        ObjectFile::from_bytes("text", b"#!/bin/sh\n".to_vec()),
        Err(OpenError::NotElf)
    ));
    let nowhere = [PathBuf::from("/nonexistent/file")];
    let mapped = MappedFileId::new(1, 2);
    assert_eq!(
        open_mapped(&nowhere, mapped).err(),
        Some(SymbolReason::FileMissing)
    );
}

#[test]
fn a_file_of_the_same_name_with_another_inode_is_refused() {
    let folder = std::env::temp_dir().join(format!("sprof-module-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("image");
    fs::write(&path, image()).unwrap();
    let file = ObjectFile::open(&path).unwrap();
    let mapped = MappedFileId::new(file.identity().device, file.identity().inode);
    assert!(open_mapped(std::slice::from_ref(&path), mapped).is_ok());
    // Replaced as package managers do it: the old file lives on under the mapping.
    fs::write(folder.join("new"), image()).unwrap();
    fs::rename(folder.join("new"), &path).unwrap();
    let refused = open_mapped(&[path], mapped).err();
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(refused, Some(SymbolReason::FileChanged));
}

#[test]
fn a_module_that_names_no_debug_file_has_none() {
    let mut bytes = image();
    bytes[0x40c] = b'X';
    let file = ObjectFile::from_bytes("image", bytes).unwrap();
    let search = DebugSearch {
        directories: vec![PathBuf::from("/nonexistent")],
    };
    assert_eq!(search.find(&file).err(), Some(DebugMissing::NotNamed));
}

/// The image with a dynamic section at 0x200 that has a hash table of this tag and these words at
/// 0x300, symbols at 0x440, and strings at 0x500.
fn dynamic_image(hash: u64, words: &[u32]) -> Vec<u8> {
    let mut bytes = image();
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(56, &4_u16.to_le_bytes());
    let header: [u64; 7] = [2 | 6 << 32, 0x200, 0x200, 0x200, 0x100, 0x100, 8];
    for (field, value) in header.iter().enumerate() {
        put(64 + 3 * 56 + field * 8, &value.to_le_bytes());
    }
    let entries = [
        (5, 0x500),
        (10, 8),
        (6, 0x440),
        (hash, 0x300),
        (0, 0),
        (6, 1),
    ];
    for (index, (tag, value)) in entries.into_iter().enumerate() {
        put(0x200 + index * 16, &u64::to_le_bytes(tag));
        put(0x208 + index * 16, &u64::to_le_bytes(value));
    }
    for (index, word) in words.iter().enumerate() {
        put(0x300 + index * 4, &word.to_le_bytes());
    }
    put(0x500, b"\0one\0two");
    bytes
}

const OLD_HASH: u64 = 4;
const GNU_HASH: u64 = 0x6fff_fef5;
/// Two buckets, symbols hashed from 1 on, a bloom filter of one word; the second bucket's chain
/// begins with symbol 2 and ends with symbol 3.
const GNU_WORDS: [u32; 9] = [2, 1, 1, 0, 0, 0, 1, 2, 1];

#[test]
fn dynamic_symbols_are_found_and_counted_without_section_headers() {
    let check = |hash, words: &[u32], count: Option<usize>| {
        let file = ObjectFile::from_bytes("image", dynamic_image(hash, words)).unwrap();
        let found = file.dynamic_symbols();
        assert_eq!(found.map(|it| it.entries.len()), count.map(|it| it * 24));
        assert!(found.is_none_or(|it| it.strings == b"\0one\0two"));
    };
    check(OLD_HASH, &[1, 3], Some(3));
    let mut words = GNU_WORDS.to_vec();
    words.extend([8, 9]);
    check(GNU_HASH, &words, Some(4));
    // No symbol is hashed: those before the first that would be are all.
    check(GNU_HASH, &[1, 2, 1, 0, 0, 0, 0], Some(2));
    // Nothing says how many.
    check(99, &[1, 3], None);
}

#[test]
fn a_dynamic_section_may_say_anything() {
    let whole = dynamic_image(GNU_HASH, &GNU_WORDS);
    let places = (0x200..0x260).chain(0x300..0x324).chain(232..288);
    for (at, value) in places.flat_map(|at| [0, 1, 0x7f, 0x80, 0xff].map(|value| (at, value))) {
        let mut changed = whole.clone();
        changed[at] = value;
        let file = ObjectFile::from_bytes("changed", changed).unwrap();
        if let Some(DynamicSymbols { entries, strings }) = file.dynamic_symbols() {
            assert!(entries.len() + strings.len() <= 2 * whole.len());
        }
    }
}
