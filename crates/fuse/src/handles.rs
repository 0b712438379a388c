//! Open files and directories: each one `FileSystem::open`, closed exactly once.

use engine_api::{Error, FileSystem, NodeId, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

pub struct Handles {
    fs: Arc<dyn FileSystem>,
    next: AtomicU64,
    open: RwLock<HashMap<u64, Arc<Handle>>>,
}

pub struct Handle {
    pub node: NodeId,
    /// The state of file capabilities that the handle has last written under (see `Server::remove_capabilities`).
    pub capabilities_seen: AtomicU64,
    /// The page of directory entries behind the last reply, so that what did not fit is not read again.
    pub page: Mutex<Option<crate::dir::Page>>,
}

impl Handles {
    pub fn new(fs: Arc<dyn FileSystem>) -> Handles {
        Handles { fs, next: AtomicU64::new(1), open: RwLock::default() }
    }

    pub fn open(&self, node: NodeId) -> Result<u64> {
        self.fs.open(node)?;
        Ok(self.take(node))
    }

    /// For a node that is open already.
    pub fn take(&self, node: NodeId) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let handle = Handle { node, capabilities_seen: AtomicU64::new(0), page: Mutex::default() };
        self.open.write().expect("nothing panics under this lock").insert(number, Arc::new(handle));
        number
    }

    pub fn get(&self, number: u64) -> Result<Arc<Handle>> {
        let open = self.open.read().expect("nothing panics under this lock");
        open.get(&number).cloned().ok_or_else(|| Error::Invalid("a file handle that is not open".into()))
    }

    pub fn close(&self, number: u64) {
        let handle = self.open.write().expect("nothing panics under this lock").remove(&number);
        if let Some(handle) = handle {
            self.fs.close(handle.node);
        }
    }

    /// The connection is gone, and an aborted one sends no releases.
    pub fn close_all(&self) {
        let open = std::mem::take(&mut *self.open.write().expect("nothing panics under this lock"));
        for handle in open.values() {
            self.fs.close(handle.node);
        }
    }
}
