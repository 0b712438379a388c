//! All nodes by object number, and how one is found, made and forgotten.
//!
//! Invariants: a node is here exactly while it has a name or is open; a directory's entries name
//! nodes that are here; an object number may come back, with a generation never used before.

use crate::Clock;
use crate::node::{Body, Directory, Node};
use engine_api::{Cred, Error, NAME_MAX, NodeId, Result, Time};
use std::collections::BTreeMap;
use stdx::posix::{self, Refusal, Who};

/// OpenZFS's roots are seldom object 1 either.
const ROOT_OBJECT: u64 = 34;

pub struct State {
    pub nodes: BTreeMap<u64, Node>,
    pub generation: u64,
    clock: Clock,
}

impl State {
    pub fn new(clock: Clock) -> State {
        let mut state = State { nodes: BTreeMap::new(), generation: 0, clock };
        let root = state.insert(Body::Dir(Directory::new(ROOT_OBJECT)), 0o755, 0, 0);
        assert_eq!(root.object, ROOT_OBJECT);
        state
    }

    /// A copy in which nobody has anything open, by another clock.
    pub fn restarted(&self, clock: Clock) -> State {
        let mut nodes = self.nodes.clone();
        nodes.values_mut().for_each(|node| node.opens = 0);
        nodes.retain(|_, node| node.nlink > 0);
        State { nodes, generation: self.generation, clock }
    }

    pub fn root(&self) -> NodeId {
        self.nodes[&ROOT_OBJECT].id
    }

    pub fn now(&self) -> Time {
        (self.clock)()
    }

    /// A new node with no name yet; directories count themselves and their parent's name as links.
    pub fn insert(&mut self, body: Body, mode: u32, uid: u32, gid: u32) -> NodeId {
        let object = (ROOT_OBJECT..).find(|object| !self.nodes.contains_key(object)).expect("a free number");
        self.generation += 1;
        let id = NodeId { object, generation: self.generation };
        let now = self.now();
        let nlink = if matches!(body, Body::Dir(_)) { 2 } else { 1 };
        let node = Node {
            id,
            body,
            mode,
            uid,
            gid,
            nlink,
            atime: now,
            mtime: now,
            ctime: now,
            crtime: now,
            change: 1,
            xattrs: BTreeMap::new(),
            opens: 0,
        };
        self.nodes.insert(object, node);
        id
    }

    pub fn get(&self, id: NodeId) -> Result<&Node> {
        self.nodes.get(&id.object).filter(|node| node.id == id).ok_or(Error::Stale)
    }

    pub fn get_mut(&mut self, id: NodeId) -> Result<&mut Node> {
        self.nodes.get_mut(&id.object).filter(|node| node.id == id).ok_or(Error::Stale)
    }

    /// # Panics
    /// When the object is not here: an entry named it.
    pub fn object(&self, object: u64) -> &Node {
        self.nodes.get(&object).expect("entries name nodes that exist")
    }

    /// # Panics
    /// As `object`.
    pub fn object_mut(&mut self, object: u64) -> &mut Node {
        self.nodes.get_mut(&object).expect("entries name nodes that exist")
    }

    pub fn dir(&self, id: NodeId) -> Result<(&Node, &Directory)> {
        let node = self.get(id)?;
        match &node.body {
            Body::Dir(dir) => Ok((node, dir)),
            _ => Err(Error::NotDir),
        }
    }

    /// # Panics
    /// When the object is no directory: the caller has looked.
    pub fn entries_mut(&mut self, dir: u64) -> &mut Directory {
        match &mut self.object_mut(dir).body {
            Body::Dir(dir) => dir,
            _ => panic!("object {dir} was a directory a moment ago"),
        }
    }

    /// Forget a node that has neither name nor opener.
    pub fn forget_if_unused(&mut self, object: u64) {
        let node = self.object(object);
        if node.nlink == 0 && node.opens == 0 {
            self.nodes.remove(&object);
        }
    }

    /// Whether `above` is `object` or one of its ancestors.
    pub fn is_ancestor(&self, above: u64, mut object: u64) -> bool {
        loop {
            if object == above {
                return true;
            }
            let Body::Dir(dir) = &self.object(object).body else { return false };
            // A removed directory that is still open hangs nowhere.
            if dir.parent == object || !self.nodes.contains_key(&dir.parent) {
                return false;
            }
            object = dir.parent;
        }
    }
}

pub fn who(cred: &Cred) -> Who<'_> {
    Who { uid: cred.uid, gid: cred.gid, groups: &cred.groups }
}

/// A refusal in the engine's words.
pub fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::Denied => Error::Denied,
        Refusal::NotPermitted => Error::NotPermitted,
        Refusal::Hidden => Error::NotFound,
        Refusal::NoSuchId => Error::Invalid("no user or group has the number 4294967295".into()),
        Refusal::NoNamespace => Error::Unsupported("extended attribute outside every namespace".into()),
    }
}

/// Permission for data: the owner's override counts.
pub fn check_data(cred: &Cred, node: &Node, want: u32) -> Result<()> {
    if cred.owner_override && cred.uid == node.uid {
        return Ok(());
    }
    posix::check(&who(cred), &node.rules(), want).map_err(refused)
}

pub fn check_name(name: &[u8]) -> Result<()> {
    if name.len() > NAME_MAX {
        return Err(Error::NameTooLong);
    }
    if name.is_empty() || name.contains(&b'/') || name.contains(&0) {
        return Err(Error::Invalid("a name is 1 to 255 bytes without slash or NUL".into()));
    }
    Ok(())
}

/// A name to be made or removed.
pub fn check_entry_name(name: &[u8]) -> Result<()> {
    check_name(name)?;
    if name == b"." || name == b".." {
        return Err(Error::Invalid("'.' and '..' can neither be made nor removed".into()));
    }
    Ok(())
}
