//! Walking the tree of a snapshot, and handing what is met to `emit` in batches: while one is
//! written, the blocks of the next ones are on their way from the disks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use dmu::DmuError;
use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use ondisk::BlkPtr;
use ondisk::dnode::{BLOCK_SIZE, DnodePhys, MAX_OBJECT, SLOTS_PER_BLOCK};
use storage::Storage;

use super::emit::Emit;
use super::item::Item;
use super::{Failure, Sending, unreadable};
use crate::stream::RecordWriter;

/// What a batch has at most: bytes of blocks, and things.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH: usize = 512;
/// Batches that are asked for before the first of them is written.
const AHEAD: usize = 4;

/// Sends what is to be sent of the tree below a root: what was born after a group, from a block of
/// an object on.
pub(super) fn walk<'a>(
    store: &Arc<Storage>,
    root: &BlkPtr,
    sending: &Sending,
    emit: Emit<'a>,
) -> Result<RecordWriter<'a>, Failure> {
    let mut walk = Walk {
        emit,
        resume: sending.resume.unwrap_or((0, 0)),
        visited: &sending.visited,
        objects: 0,
        batch: Vec::new(),
        bytes: 0,
        asked: VecDeque::new(),
        failed: None,
    };
    traverse(store.as_ref(), root, sending.from_txg, &mut walk);
    walk.ask();
    while let Some(batch) = walk.asked.pop_front() {
        walk.write(batch);
    }
    walk.failed.map_or_else(|| walk.emit.end(), Err)
}

struct Walk<'a, 'w> {
    emit: Emit<'w>,
    /// The object and block before which nothing is sent.
    resume: (u64, u64),
    /// What was met is counted.
    visited: &'a AtomicU64,
    /// Numbers that the meta dnode has had.
    objects: u64,
    /// What is being met, and its bytes; what is asked for, and not written.
    batch: Vec<Item>,
    bytes: u64,
    asked: VecDeque<Vec<Item>>,
    failed: Option<Failure>,
}

impl Walk<'_, '_> {
    fn push(&mut self, item: Item) -> Go {
        self.bytes += item.bytes();
        self.batch.push(item);
        if self.bytes >= BATCH_BYTES || self.batch.len() >= BATCH {
            self.ask();
            if self.asked.len() > AHEAD
                && let Some(batch) = self.asked.pop_front()
            {
                self.write(batch);
            }
        }
        if self.failed.is_some() { Go::Stop } else { Go::On }
    }

    /// Asks for the blocks of what was met.
    fn ask(&mut self) {
        self.bytes = 0;
        let met = std::mem::take(&mut self.batch);
        self.emit.ask(&met);
        self.asked.push_back(met);
    }

    fn write(&mut self, batch: Vec<Item>) {
        if self.failed.is_none() {
            self.failed = self.emit.batch(batch).err();
        }
    }

    /// Numbers that no receiver can have are not worth a word.
    fn free_objects(&mut self, first: u64, count: u64) -> Go {
        if first >= self.objects {
            return Go::On;
        }
        let count = count.min(self.objects - first);
        self.push(Item::FreeObjects { first, count })
    }
}

impl Visitor for Walk<'_, '_> {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        self.visited.fetch_add(1, Relaxed);
        if visit.is_before(self.resume.0, self.resume.1) {
            return Go::Past;
        }
        let (object, bp) = (visit.object, *visit.bp);
        match visit.part {
            Part::Spill => self.push(Item::Spill { object, bp }),
            Part::Tree { level: 0, blkid } if object != 0 => {
                let kind = visit.dnode.map_or(0, |dnode| dnode.object_type.0);
                self.push(Item::Data { object, kind, blkid, bp })
            }
            _ => Go::On,
        }
    }

    fn object(&mut self, object: u64, dnode: &DnodePhys) -> Go {
        self.visited.fetch_add(1, Relaxed);
        if object == 0 {
            self.objects = (dnode.maxblkid + 1).saturating_mul(SLOTS_PER_BLOCK as u64);
            return Go::On;
        }
        // The receiver counts for itself.
        if object >= MAX_OBJECT || object < self.resume.0 {
            return Go::Past;
        }
        self.push(Item::Object(object, Box::new(dnode.clone())))
    }

    fn hole(&mut self, visit: &Visit<'_>) -> Go {
        self.visited.fetch_add(1, Relaxed);
        let (Part::Tree { level, blkid }, Some(dnode)) = (visit.part, visit.dnode) else { return Go::On };
        if visit.object >= MAX_OBJECT || visit.is_before(self.resume.0, self.resume.1) {
            return Go::On;
        }
        let span = dnode.span(level);
        let Some(start) = blkid.checked_mul(span) else { return Go::On };
        if visit.object == 0 {
            debug_assert_eq!(dnode.data_block_size(), BLOCK_SIZE as u64);
            let slots = SLOTS_PER_BLOCK as u64;
            return self.free_objects(start.saturating_mul(slots), span.saturating_mul(slots));
        }
        if start > dnode.maxblkid && !dnode.object_type.is_metadata() {
            return Go::On;
        }
        let size = dnode.data_block_size();
        let Some(offset) = start.checked_mul(size) else { return Go::On };
        let end = start.checked_add(span).and_then(|end| end.checked_mul(size)).unwrap_or(u64::MAX);
        self.push(Item::Free { object: visit.object, offset, length: end - offset })
    }

    fn free_slot(&mut self, object: u64) -> Go {
        // The first of all stands for the meta dnode.
        if object == 0 || object < self.resume.0 { Go::On } else { self.free_objects(object, 1) }
    }

    fn unreadable(&mut self, _visit: &Visit<'_>, error: DmuError) -> Go {
        self.failed = Some(unreadable(error));
        Go::Stop
    }
}
