//! Memory that all mounts have together: what is known of nodes, names that are remembered, and
//! buffers. It is counted, so that a cache can give way for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Names that are remembered, of all mounts: some 40 MiB of ordinary ones.
pub const NAMES: usize = 256 << 10;
/// What a node takes in the tables, and a name besides its own bytes. Calculated from the sizes of
/// the entries, for tables that are three quarters full; not measured.
pub const NODE: usize = 192;
const NAME: usize = 96;

/// How much of it there may be.
#[derive(Clone, Debug)]
pub struct Limits {
    /// So many nodes the kernel may know before it is asked to forget some.
    pub nodes: usize,
    /// Bytes that are held are added here, beside those of others.
    pub held: Arc<AtomicUsize>,
}

impl Limits {
    /// Of a program that has promised to keep to so many bytes: nodes take an eighth of them.
    pub fn within(promised: usize, held: Arc<AtomicUsize>) -> Limits {
        Limits { nodes: (promised / 8 / NODE).max(32 << 10), held }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::within(256 << 20, Arc::default())
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Room {
    limits: Limits,
    nodes: AtomicUsize,
    names: AtomicUsize,
}

impl Room {
    pub fn new(limits: Limits) -> Arc<Room> {
        Arc::new(Room { limits, ..Room::default() })
    }

    pub fn add_node(&self) {
        self.nodes.fetch_add(1, Relaxed);
        self.hold(NODE);
    }

    pub fn drop_nodes(&self, how_many: usize) {
        self.nodes.fetch_sub(how_many, Relaxed);
        self.let_go(NODE * how_many);
    }

    /// Nodes that the kernel knows more than it may.
    pub fn excess(&self) -> usize {
        self.nodes.load(Relaxed).saturating_sub(self.limits.nodes)
    }

    /// So many are forgotten at a time besides: an eighth of all.
    pub fn slack(&self) -> usize {
        self.limits.nodes / 8
    }

    pub fn has_room_for_names(&self) -> bool {
        self.names.load(Relaxed) < NAMES
    }

    pub fn add_name(&self, name: &[u8]) {
        self.names.fetch_add(1, Relaxed);
        self.hold(NAME + name.len());
    }

    pub fn drop_name(&self, name: &[u8]) {
        self.names.fetch_sub(1, Relaxed);
        self.let_go(NAME + name.len());
    }

    pub fn hold(&self, bytes: usize) {
        self.limits.held.fetch_add(bytes, Relaxed);
    }

    pub fn let_go(&self, bytes: usize) {
        self.limits.held.fetch_sub(bytes, Relaxed);
    }

    #[cfg(test)]
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.nodes.load(Relaxed), self.names.load(Relaxed), self.limits.held.load(Relaxed))
    }
}
