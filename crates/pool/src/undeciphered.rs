//! Reading trees without keys.

use std::sync::Arc;

use dmu::store::{Decoded, Keep};
use dmu::{Block, BlockStore};
use env::IoClass;
use ondisk::BlkPtr;
use storage::{ReadError, Storage, WriteError, WriteItem};

/// A store that needs no keys: pointers are never encrypted, so that every block of an encrypted
/// dataset can be met and checked.
pub(crate) struct Undeciphered<'a>(pub &'a Storage);

impl BlockStore for Undeciphered<'_> {
    fn read_many(
        &self,
        bps: &[BlkPtr],
        class: IoClass,
        _: Keep,
    ) -> Vec<std::result::Result<Arc<Block>, ReadError>> {
        bps.iter().map(|bp| self.0.read_undeciphered(bp, class)).collect()
    }

    fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>> {
        self.0.cached(bp)
    }

    fn prefetch(&self, bps: Vec<BlkPtr>, keep: Keep) {
        self.0.prefetch(bps.into_iter().filter(|bp| !bp.is_encrypted()).collect(), keep);
    }

    fn decoded(&self) -> &Arc<Decoded> {
        self.0.cache().decoded()
    }

    fn epoch(&self) -> Box<dyn Send> {
        Box::new(self.0.epoch())
    }

    fn write_batch(
        &self,
        items: Vec<WriteItem>,
        txg: u64,
        landed: &mut dyn FnMut(u64),
    ) -> Vec<std::result::Result<BlkPtr, WriteError>> {
        self.0.write_batch(items, txg, landed)
    }

    fn dsize(&self, bp: &BlkPtr) -> u64 {
        self.0.dsize(bp)
    }
}
