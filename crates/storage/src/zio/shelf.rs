//! Blocks as they are stored, read before they are wanted: for a stream that sends them so.
//!
//! No cache keeps such bytes. So whoever wants them has a shelf of his own, which the workers that
//! read ahead ([`super::ahead`]) fill in the order in which blocks were ordered; he takes them off
//! in about that order. What could not be ordered, or read, he reads when he takes it.

use std::sync::Arc;

use env::IoClass;
use ondisk::BlkPtr;

use crate::arc::Key;
use crate::storage::ahead::Places;
use crate::{ReadError, Storage};

/// See the module.
pub struct Shelf {
    storage: Arc<Storage>,
    places: Arc<Places>,
}

impl Shelf {
    pub fn new(storage: &Arc<Storage>) -> Shelf {
        Shelf { storage: storage.clone(), places: Arc::default() }
    }

    /// These will be taken soon. They stay in memory until they are: the caller orders no more than
    /// he has memory for.
    pub fn order(&self, bps: &[BlkPtr]) {
        self.storage.read_ahead_for(bps, &self.places);
    }

    /// `psize` bytes of each block, verified, in the order asked. Never called for holes and
    /// embedded data.
    pub fn take(&self, bps: &[BlkPtr]) -> Vec<Result<Vec<u8>, ReadError>> {
        let key = |bp: &BlkPtr| Key::of(self.storage.pool_guid(), bp);
        let keys: Vec<Option<Key>> = bps.iter().map(key).collect();
        let here = self.places.take(self.storage.env(), &keys);
        let missing: Vec<BlkPtr> =
            here.iter().zip(bps).filter(|(here, _)| here.is_none()).map(|(_, bp)| *bp).collect();
        let mut read = self.storage.read_as_stored(&missing, IoClass::AsyncRead).into_iter();
        let answer = |here: Option<Vec<u8>>| here.map_or_else(|| read.next().expect("one each"), Ok);
        here.into_iter().map(answer).collect()
    }
}

#[cfg(test)]
mod tests;
