//! For whom the running thread works.
//!
//! Who asked for a command goes into a pool's history, and decides what the command may do.
//! Whoever takes commands knows that from the connection they came by, and runs them
//! [`on_behalf_of`] that actor; whoever wants to know asks [`actor`]. What is passed on to another
//! thread is done for nobody but the program itself, unless that thread is told as well.
//!
//! Invariant: a thread works for somebody no longer than one call of [`on_behalf_of`] lasts, also
//! where that ends in a panic.

use std::cell::RefCell;
use std::sync::Arc;

use crate::scoped;

/// Who asks for something, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    pub user: u32,
    /// His own first, then the others; none twice matters. None: an account here, and no user of
    /// this machine.
    pub groups: Vec<u32>,
    pub rank: Rank,
    /// A dataset: nothing but it and what is below it may be changed.
    pub within: Option<String>,
    pub way: Way,
}

/// What somebody may do without a delegation. A higher one may all that a lower one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A user of this machine who has no account here.
    Guest,
    /// Reads all that an administrator reads, but for secrets.
    Reader,
    /// Does the daily work as well.
    Operator,
    /// Does everything: root, the user that the program runs as, and accounts with that role.
    Administrator,
}

/// How somebody asks. All of these are on this machine, or pass for a user of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Nobody asks: the program does it by itself.
    Itself,
    /// Nobody asks: a service does it, as an administrator has set it.
    Service,
    /// By the management API: the user of the program at the other end of the socket, or of an
    /// account.
    Management,
    /// By a directory in `.zfs/snapshot`: the user that the file system's protocol names.
    SnapshotDirectory,
}

impl Actor {
    /// The program itself, and whoever is asked by nobody.
    pub fn itself() -> Actor {
        Actor::administrator(0, 0)
    }

    /// The program for an administrator of this number and group, who does not ask.
    pub fn administrator(user: u32, group: u32) -> Actor {
        Actor { user, groups: vec![group], rank: Rank::Administrator, within: None, way: Way::Itself }
    }

    /// May do the daily work, about pools, devices and mounts too: no dataset holds these.
    pub fn is_operator(&self) -> bool {
        self.rank >= Rank::Operator && self.within.is_none()
    }

    /// May do everything, everywhere.
    pub fn is_administrator(&self) -> bool {
        self.rank == Rank::Administrator && self.within.is_none()
    }
}

thread_local!(static ACTOR: RefCell<Option<Arc<Actor>>> = const { RefCell::new(None) });

/// Runs something on this thread for somebody.
pub fn on_behalf_of<T>(actor: Arc<Actor>, work: impl FnOnce() -> T) -> T {
    scoped::set_during(&ACTOR, Some(actor), work)
}

/// Whom this thread works for: the program itself, unless it was told.
pub fn actor() -> Arc<Actor> {
    ACTOR.with_borrow(Clone::clone).unwrap_or_else(|| Arc::new(Actor::itself()))
}

#[cfg(test)]
mod tests;
