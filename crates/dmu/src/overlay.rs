//! What open and syncing transaction groups have changed in an object, over what is clean on disk.
//!
//! ```text
//!   open txg N+1     blocks ∪ freed ranges      ← writers change this, and only this
//!   syncing txg N    blocks ∪ freed ranges      ← being written; kept until sync_done(N)
//!   clean            the block tree of txg N-1  ← immutable: roots are replaced only by sync_done
//! ```
//! A look-up goes from the newest group down; the first that knows the block decides. A dirty block
//! is always a whole block, so no state combines two layers. In one group a dirty block wins over a
//! freed range: freeing removes the blocks it covers, so one that is there was written later.
//!
//! Invariants:
//! - Transactions of two groups never overlap ([`crate::Admission`]), so nothing is ever changed
//!   below the newest group, except by the syncing context of an object set that only it writes to.
//! - `Arc<Block>`s handed to readers never change: a writer that finds one shared copies it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ondisk::BlkPtr;
use ondisk::dnode::DnodePhys;
use ondisk::object_type::ObjectType;

use crate::policy::BlockKind;
use crate::store::{Block, TXG_SIZE, Txg};

/// Disjoint ranges of block numbers, merged where they touch; ends are exclusive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub fn add(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        while let Some((&s, &e)) = self.0.range(..=end).next_back() {
            if e < start {
                break;
            }
            self.0.remove(&s);
            start = start.min(s);
            end = end.max(e);
        }
        self.0.insert(start, end);
    }

    /// The end of the range that has `block`.
    pub fn covering(&self, block: u64) -> Option<u64> {
        self.0.range(..=block).next_back().map(|(_, &end)| end).filter(|&end| block < end)
    }

    /// The first block at or after `block` that is in a range.
    pub fn next_from(&self, block: u64) -> Option<u64> {
        if self.covering(block).is_some() {
            return Some(block);
        }
        self.0.range(block..).next().map(|(&start, _)| start)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(&start, &end)| (start, end))
    }
}

/// The part of a dnode that open context can change, as it is at the end of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attrs {
    /// False once freed: every call on the dnode then says `NotFound`.
    pub exists: bool,
    pub object_type: ObjectType,
    /// In bytes.
    pub block_size: u32,
    pub indirect_shift: u8,
    pub nblkptr: u8,
    pub slots: u8,
    pub max_blkid: u64,
    pub bonus_type: ObjectType,
    pub bonus: Arc<Vec<u8>>,
    pub has_spill: bool,
    pub checksum: u8,
    pub compress: u8,
}

impl Attrs {
    pub fn of(phys: &DnodePhys) -> Attrs {
        Attrs {
            exists: true,
            object_type: phys.object_type,
            block_size: phys.data_block_size() as u32,
            indirect_shift: phys.indblkshift,
            nblkptr: phys.blkptrs.len() as u8,
            slots: phys.slots() as u8,
            max_blkid: phys.maxblkid,
            bonus_type: phys.bonus_type,
            bonus: phys.bonus.clone(),
            has_spill: phys.spill.is_some(),
            checksum: phys.checksum,
            compress: phys.compress,
        }
    }

    /// What its data blocks are.
    pub(crate) fn data_kind(&self) -> BlockKind {
        let own = (self.checksum, self.compress);
        BlockKind { object_type: self.object_type, level: 0, spill: false, own }
    }

    /// Bytes of bonus there is room for.
    pub fn bonus_capacity(&self) -> usize {
        let spill = usize::from(self.has_spill);
        usize::from(self.slots) * ondisk::dnode::SLOT_SIZE
            - ondisk::dnode::CORE_SIZE
            - (usize::from(self.nblkptr) + spill) * BlkPtr::SIZE
    }
}

/// A block that differs from what lies below, and whether a sync pass has already written it.
#[derive(Debug, Clone)]
pub struct Dirty {
    pub block: Arc<Block>,
    pub written: bool,
    /// It was checked in this group, and changed since only by who keeps it sound
    /// ([`crate::Dnode::update_sound_block`]).
    pub is_sound: bool,
}

impl Dirty {
    pub fn new(block: Arc<Block>) -> Dirty {
        Dirty { block, written: false, is_sound: false }
    }
}

/// A dirty block that was written before its group is synced, because a record of an intent log
/// leads to it. The sync takes `bp` for the block if it is still this very one; whoever changes the
/// block copies it, since it is shared here.
#[derive(Debug, Clone)]
pub struct Early {
    pub block: Arc<Block>,
    pub bp: BlkPtr,
}

/// What became of the spill block.
#[derive(Debug, Clone, Default)]
pub enum SpillChange {
    #[default]
    Kept,
    Set(Dirty),
    Removed,
}

