//! Names and lines for module offsets.

use std::collections::HashMap;

use super::{ModuleId, ModuleOffset};

/// One function at an address: the innermost inlined one first, the real one last.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolFrame {
    /// The function, demangled.
    pub function: String,
    /// Source file; `None` without line information.
    pub file: Option<String>,
    /// Line in it; for a function that others are inlined into, the line of the call.
    pub line: Option<u32>,
    /// Inlined into the next one of the chain.
    pub inlined: bool,
}

/// Why an address has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolReason {
    /// Symbolization has not been done (`--no-symbolize`, or a cut recording).
    NotDone,
    /// The module's file could not be opened any more.
    FileMissing,
    /// The file at the module's path is another one than was mapped.
    FileChanged,
    /// The file could not be understood.
    FileInvalid,
    /// The file has neither debug information nor symbols.
    NoSymbols,
    /// The file has symbols, none of which covers the address.
    NoSymbolHere,
    /// No module backs the address.
    NoModule,
}

impl SymbolReason {
    /// The stable word for it, used in exports.
    pub fn name(self) -> &'static str {
        match self {
            SymbolReason::NotDone => "not-symbolized",
            SymbolReason::FileMissing => "file-missing",
            SymbolReason::FileChanged => "file-changed",
            SymbolReason::FileInvalid => "file-invalid",
            SymbolReason::NoSymbols => "no-symbols",
            SymbolReason::NoSymbolHere => "no-symbol-here",
            SymbolReason::NoModule => "no-module",
        }
    }
}

/// What symbolization found for one address: a chain (never empty), or why there is none.
pub type Symbolized = Result<Vec<SymbolFrame>, SymbolReason>;

/// Names by module and *lookup* offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    entries: HashMap<(ModuleId, ModuleOffset), Symbolized>,
}

impl Symbols {
    /// Adds or replaces what is known of one address.
    pub fn insert(&mut self, module: ModuleId, offset: ModuleOffset, found: Symbolized) {
        self.entries.insert((module, offset), found);
    }

    /// What is known of an address: its chain, innermost first, or the reason for there being none.
    pub fn get(
        &self,
        module: ModuleId,
        offset: ModuleOffset,
    ) -> Result<&[SymbolFrame], SymbolReason> {
        match self.entries.get(&(module, offset)) {
            Some(Ok(chain)) => Ok(chain),
            Some(Err(reason)) => Err(*reason),
            None => Err(SymbolReason::NotDone),
        }
    }

    /// Number of addresses known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
