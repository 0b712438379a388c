//! Files that are copied or moved to another place by rsync(1): which, with which arguments, and
//! what rsync says.
//!
//! A session makes one snapshot of the source and walks through it: [`choose`] says which files
//! go. They are handed to rsync by name, some thousands at a time, which copies them from the
//! snapshot ([`command`]). Of a move, rsync then compares all bytes of what may go with what is at
//! the target, and only what is the same there is removed from the source, as long as it is what
//! it was in the snapshot. The snapshot is known by a property ([`PROPERTY`]), and goes at the end.
//!
//! Invariants: which files there are is decided here, never by rsync. What rsync says of a file is
//! found by its whole name, byte by byte; what it says to people decides nothing.

pub mod choose;
pub mod command;
pub mod policy;

/// Of a snapshot, set on itself: the id of the service that made it.
pub const PROPERTY: &str = "org.cistern:tier";
