//! What the dnodes of one object set have in common.
//!
//! The lists of what is dirty refer to dnodes, and every dnode refers to this. So
//! [`Core::clear_dirty`] is called when the object set goes, or none of them would ever be dropped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock};

use super::Dnode;
use crate::owner::{Admission, BlockOwner};
use crate::policy::ObjsetPolicy;
use crate::store::{BlockStore, Keep, TXG_SIZE, Txg};

/// See the module.
pub(crate) struct Core {
    pub store: Arc<dyn BlockStore>,
    pub owner: Arc<dyn BlockOwner>,
    pub admission: Arc<dyn Admission>,
    policy: RwLock<Arc<ObjsetPolicy>>,
    /// The policy's `keep`, packed: every read asks for it.
    keep: AtomicU8,
    /// By group: the objects it has changed, the meta dnode excepted.
    dirty: [Mutex<BTreeMap<u64, Arc<Dnode>>>; TXG_SIZE],
}

impl Core {
    pub fn new(
        store: Arc<dyn BlockStore>,
        owner: Arc<dyn BlockOwner>,
        admission: Arc<dyn Admission>,
        policy: ObjsetPolicy,
    ) -> Core {
        Core {
            store,
            owner,
            admission,
            keep: AtomicU8::new(policy.keep.pack()),
            policy: RwLock::new(Arc::new(policy)),
            dirty: Default::default(),
        }
    }

    pub fn dirty_list(&self, txg: Txg) -> &Mutex<BTreeMap<u64, Arc<Dnode>>> {
        &self.dirty[txg as usize % TXG_SIZE]
    }

    /// Forgets what is dirty.
    pub fn clear_dirty(&self) {
        for list in &self.dirty {
            env::lock(list).clear();
        }
    }

    pub fn keep(&self) -> Keep {
        Keep::unpack(self.keep.load(Relaxed))
    }

    pub fn policy(&self) -> Arc<ObjsetPolicy> {
        self.policy.read().expect("another thread panicked while setting a policy").clone()
    }

    pub fn set_policy(&self, policy: ObjsetPolicy) {
        self.keep.store(policy.keep.pack(), Relaxed);
        *self.policy.write().expect("another thread panicked while setting a policy") = Arc::new(policy);
    }
}
