//! The dnodes in memory: one for each object.
//!
//! A dnode leaves the cache only when nobody else refers to it: holders, and the lists of what is
//! dirty, keep it here, so that two of the same object can never exist. How many idle ones stay is
//! decided by one clock for all object sets: see [`Decoded`].

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use crate::dnode::Dnode;
use crate::store::{Decoded, Tenancy, Tenant};

/// See the module.
pub struct Cache {
    table: Arc<Table>,
    _tenancy: Tenancy,
}

struct Table {
    inner: Mutex<Inner>,
    decoded: Arc<Decoded>,
}

#[derive(Default)]
struct Inner {
    dnodes: HashMap<u64, Arc<Dnode>>,
    /// Each object of `dnodes` once, and some that have gone. The hand is before the first.
    round: VecDeque<u64>,
}

impl Cache {
    pub fn new(decoded: &Arc<Decoded>) -> Cache {
        let table = Arc::new(Table { inner: Mutex::default(), decoded: decoded.clone() });
        Cache { _tenancy: decoded.join(table.clone()), table }
    }

    pub fn get(&self, object: u64) -> Option<Arc<Dnode>> {
        let inner = env::lock(&self.table.inner);
        let dnode = inner.dnodes.get(&object)?;
        dnode.touch();
        Some(dnode.clone())
    }

    /// Puts it in if the object is not there and `still` holds, both decided at once. The dnode in
    /// the cache, or `None` if `still` failed.
    pub fn insert(&self, dnode: Arc<Dnode>, still: impl FnOnce() -> bool) -> Option<Arc<Dnode>> {
        self.table.decoded.make_room();
        let mut inner = env::lock(&self.table.inner);
        if let Some(there) = inner.dnodes.get(&dnode.object()) {
            return Some(there.clone());
        }
        if !still() {
            return None;
        }
        inner.round.push_back(dnode.object());
        inner.dnodes.insert(dnode.object(), dnode.clone());
        self.table.decoded.add(dnode.footprint());
        Some(dnode)
    }

    /// The object is gone: its number may soon mean another.
    pub fn remove(&self, dnode: &Arc<Dnode>) {
        let mut inner = env::lock(&self.table.inner);
        if inner.dnodes.get(&dnode.object()).is_some_and(|there| Arc::ptr_eq(there, dnode)) {
            self.table.take_out(&mut inner, dnode.object());
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        env::lock(&self.table.inner).dnodes.len()
    }
}

/// Dnodes refer to the store, and it to the tenants: they go with the object set, not with each
/// other.
impl Drop for Cache {
    fn drop(&mut self) {
        let inner = std::mem::take(&mut *env::lock(&self.table.inner));
        self.table.decoded.sub(inner.dnodes.values().map(|dnode| dnode.footprint()).sum());
    }
}

impl Table {
    fn take_out(&self, inner: &mut Inner, object: u64) {
        if let Some(dnode) = inner.dnodes.remove(&object) {
            self.decoded.sub(dnode.footprint());
        }
    }
}

impl Tenant for Table {
    fn entries(&self) -> usize {
        env::lock(&self.inner).round.len()
    }

    fn look(&self, pressed: bool) {
        let mut inner = env::lock(&self.inner);
        let Some(object) = inner.round.pop_front() else { return };
        let Some(dnode) = inner.dnodes.get(&object) else { return };
        let was_used = dnode.take_touched();
        if Arc::strong_count(dnode) == 1 && (pressed || !was_used) {
            self.take_out(&mut inner, object);
        } else {
            inner.round.push_back(object);
        }
    }
}
