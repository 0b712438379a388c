//! The seam below: what this crate asks of storage, so that objects can be tested without disks.

use std::sync::Arc;

use env::IoClass;
use ondisk::BlkPtr;

pub use storage::arc::{Keep, Scope};
pub use storage::{Block, ReadError, WriteError, WriteItem, WritePolicy};

/// A transaction group's number.
pub type Txg = u64;
/// Groups that can be under way at once (open, quiescing, syncing), rounded up.
pub const TXG_SIZE: usize = 4;

/// Blocks by pointer. `storage::Storage` is the real one.
pub trait BlockStore: Send + Sync {
    /// The block, decoded. Never called for holes; embedded pointers are fine.
    fn read(&self, bp: &BlkPtr, class: IoClass) -> Result<Arc<Block>, ReadError>;

    /// As [`BlockStore::read`], all issued together; answers in the order asked.
    fn read_many(&self, bps: &[BlkPtr], class: IoClass) -> Vec<Result<Arc<Block>, ReadError>>;

    /// As [`BlockStore::read`]; says what of the block may be kept.
    fn read_keeping(&self, bp: &BlkPtr, class: IoClass, keep: Keep) -> Result<Arc<Block>, ReadError> {
        let _ = keep;
        self.read(bp, class)
    }

    /// As [`BlockStore::read_many`]; says what of the blocks may be kept.
    fn read_many_keeping(
        &self,
        bps: &[BlkPtr],
        class: IoClass,
        keep: Keep,
    ) -> Vec<Result<Arc<Block>, ReadError>> {
        let _ = keep;
        self.read_many(bps, class)
    }

    /// As [`BlockStore::prefetch`]; what may not be kept is not read ahead.
    fn prefetch_keeping(&self, bps: Vec<BlkPtr>, keep: Keep) {
        let _ = keep;
        self.prefetch(bps);
    }

    /// The block if that needs no disk.
    fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>>;

    /// A hint that these will be read soon; may be dropped.
    fn prefetch(&self, bps: Vec<BlkPtr>);

    /// While the answer lives, space freed from now on is not reused: clean pointers stay readable.
    fn epoch(&self) -> Box<dyn Send>;

    /// Compresses, places and writes a batch; answers in the order given. Syncing context only.
    fn write_batch(&self, items: Vec<WriteItem>, txg: Txg) -> Vec<Result<BlkPtr, WriteError>>;

    /// As [`BlockStore::write_batch`]; `landed` hears of bytes (of `data`) that are on disk, while others are not yet.
    fn write_batch_noting(
        &self,
        items: Vec<WriteItem>,
        txg: Txg,
        landed: &mut dyn FnMut(u64),
    ) -> Vec<Result<BlkPtr, WriteError>> {
        let bytes = items.iter().map(|item| item.data.len() as u64).sum();
        let written = self.write_batch(items, txg);
        landed(bytes);
        written
    }

    /// Bytes a block occupies as `used` counts them, all copies together (`bp_get_dsize_sync`).
    fn dsize(&self, bp: &BlkPtr) -> u64;
}

impl BlockStore for storage::Storage {
    fn read(&self, bp: &BlkPtr, class: IoClass) -> Result<Arc<Block>, ReadError> {
        storage::Storage::read(self, bp, class)
    }

    fn read_many(&self, bps: &[BlkPtr], class: IoClass) -> Vec<Result<Arc<Block>, ReadError>> {
        storage::Storage::read_many(self, bps, class)
    }

    fn read_keeping(&self, bp: &BlkPtr, class: IoClass, keep: Keep) -> Result<Arc<Block>, ReadError> {
        storage::Storage::read_many_keeping(self, std::slice::from_ref(bp), class, keep).remove(0)
    }

    fn read_many_keeping(
        &self,
        bps: &[BlkPtr],
        class: IoClass,
        keep: Keep,
    ) -> Vec<Result<Arc<Block>, ReadError>> {
        storage::Storage::read_many_keeping(self, bps, class, keep)
    }

    fn prefetch_keeping(&self, bps: Vec<BlkPtr>, keep: Keep) {
        storage::Storage::prefetch_keeping(self, bps, keep);
    }

    fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>> {
        storage::Storage::cached(self, bp)
    }

    fn prefetch(&self, bps: Vec<BlkPtr>) {
        storage::Storage::prefetch(self, bps);
    }

    fn epoch(&self) -> Box<dyn Send> {
        Box::new(storage::Storage::epoch(self))
    }

    fn write_batch(&self, items: Vec<WriteItem>, txg: Txg) -> Vec<Result<BlkPtr, WriteError>> {
        storage::Storage::write_batch(self, items, txg)
    }

    fn write_batch_noting(
        &self,
        items: Vec<WriteItem>,
        txg: Txg,
        landed: &mut dyn FnMut(u64),
    ) -> Vec<Result<BlkPtr, WriteError>> {
        storage::Storage::write_batch_noting(self, items, txg, landed)
    }

    fn dsize(&self, bp: &BlkPtr) -> u64 {
        storage::Storage::dsize(self, bp)
    }
}
