//! Which call of a client the running thread works on, and where its answer is kept for the next
//! program.
//!
//! A client that gets no answer sends its call again, to the next program too. Whoever takes calls
//! runs one that may not be done twice with its name ([`working_on`]). Whoever changes something
//! for it, inside the transaction that does, makes a place for the answer ([`keep`]), which is told
//! in which group the change is, and where its record is in a log. So the next program can tell
//! whether what the answer says has happened.

use std::cell::RefCell;
use std::sync::Arc;

use crate::scoped;

/// A call as it is known when it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallId {
    /// Of the client: those of one place share what can be kept for it.
    pub place: u64,
    /// Of everything that tells the call from others: two calls with the same one are the same.
    pub digest: [u8; 32],
}

/// The place of an answer. It is nobody else's as long as somebody has it.
pub trait Keeping: Send + Sync {
    /// The call has changed something in this group: what it changed before is in none that is
    /// later.
    fn changed(&self, group: u64);
    /// The newest record of the change is about to be written as this one of this log.
    fn logged(&self, log: u64, record: u64);
    /// The answer is this.
    fn answer(&self, reply: &[u8]);
}

struct Current {
    call: CallId,
    keeping: Option<Arc<dyn Keeping>>,
}

thread_local!(static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) });

/// Runs a call on this thread; gives the place of its answer too, if it has changed something.
pub fn working_on<T>(call: CallId, work: impl FnOnce() -> T) -> (T, Option<Arc<dyn Keeping>>) {
    scoped::set_during(&CURRENT, Some(Current { call, keeping: None }), || {
        let answer = work();
        (answer, CURRENT.take().and_then(|current| current.keeping))
    })
}

/// The thread is inside a transaction of `group` that changes something: the place for its call's
/// answer, if it works on one. `make` is asked where there is none yet.
pub fn keep(group: u64, make: impl FnOnce(&CallId) -> Option<Arc<dyn Keeping>>) -> Option<Arc<dyn Keeping>> {
    CURRENT.with_borrow_mut(|current| {
        let current = current.as_mut()?;
        match &current.keeping {
            Some(keeping) => keeping.changed(group),
            None => current.keeping = make(&current.call),
        }
        current.keeping.clone()
    })
}

#[cfg(test)]
mod tests;
