//! What the kernel knows: node number to node, with the count of look-ups that it has not forgotten yet.
//!
//! The number is the object's. An object number may come back for another node while the kernel still holds the old
//! one; the kernel then sees another generation under the same number, drops its old inode, and adds both counts up in
//! what it forgets: so does this table.

use crate::abi::ROOT;
use engine_api::{Error, NodeId, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard};

pub struct Inodes {
    /// The root as it is now: it is another when a whole file system was received in place of this one.
    root: Box<dyn Fn() -> NodeId + Send + Sync>,
    known: Mutex<HashMap<u64, Known>>,
}

struct Known {
    generation: u64,
    lookups: u64,
    /// Its state when it was last opened ([`engine_api::Attr::change`]).
    opened: Option<u64>,
}

impl Inodes {
    pub fn new(root: impl Fn() -> NodeId + Send + Sync + 'static) -> Inodes {
        Inodes { root: Box::new(root), known: Mutex::default() }
    }

    /// The node behind a number; `Stale` for one that was never given out or is forgotten.
    pub fn node(&self, ino: u64) -> Result<NodeId> {
        if ino == ROOT {
            return Ok((self.root)());
        }
        let generation = self.lock().get(&ino).ok_or(Error::Stale)?.generation;
        Ok(NodeId { object: ino, generation })
    }

    /// The number that stands for a node.
    pub fn number(&self, node: NodeId) -> u64 {
        if node == (self.root)() { ROOT } else { node.object }
    }

    /// The kernel gets one more reference to the node, under this number.
    ///
    /// # Errors
    /// `Corrupt` for a node that has the root's number: no ZPL file system has a file there.
    pub fn remember(&self, node: NodeId) -> Result<u64> {
        if node == (self.root)() {
            return Ok(ROOT);
        }
        if node.object == ROOT || node.object == 0 {
            return Err(Error::Corrupt { object: node.object, block: 0 });
        }
        let mut known = self.lock();
        let known = known.entry(node.object).or_insert(Known { generation: 0, lookups: 0, opened: None });
        if known.generation != node.generation {
            (known.generation, known.opened) = (node.generation, None);
        }
        known.lookups += 1;
        Ok(node.object)
    }

    /// The node is opened in this state. Whether it was in the same one when it was last opened: then what the kernel has of
    /// its data since is still right.
    pub fn opened(&self, node: NodeId, change: u64) -> bool {
        match self.lock().get_mut(&node.object) {
            Some(known) if known.generation == node.generation => {
                known.opened.replace(change) == Some(change)
            }
            _ => false,
        }
    }

    /// The kernel gives `lookups` references back.
    pub fn forget(&self, ino: u64, lookups: u64) {
        if let Entry::Occupied(mut known) = self.lock().entry(ino) {
            known.get_mut().lookups = known.get().lookups.saturating_sub(lookups);
            if known.get().lookups == 0 {
                known.remove();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Known>> {
        self.known.lock().expect("nothing panics under this lock")
    }
}

#[cfg(test)]
mod tests;
