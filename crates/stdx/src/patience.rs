//! Whether the running thread may wait for an operator.
//!
//! A call that needs disks which are missing waits for them as long as it takes, with its thread. A
//! server whose threads and connections serve many pools cannot afford that: it runs its calls
//! [`hurried`]. Whoever would wait for an operator below asks [`is_hurried`], and gives an error
//! instead that says "later".

use std::cell::RefCell;

use crate::scoped;

thread_local!(static HURRIED: RefCell<bool> = const { RefCell::new(false) });

/// Runs something on this thread that does not wait for operators.
pub fn hurried<T>(work: impl FnOnce() -> T) -> T {
    scoped::set_during(&HURRIED, true, work)
}

/// Whether this thread is [`hurried`].
pub fn is_hurried() -> bool {
    HURRIED.with_borrow(|is_hurried| *is_hurried)
}

#[cfg(test)]
mod tests;
