//! Collapsed stacks: `process;thread;frame;…;frame N`, one line per distinct stack.
//!
//! The format of flame graph tools has room for one count and no time. Threads of one name in
//! processes of one name share their lines, so that the workers of a pool add up. Names lose what
//! the format cannot carry: `;` becomes `:`, control characters become spaces. The count is behind
//! the last space, so other spaces may stay. Readers pass over a line that begins with `#`: such a
//! process name gets a `_` before it.

use std::collections::HashMap;
use std::io::Write;

use super::ConvertError;
use super::source::Source;
use super::stacks::{NodeId, Stacks};
use super::stretches::{Stretch, Visit, each_stretch};
use super::titles::Title;
use crate::profile::{NamedFrame, Profile, Sample, StackTable, ThreadId};

struct Collapsed<'a> {
    stacks: Stacks<'a, String>,
    profile: &'a Profile,
    /// `process;thread`, distinct.
    heads: Vec<String>,
    head_of: HashMap<ThreadId, usize>,
    counts: HashMap<(usize, NodeId), u64>,
}

pub(super) fn write(source: &mut Source<'_>, out: &mut dyn Write) -> Result<(), ConvertError> {
    let profile = source.profile();
    let mut pass = Collapsed {
        stacks: Stacks::new(profile, |frame: &NamedFrame<'_>, _| plain(&frame.name)),
        profile,
        heads: Vec::new(),
        head_of: HashMap::new(),
        counts: HashMap::new(),
    };
    each_stretch(source, &mut pass)?;
    let mut lines: Vec<_> = pass.counts.iter().collect();
    lines.sort_unstable_by_key(|((head, node), _)| (*head, node.0));
    let mut path = Vec::new();
    for ((head, node), count) in lines {
        if let Some(head) = pass.heads.get(*head) {
            out.write_all(head.as_bytes())?;
        }
        pass.stacks.path(*node, &mut path);
        for entry in &path {
            write!(out, ";{}", pass.stacks.entry(*entry))?;
        }
        writeln!(out, " {count}")?;
    }
    Ok(())
}

impl Visit for Collapsed<'_> {
    fn fold(&mut self, sample: &Sample, table: &StackTable) -> NodeId {
        self.stacks.fold(sample, table)
    }

    fn stretch(&mut self, stretch: Stretch) -> Result<(), ConvertError> {
        let head = match self.head_of.get(&stretch.thread) {
            Some(head) => *head,
            None => self.add_thread(stretch.thread),
        };
        *self.counts.entry((head, stretch.node)).or_default() += 1;
        Ok(())
    }
}

impl Collapsed<'_> {
    fn add_thread(&mut self, thread: ThreadId) -> usize {
        let title = Title::of(self.profile, thread);
        let mut head = format!(
            "{};{}",
            plain(&title.process_name),
            plain(&title.thread_name)
        );
        if head.starts_with('#') {
            head.insert(0, '_');
        }
        let known = self.heads.iter().position(|known| *known == head);
        let index = known.unwrap_or_else(|| {
            self.heads.push(head);
            self.heads.len() - 1
        });
        self.head_of.insert(thread, index);
        index
    }
}

fn plain(name: &str) -> String {
    let safe = |letter: char| match letter {
        ';' => ':',
        letter if letter.is_control() => ' ',
        letter => letter,
    };
    let name: String = name.chars().map(safe).collect();
    if name.trim().is_empty() {
        "<no name>".to_owned()
    } else {
        name
    }
}
