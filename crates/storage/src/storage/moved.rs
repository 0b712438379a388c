//! Who knows where the space of removed vdevs is now, a [`MovedSource`], and what became *obsolete*
//! there: no pointer leads to it any more, and the pool has not written that down yet. Places are
//! followed by [`crate::zio::moved`].

use std::collections::BTreeMap;
use std::sync::Mutex;

use env::lock;
use ondisk::Dva;

use crate::ReadError;
use crate::attached::Attached;
use crate::range_tree::RangeTree;

/// Knows where the space of removed vdevs is now. Asked in open and in syncing context, from any
/// thread.
pub trait MovedSource: Send + Sync {
    /// Where `len` bytes at `offset` of a removed vdev went: pieces in order, `len` bytes together.
    /// They may lie on vdevs that were removed later. `Corrupt` where a part of it is not mapped.
    fn moved(&self, vdev: u32, offset: u64, len: u64) -> Result<Vec<Dva>, ReadError>;
}

/// What a pool keeps in core about its removed vdevs.
#[derive(Default)]
pub(crate) struct Moved {
    pub source: Attached<dyn MovedSource>,
    /// By removed vdev: what nothing refers to any more, not yet taken.
    obsolete: Mutex<BTreeMap<u32, RangeTree>>,
}

impl Moved {
    /// `false`, and nothing is noted: some of it was obsolete already.
    pub fn note_obsolete(&self, places: &[Dva]) -> bool {
        let mut obsolete = lock(&self.obsolete);
        let twice =
            |dva: &&Dva| obsolete.get(&dva.vdev).is_some_and(|ranges| ranges.overlaps(dva.offset, dva.asize));
        if places.iter().any(|dva| twice(&dva)) {
            return false;
        }
        for dva in places {
            obsolete.entry(dva.vdev).or_default().add(dva.offset, dva.asize);
        }
        true
    }

    /// By removed vdev: what was noted since the last call.
    pub fn take_obsolete(&self) -> BTreeMap<u32, RangeTree> {
        std::mem::take(&mut *lock(&self.obsolete))
    }
}
