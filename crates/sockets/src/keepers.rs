//! Answers of one connection that may not leave before something is on stable storage.
//!
//! They are put aside, and whoever brought them goes on. A *keeper* takes all that are there, waits
//! for them, for which one flush is enough as a rule, and sends them together: so a hundred writes
//! in flight need two threads, not a hundred. Who keeps is for the protocol to say: its reader,
//! where nothing else waits, or a thread that would have to wait anyway.
//!
//! Invariants:
//! - What is put aside is kept by somebody, once whoever put it there has asked whether a keeper is
//!   wanted ([`Promises::want_keeper`]), or keeps; if `keep` does not panic: a batch whose keeper
//!   panics is lost.
//! - There are [`KEEPERS`] at the most.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::lock::lock;

/// Threads of a connection that wait for what it changed to be on stable storage: while one waits
/// for a flush, the other's records are written.
const KEEPERS: usize = 2;

/// See the module. `T`: what waits for stable storage, and is to be sent then.
pub struct Promises<T> {
    state: Mutex<State<T>>,
    /// Some are kept.
    kept: Condvar,
}

struct State<T> {
    /// Nobody waits for these yet.
    aside: Vec<T>,
    /// All that are not kept yet.
    open: usize,
    keepers: usize,
    /// One more is on its way.
    is_called: bool,
    /// Threads that wait until some are kept.
    waiting: usize,
}

impl<T> Default for Promises<T> {
    fn default() -> Promises<T> {
        let state = State { aside: Vec::new(), open: 0, keepers: 0, is_called: false, waiting: 0 };
        Promises { state: Mutex::new(state), kept: Condvar::new() }
    }
}

impl<T> Promises<T> {
    /// Puts one aside.
    pub fn put(&self, promise: T) {
        let mut state = lock(&self.state);
        state.aside.push(promise);
        state.open += 1;
    }

    /// How many are not kept yet, where nobody waits for some of them.
    pub fn unattended(&self) -> Option<usize> {
        let state = lock(&self.state);
        (!state.aside.is_empty()).then_some(state.open)
    }

    /// True: there are some for which nobody waits, and the caller finds somebody who calls
    /// [`Promises::keep`].
    #[must_use]
    pub fn want_keeper(&self) -> bool {
        let mut state = lock(&self.state);
        let wanted = !state.aside.is_empty() && state.keepers < KEEPERS && !state.is_called;
        state.is_called |= wanted;
        wanted
    }

    /// Keeps what there is as long as there is anything and not enough others are at it: `keep`
    /// waits for a batch, `send` is called after it.
    pub fn keep(&self, keep: impl Fn(Vec<T>), send: impl Fn()) {
        let mut state = lock(&self.state);
        state.is_called = false;
        while !state.aside.is_empty() && state.keepers < KEEPERS {
            state.keepers += 1;
            let batch = std::mem::take(&mut state.aside);
            drop(state);
            let keeping = Keeping { promises: self, count: batch.len() };
            keep(batch);
            drop(keeping);
            send();
            state = lock(&self.state);
        }
    }

    /// While there are as many keepers as there may be: waits until fewer than `most` promises are
    /// not kept.
    pub fn wait_below(&self, most: usize) {
        let mut state = lock(&self.state);
        state.waiting += 1;
        let too_many = |state: &mut State<T>| state.open >= most && state.keepers == KEEPERS;
        let waited = self.kept.wait_while(state, too_many);
        waited.unwrap_or_else(PoisonError::into_inner).waiting -= 1;
    }
}

/// A keeper at work. Its end is noted however it comes, for others wait for it.
struct Keeping<'a, T> {
    promises: &'a Promises<T>,
    /// Promises that it took.
    count: usize,
}

impl<T> Drop for Keeping<'_, T> {
    fn drop(&mut self) {
        let mut state = lock(&self.promises.state);
        state.keepers -= 1;
        state.open -= self.count;
        if state.waiting > 0 {
            self.promises.kept.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
