//! Names that a library gives its functions for its own use.

/// What glibc puts before the hidden name by which it calls a function of its own
/// (`include/libc-symbols.h`, `hidden_proto`).
const GLIBC_INTERNAL: &str = "__GI_";

/// The name of a function as its users know it. `symbol` is the best symbol at the same place: it
/// is taken when it is the same name but for underscores (`__GI___poll`, `poll`).
pub(super) fn public<'a>(name: &'a str, symbol: Option<&'a str>) -> &'a str {
    let Some(known) = name
        .strip_prefix(GLIBC_INTERNAL)
        .filter(|it| !it.is_empty())
    else {
        return name;
    };
    let bare = |name: &'a str| name.trim_start_matches('_');
    symbol
        .filter(|symbol| bare(symbol) == bare(known))
        .unwrap_or(known)
}

/// A symbol's name without the version that linkers write behind it (`poll@@GLIBC_2.2.5`).
pub(super) fn unversioned(symbol: &[u8]) -> &[u8] {
    let version = symbol.iter().position(|&byte| byte == b'@');
    match version {
        Some(at) if at > 0 => &symbol[..at],
        _ => symbol,
    }
}
