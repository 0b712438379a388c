//! How servers take a [`Mutex`]. If a thread panics while it holds one, the others go on with the
//! data as it is: what one peer brought about is not to end other peers' connections.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
