//! Nodes in memory: locks and counts of the objects in use, one [`Node`] for each object.
//!
//! The table keeps nodes that were used lately, so that their objects stay loaded, and any node
//! that has something to remember: openers, a pending access time.
//!
//! A node lives as long as its object; who still holds it afterwards gets `Stale`, also when its
//! number has come to mean another object, for that is another [`Dnode`]. Of a living object there
//! is one node in use, ever: it leaves the table when nobody holds it, or after it was freed, and
//! who was slow to load another one gives way to it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use dmu::Dnode;
use engine_api::{Error, NodeId, Result, Time};
use env::lock;
use ondisk::object_type::ObjectType;

use super::Zpl;
use super::error::api_error;
use crate::rlock::RangeLock;

const SHARDS: usize = 16;
/// Nodes a shard keeps before it forgets idle ones.
const SHARD_LIMIT: usize = 1024;

/// See the module.
pub struct Node {
    dnode: Arc<Dnode>,
    generation: u64,
    ops: Mutex<()>,
    attrs: Mutex<()>,
    ranges: RangeLock,
    memory: Mutex<Memory>,
    /// The newest transaction group in which it changed; at least that.
    changed: AtomicU64,
}

#[derive(Default)]
struct Memory {
    opens: u64,
    /// It was made without a name, and has had none yet.
    unnamed: bool,
    atime: Option<Time>,
}

impl Node {
    /// From the object, if it is a file or directory that is in use.
    pub fn load(fs: &Zpl, object: u64) -> Result<Node> {
        let dnode = fs.objset.hold(object).map_err(api_error)?;
        let is_node =
            matches!(dnode.object_type(), ObjectType::PLAIN_FILE_CONTENTS | ObjectType::DIRECTORY_CONTENTS)
                && matches!(dnode.bonus_type(), ObjectType::SA | ObjectType::ZNODE);
        if !is_node {
            return Err(Error::Stale);
        }
        let attrs = fs.stored_attrs(&dnode)?;
        // Without a name it is about to be freed: who has it open would have it in the table.
        if attrs.links == 0 {
            return Err(Error::Stale);
        }
        Ok(Node::new(dnode, attrs.generation, fs.changed.load(Ordering::SeqCst)))
    }

    pub fn new(dnode: Arc<Dnode>, generation: u64, changed: u64) -> Node {
        Node {
            dnode,
            generation,
            ops: Mutex::new(()),
            attrs: Mutex::new(()),
            ranges: RangeLock::default(),
            memory: Mutex::default(),
            changed: AtomicU64::new(changed),
        }
    }

    pub fn dnode(&self) -> &Arc<Dnode> {
        &self.dnode
    }

