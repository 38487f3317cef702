//! What is done in one place only, or not at all.

use crate::Rule;
use crate::source::Source;
use crate::tree::{Tree, has_ending, is_test};

/// Lines of a file; 400 are wanted.
const LINES_MAX: usize = 600;
/// Lines of `main.rs`.
const MAIN_LINES_MAX: usize = 30;

pub(crate) fn rules() -> Vec<Rule> {
    [the_only_places(), never()].concat()
}

fn the_only_places() -> Vec<Rule> {
    vec![
        Rule {
            name: "unsafe code is in src/sys",
            check: |tree| words_outside(tree, "src/sys/", |word, _| word == "unsafe"),
            bad: &[
                &[("src/module/file.rs", "fn f() {\n    unsafe { g() }\n}")],
                &[("tests/cli/main.rs", "unsafe extern \"C\" {}")],
            ],
            good: &[
                ("src/sys/mmap.rs", "unsafe { g() }"),
                (
                    "src/module/file.rs",
                    "// unsafe\n#[deny(unsafe_code)]\nconst A: &str = \"unsafe\";",
                ),
            ],
        },
        Rule {
            name: "only src/term prints",
            check: printing,
            bad: &[
                &[("src/cli/mod.rs", "println!(\"x\");")],
                &[("src/engine/mod.rs", "dbg!(x);")],
                &[("src/cli/mod.rs", "std::io::stderr().lock()")],
                &[("src/cli/mod.rs", "use std::io::{self, stdout};")],
            ],
            good: &[
                ("src/term/output.rs", "println!(\"x\"); io::stdout()"),
                (
                    "src/cli/mod.rs",
                    "term::stdout(); self.print(x); // println!()",
                ),
                ("src/cli/tests.rs", "println!(\"x\");"),
            ],
        },
        Rule {
            name: "main.rs is short",
            check: |tree| {
                let lines = tree
                    .text("src/main.rs")
                    .map_or(0, |text| text.lines().count());
                let long = lines >= MAIN_LINES_MAX;
                long.then(|| format!("src/main.rs:{lines}: too long"))
                    .into_iter()
                    .collect()
            },
            bad: &[&[(
                "src/main.rs",
                concat!(
                    "\n\n\n\n\n\n\n\n\n\n",
                    "\n\n\n\n\n\n\n\n\n\n",
                    "\n\n\n\n\n\n\n\n\n\n"
                ),
            )]],
            good: &[("src/main.rs", "fn main() {}")],
        },
        Rule {
            name: "files are not long; split them by what they are about",
            check: |tree| {
                let long = tree
                    .program()
                    .filter(|(_, source)| source.lines > LINES_MAX);
                long.map(|(path, source)| format!("{path}:{}: too long", source.lines))
                    .collect()
            },
            bad: &[&[("src/a.rs", LONG)]],
            good: &[("src/a/tests.rs", LONG), ("src/b.rs", "")],
        },
    ]
}

