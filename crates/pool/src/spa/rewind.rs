//! Going back to an older transaction group, where the newest cannot be believed.
//!
//! What a group freed is not used anew for [`storage::metaslab::DEFER_TXGS`] groups, so the few
//! last groups find every block they lead to in its place: going back to one of them is safe, and
//! all that has to be looked at is what they wrote themselves. Further back anything may have been
//! overwritten since; then everything is read, data too, and the first group in which no metadata
//! is damaged is taken.
//!
//! Metadata that cannot be read speaks against a group; data that cannot be read is counted and
//! lost.
//!
//! Source: module/zfs/spa.c (`spa_load_best`, `spa_load_verify`), lib/libzfs/libzfs_pool.c
//! (`zpool_rewind_exclaim`).

use std::sync::Arc;

use dmu::traverse::{Go, Visit, Visitor, traverse};
use dmu::{DmuError, Objset};
use env::IoClass;
use ondisk::BlkPtr;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::object_type::ObjectType;
use ondisk::uberblock::Uberblock;
use storage::arc::Keep;
use storage::metaslab::DEFER_TXGS;
use storage::{ReadError, Storage};

use super::TXG_INITIAL;
use crate::undeciphered::Undeciphered;
use crate::{PoolError, Result};

/// How far an import may go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rewind {
    /// Not at all.
    #[default]
    Never,
    /// To a group of which every block is sure to be in its place, or one before (`-F`).
    Safe,
    /// As far as there are uberblocks (`-FX`).
    Extreme,
    /// To this group, or the newest before it (`-T`).
    To(u64),
    /// To the pool's checkpoint, which then is the pool (`--rewind-to-checkpoint`).
    Checkpoint,
}

/// A group to try.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub uberblock: Uberblock,
    /// Blocks born after this group are looked at.
    pub after: u64,
    /// Data too.
    pub data: bool,
}

impl Rewind {
    /// The groups to try in turn, of the uberblocks found, newest first.
    pub(super) fn candidates(self, found: Vec<Uberblock>) -> Vec<Candidate> {
        let Some(newest) = found.first().map(|uberblock| uberblock.txg) else { return Vec::new() };
        let safe = newest.saturating_sub(DEFER_TXGS);
        let (limit, oldest) = match self {
            // The newest group leads to the checkpoint.
            Rewind::Never | Rewind::Checkpoint => (u64::MAX, newest),
            Rewind::Safe => (u64::MAX, safe.saturating_sub(1)),
            Rewind::Extreme => (u64::MAX, TXG_INITIAL),
            Rewind::To(txg) => (txg, TXG_INITIAL),
        };
        let mut all: Vec<Candidate> = Vec::new();
        for uberblock in found.into_iter().filter(|it| (oldest..=limit).contains(&it.txg)) {
            // Of one group there may be several: writers that count their hosts' heartbeats leave
            // one each time.
            if all.last().is_some_and(|last| last.uberblock.txg == uberblock.txg) {
                continue;
            }
            let whole = uberblock.txg < safe || matches!(self, Rewind::To(_));
            let after = if whole { 0 } else { uberblock.txg.saturating_sub(DEFER_TXGS + 1) };
            all.push(Candidate {
                uberblock,
                after,
                data: !matches!(self, Rewind::Never | Rewind::Checkpoint),
            });
        }
        all
    }
}

impl Candidate {
    /// The checkpoint that this group has, to be written as the group after it: so it is the newest
    /// (`spa_ld_checkpoint_rewind`). What it leads to was whole when it was taken, and nothing of
    /// it was overwritten since.
    pub(super) fn of_checkpoint(&self, checkpoint: Uberblock, now: u64) -> Candidate {
        let after = checkpoint.checkpoint_txg.saturating_sub(DEFER_TXGS + 1);
        let uberblock = Uberblock { txg: self.uberblock.txg + 1, timestamp: now, ..checkpoint };
        Candidate { uberblock, after, data: false }
    }

    /// Reads what has to be looked at. The number of blocks of data that cannot be read; `Err` if
    /// metadata cannot.
    pub(super) fn check(&self, storage: &Storage, mos: &Arc<Objset>) -> Result<u64> {
        let mut check =
            Check { storage, data: self.data, batch: Vec::new(), bytes: 0, data_errors: 0, damaged: false };
        let store = Undeciphered(storage);
        traverse(&store, &self.uberblock.root_bp, self.after, &mut check);
        let mut object = 0;
        while let Some(next) = mos.next_object(object, self.after)? {
            object = next;
            let dnode = mos.hold(object)?;
            if dnode.bonus_type() != ObjectType::DSL_DATASET || check.damaged {
                continue;
            }
            let bonus = dnode.bonus();
            let phys = DslDatasetPhys::decode(&bonus.bytes)?;
            traverse(&store, &phys.bp, self.after.max(phys.prev_snap_txg), &mut check);
        }
        check.read();
        if check.damaged { Err(PoolError::Io) } else { Ok(check.data_errors) }
    }
}

/// Blocks and bytes read together.
const BATCH_BLOCKS: usize = 256;
const BATCH_BYTES: u64 = 16 << 20;

struct Check<'a> {
    storage: &'a Storage,
    data: bool,
    batch: Vec<(BlkPtr, bool)>,
    bytes: u64,
    data_errors: u64,
    damaged: bool,
}

impl Check<'_> {
    fn read(&mut self) {
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let bps: Vec<BlkPtr> = batch.iter().map(|(bp, _)| *bp).collect();
        for ((bp, is_metadata), read) in
            batch.iter().zip(self.storage.read_many(&bps, IoClass::Scrub, Keep::ALL))
        {
            // Whoever has the key sees encrypted blocks; that their bytes are right shows without
            // it.
            let read = match read {
                Err(ReadError::Unsupported) => self.storage.read_undeciphered(bp, IoClass::Scrub),
                read => read,
            };
            match read {
                // What is not built says nothing about the group.
                Ok(_) | Err(ReadError::Unsupported) => {}
                Err(_) if *is_metadata => self.damaged = true,
                Err(_) => self.data_errors += 1,
            }
        }
    }
}

impl Visitor for Check<'_> {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        let bp = visit.bp;
        let is_metadata = bp.level() > 0 || bp.object_type().is_metadata();
        if !bp.is_embedded() && (is_metadata || self.data) {
            self.batch.push((*bp, is_metadata));
            self.bytes += bp.psize();
        }
        if self.batch.len() >= BATCH_BLOCKS || self.bytes >= BATCH_BYTES {
            self.read();
        }
        if self.damaged { Go::Stop } else { Go::On }
    }

    fn unreadable(&mut self, _: &Visit<'_>, error: DmuError) -> Go {
        if matches!(error, DmuError::Unsupported(_)) {
            return Go::Past;
        }
        self.damaged = true;
        Go::Stop
    }
}

#[cfg(test)]
mod tests;
