//! Aligned columns, and names made safe to show.

use std::fmt::Write as _;

/// Columns that lines are kept within.
const WIDTH: usize = 100;
/// Columns between two columns.
const GAP: usize = 2;
/// Columns that the last one has where the others leave too few.
const LAST: usize = 28;

/// How a column is aligned. The last one is never padded, and shortened to fit the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Lines of cells.
#[derive(Debug)]
pub(super) struct Columns {
    align: Vec<Align>,
    lines: Vec<Vec<String>>,
}

impl Columns {
    pub(super) fn new(align: &[Align]) -> Columns {
        Columns {
            align: align.to_vec(),
            lines: Vec::new(),
        }
    }

    /// Adds a line. Missing cells are empty.
    pub(super) fn line<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.lines.push(cells.into_iter().map(Into::into).collect());
    }

    /// Appends the lines to `out`, each behind two spaces.
    pub(super) fn write(&self, out: &mut String) {
        let mut widths = vec![0; self.align.len()];
        for line in &self.lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for line in &self.lines {
            let mut text = " ".repeat(GAP);
            let mut used = GAP;
            for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let space = width.saturating_sub(cell.chars().count());
                match self.align[index] {
                    _ if index + 1 == self.align.len() => {
                        text.push_str(&shortened(cell, WIDTH.saturating_sub(used).max(LAST)));
                    }
                    Align::Left => text.extend([cell, " ".repeat(space).as_str()]),
                    Align::Right => text.extend([" ".repeat(space).as_str(), cell]),
                }
                text.push_str("  ");
                used += width + GAP;
            }
            let _ = writeln!(out, "{}", text.trim_end());
        }
    }
}

/// Appends an empty line and a headline.
pub(super) fn headline(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{text}");
}

/// `text` with control characters spelled out: names come from targets, and a terminal obeys them.
/// Characters that turn the direction of writing are among them.
pub(super) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for letter in text.chars() {
        let turns = matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if letter.is_control() || turns {
            cleaned.extend(letter.escape_default());
        } else {
            cleaned.push(letter);
        }
    }
    cleaned
}

/// `text` in at most `width` columns, its middle left out where it is longer.
pub(super) fn shortened(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let tail = (width - 1) / 3;
    let head = width - 1 - tail;
    let mut short: String = text.chars().take(head).collect();
    short.push('…');
    short.extend(text.chars().skip(count - tail));
    short
}

/// A part of a whole: `12.3 %`; empty where there is no whole.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

/// A count and its noun: `1 thread`, `2 threads`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = match (count, noun.strip_suffix("ss")) {
        (1, _) => "",
        (_, Some(_)) => "es",
        _ => "s",
    };
    format!("{count} {noun}{plural}")
}