/// The changes of one object in one group.
#[derive(Debug, Clone)]
pub struct Changes {
    pub txg: Txg,
    pub attrs: Attrs,
    pub blocks: BTreeMap<u64, Dirty>,
    /// Freed in this group, for readers.
    pub freed: Ranges,
    /// The part of `freed` that no sync pass has applied yet.
    pub to_free: Ranges,
    pub spill: SpillChange,
    /// By block, of each the newest last: a long synchronous stream leaves thousands in one group.
    pub early: BTreeMap<u64, Vec<Early>>,
    /// First written in this group: there is nothing on disk.
    pub allocated: bool,
    /// Something changed since the last sync pass.
    pub pending: bool,
}

/// What is on disk and may be followed under an epoch.
#[derive(Debug, Clone)]
pub struct Clean {
    pub phys: DnodePhys,
    pub attrs: Attrs,
}

/// Where the newest content of a block is.
#[derive(Debug, Clone)]
pub enum Place {
    Dirty(Arc<Block>),
    Hole,
    Clean,
}

/// All of it for one object.
#[derive(Debug)]
pub struct State {
    pub clean: Arc<Clean>,
    /// Counts the replacements of `clean`.
    pub generation: u64,
    slots: [Option<Box<Changes>>; TXG_SIZE],
    /// What the sync of the group that is being written has come to.
    pub synced: Option<(Txg, Arc<Clean>)>,
}

impl State {
    pub fn new(clean: Clean) -> State {
        State { clean: Arc::new(clean), generation: 0, slots: [const { None }; TXG_SIZE], synced: None }
    }

    /// Newest first.
    pub fn newest_first(&self) -> impl Iterator<Item = &Changes> + '_ {
        let mut order: [Option<&Changes>; TXG_SIZE] = self.slots.each_ref().map(Option::as_deref);
        order.sort_unstable_by_key(|changes| std::cmp::Reverse(changes.map(|changes| changes.txg)));
        order.into_iter().flatten()
    }

    fn newest_txg(&self) -> Option<Txg> {
        self.slots.iter().flatten().map(|c| c.txg).max()
    }

    pub fn attrs(&self) -> &Attrs {
        self.newest_txg().and_then(|txg| self.changes(txg)).map_or(&self.clean.attrs, |c| &c.attrs)
    }

    pub fn changes(&self, txg: Txg) -> Option<&Changes> {
        self.slots[slot(txg)].as_deref().filter(|c| c.txg == txg)
    }

    pub fn changes_mut(&mut self, txg: Txg) -> Option<&mut Changes> {
        self.slots[slot(txg)].as_deref_mut().filter(|c| c.txg == txg)
    }

    pub fn is_dirty(&self) -> bool {
        self.slots.iter().any(Option::is_some)
    }

    /// The changes of `txg`, made if there are none yet (then the flag is set), marked pending.
    pub fn dirty(&mut self, txg: Txg) -> (&mut Changes, bool) {
        let newest = self.newest_txg();
        assert!(newest.is_none_or(|newest| newest <= txg), "a change in {txg} below one in {newest:?}");
        let fresh = self.changes(txg).is_none();
        if fresh {
            let attrs = self.attrs().clone();
            let old = self.slots[slot(txg)].replace(Box::new(Changes {
                txg,
                attrs,
                blocks: BTreeMap::new(),
                freed: Ranges::default(),
                to_free: Ranges::default(),
                spill: SpillChange::Kept,
                early: BTreeMap::new(),
                allocated: false,
                pending: true,
            }));
            assert!(old.is_none(), "{old:?} was never done");
        }
        let changes = self.changes_mut(txg).expect("was just made");
        changes.pending = true;
        (changes, fresh)
    }

    /// Where the newest content of a block is.
    pub fn locate(&self, block: u64) -> Place {
        for changes in self.newest_first() {
            if let Some(dirty) = changes.blocks.get(&block) {
                return Place::Dirty(dirty.block.clone());
            }
            if changes.freed.covering(block).is_some() || changes.allocated {
                return Place::Hole;
            }
        }
        if block > self.clean.phys.maxblkid { Place::Hole } else { Place::Clean }
    }

    /// The newest spill block: in memory, none, or the clean one.
    pub fn locate_spill(&self) -> Place {
        for changes in self.newest_first() {
            match &changes.spill {
                SpillChange::Kept if changes.allocated => return Place::Hole,
                SpillChange::Kept => {}
                SpillChange::Set(dirty) => return Place::Dirty(dirty.block.clone()),
                SpillChange::Removed => return Place::Hole,
            }
        }
        if self.clean.phys.spill.is_some() { Place::Clean } else { Place::Hole }
    }

    /// The group is durable: what its sync came to is clean now.
    pub fn done(&mut self, txg: Txg) {
        if self.changes(txg).is_some() {
            self.slots[slot(txg)] = None;
        }
        if let Some((synced, clean)) = self.synced.take() {
            assert_eq!(synced, txg, "groups are done in the order they are synced");
            self.clean = clean;
            self.generation += 1;
        }
    }
}

fn slot(txg: Txg) -> usize {
    txg as usize % TXG_SIZE
}

#[cfg(test)]
mod tests;