    pub fn object(&self) -> u64 {
        self.dnode.object()
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn id(&self) -> NodeId {
        NodeId { object: self.object(), generation: self.generation }
    }

    pub fn attrs_lock(&self) -> &Mutex<()> {
        &self.attrs
    }

    pub fn ranges(&self) -> &RangeLock {
        &self.ranges
    }

    pub fn pending_atime(&self) -> Option<Time> {
        lock(&self.memory).atime
    }

    pub fn take_pending_atime(&self) -> Option<Time> {
        lock(&self.memory).atime.take()
    }

    pub fn set_pending_atime(&self, atime: Time) {
        lock(&self.memory).atime = Some(atime);
    }

    pub fn changed_in(&self, txg: u64) {
        self.changed.fetch_max(txg, Ordering::SeqCst);
    }

    pub fn changed(&self) -> u64 {
        self.changed.load(Ordering::SeqCst)
    }

    pub fn open(&self) {
        lock(&self.memory).opens += 1;
    }

    /// It has no name, and may yet be given one.
    pub fn set_unnamed(&self, unnamed: bool) {
        lock(&self.memory).unnamed = unnamed;
    }

    pub fn is_unnamed(&self) -> bool {
        lock(&self.memory).unnamed
    }

    /// Whether that was the last opener.
    pub fn close(&self) -> bool {
        let mut memory = lock(&self.memory);
        memory.opens = memory.opens.saturating_sub(1);
        memory.opens == 0
    }

    pub fn is_open(&self) -> bool {
        lock(&self.memory).opens > 0
    }

    fn is_alive(&self) -> bool {
        self.dnode.exists()
    }

    /// `Stale` once it was freed. Who is to change it asks this with its lock held.
    pub fn check_alive(&self) -> Result<()> {
        if self.is_alive() { Ok(()) } else { Err(Error::Stale) }
    }

    /// What reading it gave; where it was freed meanwhile, whatever that did to the reader, it is
    /// gone.
    pub fn unless_dead<T>(&self, answer: Result<T>) -> Result<T> {
        answer.or_else(|error| self.check_alive().and(Err(error)))
    }

    fn is_idle(&self) -> bool {
        let memory = lock(&self.memory);
        memory.opens == 0 && memory.atime.is_none() || !self.is_alive()
    }
}

/// All nodes in memory, by object.
pub struct Nodes {
    shards: Vec<Mutex<HashMap<u64, Arc<Node>>>>,
}

impl Default for Nodes {
    fn default() -> Nodes {
        Nodes { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Nodes {
    fn shard(&self, object: u64) -> MutexGuard<'_, HashMap<u64, Arc<Node>>> {
        lock(&self.shards[(object % SHARDS as u64) as usize])
    }

    /// The node, loaded if need be. `changed` as in [`Nodes::insert`].
    pub fn get(
        &self,
        object: u64,
        changed: &AtomicU64,
        load: impl FnOnce() -> Result<Node>,
    ) -> Result<Arc<Node>> {
        if let Some(node) = self.shard(object).get(&object).filter(|node| node.is_alive()) {
            return Ok(node.clone());
        }
        // Reading may take a disk; of two loaders the first to come back wins.
        let loaded = Arc::new(load()?);
        Ok(self.insert(loaded, changed))
    }

    /// The node to be used: this one, or the living one that is there. `changed` is the newest
    /// group in which anything changed: the table may have had this node, and forgotten in which
    /// group that changed.
    pub fn insert(&self, node: Arc<Node>, changed: &AtomicU64) -> Arc<Node> {
        let object = node.object();
        let mut shard = self.shard(object);
        if let Some(there) = shard.get(&object).filter(|there| there.is_alive()) {
            return there.clone();
        }
        // One that was freed while it was loaded is of use to nobody else.
        if node.is_alive() {
            node.changed_in(changed.load(Ordering::SeqCst));
            shard.insert(object, node.clone());
        }
        if shard.len() > SHARD_LIMIT {
            forget_some(&mut shard);
        }
        node
    }

    pub fn contains(&self, object: u64) -> bool {
        self.shard(object).get(&object).is_some_and(|node| node.is_alive())
    }

    /// Nobody finds the node any more. It was freed *before*: else somebody could load it once more
    /// in between, and have a second one beside this.
    pub fn forget(&self, node: &Node) {
        let mut shard = self.shard(node.object());
        if shard.get(&node.object()).is_some_and(|there| !there.is_alive()) {
            shard.remove(&node.object());
        }
    }

    /// Every node that remembers an access time.
    pub fn with_pending_atime(&self) -> Vec<Arc<Node>> {
        let all = self.shards.iter().flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>());
        all.filter(|node| node.pending_atime().is_some()).collect()
    }
}

/// Half of the nodes that nobody uses and that remember nothing.
fn forget_some(shard: &mut HashMap<u64, Arc<Node>>) {
    let mut turn = false;
    shard.retain(|_, node| {
        turn = !turn;
        turn || Arc::strong_count(node) > 1 || !node.is_idle()
    });
}

/// The `ops` locks of several nodes, each once, in order of their numbers.
pub fn lock_all<'a>(nodes: &[&'a Arc<Node>]) -> Vec<MutexGuard<'a, ()>> {
    let mut sorted = nodes.to_vec();
    sorted.sort_by_key(|node| node.object());
    sorted.dedup_by_key(|node| node.object());
    sorted.into_iter().map(|node| lock(&node.ops)).collect()
}

#[cfg(test)]
mod tests;
