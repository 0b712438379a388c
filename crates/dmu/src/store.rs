//! The seam below: what this crate asks of storage, so that objects can be tested without disks.

use std::sync::Arc;

use env::IoClass;
use ondisk::BlkPtr;

pub use storage::arc::{Decoded, Foresight, Keep, Scope, Tenancy, Tenant};
pub use storage::{Block, Dedup, Packed, ReadError, WriteError, WriteItem, WritePolicy};

/// A transaction group's number.
pub type Txg = u64;
/// Groups that can be under way at once (open, quiescing, syncing), rounded up.
pub const TXG_SIZE: usize = 4;

/// Blocks by pointer. `storage::Storage` is the real one.
pub trait BlockStore: Send + Sync {
    /// Blocks, decoded; all issued together, answers in the order asked. `keep` says what of them
    /// may be kept. Never called for holes; embedded pointers are fine.
    fn read_many(&self, bps: &[BlkPtr], class: IoClass, keep: Keep) -> Vec<Result<Arc<Block>, ReadError>>;

    /// One block.
    fn read(&self, bp: &BlkPtr, class: IoClass, keep: Keep) -> Result<Arc<Block>, ReadError> {
        self.read_many(std::slice::from_ref(bp), class, keep).remove(0)
    }

    /// The block if that needs no disk.
    fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>>;

    /// A hint that these will be read soon; may be dropped. What may not be kept is not read ahead.
    fn prefetch(&self, bps: Vec<BlkPtr>, keep: Keep);

    /// Who decides how much of what was decoded from blocks stays in memory.
    fn decoded(&self) -> &Arc<Decoded>;

    /// What a read was to whoever reads ahead; for instruments.
    fn foresaw(&self, _what: Foresight) {}

    /// While the answer lives, space freed from now on is not reused: clean pointers stay readable.
    fn epoch(&self) -> Box<dyn Send>;

    /// Compresses, places and writes a batch; answers in the order given. `landed` hears of bytes
    /// (of `data`) that are on disk, while others are not yet. Syncing context only.
    fn write_batch(
        &self,
        items: Vec<WriteItem>,
        txg: Txg,
        landed: &mut dyn FnMut(u64),
    ) -> Vec<Result<BlkPtr, WriteError>>;

    /// Bytes a block occupies as `used` counts them, all copies together (`bp_get_dsize_sync`).
    fn dsize(&self, bp: &BlkPtr) -> u64;
}

impl BlockStore for storage::Storage {
    fn read_many(&self, bps: &[BlkPtr], class: IoClass, keep: Keep) -> Vec<Result<Arc<Block>, ReadError>> {
        storage::Storage::read_many(self, bps, class, keep)
    }

    fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>> {
        storage::Storage::cached(self, bp)
    }

    fn prefetch(&self, bps: Vec<BlkPtr>, keep: Keep) {
        storage::Storage::prefetch(self, bps, keep);
    }

    fn decoded(&self) -> &Arc<Decoded> {
        self.cache().decoded()
    }

    fn foresaw(&self, what: Foresight) {
        storage::Storage::foresaw(self, what);
    }

    fn epoch(&self) -> Box<dyn Send> {
        Box::new(storage::Storage::epoch(self))
    }

    fn write_batch(
        &self,
        items: Vec<WriteItem>,
        txg: Txg,
        landed: &mut dyn FnMut(u64),
    ) -> Vec<Result<BlkPtr, WriteError>> {
        storage::Storage::write_batch(self, items, txg, landed)
    }

    fn dsize(&self, bp: &BlkPtr) -> u64 {
        storage::Storage::dsize(self, bp)
    }
}
