//! What documents say is so.

use crate::Rule;
use crate::layers::LAYERS;
use crate::source::words;
use crate::tree::Tree;

const ARCHITECTURE: &str = "src/ARCHITECTURE.md";
const FORMAT: &str = "src/format/FORMAT.md";
const FORMAT_CODE: &str = "src/format/mod.rs";
const ARGS: &str = "src/cli/args.rs";

pub(crate) fn rules() -> Vec<Rule> {
    [about_code(), about_use()].concat()
}

fn about_code() -> Vec<Rule> {
    vec![
        Rule {
            name: "src/ARCHITECTURE.md shows the layers as they are",
            check: layers,
            bad: &[&[(
                ARCHITECTURE,
                "| module | one line | may use |\n|---|---|---|\n",
            )]],
            good: &[],
        },
        Rule {
            name: "src/format/FORMAT.md has a section for the version that is written",
            check: format_version,
            bad: &[
                &[
                    (FORMAT_CODE, "pub const VERSION: u32 = 2;"),
                    (FORMAT, "### Version 1\n"),
                ],
                &[(FORMAT_CODE, "pub const VERSION: u32 = 2;")],
            ],
            good: &[
                (FORMAT_CODE, "pub const VERSION: u32 = 1;"),
                (FORMAT, "### Version 1\n"),
            ],
        },
    ]
}

fn about_use() -> Vec<Rule> {
    vec![
        Rule {
            name: "README.md shows commands and flags that are there",
            check: readme,
            bad: &[
                &[
                    (ARGS, ARGS_EXAMPLE),
                    ("README.md", "    sprof paint a.sprof\n"),
                ],
                &[
                    (ARGS, ARGS_EXAMPLE),
                    ("README.md", "then `sprof record --fast ls`\n"),
                ],
            ],
            good: &[
                (ARGS, ARGS_EXAMPLE),
                (
                    "README.md",
                    "sprof is good; `sprof record --no-wait --rate 9 -- ls --color`\n$ sprof --version",
                ),
            ],
        },
        Rule {
            name: "each folder of tests is run: it is in Cargo.toml",
            check: |tree| {
                let manifest = tree.text("Cargo.toml").unwrap_or_default();
                let missing = tree.sources().map(|(path, _)| path).filter(|path| {
                    let parts: Vec<&str> = path.split('/').collect();
                    matches!(
                        parts[..],
                        ["tests", _, "main.rs"] | ["integration", "main.rs"]
                    ) && !manifest.contains(&format!("path = \"{path}\""))
                });
                missing
                    .map(|path| format!("{path}:1: no [[test]]"))
                    .collect()
            },
            bad: &[&[
                ("tests/new/main.rs", ""),
                ("Cargo.toml", "path = \"tests/old/main.rs\""),
            ]],
            good: &[
                ("tests/old/main.rs", ""),
                ("Cargo.toml", "path = \"tests/old/main.rs\""),
            ],
        },
    ]
}

const ARGS_EXAMPLE: &str = "\
enum Command {
    Record(RecordArgs),
}
struct RecordArgs {
    #[arg(long = \"rate\")]
    pub(super) interval: u8,
    #[arg(long)]
    pub(super) no_wait: bool,
}
";

/// The table, line by line: | `module` | one line | `may`, `use` |
fn layers(tree: &Tree) -> Vec<String> {
    let Some(text) = tree.text(ARCHITECTURE) else {
        return Vec::new();
    };
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let shown: Vec<(Vec<String>, Vec<String>)> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| match line.split('|').collect::<Vec<_>>()[..] {
            [_, module, _, uses, _] => Some((quoted(module), quoted(uses))),
            _ => None,
        })
        .collect();
    let owned = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let real = LAYERS.map(|(module, uses)| (owned(&[module]), owned(uses)));
    let differs = shown != real;
    let missing = real.iter().find(|line| !shown.contains(line));
    differs
        .then(|| format!("{ARCHITECTURE}:1: the table is another one, first at {missing:?}"))
        .into_iter()
        .collect()
}

fn format_version(tree: &Tree) -> Vec<String> {
    let code = tree.text(FORMAT_CODE).unwrap_or_default();
    let Some((_, rest)) = code.split_once("pub const VERSION: u32 = ") else {
        return Vec::new();
    };
    let version = rest.split(';').next().unwrap_or_default();
    let headings = tree
        .text(FORMAT)
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with('#'));
    let mut pairs = headings.flat_map(|line| {
        let words: Vec<String> = words(line).map(|(_, word)| word.to_lowercase()).collect();
        words.windows(2).map(<[String]>::to_vec).collect::<Vec<_>>()
    });
    let told = pairs.any(|pair| pair == ["version", version]);
    (!told)
        .then(|| format!("{FORMAT}:1: no section for version {version}"))
        .into_iter()
        .collect()
}

fn readme(tree: &Tree) -> Vec<String> {
    let (Some(args), Some(readme)) = (tree.text(ARGS), tree.text("README.md")) else {
        return Vec::new();
    };
    let commands = commands(args);
    let flags = flags(args);
    let mut found = Vec::new();
    for (index, line) in readme.lines().enumerate() {
        for call in calls(line) {
            let mut typed = call.split_whitespace().take_while(|word| *word != "--");
            let Some(command) = typed.next() else {
                continue;
            };
            let is_name = command.chars().all(|letter| letter.is_ascii_lowercase());
            if is_name && !commands.contains(&command.to_owned()) && command != "help" {
                found.push(format!("README.md:{}: no command {command}", index + 1));
                continue;
            }
            for flag in typed.filter_map(|word| word.strip_prefix("--")) {
                let flag = flag.split('=').next().unwrap_or(flag);
                if !flags.contains(&flag.to_owned()) {
                    found.push(format!("README.md:{}: no flag --{flag}", index + 1));
                }
            }
        }
    }
    found
}

/// Calls of sprof in a line: in back quotes, or a line of an example.
fn calls(line: &str) -> Vec<&str> {
    let inline = line.split('`').skip(1).step_by(2);
    let example = line.trim_start().trim_start_matches("$ ");
    let is_example = line.starts_with("    ") || line.starts_with("$ ");
    inline
        .chain(is_example.then_some(example))
        .filter_map(|text| text.strip_prefix("sprof "))
        .collect()
}

/// The variants of `enum Command`, as they are typed.
fn commands(args: &str) -> Vec<String> {
    let body = args
        .split_once("enum Command {")
        .map_or("", |(_, rest)| rest);
    let body = body.split("\n}").next().unwrap_or_default();
    let variants = body.lines().filter_map(|line| line.trim().split_once('('));
    variants
        .filter(|(name, _)| name.chars().all(char::is_alphanumeric))
        .map(|(name, _)| name.to_lowercase())
        .collect()
}

/// Long flags: those that are named, and those named after their field.
fn flags(args: &str) -> Vec<String> {
    let named = args
        .split("long = \"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next());
    let fields = args
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub(super) "));
    let fields = fields.filter_map(|rest| rest.split(':').next());
    let all = named.chain(fields).chain(["version", "help"]);
    all.map(|name| name.replace('_', "-")).collect()
}
