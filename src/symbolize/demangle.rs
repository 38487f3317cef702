//! Names as people wrote them.

use std::fmt::{self, Write};

/// Longest name that is made readable. Substitutions make a mangled name of n bytes stand for a
/// readable one of 2^n; real ones of template-heavy C++ reach some 100 kB.
const MAX_NAME: usize = 1 << 20;

/// Whether a name looks mangled (Itanium C++ ABI, Rust RFC 2603).
pub(super) fn is_mangled(name: &str) -> bool {
    ["_Z", "_R", "_GLOBAL__"]
        .iter()
        .any(|it| name.starts_with(it))
}

/// The readable form of a C++ or Rust name; any other name, and one that cannot be read, as it is.
pub(super) fn demangle(name: &str) -> String {
    if !is_mangled(name) {
        return name.to_owned();
    }
    rust(name)
        .or_else(|| cpp(name))
        .unwrap_or_else(|| name.to_owned())
}

fn rust(name: &str) -> Option<String> {
    if !name.starts_with("_R") && !has_rust_hash(name) {
        return None;
    }
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let mut text = Limited::default();
    write!(text, "{demangled:#}").ok()?;
    Some(text.0)
}

/// Whether a `_ZN…E` name ends in the hash that rustc's legacy mangling adds: a C++ namespace may
/// look the same otherwise.
fn has_rust_hash(name: &str) -> bool {
    let Some(hash) = name.rfind("17h") else {
        return false;
    };
    let hash = &name.as_bytes()[hash + 3..];
    let (digits, rest) = hash.split_at(hash.len().min(16));
    let is_hex = digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit);
    is_hex && rest.first() == Some(&b'E')
}

fn cpp(name: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let options = cpp_demangle::DemangleOptions::default();
    let mut text = Limited::default();
    symbol.structured_demangle(&mut text, &options).ok()?;
    (!text.0.is_empty()).then_some(text.0)
}

/// Text that refuses to grow without bounds.
#[derive(Default)]
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
