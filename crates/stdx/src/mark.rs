//! Marks on rare paths: whoever takes one says so, and the simulator's tests ask which were taken.
//!
//! A path that no test takes is not tested, however many seeds are tried. The marks of a process
//! are all in one place, whichever thread takes the path. Without debug assertions a mark is
//! nothing at all.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static MET: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

/// Says that a path is taken, by its name.
#[inline]
pub fn mark(path: &'static str) {
    if cfg!(debug_assertions) {
        MET.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
    }
}

/// The paths that were taken since the process began.
pub fn met() -> BTreeSet<&'static str> {
    MET.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests;
