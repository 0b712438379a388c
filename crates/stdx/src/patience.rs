//! Whether the running thread may wait for an operator.
//!
//! A call that needs disks which are missing waits for them as long as it takes, with its thread. A
//! server whose threads and connections serve many pools cannot afford that: it runs its calls
//! [`hurried`]. Whoever would wait for an operator below asks [`is_hurried`], and gives an error
//! instead that says "later".

use std::cell::Cell;

thread_local!(static HURRIED: Cell<bool> = const { Cell::new(false) });

/// Runs something on this thread that does not wait for operators.
pub fn hurried<T>(work: impl FnOnce() -> T) -> T {
    let _restored = Restored(HURRIED.replace(true));
    work()
}

/// Whether this thread is [`hurried`].
pub fn is_hurried() -> bool {
    HURRIED.get()
}

/// Puts back what was, also after a panic.
struct Restored(bool);

impl Drop for Restored {
    fn drop(&mut self) {
        HURRIED.set(self.0);
    }
}

#[cfg(test)]
mod tests;
