//! Module offsets to functions, inlined functions, files and lines.
//!
//! DWARF first, the module's own or that of its debug file; then symbol tables, then the stubs of
//! the procedure linkage table. Everything is read from bytes that may be anything: what cannot be
//! understood costs its own names, not those of the rest of the module.

mod alias;
mod demangle;
mod dwarf;
mod plt;
mod symtab;

use crate::module::{DebugSearch, ObjectFile};
use crate::profile::{ModuleOffset, SymbolFrame, SymbolReason, Symbolized};
use dwarf::{Dwarf, Sections};
use plt::Stubs;
use symtab::SymbolTable;

#[cfg(test)]
mod tests;

/// Addresses between two calls of `progress`.
const PROGRESS_STEP: usize = 256;

/// Names offsets of one module, one answer each, in order. They are *lookup* offsets (see
/// [`CodeAddress::lookup`](crate::profile::CodeAddress::lookup)); sorted ones are fastest, since
/// each unit of DWARF is then read once and near the last one.
///
/// `progress` is told now and then how many more are done. Modules are independent of each other:
/// call this on a thread for each.
pub fn symbolize(
    file: &ObjectFile,
    debug: &DebugSearch,
    offsets: &[ModuleOffset],
    progress: &mut dyn FnMut(usize),
) -> Vec<Symbolized> {
    let debug_file = if file.has_section(".debug_info") || file.has_section(".zdebug_info") {
        None
    } else {
        debug.find(file).ok()
    };
    let sections = Sections::of(debug_file.as_ref().unwrap_or(file));
    let names = Names {
        dwarf: Dwarf::new(&sections),
        stubs: Stubs::new(file),
        symbols: SymbolTable::new(file, debug_file.as_ref()),
        file,
    };
    let mut found = Vec::with_capacity(offsets.len());
    for chunk in offsets.chunks(PROGRESS_STEP) {
        found.extend(chunk.iter().map(|&offset| names.find(offset)));
        progress(chunk.len());
    }
    found
}

/// All that names addresses of one module.
struct Names<'a> {
    file: &'a ObjectFile,
    dwarf: Option<Dwarf<'a>>,
    symbols: SymbolTable<'a>,
    stubs: Stubs<'a>,
}

impl Names<'_> {
    fn find(&self, offset: ModuleOffset) -> Symbolized {
        // Nothing is loaded there, whatever the debug information says.
        if !self.file.segments().iter().any(|it| it.holds(offset)) {
            return Err(SymbolReason::NoSymbolHere);
        }
        let symbol = self.symbols.find(offset);
        let mut chain = self
            .dwarf
            .as_ref()
            .map_or_else(Vec::new, |it| it.chain(offset));
        let Some(outermost) = chain.last_mut() else {
            return self.without_dwarf(offset, symbol.as_deref());
        };
        // DWARF may give a C++ function its bare name only; the symbol has its parameters too.
        let fuller = symbol.as_deref().filter(|it| demangle::is_mangled(it));
        if let Some(symbol) = fuller
            && outermost
                .function
                .as_deref()
                .is_none_or(|it| !demangle::is_mangled(it))
        {
            outermost.function = Some(symbol.to_owned());
        }
        if outermost.function.is_none() {
            outermost.function.clone_from(&symbol);
        }
        if let Some(name) = &mut outermost.function {
            *name = alias::public(name, symbol.as_deref()).to_owned();
        }
        // Only the outermost can be without a name here: a line without a function.
        if outermost.function.is_none() {
            return self.without_dwarf(offset, None);
        }
        let last = chain.len() - 1;
        let frames = chain
            .into_iter()
            .enumerate()
            .map(|(index, frame)| SymbolFrame {
                function: frame
                    .function
                    .map_or_else(unnamed, |it| demangle::demangle(&it)),
                file: frame.file,
                line: frame.line,
                inlined: index < last,
            });
        Ok(frames.collect())
    }

    fn without_dwarf(&self, offset: ModuleOffset, symbol: Option<&str>) -> Symbolized {
        let name = match symbol {
            Some(symbol) => demangle::demangle(alias::public(symbol, None)),
            None => match self.stubs.find(offset) {
                Some(callee) => format!("{}@plt", demangle::demangle(&callee)),
                None if self.symbols.is_empty() && self.dwarf.is_none() => {
                    return Err(SymbolReason::NoSymbols);
                }
                None => return Err(SymbolReason::NoSymbolHere),
            },
        };
        Ok(vec![SymbolFrame {
            function: name,
            file: None,
            line: None,
            inlined: false,
        }])
    }
}

/// What an inlined function without a name is called.
fn unnamed() -> String {
    "<unnamed>".to_owned()
}
