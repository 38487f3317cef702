//! A Rust file taken apart as far as the rules need it.

/// A Rust file: its code without comments and texts, its comments without code. Both have the
/// lines and columns of the file; what is left out is blank.
pub(crate) struct Source {
    pub(crate) code: String,
    pub(crate) comments: String,
    pub(crate) lines: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    Text,
}

impl Source {
    pub(crate) fn new(text: &str) -> Source {
        let letters: Vec<char> = text.chars().collect();
        let mut code = String::with_capacity(text.len());
        let mut comments = String::with_capacity(text.len());
        let mut at = 0;
        while at < letters.len() {
            let (part, length) = next_part(&letters[at..]);
            for &letter in &letters[at..at + length] {
                let blank = if letter == '\n' { '\n' } else { ' ' };
                code.push(if part == Part::Code { letter } else { blank });
                comments.push(if part == Part::Comment { letter } else { blank });
            }
            at += length;
        }
        Source {
            code,
            comments,
            lines: text.lines().count(),
        }
    }

    /// Number of the line at this byte of the code.
    pub(crate) fn line_at(&self, byte: usize) -> usize {
        self.code[..byte].matches('\n').count() + 1
    }
}

/// Words of a line, as an identifier is one, and where they begin.
pub(crate) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at + line[at..].find(is_word)?;
        let rest = &line[begin..];
        let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        at = begin + length;
        Some((begin, &line[begin..at]))
    })
}

/// What the text begins with, and how long that is; at least one letter.
fn next_part(text: &[char]) -> (Part, usize) {
    let starts = |start: &str| {
        start
            .chars()
            .enumerate()
            .all(|(i, c)| text.get(i) == Some(&c))
    };
    if starts("//") {
        let end = text.iter().position(|letter| *letter == '\n');
        return (Part::Comment, end.unwrap_or(text.len()));
    }
    if starts("/*") {
        return (Part::Comment, block_comment(text));
    }
    if text[0] == '"' {
        return (Part::Text, quoted(text, '"'));
    }
    if text[0] == '\'' {
        // A lifetime has no second quote where a letter's is.
        let is_letter = text.get(1) == Some(&'\\') || text.get(2) == Some(&'\'');
        let length = if is_letter { quoted(text, '\'') } else { 1 };
        return (if is_letter { Part::Text } else { Part::Code }, length);
    }
    if text[0] == 'r' && matches!(text.get(1), Some('#' | '"')) {
        let hashes = text[1..]
            .iter()
            .take_while(|letter| **letter == '#')
            .count();
        if text.get(hashes + 1) == Some(&'"') {
            return (Part::Text, raw(text, hashes));
        }
    }
    // A whole word, so that the `r` at the end of one begins no raw text.
    let is_word = |letter: &&char| letter.is_alphanumeric() || **letter == '_';
    let word = text.iter().take_while(is_word).count();
    let raw_behind =
        matches!(text.get(word), Some('"' | '#')) && matches!(text[..word], ['b' | 'c', 'r']);
    (Part::Code, if raw_behind { 1 } else { word.max(1) })
}

fn block_comment(text: &[char]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at + 1 < text.len() {
        match (text[at], text[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted(text: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != quote {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

fn raw(text: &[char], hashes: usize) -> usize {
    let mut at = hashes + 2;
    while at < text.len() {
        let closes = text[at] == '"' && text[at + 1..].iter().take(hashes).all(|c| *c == '#');
        at += 1;
        if closes {
            return (at + hashes).min(text.len());
        }
    }
    text.len()
}

#[test]
fn comments_and_texts_are_told_from_code() {
    let cases = [
        ("a // b\nc", "a     \nc", "  // b\n "),
        (
            "a /* b /* c */ */ d",
            "a                 d",
            "  /* b /* c */ */  ",
        ),
        ("f(\"// x\", 'y')", "f(      ,    )", "              "),
        ("r#\"a\"b\"#c", "        c", "         "),
        ("br\"x\" d", "b     d", "       "),
        ("'a: &'a str", "'a: &'a str", "           "),
        ("'\\'' x", "     x", "      "),
        ("\"\\\"\" y", "     y", "      "),
        ("var\"x\"", "var   ", "      "),
    ];
    for (text, code, comments) in cases {
        let source = Source::new(text);
        assert_eq!(source.code.trim_end(), code.trim_end(), "{text}");
        assert_eq!(source.comments.trim_end(), comments.trim_end(), "{text}");
    }
}
