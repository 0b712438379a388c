//! Objects as trees of blocks, and transactions over them.

pub mod accounting;
pub mod bpobj;
pub mod bptree;
pub mod dnode;
mod error;
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
pub use dnode::{Bonus, Chunk, Dnode, Seek};
pub use error::{DmuError, SyncError};
pub use objset::{ObjectSpec, Objset};
pub use owner::{Admission, BlockOwner, Holds, ReadOnlyAdmission, SyncTx, TxHold};
pub use policy::{ObjsetPolicy, RedundantMetadata};
pub use store::{Block, BlockStore, Txg};
pub use tx::Tx;
pub use zap::Zap;
