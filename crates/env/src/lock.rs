//! Taking a lock, with the project's one answer to poison: pass the panic on.

use std::sync::{Mutex, MutexGuard};

/// Locks, and panics if a thread panicked while holding the lock: what it guards may be half
/// changed.
#[track_caller]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("another thread panicked while holding this lock")
}
