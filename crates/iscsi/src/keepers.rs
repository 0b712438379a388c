//! Commands of one connection that have done what they were to do, and end when that is on stable
//! storage.
//!
//! They are put aside, and whoever brought them goes on. A keeper takes all that are there, waits
//! for them, for which one flush is enough as a rule, and sends their answers together: so a
//! hundred writes in flight need two threads, not a hundred.

use std::sync::{Mutex, MutexGuard};

use crate::limits::KEEPERS;
use crate::lock::lock;

/// Waits for one command's promise and answers it.
pub type Keep = Box<dyn FnOnce() + Send>;

/// See the module.
#[derive(Default)]
pub struct Promises(Mutex<State>);

#[derive(Default)]
struct State {
    /// Nobody waits for these yet.
    waiting: Vec<Keep>,
    keepers: usize,
    /// One more is on its way.
    is_called: bool,
}

impl Promises {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    pub fn put(&self, keep: Keep) {
        self.state().waiting.push(keep);
    }

    /// True: there are some for which nobody waits, and the caller finds somebody who calls
    /// [`Promises::keep`].
    #[must_use]
    pub fn want_keeper(&self) -> bool {
        let mut state = self.state();
        let wanted = !state.waiting.is_empty() && state.keepers < KEEPERS && !state.is_called;
        state.is_called |= wanted;
        wanted
    }

    /// Waits for what there is as long as there is anything and not enough others are at it; `send`
    /// is called after each batch.
    pub fn keep(&self, send: impl Fn()) {
        self.state().is_called = false;
        loop {
            let mut state = self.state();
            if state.waiting.is_empty() || state.keepers == KEEPERS {
                return;
            }
            state.keepers += 1;
            let batch = std::mem::take(&mut state.waiting);
            drop(state);
            batch.into_iter().for_each(|keep| keep());
            self.state().keepers -= 1;
            send();
        }
    }
}

#[cfg(test)]
mod tests;
