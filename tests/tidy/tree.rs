//! The files that rules are about.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::source::Source;

/// Folders with code, and files beside them.
const FOLDERS: [&str; 3] = ["src", "tests", "integration"];
const FILES: [&str; 2] = ["README.md", "Cargo.toml"];

/// Texts by their path from the root of the repository.
pub(crate) struct Tree {
    texts: BTreeMap<String, String>,
    sources: BTreeMap<String, Source>,
}

impl Tree {
    /// The repository as it is.
    pub(crate) fn load() -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut texts = BTreeMap::new();
        for name in FOLDERS.iter().chain(&FILES) {
            read(root, &root.join(name), &mut texts);
        }
        assert!(texts.contains_key("src/lib.rs"));
        Tree::new(texts)
    }

    /// A made-up one.
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Tree::new(files.iter().map(owned).collect())
    }

    fn new(texts: BTreeMap<String, String>) -> Tree {
        let rust = texts.iter().filter(|(path, _)| has_ending(path, "rs"));
        let sources = rust.map(|(path, text)| (path.clone(), Source::new(text)));
        Tree {
            sources: sources.collect(),
            texts,
        }
    }

    /// One text.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// All texts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// All Rust files.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.sources
            .iter()
            .map(|(path, source)| (path.as_str(), source))
    }

    /// Rust files of the program itself, its tests left out.
    pub(crate) fn program(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.sources()
            .filter(|(path, _)| path.starts_with("src/") && !is_test(path))
    }
}

/// Whether a file's name ends in a dot and `ending`.
pub(crate) fn has_ending(path: &str, ending: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|found| found == ending)
}

/// Whether a file holds tests only.
pub(crate) fn is_test(path: &str) -> bool {
    !path.starts_with("src/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn read(root: &Path, path: &Path, texts: &mut BTreeMap<String, String>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a folder that can be read") {
            read(root, &entry.expect("an entry").path(), texts);
        }
    } else if let Ok(text) = fs::read_to_string(path) {
        let name = path.strip_prefix(root).expect("a path below the root");
        texts.insert(name.to_string_lossy().into_owned(), text);
    }
}
