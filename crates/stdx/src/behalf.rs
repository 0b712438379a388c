//! For which user the running thread works.
//!
//! A pool's history says who asked for each command. Whoever takes commands knows that from the connection they came by, and
//! runs them [`on_behalf_of`] that user; whoever records one asks [`user`]. What is passed on to another thread is done for
//! nobody but the program itself, unless that thread is told as well.

use std::cell::Cell;

thread_local!(static USER: Cell<u32> = const { Cell::new(0) });

/// Runs something on this thread for the user of this number.
pub fn on_behalf_of<T>(user: u32, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(USER.replace(user));
    work()
}

/// The user that this thread works for: root, unless it was told.
pub fn user() -> u32 {
    USER.get()
}

/// Puts back what was, also after a panic.
struct Restored(u32);

impl Drop for Restored {
    fn drop(&mut self) {
        USER.set(self.0);
    }
}
