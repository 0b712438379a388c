//! For whom the running thread works.
//!
//! Who asked for a command goes into a pool's history, and decides what the command may do.
//! Whoever takes commands knows that from the connection they came by, and runs them
//! [`on_behalf_of`] that caller; whoever wants to know asks [`caller`]. What is passed on to
//! another thread is done for nobody but the program itself, unless that thread is told as well.

use std::cell::RefCell;
use std::sync::Arc;

/// Who asks for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub user: u32,
    /// His own first, then the others; none twice matters.
    pub groups: Vec<u32>,
    /// May do everything: root, and the user that the program runs as.
    pub is_administrator: bool,
}

impl Caller {
    /// The program itself, and whoever is asked by nobody.
    pub fn itself() -> Caller {
        Caller { user: 0, groups: vec![0], is_administrator: true }
    }

    /// An administrator of this number and group.
    pub fn administrator(user: u32, group: u32) -> Caller {
        Caller { user, groups: vec![group], is_administrator: true }
    }
}

thread_local!(static CALLER: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) });

/// Runs something on this thread for somebody.
pub fn on_behalf_of<T>(caller: Arc<Caller>, work: impl FnOnce() -> T) -> T {
    let _restored = Restored(CALLER.replace(Some(caller)));
    work()
}

/// Whom this thread works for: the program itself, unless it was told.
pub fn caller() -> Arc<Caller> {
    CALLER.with_borrow(Clone::clone).unwrap_or_else(|| Arc::new(Caller::itself()))
}

/// Puts back what was, also after a panic.
struct Restored(Option<Arc<Caller>>);

impl Drop for Restored {
    fn drop(&mut self) {
        CALLER.set(self.0.take());
    }
}
