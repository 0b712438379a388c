//! The oracle: a file system in memory, plain enough to be obviously right.
//!
//! [`MemFs`] implements `engine_api::FileSystem` with maps behind one lock. The engine is run
//! beside it and must answer alike; the servers are tested over it. Invariants: deterministic (time
//! comes from the clock it is given), nothing here does I/O, and a call that fails has changed
//! nothing.
//!
//! [`MemVolume`] is the same for `engine_api::Volume`.
//!
//! [`dump`] walks any file system into a [`Tree`], and [`Tree::differences`] says in words how two
//! of them differ.

mod attrs;
mod content;
mod data;
mod engine;
mod memfs;
mod names;
mod node;
mod rename;
mod state;
mod tree;
mod volume;
mod xattrs;

pub use engine::MemEngine;
pub use memfs::MemFs;
pub use tree::{Compare, Tree, TreeNode, dump};
pub use volume::MemVolume;

/// What a clock is: asked once per change.
pub type Clock = Box<dyn Fn() -> engine_api::Time + Send + Sync>;

/// Largest file in bytes: 2^63 - 1.
pub const MAX_FILE_SIZE: u64 = i64::MAX as u64;

/// Most names of one node.
pub const LINK_MAX: u64 = (1 << 31) - 1;

#[cfg(test)]
mod tests;
