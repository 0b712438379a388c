//! Objects as trees of blocks, and transactions over them.
//!
//! An [`Objset`] is a numbered set of objects; a [`Dnode`] is one of them: bytes in blocks of one
//! size, and a small *bonus*. What the bytes mean (a file, a directory, a list of block pointers)
//! is said by [`zap`], [`sa`], [`bpobj`] and [`bptree`], or by the layers above.
//!
//! A change needs a [`Tx`] and goes into the overlay of its transaction group (see `overlay`);
//! [`Objset::sync`] writes one group's overlay as new blocks beside the old ones (see `sync`), and
//! answers with the new root. Nothing on disk is ever changed but by that.
//!
//! Invariants:
//! - No dataset and no pool: who pays for a block and who may change something is asked through
//!   [`BlockOwner`] and [`Admission`].
//! - A clean block is immutable; the clean tree of an object is replaced as a whole, by
//!   [`Objset::sync_done`] alone.
//! - Open transactions of two groups never overlap; that is [`Admission`]'s promise, and overlays
//!   rest on it.
//! - No lock is held while a disk works, except the one of the search for free object numbers.
//! - Memory is bounded by what is dirty and what is held: objects, lists and trees are never loaded
//!   whole.

pub mod accounting;
pub mod bpobj;
pub mod bptree;
pub mod dnode;
mod error;
pub mod find;
pub mod objset;
mod overlay;
pub mod owner;
pub mod policy;
mod prefetch;
pub mod sa;
pub mod store;
mod sync;
#[cfg(test)]
mod testing;
pub mod traverse;
mod tree;
mod tx;
pub mod zap;

pub use accounting::{Owner, OwnerOf};
pub use bpobj::Bpobj;
pub use bptree::Bptree;
pub use dnode::early::write_early;
pub use dnode::{Bonus, Chunk, Dnode, Extent, ObjectSpec, Seek};
pub use error::{DmuError, SyncError};
pub use objset::{META_OBJECT, Objset};
pub use owner::{Admission, BlockOwner, Holds, LostBlock, ReadOnlyAdmission, SyncTx, TxHold};
pub use policy::{ObjsetPolicy, RedundantMetadata};
pub use store::{Block, BlockStore, Txg};
pub use tx::Tx;
pub use zap::Zap;
