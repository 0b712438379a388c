//! The one way to take a lock in here.

use std::sync::{Mutex, MutexGuard};

/// Locks. Whoever holds a lock of this crate calls nothing that panics.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics under this lock")
}
