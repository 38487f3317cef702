//! Stacks as viewers want them: root first, named, inlined functions unfolded, kept for the whole
//! recording under one number each.
//!
//! The recording's own stacks are addresses in tables that come and go; here they are folded to
//! what a format tells apart (usually functions), which is far less, and stays.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;

use crate::profile::{Frame, FrameKind, NamedFrame, Profile, Sample, StackTable, ThreadId};

/// A node of the tree of stacks: one entry and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeId(pub(super) u32);

/// An entry (what a format calls a frame) of the table of distinct ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct EntryId(pub(super) u32);

/// A function as most viewers tell them apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Function<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) module: Option<&'a str>,
    pub(super) file: Option<&'a str>,
}

impl<'a> Function<'a> {
    /// Leaves out address, line, and whether this call of it was inlined.
    pub(super) fn of(frame: &NamedFrame<'a>, _inline_depth: u16) -> Function<'a> {
        Function {
            name: frame.name.clone(),
            module: frame.module,
            file: frame.file,
        }
    }
}

/// What a raw stack is made of besides frames: its end, where that is not the root.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Step {
    Frame(Frame),
    Cut(&'static str),
    NoStack(&'static str),
}

/// Stacks of `E`, each known by its [`NodeId`]. Callers have smaller ids than what they call.
pub(super) struct Stacks<'a, E> {
    profile: &'a Profile,
    entry_of: fn(&NamedFrame<'a>, u16) -> E,
    entries: Vec<E>,
    known_entries: HashMap<E, EntryId>,
    nodes: Vec<(Option<NodeId>, EntryId)>,
    known_nodes: HashMap<(Option<NodeId>, EntryId), NodeId>,
    /// The entries a step stands for, outermost first.
    unfolded: HashMap<Step, Box<[EntryId]>>,
    /// Each thread's last stack, root first: most samples differ from it by a few leaf frames.
    last: HashMap<ThreadId, Vec<(Step, NodeId)>>,
    steps: Vec<Step>,
}

/// Threads whose last stack is remembered; when more have come and gone, all are forgotten.
const REMEMBERED_THREADS_MAX: usize = 4096;

impl<'a, E: Clone + Eq + Hash> Stacks<'a, E> {
    /// `entry_of` makes an entry of a frame and its depth in the chain of functions inlined at its
    /// address (0: the real function).
    pub(super) fn new(profile: &'a Profile, entry_of: fn(&NamedFrame<'a>, u16) -> E) -> Self {
        Stacks {
            profile,
            entry_of,
            entries: Vec::new(),
            known_entries: HashMap::new(),
            nodes: Vec::new(),
            known_nodes: HashMap::new(),
            unfolded: HashMap::new(),
            last: HashMap::new(),
            steps: Vec::new(),
        }
    }

    /// The distinct entries, by [`EntryId`].
    pub(super) fn entries(&self) -> &[E] {
        &self.entries
    }

    /// One entry.
    ///
    /// # Panics
    /// When the id is not of these stacks.
    pub(super) fn entry(&self, id: EntryId) -> &E {
        &self.entries[id.0 as usize]
    }

    /// The nodes, by [`NodeId`].
    pub(super) fn nodes(&self) -> &[(Option<NodeId>, EntryId)] {
        &self.nodes
    }

    /// Puts the entries of a stack into `path`, root first.
    pub(super) fn path(&self, leaf: NodeId, path: &mut Vec<EntryId>) {
        path.clear();
        let mut next = Some(leaf);
        while let Some((caller, entry)) = next.and_then(|id| self.nodes.get(id.0 as usize)) {
            path.push(*entry);
            next = *caller;
        }
        path.reverse();
    }

    /// The stack of a sample, by its id.
    pub(super) fn fold(&mut self, sample: &Sample, table: &StackTable) -> NodeId {
        let mut steps = std::mem::take(&mut self.steps);
        steps.clear();
        let leaf = sample.stack.filter(|leaf| leaf.index() < table.len());
        steps.extend(table.frames(leaf).map(Step::Frame));
        match (sample.end.reason(), steps.is_empty()) {
            (reason, true) => steps.push(Step::NoStack(reason.unwrap_or("unknown"))),
            (Some(reason), false) => steps.push(Step::Cut(reason)),
            (None, false) => {}
        }
        steps.reverse();
        if self.last.len() > REMEMBERED_THREADS_MAX {
            self.last.clear();
        }
        let mut last = self.last.remove(&sample.thread).unwrap_or_default();
        let same = last
            .iter()
            .zip(&steps)
            .take_while(|((before, _), now)| before == *now)
            .count();
        last.truncate(same);
        let mut caller = last.last().map(|(_, node)| *node);
        for step in steps.drain(same..) {
            let node = self.push_step(caller, step);
            last.push((step, node));
            caller = Some(node);
        }
        self.last.insert(sample.thread, last);
        self.steps = steps;
        // `steps` was not empty, and each step makes a node.
        caller.unwrap_or(NodeId(0))
    }

    fn push_step(&mut self, caller: Option<NodeId>, step: Step) -> NodeId {
        if !self.unfolded.contains_key(&step) {
            let entries = self.unfold(step);
            self.unfolded.insert(step, entries);
        }
        let entries = &self.unfolded[&step];
        let mut caller = caller;
        for entry in entries {
            let key = (caller, *entry);
            caller = Some(*self.known_nodes.entry(key).or_insert_with(|| {
                self.nodes.push(key);
                NodeId(self.nodes.len() as u32 - 1)
            }));
        }
        caller.unwrap_or(NodeId(0))
    }

    fn unfold(&mut self, step: Step) -> Box<[EntryId]> {
        let mut frames = match step {
            Step::Frame(frame) => self.profile.named(frame),
            Step::Cut(reason) => vec![marker(format!("<cut: {reason}>"))],
            Step::NoStack(reason) => vec![marker(format!("<no stack: {reason}>"))],
        };
        if frames.is_empty() {
            frames.push(marker("<no name>".to_owned()));
        }
        let frames = frames.iter().rev().enumerate();
        frames
            .map(|(depth, frame)| {
                let entry = (self.entry_of)(frame, depth as u16);
                if let Some(id) = self.known_entries.get(&entry) {
                    return *id;
                }
                let id = EntryId(self.entries.len() as u32);
                self.entries.push(entry.clone());
                self.known_entries.insert(entry, id);
                id
            })
            .collect()
    }
}

fn marker<'a>(name: String) -> NamedFrame<'a> {
    NamedFrame {
        name: Cow::Owned(name),
        kind: FrameKind::Marker,
        module: None,
        file: None,
        line: None,
        address: None,
        missing: None,
    }
}
