//! The two upcalls: who pays for blocks, and who admits transactions. `pool` implements both.

use std::sync::Arc;

use crate::store::Txg;
use ondisk::BlkPtr;

use crate::DmuError;

/// The syncing side of a transaction group, handed down by whoever syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncTx {
    pub txg: Txg,
    /// Counted from 1.
    pub pass: u32,
    /// Blocks born in this txg are overwritten where they lie.
    pub rewrite: bool,
}

/// A block that cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostBlock {
    pub object: u64,
    pub level: u8,
    /// [`ondisk::zbookmark::SPILL_BLKID`] for a spill block.
    pub blkid: u64,
    /// Physical.
    pub birth: u64,
}

/// Whom an object set's blocks belong to: a dataset, or the pool itself. What comes and goes is
/// told in syncing context only.
pub trait BlockOwner: Send + Sync {
    /// A block was written and is now referenced. Called once for each place; not for a rewrite in
    /// place.
    fn born(&self, bp: &BlkPtr, tx: &SyncTx);

    /// A block is referenced no more, perhaps one born in this very txg. Never a hole.
    fn kill(&self, bp: &BlkPtr, tx: &SyncTx);

    /// A reader asked for a block that no disk can give as it should be. From any thread.
    fn lost(&self, _block: &LostBlock) {}
}

/// The smallest block, of which a request must be feared to be made.
const SMALLEST_BLOCK: u64 = 512;

/// What a transaction may do at most; [`Admission`] keeps space and memory for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holds {
    /// Bytes of file data that may be written, whole blocks counted.
    pub write: u64,
    /// How large the blocks are that these bytes lie in, or the smallest of them.
    pub block_size: u64,
    /// Blocks of metadata (ZAP leaves, spill blocks, bonus buffers…) that may be dirtied.
    pub meta_blocks: u64,
    /// It frees space in the end: admitted into the reserve that is kept for deleting in a full
    /// pool.
    pub netfree: bool,
}

impl Holds {
    /// For `bytes` of data and `meta_blocks` blocks of metadata.
    pub const fn new(write: u64, meta_blocks: u64) -> Holds {
        Holds { write, block_size: SMALLEST_BLOCK, meta_blocks, netfree: false }
    }

    /// For the blocks of this size that `len` bytes at `at` lie in: with large ones, no more than
    /// are changed.
    pub const fn covering(at: u64, len: u64, block_size: u64, meta_blocks: u64) -> Holds {
        let end = at.saturating_add(len).div_ceil(block_size);
        let write = end.saturating_sub(at / block_size).saturating_mul(block_size);
        Holds { block_size, ..Holds::new(write, meta_blocks) }
    }

    /// For an operation that gives space back.
    pub const fn freeing(meta_blocks: u64) -> Holds {
        Holds { netfree: true, ..Holds::new(0, meta_blocks) }
    }

    /// As [`Holds::freeing`], for a range of blocks of this size, those at its two ends not freed
    /// as a whole.
    pub const fn freeing_range(block_size: u64, meta_blocks: u64) -> Holds {
        Holds { write: 2 * block_size, block_size, ..Holds::freeing(meta_blocks) }
    }
}

/// The right to change things in an open transaction group. Dropping it leaves the group.
pub struct TxHold {
    txg: Txg,
    leave: Option<Box<dyn FnOnce() + Send>>,
}

impl TxHold {
    /// `leave` runs once, when the holder is done.
    pub fn new(txg: Txg, leave: impl FnOnce() + Send + 'static) -> TxHold {
        TxHold { txg, leave: Some(Box::new(leave)) }
    }

    pub fn txg(&self) -> Txg {
        self.txg
    }
}

impl Drop for TxHold {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            leave();
        }
    }
}

/// The gate of the transaction groups, one for each object set (so that it knows whose quota to
/// ask).
///
/// It keeps one promise this crate builds on: **transactions of two groups never run at the same
/// time**. A group opens only after the last transaction of the one before has left. So whoever
/// writes in a group sees every change of the groups before it, complete.
pub trait Admission: Send + Sync {
    /// Enters the open group; may wait, for room or for a group to close, when `wait` is set (else
    /// `Busy`). The caller holds no lock that another transaction might want, and no other
    /// [`TxHold`].
    fn assign(&self, want: &Holds, wait: bool) -> Result<TxHold, DmuError>;

    /// A block of so many bytes has become dirty in this group, or one that is has changed again
    /// (then `bytes` is 0), in `changed` of its bytes.
    fn dirtied(&self, txg: Txg, bytes: u64, changed: u64);

    /// So many of them have been written. All are, once the group is synced, whatever was said
    /// here.
    fn written(&self, txg: Txg, bytes: u64);
}

/// Admission to an object set nobody may change in open context: a snapshot, or the meta object
/// set.
pub struct ReadOnlyAdmission;

impl Admission for ReadOnlyAdmission {
    fn assign(&self, _want: &Holds, _wait: bool) -> Result<TxHold, DmuError> {
        Err(DmuError::ReadOnly)
    }

    fn dirtied(&self, _txg: Txg, _bytes: u64, _changed: u64) {}

    fn written(&self, _txg: Txg, _bytes: u64) {}
}

impl ReadOnlyAdmission {
    /// As [`crate::Objset::open`] takes it.
    pub fn shared() -> Arc<dyn Admission> {
        Arc::new(ReadOnlyAdmission)
    }
}
