//! Objects as trees of blocks, and transactions over them.

pub mod dnode;
mod error;
pub mod objset;
pub mod owner;
pub mod policy;
pub mod store;
mod tx;

pub use dnode::{Bonus, Chunk, Dnode, Seek};
pub use error::{DmuError, SyncError};
pub use objset::{ObjectSpec, Objset};
pub use owner::{Admission, BlockOwner, Holds, ReadOnlyAdmission, SyncTx, TxHold};
pub use policy::{ObjsetPolicy, RedundantMetadata};
pub use store::{Block, BlockStore, Txg};
pub use tx::Tx;
