//! One word a thing.

use crate::Rule;
use crate::source::words;
use crate::tree::Tree;

/// A word not to be used, what to say instead, and where it may be used all the same: outside of
/// sprof it is what others call the thing.
const NOT: [(&str, &str, &[&str]); 10] = [
    ("backtrace", "stack", &[]),
    ("callstack", "stack", &["src/convert/"]),
    ("callchain", "stack", &[]),
    ("lwp", "thread", &[]),
    ("tracee", "target", &["src/engine/", "src/sys/"]),
    ("victim", "target", &[]),
    ("vma", "mapping", &["src/process/", "src/sys/"]),
    ("uuid", "build id", &["src/convert/"]),
    ("symbolicate", "symbolize", &["src/convert/"]),
    (
        "snapshot",
        "tick, or a thread's registers and stack bytes",
        &["src/convert/", "src/engine/", "src/record/", "src/unwind/"],
    ),
];

/// Names of files and modules that say nothing about what is in them.
const JUNK: [&str; 10] = [
    "util", "utils", "common", "shared", "helper", "helpers", "misc", "manager", "handler", "info",
];

pub(crate) fn rules() -> Vec<Rule> {
    vec![
        Rule {
            name: "one word a thing",
            check,
            bad: &[
                &[("src/unwind/mod.rs", "fn print_backtrace() {}")],
                &[("src/report/mod.rs", "struct CallstackView;")],
                &[("src/convert/mod.rs", "/// The tracee.")],
                &[("src/convert/mod.rs", "let victims = 1;")],
            ],
            good: &[
                ("src/engine/stop/mod.rs", "// the tracee"),
                (
                    "src/report/mod.rs",
                    "let planes = \"backtrace\"; // trace back",
                ),
            ],
        },
        Rule {
            name: "files are named after what is in them",
            check: |tree| {
                let junk = tree.program().filter(|(path, _)| {
                    let path = path.trim_end_matches(".rs");
                    path.split('/').any(|part| JUNK.contains(&part))
                });
                junk.map(|(path, _)| format!("{path}:1: says nothing"))
                    .collect()
            },
            bad: &[&[("src/util.rs", "")], &[("src/record/helpers/mod.rs", "")]],
            good: &[("src/record/utilization.rs", "")],
        },
    ]
}

fn check(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, source) in tree.program() {
        for text in [&source.code, &source.comments] {
            for (index, line) in text.lines().enumerate() {
                let parts = words(line).flat_map(|(_, word)| parts(word));
                for part in parts {
                    let singular = part.strip_suffix('s').unwrap_or(&part);
                    let wrong = NOT.iter().find(|(word, _, places)| {
                        (*word == part || *word == singular)
                            && !places.iter().any(|place| path.starts_with(place))
                    });
                    if let Some((word, instead, _)) = wrong {
                        found.push(format!("{path}:{}: {word}; say {instead}", index + 1));
                    }
                }
            }
        }
    }
    found
}

/// The words an identifier is made of, in small letters: `StackTable`, `stack_table`.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for letter in identifier.chars() {
        let ends = letter == '_' || letter.is_uppercase();
        if ends && parts.last().is_some_and(|part| !part.is_empty()) {
            parts.push(String::new());
        }
        if letter != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(letter.to_lowercase());
        }
    }
    parts
}
