//! Coverage marks tie an odd branch to the one test that is meant to reach it.
//!
//! The branch says `mark!(zil_block_full)`; the test says `mark_hit!(zil_block_full)` before it
//! acts, and fails when that scope ends without the branch having run on the same thread. Without
//! debug assertions a mark is nothing at all.

use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static HITS: RefCell<BTreeMap<&'static str, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// Notes that this line was reached, if a test watches for it.
#[macro_export]
macro_rules! mark {
    ($name:ident) => {
        if cfg!(debug_assertions) {
            $crate::mark::hit(stringify!($name));
        }
    };
}

/// Watches a mark until the end of the scope, where it must have been hit at least once.
#[macro_export]
macro_rules! mark_hit {
    ($name:ident) => {
        let _watch = $crate::mark::Watch::new(stringify!($name));
    };
}

/// Counts a hit; what `mark!` expands to.
pub fn hit(name: &'static str) {
    HITS.with_borrow_mut(|hits| {
        if let Some(count) = hits.get_mut(name) {
            *count += 1;
        }
    });
}

/// A test's interest in one mark; what `mark_hit!` expands to.
pub struct Watch {
    name: &'static str,
}

impl Watch {
    /// Starts to count hits on this thread.
    pub fn new(name: &'static str) -> Self {
        HITS.with_borrow_mut(|hits| hits.insert(name, 0));
        Watch { name }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let count = HITS.with_borrow_mut(|hits| hits.remove(self.name)).unwrap_or(0);
        // A test that already fails must say so itself: a second panic would abort it.
        if cfg!(debug_assertions) && !std::thread::panicking() {
            assert!(count > 0, "mark {} was not hit", self.name);
        }
    }
}

#[cfg(test)]
mod tests;
