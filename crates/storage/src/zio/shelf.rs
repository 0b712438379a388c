//! Blocks as they are stored, read before they are wanted: for a stream that sends them so.
//!
//! No cache keeps such bytes. So whoever wants them has a shelf of his own, which the workers that
//! read ahead ([`super::ahead`]) fill in the order in which blocks were ordered; he takes them off
//! in about that order. What could not be ordered, or read, he reads when he takes it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex};

use env::{IoClass, lock};
use ondisk::BlkPtr;

use crate::arc::Key;
use crate::{ReadError, Storage};

/// See the module.
pub struct Shelf {
    storage: Arc<Storage>,
    places: Arc<Places>,
}

/// Blocks that were ordered; those that have come, with their bytes.
#[derive(Default)]
pub(crate) struct Places {
    blocks: Mutex<HashMap<Key, Option<Vec<u8>>>>,
    came: Condvar,
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
        let env = self.storage.env();
        let places = &self.places;
        let blocks = lock(&places.blocks);
        let mut blocks = env.wait(&places.blocks, blocks, &places.came, &mut |blocks| {
            keys.iter().flatten().all(|key| blocks.get(key).is_none_or(Option::is_some))
        });
        let here: Vec<Option<Vec<u8>>> =
            keys.iter().map(|key| key.and_then(|key| blocks.remove(&key)).flatten()).collect();
        drop(blocks);
        let missing: Vec<BlkPtr> =
            here.iter().zip(bps).filter(|(here, _)| here.is_none()).map(|(_, bp)| *bp).collect();
        let mut read = self.storage.read_as_stored(&missing, IoClass::AsyncRead).into_iter();
        let answer = |here: Option<Vec<u8>>| here.map_or_else(|| read.next().expect("one each"), Ok);
        here.into_iter().map(answer).collect()
    }
}

impl Places {
    /// A block will come, unless it was ordered already.
    pub fn expect(&self, key: Key) -> bool {
        let mut blocks = lock(&self.blocks);
        let is_new = !blocks.contains_key(&key);
        blocks.entry(key).or_insert(None);
        is_new
    }

    /// A block will not come.
    pub fn give_up(&self, key: &Key) {
        lock(&self.blocks).remove(key);
    }

    /// Reads blocks that were ordered.
    pub fn fill(&self, storage: &Storage, bps: &[BlkPtr]) {
        let read = storage.read_as_stored(bps, IoClass::AsyncRead);
        let mut blocks = lock(&self.blocks);
        for (bp, read) in bps.iter().zip(read) {
            let Some(key) = Key::of(storage.pool_guid(), bp) else { continue };
            match read {
                Ok(bytes) => blocks.insert(key, Some(bytes)),
                Err(_) => blocks.remove(&key),
            };
        }
        drop(blocks);
        self.came.notify_all();
    }
}

#[cfg(test)]
mod tests;
