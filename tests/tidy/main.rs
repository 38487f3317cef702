//! Rules about the code that no compiler checks.
//!
//! Each rule has an example that breaks it, and one that comes close and does not: a rule that
//! cannot fail, or cries wolf, fails here itself.

mod documents;
mod habits;
mod layers;
mod source;
mod tree;
mod words;

use tree::Tree;

/// A rule about the tree.
struct Rule {
    /// What it asks for.
    name: &'static str,
    /// Answers what breaks it, one line each: file, line, what.
    check: fn(&Tree) -> Vec<String>,
    /// Trees that break it.
    bad: &'static [Files],
    /// A tree that does not.
    good: Files,
}

/// Paths and texts.
type Files = &'static [(&'static str, &'static str)];

/// All rules.
fn rules() -> Vec<Rule> {
    [
        layers::rules(),
        habits::rules(),
        words::rules(),
        documents::rules(),
    ]
    .concat()
}

impl Clone for Rule {
    fn clone(&self) -> Rule {
        Rule { ..*self }
    }
}

#[test]
fn the_code_keeps_the_rules() {
    let tree = Tree::load();
    let mut broken = Vec::new();
    for rule in rules() {
        for what in (rule.check)(&tree) {
            broken.push(format!("{what} ({})", rule.name));
        }
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}

#[test]
fn each_rule_can_be_broken() {
    for rule in rules() {
        assert!(!rule.bad.is_empty(), "{} has no bad example", rule.name);
        for files in rule.bad {
            let found = (rule.check)(&Tree::of(files));
            assert_eq!(found.len(), 1, "{}: {files:?} gives {found:?}", rule.name);
        }
    }
}

#[test]
fn no_rule_cries_wolf() {
    for rule in rules() {
        let found = (rule.check)(&Tree::of(rule.good));
        assert!(found.is_empty(), "{}: {found:?}", rule.name);
    }
}
