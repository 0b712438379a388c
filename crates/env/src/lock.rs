//! Taking a lock, with the one answer of the engine to poison: pass the panic on. Servers go on
//! instead: `sockets::lock`.

use std::sync::{Mutex, MutexGuard};

/// Locks, and panics if a thread panicked while holding the lock: what it guards may be half
/// changed.
#[track_caller]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("another thread panicked while holding this lock")
}
