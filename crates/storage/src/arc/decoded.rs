//! What was decoded from blocks and is kept so, objects above all, beside the blocks themselves.
//!
//! It is the memory of many tenants, one an object set, of all pools. All of them together may hold
//! three sixteenths of the cache's limit, and the blocks give way for it. Which entry goes is
//! decided by one clock: its hand goes through the tenants one after the other, and through all
//! entries of one, so that an entry meets it once a round, whosever it is. An entry that was used
//! since then stays for another round; unless there is an eighth too much, then any goes that
//! nobody holds. What is held stays: who holds it has a bound of its own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use env::lock;

/// Entries that the hand looks at, at most, to make room for one.
const LOOKS: usize = 8;

/// Somebody who keeps decoded things, and says of each how many bytes it adds and takes away.
pub trait Tenant: Send + Sync {
    /// How many entries the hand has to look at until it has seen all.
    fn entries(&self) -> usize;

    /// Looks at the next entry. It goes if nobody holds it and it was not used since the hand came
    /// by last, or, where `pressed`, whether it was or not.
    fn look(&self, pressed: bool);
}

/// See the module. The default has room for none: whatever is not used goes.
#[derive(Default)]
pub struct Decoded {
    limit: usize,
    bytes: AtomicUsize,
    ring: Mutex<Ring>,
}

#[derive(Default)]
struct Ring {
    tenants: BTreeMap<u64, Arc<dyn Tenant>>,
    next: u64,
    /// The tenant that the hand is at, and the entries of it that it has yet to see.
    at: u64,
    left: usize,
}

impl Ring {
    /// Whose entry is to be looked at next; `None` if nobody has any.
    fn turn(&mut self) -> Option<Arc<dyn Tenant>> {
        for _ in 0..=self.tenants.len() {
            if self.left > 0
                && let Some(tenant) = self.tenants.get(&self.at)
            {
                self.left -= 1;
                return Some(tenant.clone());
            }
            let after = self.tenants.range(self.at + 1..).next();
            let (&at, tenant) = after.or_else(|| self.tenants.iter().next())?;
            (self.at, self.left) = (at, tenant.entries());
        }
        None
    }
}

impl Decoded {
    /// For so many bytes.
    pub fn new(limit: usize) -> Arc<Decoded> {
        Arc::new(Decoded { limit, bytes: AtomicUsize::new(0), ring: Mutex::default() })
    }

    /// The tenant is one of them for as long as the answer lives.
    pub fn join(self: &Arc<Decoded>, tenant: Arc<dyn Tenant>) -> Tenancy {
        let mut ring = lock(&self.ring);
        let id = ring.next;
        ring.next += 1;
        ring.tenants.insert(id, tenant);
        Tenancy { decoded: self.clone(), id }
    }

    /// What it was made with.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Held by all tenants.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Relaxed)
    }

    pub fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub fn sub(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Lets go what was not used for longest, until the bytes are within the limit or enough was
    /// looked at. The caller holds no lock of a tenant.
    pub fn make_room(&self) {
        for _ in 0..LOOKS {
            let bytes = self.bytes();
            if bytes <= self.limit {
                return;
            }
            let Some(tenant) = lock(&self.ring).turn() else { return };
            tenant.look(bytes > self.limit + self.limit / 8);
        }
    }
}

/// See [`Decoded::join`].
pub struct Tenancy {
    decoded: Arc<Decoded>,
    id: u64,
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        let gone = lock(&self.decoded.ring).tenants.remove(&self.id);
        // Not under the lock: with it goes what it kept.
        drop(gone);
    }
}

#[cfg(test)]
mod tests;
