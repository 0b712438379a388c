//! Open files and directories: each one `FileSystem::open`, closed exactly once.

use crate::flat::Flat;
use engine_api::{Error, NodeId, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub struct Handles {
    fs: Arc<Flat>,
    next: AtomicU64,
    open: RwLock<Open>,
}

#[derive(Default)]
struct Open {
    all: HashMap<u64, Arc<Handle>>,
    /// Of each node that is open, how.
    uses: HashMap<NodeId, Uses>,
}

/// How many handles of a node there are.
#[derive(Default)]
struct Uses {
    all: u64,
    /// That may write.
    writers: u64,
    /// That go through the kernel's page cache.
    cached: u64,
}

pub struct Handle {
    pub node: NodeId,
    /// It is open for writing.
    writes: bool,
    /// It goes past the kernel's page cache.
    pub is_direct: bool,
    /// The state of file capabilities that the handle has last written under (see
    /// `Server::remove_capabilities`).
    pub capabilities_seen: AtomicU64,
    /// The page of directory entries behind the last reply, so that what did not fit is not read
    /// again.
    pub page: Mutex<Option<crate::page::Page>>,
}

/// Whether a file that is opened with these flags goes past the page cache.
///
/// One open for appending does: where its data ends up is known only once it is written, since
/// other clients append too, and the kernel would cache it where it thought the end was. So does
/// one whose writes are synchronous: through the page cache, the kernel writes with the whole file
/// locked and asks for an fsync afterwards, so that many writers would wait for one flush each, one
/// behind the other.
pub fn is_direct(flags: i32) -> bool {
    flags & (libc::O_DSYNC | libc::O_APPEND) != 0
}

impl Handles {
    pub fn new(fs: Arc<Flat>) -> Handles {
        Handles { fs, next: AtomicU64::new(1), open: RwLock::default() }
    }

    /// `flags`: of open(2).
    pub fn open(&self, node: NodeId, flags: i32) -> Result<u64> {
        let at = self.fs.at(node)?;
        at.fs.open(at.node)?;
        Ok(self.take(node, flags))
    }

    /// For a node that is open already.
    pub fn take(&self, node: NodeId, flags: i32) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let (is_direct, capabilities_seen) = (is_direct(flags), AtomicU64::new(0));
        let handle = Handle { node, writes, is_direct, capabilities_seen, page: Mutex::default() };
        let mut open = self.write();
        open.all.insert(number, Arc::new(handle));
        let uses = open.uses.entry(node).or_default();
        uses.all += 1;
        uses.writers += u64::from(writes);
        uses.cached += u64::from(!is_direct);
        number
    }

    pub fn get(&self, number: u64) -> Result<Arc<Handle>> {
        let handle = self.read().all.get(&number).cloned();
        handle.ok_or_else(|| Error::Invalid("a file handle that is not open".into()))
    }

    /// Somebody has the node open for writing, or mapped since it was.
    pub fn has_writers(&self, node: NodeId) -> bool {
        self.read().uses.get(&node).is_some_and(|uses| uses.writers > 0)
    }

    /// Somebody has the node open through the page cache.
    pub fn has_cached(&self, node: NodeId) -> bool {
        self.read().uses.get(&node).is_some_and(|uses| uses.cached > 0)
    }

    pub fn close(&self, number: u64) {
        let mut open = self.write();
        let Some(handle) = open.all.remove(&number) else { return };
        if let Entry::Occupied(mut entry) = open.uses.entry(handle.node) {
            let uses = entry.get_mut();
            uses.all -= 1;
            uses.writers -= u64::from(handle.writes);
            uses.cached -= u64::from(!handle.is_direct);
            if uses.all == 0 {
                entry.remove();
            }
        }
        drop(open);
        self.let_go(handle.node);
    }

    /// The connection is gone, and an aborted one sends no releases.
    pub fn close_all(&self) {
        let open = std::mem::take(&mut *self.write());
        for handle in open.all.values() {
            self.let_go(handle.node);
        }
    }

    /// Undoes one `FileSystem::open`, unless the node is gone.
    fn let_go(&self, node: NodeId) {
        if let Ok(at) = self.fs.at(node) {
            at.fs.close(at.node);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Open> {
        self.open.read().expect("nothing panics under this lock")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Open> {
        self.open.write().expect("nothing panics under this lock")
    }
}
