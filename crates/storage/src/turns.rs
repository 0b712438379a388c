//! Blocks of intent logs and copying whole stretches take turns where they meet.
//!
//! A rebuild copies what is allocated from one side of a mirror to another, without knowing what it
//! is. Blocks do not change once the group they belong to is durable, but for one kind: a log block
//! is given its place in one group and may be written in a later one. Were it written between the
//! reading and the writing of a stretch, the copy would undo that on one side. So each says which
//! space it is about to use, and waits for whoever does so already. Whoever copies is a worker and
//! does not wait: it comes again. A log block is written once, so nobody comes in vain for ever.

use std::sync::{Condvar, Mutex};

use env::{Env, lock};

use crate::range_tree::Segment;

/// See the module.
#[derive(Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    under_way: Vec<Taken>,
    next: u64,
}

/// Space of a top-level vdev that somebody uses.
struct Taken {
    id: u64,
    copies: bool,
    vdev: u32,
    space: Vec<Segment>,
}

impl State {
    /// Whether somebody of the other kind uses some of this space.
    fn is_taken(&self, copies: bool, vdev: u32, space: &[Segment]) -> bool {
        let meet = |a: &Segment, b: &Segment| a.start < b.end() && b.start < a.end();
        let others = self.under_way.iter().filter(|taken| taken.copies != copies && taken.vdev == vdev);
        others.flat_map(|taken| &taken.space).any(|taken| space.iter().any(|mine| meet(taken, mine)))
    }

    fn take(&mut self, copies: bool, vdev: u32, space: &[Segment]) -> u64 {
        let id = self.next;
        self.next += 1;
        self.under_way.push(Taken { id, copies, vdev, space: space.to_vec() });
        id
    }
}

impl Turns {
    /// To write a log block, until the turn is dropped. The caller looks up the vdevs that take the
    /// write afterwards.
    pub fn log(&self, env: &Env, vdev: u32, space: Segment) -> Turn<'_> {
        let state = lock(&self.state);
        let mut free = |state: &mut State| !state.is_taken(false, vdev, &[space]);
        let mut state = env.wait(&self.state, state, &self.changed, &mut free);
        Turn { turns: self, id: state.take(false, vdev, &[space]) }
    }

    /// To copy, until the turn is dropped; `None` while a log block is being written there.
    pub fn copy(&self, vdev: u32, space: &[Segment]) -> Option<Turn<'_>> {
        let mut state = lock(&self.state);
        let taken = state.is_taken(true, vdev, space);
        (!taken).then(|| Turn { turns: self, id: state.take(true, vdev, space) })
    }
}

/// Ends when it is dropped.
#[must_use = "it ends when it is dropped"]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    id: u64,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.turns.state).under_way.retain(|taken| taken.id != self.id);
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
