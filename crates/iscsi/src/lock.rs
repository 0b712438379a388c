//! The one way to take a lock in here. Who panicked under it takes nobody along: all others go on
//! with what is there.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a panic.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
