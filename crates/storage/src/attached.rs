//! What the layers above lend to a pool: attached when they open it, detached when it is closed,
//! which breaks the cycle between the two.

use std::sync::{Arc, RwLock};

const POISON: &str = "another thread panicked while holding this lock";

/// Who is asked, if there is anybody.
pub struct Attached<T: ?Sized>(RwLock<Option<Arc<T>>>);

impl<T: ?Sized> Default for Attached<T> {
    fn default() -> Attached<T> {
        Attached(RwLock::default())
    }
}

impl<T: ?Sized> Attached<T> {
    /// From now on this one is asked.
    pub fn attach(&self, source: Arc<T>) {
        *self.0.write().expect(POISON) = Some(source);
    }

    pub fn detach(&self) {
        *self.0.write().expect(POISON) = None;
    }

    pub fn get(&self) -> Option<Arc<T>> {
        self.0.read().expect(POISON).clone()
    }
}
