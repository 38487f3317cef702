//! Rows by address, shared by all processes that map a module.

use super::row::Row;
use crate::profile::{ModuleId, ModuleOffset};

/// Lines: a program's hot code has some thousand distinct return addresses.
const LINES: usize = 1 << 14;

/// A direct-mapped cache: a row found may be replaced by the next one of the same line.
#[derive(Debug)]
pub(super) struct RowCache(Vec<Option<Line>>);

#[derive(Clone, Copy, Debug)]
struct Line {
    offset: u64,
    module: u32,
    row: Row,
}

impl RowCache {
    pub(super) fn new() -> RowCache {
        RowCache(vec![None; LINES])
    }

    pub(super) fn get(&self, module: ModuleId, offset: ModuleOffset) -> Option<Row> {
        let line = self.0[index(module, offset)].as_ref()?;
        (line.offset == offset.0 && line.module == module.0).then_some(line.row)
    }

    pub(super) fn insert(&mut self, module: ModuleId, offset: ModuleOffset, row: Row) {
        self.0[index(module, offset)] = Some(Line {
            offset: offset.0,
            module: module.0,
            row,
        });
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.0.fill(None);
    }
}

/// Multiplicative hashing (Knuth, The Art of Computer Programming, 6.4): the high bits are mixed
/// best.
fn index(module: ModuleId, offset: ModuleOffset) -> usize {
    let key = offset.0 ^ u64::from(module.0) << 40;
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LINES.trailing_zeros())) as usize
}
