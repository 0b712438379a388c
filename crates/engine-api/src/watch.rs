//! Who keeps copies of what a file system holds is told what others change in it.
//!
//! A local mount is one: the kernel keeps names, attributes and data, and believes them until it is
//! told better. What a watcher changes itself, with its [`Origin`] in the credential, it is not
//! told, for then its copies are what it has just made them.
//!
//! Invariant: whoever has been answered can rely on it that the watchers were told before. Not told
//! are access times that reading leaves. The space that a node takes is known only when its
//! transaction group is written: then watchers are told of it, whoever changed it.

use crate::NodeId;

/// Who changes something, as far as watchers are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Origin(u64);

impl Origin {
    /// Nobody who watches.
    pub const OTHERS: Origin = Origin(0);

    /// Of the n-th watcher of a file system, counted from 1.
    pub const fn of_watcher(number: u64) -> Origin {
        Origin(number)
    }
}

/// What of a node has changed besides its attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub data: bool,
    /// A name that led to it may lead elsewhere now, or nowhere.
    pub names: bool,
}

impl Changed {
    pub const ATTRIBUTES: Changed = Changed { data: false, names: false };
    pub const DATA: Changed = Changed { data: true, names: false };
    pub const NAMES: Changed = Changed { data: false, names: true };
}

/// It is told in the middle of the calls that change something: it does not wait, and asks the file
/// system nothing.
pub trait Watcher: Send + Sync {
    fn changed(&self, node: NodeId, what: Changed);
    /// A transaction group was written, and these objects take another space now. Called by who
    /// writes the group.
    fn written(&self, objects: &[u64]);
    /// Any node may be another now: the file system was rolled back, received, or has other
    /// properties.
    fn all_changed(&self);
}