/// 601 lines.
const LONG: &str = {
    const LINES: [u8; LINES_MAX + 1] = [b'\n'; LINES_MAX + 1];
    match std::str::from_utf8(&LINES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

fn never() -> Vec<Rule> {
    vec![
        Rule {
            name: "sprof ends by returning from main",
            check: |tree| {
                let ends = |word: &str, rest: &str| {
                    matches!(word, "exit" | "abort" | "_exit") && rest.starts_with('(')
                };
                words_where(tree.program(), "process::", ends)
            },
            bad: &[
                &[("src/cli/mod.rs", "std::process::exit(1)")],
                &[("src/sys/mod.rs", "process::abort()")],
            ],
            good: &[(
                "src/cli/mod.rs",
                "self.exit(1); process::exit; // process::exit(1)",
            )],
        },
        Rule {
            name: "lints are silenced by expect with a reason; by allow only in src/sys and for all of a test crate",
            check: silenced,
            bad: &[
                &[("src/cli/mod.rs", "#[allow(dead_code)]\nfn f() {}")],
                &[("tests/cli/usage.rs", "#![allow(clippy::all)]")],
                &[("tests/cli/main.rs", "#[allow(clippy::all)]\nfn f() {}")],
                &[("src/sys/mod.rs", "#[expect(\n    dead_code\n)]")],
            ],
            good: &[
                ("src/sys/mod.rs", "#![allow(unsafe_code)]"),
                ("tests/cli/main.rs", "#![allow(clippy::unwrap_used)]"),
                (
                    "src/cli/mod.rs",
                    "#[expect(\n    dead_code,\n    reason = \"why\"\n)]\nx.expect(1)",
                ),
            ],
        },
        Rule {
            name: "nothing is left to do",
            check: left_to_do,
            bad: &[
                &[("src/a.rs", "// TODO more")],
                &[("tests/a.rs", "fn f() { todo!() }")],
                &[("src/a.rs", "unimplemented!()")],
                &[("README.md", "FIXME")],
            ],
            good: &[(
                "src/a.rs",
                "// all todos are done\nconst A: &str = \"TODO\";",
            )],
        },
        Rule {
            name: "tests run always, and wait for what happens instead of sleeping",
            check: |tree| {
                let tests = || tree.sources().filter(|(path, _)| is_test(path));
                let mut found = words_where(tests(), "thread::", |word, _| word == "sleep");
                found.extend(words_where(tests(), "#[", |word, _| word == "ignore"));
                found
            },
            bad: &[
                &[("tests/cli/main.rs", "std::thread::sleep(x)")],
                &[("src/engine/tests.rs", "thread::sleep(x)")],
                &[("tests/a.rs", "#[test]\n#[ignore]\nfn f() {}")],
                &[("src/a/tests.rs", "#[ignore = \"slow\"]")],
            ],
            good: &[(
                "tests/a.rs",
                "command(\"sleep 1\"); ignore(x); // thread::sleep",
            )],
        },
    ]
}

/// Words of the code, in files outside of `folder`, that `is_bad` says so of, knowing what follows.
fn words_outside(tree: &Tree, folder: &str, is_bad: fn(&str, &str) -> bool) -> Vec<String> {
    let outside = tree.sources().filter(|(path, _)| !path.starts_with(folder));
    words_where(outside, "", is_bad)
}

/// Words of the code that stand right behind `before` and that `is_bad` says so of.
fn words_where<'a>(
    sources: impl Iterator<Item = (&'a str, &'a Source)>,
    before: &str,
    is_bad: fn(&str, &str) -> bool,
) -> Vec<String> {
    let mut found = Vec::new();
    for (path, source) in sources {
        for (index, line) in source.code.lines().enumerate() {
            for (at, word) in crate::source::words(line) {
                if line[..at].ends_with(before) && is_bad(word, &line[at + word.len()..]) {
                    found.push(format!("{path}:{}: {word}", index + 1));
                }
            }
        }
    }
    found
}

fn printing(tree: &Tree) -> Vec<String> {
    const MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
    let mut found = Vec::new();
    for (path, source) in tree
        .program()
        .filter(|(path, _)| !path.starts_with("src/term/"))
    {
        for (index, line) in source.code.lines().enumerate() {
            let imports = line.trim_start().starts_with("use std::io::");
            for (at, word) in crate::source::words(line) {
                let is_macro = MACROS.contains(&word) && line[at + word.len()..].starts_with('!');
                let is_stream = matches!(word, "stdout" | "stderr")
                    && (imports || line[..at].ends_with("io::"));
                if is_macro || is_stream {
                    found.push(format!("{path}:{}: {word}", index + 1));
                }
            }
        }
    }
    found
}

fn silenced(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for (path, source) in tree.sources() {
        for (at, _) in source.code.match_indices('#') {
            let attribute = source.code[at + 1..].trim_start_matches('!');
            let attribute = attribute.split(']').next().unwrap_or_default();
            let has_reason = crate::source::words(attribute).any(|(_, word)| word == "reason");
            let allows = attribute.starts_with("[allow(") && !path.starts_with("src/sys/");
            let at_the_top = source.code[at..].starts_with("#!") && is_test_root(path);
            if allows && !at_the_top || attribute.starts_with("[expect(") && !has_reason {
                found.push(format!(
                    "{path}:{}: {}",
                    source.line_at(at),
                    attribute.trim()
                ));
            }
        }
    }
    found
}

/// Whether a file is the root of a test crate, where a lint is silenced once for all its tests.
fn is_test_root(path: &str) -> bool {
    !path.starts_with("src/") && path.ends_with("/main.rs")
}

fn left_to_do(tree: &Tree) -> Vec<String> {
    const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];
    let mut found = Vec::new();
    let mut search = |path: &str, text: &str| {
        for (index, line) in text.lines().enumerate() {
            let marks = crate::source::words(line).filter(|(_, word)| MARKS.contains(word));
            found.extend(marks.map(|(_, word)| format!("{path}:{}: {word}", index + 1)));
        }
    };
    for (path, source) in tree.sources() {
        search(path, &source.comments);
    }
    for (path, text) in tree.texts().filter(|(path, _)| has_ending(path, "md")) {
        search(path, text);
    }
    let unfinished =
        |word: &str, rest: &str| matches!(word, "todo" | "unimplemented") && rest.starts_with('!');
    found.extend(words_where(tree.sources(), "", unfinished));
    found
}
