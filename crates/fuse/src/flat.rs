//! A file system with its snapshots as one tree: a kernel mount has one number for each node, and
//! file systems that lie within another ([`FileSystem::crossing`]) count their nodes for
//! themselves.
//!
//! ```text
//!   63      48 47                       0
//!   | which   | object                  |     0: the file system itself, else the n-th that was stepped into
//! ```
//! The root of one that lies within has the number of the place where it lies. The n-th is n for as
//! long as the mount lasts; nothing of this outlives it.
//!
//! This does no call of a file system for another. Whoever calls finds out first where a node is
//! ([`Flat::at`]), and makes the call there. Nodes that come back get their numbers in this tree
//! ([`At::attr`]).

use crate::lock::lock;
use engine_api::{
    Attr, Cred, DirLimit, DirPage, Error, FileSystem, NodeId, Origin, Result, SetAttr, Watcher,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

const SHIFT: u32 = 48;
const MOST: usize = 0xffff;

/// See the module.
pub struct Flat {
    fs: Arc<dyn FileSystem>,
    within: Mutex<Within>,
}

#[derive(Default)]
struct Within {
    all: Vec<(NodeId, Arc<dyn FileSystem>)>,
    by_place: HashMap<NodeId, usize>,
}

/// Where a node is: in which of the file systems, and its own number there.
pub struct At {
    pub fs: Arc<dyn FileSystem>,
    pub node: NodeId,
    which: u64,
    /// Where the root of `fs` lies, unless it is the file system itself.
    place: NodeId,
}

impl At {
    /// The number in the tree of another node of the same file system.
    fn out(&self, node: NodeId) -> NodeId {
        match self.which {
            0 => node,
            _ if node == self.fs.root() => self.place,
            which => NodeId { object: node.object | which << SHIFT, generation: node.generation },
        }
    }

    /// A node of the same file system, as the tree has it.
    pub fn attr(&self, attr: Attr) -> Attr {
        Attr { node: self.out(attr.node), ..attr }
    }
}

impl Flat {
    pub fn new(fs: Arc<dyn FileSystem>) -> Arc<Flat> {
        Arc::new(Flat { fs, within: Mutex::default() })
    }

    pub fn root(&self) -> NodeId {
        self.fs.root()
    }

    /// See [`FileSystem::watch`]; what lies within does not change.
    pub fn watch(&self, watcher: Weak<dyn Watcher>) -> Option<Origin> {
        self.fs.watch(watcher)
    }

    /// Where a node is.
    pub fn at(&self, node: NodeId) -> Result<At> {
        let which = node.object >> SHIFT;
        if which != 0 {
            let (place, fs) = lock(&self.within).all.get(which as usize - 1).cloned().ok_or(Error::Stale)?;
            let object = node.object & ((1 << SHIFT) - 1);
            return Ok(At { fs, node: NodeId { object, generation: node.generation }, which, place });
        }
        match self.fs.crossing(node)? {
            Some(fs) => {
                let (root, which) = (fs.root(), self.step_into(node, &fs)?);
                Ok(At { fs, node: root, which, place: node })
            }
            None => Ok(At { fs: self.fs.clone(), node, which, place: node }),
        }
    }

    /// Where the first is, and the number there of the second: they are in the same file system.
    pub fn both(&self, first: NodeId, second: NodeId) -> Result<(At, NodeId)> {
        let (first, second) = (self.at(first)?, self.at(second)?);
        if first.which == second.which { Ok((first, second.node)) } else { Err(Error::CrossDevice) }
    }

    /// Gives its number.
    fn step_into(&self, place: NodeId, fs: &Arc<dyn FileSystem>) -> Result<u64> {
        let mut within = lock(&self.within);
        let next = within.all.len();
        let at = *within.by_place.entry(place).or_insert(next);
        if at == next {
            if next >= MOST {
                within.by_place.remove(&place);
                return Err(Error::Unsupported("more snapshots in one mount".into()));
            }
            within.all.push((place, fs.clone()));
        }
        Ok(at as u64 + 1)
    }

    /// Whether another file system lies at a node.
    pub fn is_crossing(&self, node: NodeId) -> Result<bool> {
        Ok(node.object >> SHIFT == 0 && self.fs.crossing(node)?.is_some())
    }

    /// See [`FileSystem::lookup`]. A node that stands for another's root has that one's attributes.
    pub fn lookup(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        let dir = self.at(dir)?;
        let found = dir.fs.lookup(cred, dir.node, name)?;
        if dir.which == 0 && self.fs.crossing(found.node)?.is_some() {
            return self.getattr(found.node);
        }
        Ok(dir.attr(found))
    }

    /// See [`FileSystem::getattr`].
    pub fn getattr(&self, node: NodeId) -> Result<Attr> {
        let at = self.at(node)?;
        Ok(at.attr(at.fs.getattr(at.node)?))
    }

    /// See [`FileSystem::setattr`]; gives the attributes after.
    pub fn setattr(&self, cred: &Cred, node: NodeId, set: &SetAttr) -> Result<Attr> {
        let at = self.at(node)?;
        Ok(at.attr(at.fs.setattr(cred, at.node, set)?.1))
    }

    /// See [`FileSystem::readdir`].
    pub fn readdir(&self, cred: &Cred, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage> {
        let dir = self.at(dir)?;
        let mut page = dir.fs.readdir(cred, dir.node, cookie, limit)?;
        for entry in &mut page.entries {
            entry.node = dir.out(entry.node);
            entry.attr = entry.attr.map(|attr| dir.attr(attr));
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests;
