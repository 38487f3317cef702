//! Stacks as a tree: each node is one frame and the stack that called it.

use std::collections::HashMap;

use super::{Frame, StackId};

/// Interned stacks. Node `n` holds a frame and its caller's node, which is always smaller than `n`.
///
/// A table lives for one group of ticks (a recording restarts it, so that memory stays bounded):
/// a [`StackId`] means nothing without the table its tick came with.
#[derive(Clone, Debug, Default)]
pub struct StackTable {
    nodes: Vec<(Option<StackId>, Frame)>,
    known: HashMap<(Option<StackId>, Frame), StackId>,
}

impl StackTable {
    /// The id of the stack that `frame` makes when called from `caller` (`None`: it is the root).
    pub fn intern(&mut self, caller: Option<StackId>, frame: Frame) -> StackId {
        *self.known.entry((caller, frame)).or_insert_with(|| {
            self.nodes.push((caller, frame));
            StackId(self.nodes.len() as u32 - 1)
        })
    }

    /// The id of a whole stack, root first; `None` when there is no frame.
    pub fn intern_all(&mut self, root_first: impl IntoIterator<Item = Frame>) -> Option<StackId> {
        root_first
            .into_iter()
            .fold(None, |caller, frame| Some(self.intern(caller, frame)))
    }

    /// Caller and frame of a node.
    ///
    /// # Panics
    /// When the id is not of this table.
    pub fn node(&self, id: StackId) -> (Option<StackId>, Frame) {
        self.nodes[id.index()]
    }

    /// The frames of a stack, leaf first.
    pub fn frames(&self, leaf: Option<StackId>) -> impl Iterator<Item = Frame> + '_ {
        let mut next = leaf;
        std::iter::from_fn(move || {
            let (caller, frame) = self.node(next?);
            next = caller;
            Some(frame)
        })
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Forgets all stacks and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.known.clear();
    }
}
