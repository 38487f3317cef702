//! Who may know whom.

use crate::Rule;
use crate::source::Source;
use crate::tree::Tree;

/// Modules in reading order, and those each may use. `src/ARCHITECTURE.md` shows the same table.
pub(crate) const LAYERS: [(&str, &[&str]); 14] = [
    ("profile", &[]),
    ("memory", &["profile"]),
    ("sys", &["profile", "memory"]),
    ("term", &[]),
    ("format", &["profile"]),
    ("module", &["profile", "memory", "sys"]),
    ("process", &["profile", "memory", "sys"]),
    ("symbolize", &["profile", "module"]),
    ("unwind", &["profile", "memory", "module"]),
    ("convert", &["profile"]),
    ("report", &["profile"]),
    ("engine", &["profile", "memory", "sys", "process"]),
    (
        "record",
        &[
            "profile",
            "memory",
            "sys",
            "format",
            "module",
            "process",
            "symbolize",
            "unwind",
            "engine",
        ],
    ),
    (
        "cli",
        &[
            "profile",
            "memory",
            "sys",
            "term",
            "format",
            "module",
            "process",
            "symbolize",
            "unwind",
            "convert",
            "report",
            "engine",
            "record",
        ],
    ),
];

pub(crate) fn rules() -> Vec<Rule> {
    vec![Rule {
        name: "dependencies point one way: the table in tests/tidy/layers.rs",
        check,
        bad: &[
            &[("src/report/head.rs", "use crate::format::Reader;")],
            &[("src/profile/tick.rs", "fn f() { crate::sys::now() }")],
            &[(
                "src/term/mod.rs",
                "use crate::{\n    profile::{Tick, sys},\n};",
            )],
            &[("src/convert/mod.rs", "use crate::{profile::Tick, engine};")],
            &[(
                "src/convert/a/b.rs",
                "use super::super::super::record::Config;",
            )],
            &[("src/format.rs", "use super::cli;")],
            &[("src/new/mod.rs", "")],
            &[("src/main.rs", "fn main() { sprof::record::record() }")],
        ],
        good: &[
            (
                "src/report/head.rs",
                "use crate::{profile::{Tick, Nanos}, report::x}; // crate::sys",
            ),
            (
                "src/convert/a/b.rs",
                "use super::super::record; fn f() { crate::profile::g() }",
            ),
            ("src/lib.rs", "pub mod profile;"),
            ("src/main.rs", "fn main() { sprof::cli::main() }"),
            ("src/convert/tests.rs", "use crate::format::Writer;"),
        ],
    }]
}

fn check(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    let known = |name: &str| LAYERS.iter().find(|(module, _)| *module == name);
    for (path, source) in tree.program() {
        let place = module_path(path);
        let Some(own) = place.first() else {
            if path == "src/main.rs" {
                let strangers = used(source, &["sprof"], usize::MAX)
                    .into_iter()
                    .filter(|(_, name)| name != "cli");
                found.extend(
                    strangers.map(|(line, name)| format!("{path}:{line}: main uses {name}")),
                );
            }
            continue;
        };
        let Some((_, allowed)) = known(own) else {
            found.push(format!("{path}:1: the module {own} is not in the table"));
            continue;
        };
        for (line, name) in used(source, &["crate"], place.len()) {
            if name != *own && known(&name).is_some() && !allowed.contains(&name.as_str()) {
                found.push(format!("{path}:{line}: {own} uses {name}"));
            }
        }
    }
    found
}

/// The module of a file: `src/a/b.rs` and `src/a/b/mod.rs` are both `a`, `b`.
fn module_path(path: &str) -> Vec<&str> {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs");
    let mut parts: Vec<&str> = path.split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts
}

/// Names right behind one of `roots`, or behind so many `super` that only the root is left.
fn used(source: &Source, roots: &[&str], depth: usize) -> Vec<(usize, String)> {
    let code = &source.code;
    let mut names = Vec::new();
    let mut supers = 0;
    for (begin, word) in crate::source::words(code) {
        let Some(rest) = code[begin + word.len()..].strip_prefix("::") else {
            supers = 0;
            continue;
        };
        supers = if word == "super" { supers + 1 } else { 0 };
        if roots.contains(&word) || supers >= depth && !rest.starts_with("super") {
            let line = source.line_at(begin);
            names.extend(first_names(rest).into_iter().map(|name| (line, name)));
        }
    }
    names
}

/// The first name of a path, or those of each path of a group in braces.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| {
        crate::source::words(text)
            .next()
            .map(|(_, word)| word.to_owned())
    };
    let Some(group) = rest.strip_prefix('{') else {
        return name(rest).into_iter().collect();
    };
    let mut depth = 0;
    let mut item = 0;
    let mut names = Vec::new();
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.extend(name(&group[item..at]));
                item = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}
