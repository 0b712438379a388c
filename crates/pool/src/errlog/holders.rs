//! Who has a block that cannot be had: the dataset it was met in, its snapshots since the block was
//! born, and clones of those, as the last durable group has them.
//!
//! A block is the same where it has the same birth at the same place. What cannot be looked up,
//! since something above it is hurt as well, counts as there: rather too much is told than too
//! little.
//!
//! Sources: module/zfs/spa_errlog.c (`find_top_affected_fs`, `check_filesystem`), dsl_scan.c
//! (`scrub_filesystem`).

use std::collections::BTreeSet;

use dmu::DmuError;
use dmu::find::pointer_to;
use dmu::traverse::Part;
use env::lock;
use ondisk::BlkPtr;
use ondisk::zbookmark::{ErrorBlock, ROOT_LEVEL, SPILL_BLKID, Zbookmark};
use storage::EpochGuard;

use crate::Result;
use crate::mos::Mos;
use crate::spa::{Durable, Pool};
use crate::state::errlog::entries;
use crate::undeciphered::Undeciphered;

/// See the module. Nothing of that group's space is used anew while this lives.
pub(crate) struct Look<'a> {
    pool: &'a Pool,
    pub mos: Mos,
    durable: Durable,
    _epoch: EpochGuard,
}

impl<'a> Look<'a> {
    pub fn new(pool: &'a Pool) -> Result<Look<'a>> {
        let epoch = pool.core.storage.epoch();
        let durable = *lock(&pool.core.durable);
        let mos = Mos::new(pool.core.durable_mos(durable)?, &pool.core.env);
        Ok(Look { pool, mos, durable, _epoch: epoch })
    }

    /// What the log under this name in the pool's directory has, by head. It has the form by
    /// dataset.
    pub fn log(&self, name: &str) -> Result<Vec<(u64, ErrorBlock)>> {
        let log = self.mos.root(name)?.unwrap_or(0);
        let entries = entries(&self.mos, log, true)?;
        Ok(entries.iter().map(|(place, birth)| (place.objset, ErrorBlock::of(place, *birth))).collect())
    }

    /// The block that a dataset (0: the pool itself) has in this place.
    pub fn pointer(&self, dataset: u64, block: &ErrorBlock) -> Result<Option<BlkPtr>> {
        let root = match dataset {
            0 => self.durable.root,
            _ => match self.mos.dataset(dataset) {
                Err(DmuError::NotFound) => return Ok(None),
                phys => phys?.bp,
            },
        };
        let part = match (block.level, block.blkid) {
            (ROOT_LEVEL, _) => Part::Root,
            (0, SPILL_BLKID) => Part::Spill,
            (level, blkid) => match u8::try_from(level) {
                Ok(level) => Part::Tree { level, blkid },
                // A block of an intent log: there is no way back to it.
                Err(_) => return Ok(None),
            },
        };
        Ok(pointer_to(&Undeciphered(&self.pool.core.storage), &root, block.object, part)?)
    }

    /// When the block in this place was born: `None` if there is none, 0 if that cannot be known.
    pub fn birth(&self, place: &Zbookmark) -> Option<u64> {
        match self.pointer(place.objset, &ErrorBlock::of(place, 0)) {
            Ok(bp) => bp.map(|bp| bp.physical_birth()),
            Err(_) => Some(0),
        }
    }

    /// Whether a dataset has this very block, as far as can be known.
    fn has(&self, dataset: u64, block: &ErrorBlock) -> bool {
        self.birth(&block.place(dataset)).is_some_and(|birth| birth == 0 || birth == block.birth)
    }

    /// Every dataset that has a block which the log of `head` names.
    pub fn holders(&self, head: u64, block: &ErrorBlock) -> Result<Vec<u64>> {
        if head == 0 || block.birth == 0 || block.birth > self.durable.txg {
            return Ok(vec![head]);
        }
        // It may have gone before the log had noted what was met there.
        if matches!(self.mos.dataset(head), Err(DmuError::NotFound)) {
            return Ok(Vec::new());
        }
        let mut holders = Vec::new();
        let (mut families, mut seen) = (vec![self.family_of_birth(head, block.birth)?], BTreeSet::new());
        while let Some(family) = families.pop().filter(|family| seen.insert(*family)) {
            let before = holders.len();
            let dir = self.holders_in(family, block, &mut holders)?;
            families.extend(self.clones(dir, &holders[before..])?);
        }
        Ok(holders)
    }

    /// The head that was alive when a block was born which this head has.
    fn family_of_birth(&self, head: u64, birth: u64) -> Result<u64> {
        let (mut phys, mut before) = (self.mos.dataset(head)?, u64::MAX);
        while phys.prev_snap_obj != 0 && birth < phys.prev_snap_txg && phys.prev_snap_txg < before {
            before = phys.prev_snap_txg;
            phys = self.mos.dataset(phys.prev_snap_obj)?;
        }
        Ok(self.mos.dir(phys.dir_obj)?.head_dataset_obj)
    }

    /// Of a head and its own snapshots; gives their directory.
    fn holders_in(&self, head: u64, block: &ErrorBlock, holders: &mut Vec<u64>) -> Result<u64> {
        let newest = self.mos.dataset(head)?;
        if self.has(head, block) {
            holders.push(head);
        }
        let dir = newest.dir_obj;
        let (mut phys, mut before) = (newest, u64::MAX);
        while phys.prev_snap_obj != 0 && block.birth < phys.prev_snap_txg && phys.prev_snap_txg < before {
            let snapshot = phys.prev_snap_obj;
            before = phys.prev_snap_txg;
            phys = self.mos.dataset(snapshot)?;
            if phys.dir_obj == dir && self.has(snapshot, block) {
                holders.push(snapshot);
            }
        }
        Ok(dir)
    }

    /// Heads of clones of some of a directory's snapshots.
    fn clones(&self, dir: u64, snapshots: &[u64]) -> Result<Vec<u64>> {
        let listed = self.mos.dir(dir)?.clones;
        let mut clones = Vec::new();
        if listed == 0 || snapshots.is_empty() {
            return Ok(clones);
        }
        for (_, clone) in self.mos.entries(listed)? {
            let origin = self.mos.dir(self.mos.dataset(clone.first())?.dir_obj)?.origin_obj;
            if snapshots.contains(&origin) {
                clones.push(clone.first());
            }
        }
        Ok(clones)
    }
}
