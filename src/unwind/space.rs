//! Which code lies where in one process.

use std::sync::Arc;

use crate::module::ObjectFile;
use crate::profile::{Address, Mapping, ProcessId};

/// The executable mappings of one process at one time.
///
/// A clone shares the object files, so a forked child's costs some 100 bytes a mapping.
#[derive(Clone, Debug, Default)]
pub struct AddressSpace {
    /// By start; they never overlap.
    ranges: Vec<CodeRange>,
}

/// Executable memory.
#[derive(Clone, Debug)]
pub(super) struct CodeRange {
    pub(super) start: u64,
    pub(super) end: u64,
    /// `None`: code without a file, such as a JIT compiler's.
    pub(super) backing: Option<Backing>,
}

#[derive(Clone, Debug)]
pub(super) struct Backing {
    pub(super) mapping: Mapping,
    /// `None`: the module's file could not be opened.
    pub(super) file: Option<Arc<ObjectFile>>,
}

impl AddressSpace {
    /// An address space without code.
    pub fn new() -> AddressSpace {
        AddressSpace::default()
    }

    /// Adds an executable mapping of a module; replaces whatever it overlaps, as mapping does.
    /// Without its file the module's code can only be unwound by frame pointers.
    pub fn map(&mut self, mapping: &Mapping, file: Option<Arc<ObjectFile>>) {
        let backing = Backing {
            mapping: mapping.clone(),
            file,
        };
        self.insert(mapping.start, mapping.end, Some(backing));
    }

    /// Adds executable memory that no file backs: its addresses become unmapped frames, and
    /// frame pointers lead through it.
    pub fn map_generated(&mut self, start: Address, end: Address) {
        self.insert(start, end, None);
    }

    /// Takes away the mapping that starts at an address; answers whether there was one.
    pub fn unmap(&mut self, start: Address) -> bool {
        let before = self.ranges.len();
        self.ranges.retain(|range| range.start != start.0);
        self.ranges.len() != before
    }

    /// Takes away whatever lies in `start..end`; what reaches over it is cut.
    pub fn unmap_range(&mut self, start: Address, end: Address) {
        let (start, end) = (start.0, end.0);
        if start >= end {
            return;
        }
        let mut kept = Vec::with_capacity(self.ranges.len() + 1);
        for range in self.ranges.drain(..) {
            if range.end <= start || end <= range.start {
                kept.push(range);
                continue;
            }
            if range.start < start {
                kept.push(range.part(range.start, start));
            }
            if end < range.end {
                kept.push(range.part(end, range.end));
            }
        }
        self.ranges = kept;
    }

    /// The mapping that holds an address; `None` outside executable memory and in code without a
    /// module.
    pub fn find(&self, address: Address) -> Option<&Mapping> {
        let range = self.range(address.0)?;
        range.backing.as_ref().map(|backing| &backing.mapping)
    }

    /// Whether an address lies in executable memory.
    pub fn is_code(&self, address: Address) -> bool {
        self.range(address.0).is_some()
    }

    /// The mappings of modules, by address.
    pub fn mappings(&self) -> impl Iterator<Item = &Mapping> {
        let backed = self.ranges.iter().filter_map(|it| it.backing.as_ref());
        backed.map(|backing| &backing.mapping)
    }

    /// The same address space for a forked child, which starts as a copy of its parent's.
    #[must_use]
    pub fn forked(&self, child: ProcessId) -> AddressSpace {
        let mut space = self.clone();
        let backed = space.ranges.iter_mut();
        for backing in backed.filter_map(|it| it.backing.as_mut()) {
            backing.mapping.process = child;
        }
        space
    }

    pub(super) fn range(&self, address: u64) -> Option<&CodeRange> {
        let behind = self.ranges.partition_point(|it| it.start <= address);
        let range = self.ranges.get(behind.checked_sub(1)?)?;
        (address < range.end).then_some(range)
    }

    fn insert(&mut self, start: Address, end: Address, backing: Option<Backing>) {
        if start >= end {
            return;
        }
        self.unmap_range(start, end);
        let range = CodeRange {
            start: start.0,
            end: end.0,
            backing,
        };
        let at = self.ranges.partition_point(|it| it.start < start.0);
        self.ranges.insert(at, range);
    }
}

impl CodeRange {
    fn part(&self, start: u64, end: u64) -> CodeRange {
        let mut part = self.clone();
        (part.start, part.end) = (start, end);
        if let Some(backing) = &mut part.backing {
            let moved = start - self.start;
            backing.mapping.file_offset = backing.mapping.file_offset.wrapping_add(moved);
            backing.mapping.start = Address(start);
            backing.mapping.end = Address(end);
        }
        part
    }
}
