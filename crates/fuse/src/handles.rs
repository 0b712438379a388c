//! Open files and directories: each one `FileSystem::open`, closed exactly once.

use engine_api::{Error, FileSystem, NodeId, Result};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub struct Handles {
    fs: Arc<dyn FileSystem>,
    next: AtomicU64,
    open: RwLock<Open>,
}

#[derive(Default)]
struct Open {
    all: HashMap<u64, Arc<Handle>>,
    /// How many may write to a node.
    writers: HashMap<NodeId, u64>,
}

pub struct Handle {
    pub node: NodeId,
    /// It is open for writing.
    writes: bool,
    /// The state of file capabilities that the handle has last written under (see
    /// `Server::remove_capabilities`).
    pub capabilities_seen: AtomicU64,
    /// The page of directory entries behind the last reply, so that what did not fit is not read
    /// again.
    pub page: Mutex<Option<crate::page::Page>>,
}

impl Handles {
    pub fn new(fs: Arc<dyn FileSystem>) -> Handles {
        Handles { fs, next: AtomicU64::new(1), open: RwLock::default() }
    }

    /// `flags`: of open(2).
    pub fn open(&self, node: NodeId, flags: i32) -> Result<u64> {
        self.fs.open(node)?;
        Ok(self.take(node, flags))
    }

    /// For a node that is open already.
    pub fn take(&self, node: NodeId, flags: i32) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let handle = Handle { node, writes, capabilities_seen: AtomicU64::new(0), page: Mutex::default() };
        let mut open = self.write();
        open.all.insert(number, Arc::new(handle));
        if writes {
            *open.writers.entry(node).or_default() += 1;
        }
        number
    }

    pub fn get(&self, number: u64) -> Result<Arc<Handle>> {
        let handle = self.read().all.get(&number).cloned();
        handle.ok_or_else(|| Error::Invalid("a file handle that is not open".into()))
    }

    /// Somebody has the node open for writing, or mapped since it was.
    pub fn has_writers(&self, node: NodeId) -> bool {
        self.read().writers.contains_key(&node)
    }

    pub fn close(&self, number: u64) {
        let mut open = self.write();
        let Some(handle) = open.all.remove(&number) else { return };
        if handle.writes
            && let Entry::Occupied(mut writers) = open.writers.entry(handle.node)
        {
            *writers.get_mut() -= 1;
            if *writers.get() == 0 {
                writers.remove();
            }
        }
        drop(open);
        self.fs.close(handle.node);
    }

    /// The connection is gone, and an aborted one sends no releases.
    pub fn close_all(&self) {
        let open = std::mem::take(&mut *self.write());
        for handle in open.all.values() {
            self.fs.close(handle.node);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Open> {
        self.open.read().expect("nothing panics under this lock")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Open> {
        self.open.write().expect("nothing panics under this lock")
    }
}
