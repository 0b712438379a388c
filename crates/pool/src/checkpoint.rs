//! The pool's checkpoint: one state of the whole pool that can be gone back to, until it is
//! discarded.
//!
//! ```text
//!   take ──▶ the uberblock of the last group in the MOS, feature active
//!    │         blocks born up to it that are freed ─▶ stay allocated, are noted in a map of their vdev
//!    ├─ discard ─▶ the uberblock goes; each group frees a bounded part of the maps, from their ends ─▶ feature inactive
//!    └─ import --rewind-to-checkpoint ─▶ the uberblock, with a new txg, is the pool's  ([`crate::spa::import`])
//! ```
//! A checkpoint is taken and given up before anything else of a group, so that no free of that
//! group is missed, and no space is noted in a map that is being emptied. The space in the maps is
//! the difference: allocated for the pool, used by nothing it leads to but the checkpoint.
//!
//! Discarding needs no memory of how far it came: each step is durable with its group, maps are
//! shorter then, and an import goes on.
//!
//! Source: module/zfs/spa_checkpoint.c, metaslab.c (`metaslab_sync`), spa.c
//! (`spa_ld_read_checkpoint_txg`).

use std::sync::{Arc, Mutex};

use api_types::Checkpoint;
use dmu::zap::Zap;
use dmu::{Objset, Tx};
use env::{Quirk, Tunable, lock};
use ondisk::object_type::pool_directory;
use ondisk::spacemap::{Entries, Entry, MapType, MapWriter, OFFSET_END};
use ondisk::uberblock::Uberblock;
use refusal::{Action, Reason, Refused};
use stdx::mark::mark;
use storage::Segment;

use crate::spa::{Core, Pool};
use crate::space::{MapForm, OBSOLETE_BLOCK_SIZE, VdevSpace, alloc_map, open_map};
use crate::state::checkpoint::{Ask, Kept, MAP, Waiting};
use crate::{PoolError, Result};

/// The feature.
const FEATURE: &str = "zpool_checkpoint";
/// Memory that an entry of a map counts for, in bytes.
const ENTRY_MEMORY: u64 = 32;
/// Entries of a step in simulations that want small groups.
const FEW: u64 = 8;

impl Core {
    /// What there is to tell of the checkpoint (`pool_checkpoint_stat_t`).
    pub fn checkpoint_stat(&self) -> Option<Checkpoint> {
        if !self.features.is_active(FEATURE) {
            return None;
        }
        let state = lock(&self.checkpoint.state);
        Some(Checkpoint { discarding: state.txg == 0, time: state.time, space: state.space() })
    }

    /// Why what the checkpoint relies on cannot be changed now.
    pub(crate) fn checkpoint_forbids(&self) -> Option<Reason> {
        self.features.is_active(FEATURE).then(|| match self.checkpoint.txg() {
            0 => Reason::DiscardingCheckpoint,
            _ => Reason::HasCheckpoint,
        })
    }

    /// The same as an error.
    pub(crate) fn refuse_with_checkpoint(&self, action: &dyn Fn() -> Action) -> Result<()> {
        self.checkpoint_forbids().map_or(Ok(()), |reason| Err(Refused::new(action(), reason).into()))
    }

    fn refuse<T>(&self, ask: Ask, reason: Reason) -> Result<T> {
        let pool = lock(&self.name).clone();
        let action = match ask {
            Ask::Take => Action::Checkpoint { pool },
            Ask::Discard => Action::DiscardCheckpoint { pool },
        };
        Err(Refused::new(action, reason).into())
    }

    /// A checkpoint is being discarded, and there is more to do.
    pub(crate) fn is_discarding(&self) -> bool {
        self.features.is_active(FEATURE) && {
            let state = lock(&self.checkpoint.state);
            state.txg == 0 && !state.is_stuck
        }
    }

    /// Notes what was freed of a metaslab and the checkpoint has. Syncing context; leaves the MOS
    /// dirty.
    pub(crate) fn keep_for_checkpoint(
        &self,
        vdev: &VdevSpace,
        kept: &[Segment],
        form: MapForm,
        pass: u32,
        tx: &Tx,
    ) -> Result<()> {
        let known = lock(&self.checkpoint.state).maps.get(&vdev.vdev).copied();
        let mut map = match known {
            Some(map) => map,
            None => {
                let object = alloc_map(&self.mos, OBSOLETE_BLOCK_SIZE, form, &self.features, tx)?;
                self.zap_of_top(vdev.vdev)?.add(MAP, object, tx)?;
                Kept { object, space: 0, ashift: vdev.ashift }
            }
        };
        let (dnode, mut phys) = open_map(&self.mos, map.object)?;
        let mut writer = MapWriter::new(phys.length, u64::from(dnode.block_size()), form.two_words);
        writer.debug(MapType::Free, pass as u16, tx.txg());
        for segment in kept {
            writer.segment(MapType::Free, segment.start >> vdev.ashift, segment.len >> vdev.ashift, None);
            phys.alloc = phys.alloc.saturating_sub_unsigned(segment.len);
            map.space = map.space.saturating_add(segment.len);
        }
        let (from, length) = (phys.length, writer.length());
        dnode.write(from, &writer.into_bytes(), tx)?;
        phys.length = length;
        dnode.set_bonus(ondisk::object_type::ObjectType::SPACE_MAP_HEADER, &phys.encode(), tx)?;
        lock(&self.checkpoint.state).maps.insert(vdev.vdev, map);
        Ok(())
    }

    /// What only the checkpoint needs of a vdev.
    pub(crate) fn kept_by_checkpoint(&self, vdev: u32) -> Result<Vec<Segment>> {
        let known = lock(&self.checkpoint.state).maps.get(&vdev).copied();
        known.map_or(Ok(Vec::new()), |kept| Ok(Tail::read(&self.mos, &kept, u64::MAX)?.segments))
    }

    fn zap_of_top(&self, vdev: u32) -> Result<Zap> {
        let zap = self.top_zap(vdev);
        let zap = zap.ok_or_else(|| PoolError::Corrupt(format!("top-level vdev {vdev} has no ZAP")))?;
        Ok(Zap::open(&self.mos, zap)?)
    }

    fn take_checkpoint(&self, tx: &Tx) -> Result<u64> {
        if !self.features.is_enabled(FEATURE) {
            return self.refuse(Ask::Take, Reason::NotByThisPool);
        }
        let too_big =
            |vdev: &VdevSpace| (vdev.metaslab_count << vdev.metaslab_shift) >> vdev.ashift > OFFSET_END;
        if !self.map_form().two_words && self.maps.vdevs().iter().any(too_big) {
            return self.refuse(Ask::Take, Reason::DeviceTooLarge);
        }
        if let Some(reason) = self.checkpoint_forbids() {
            return self.refuse(Ask::Take, reason);
        }
        let newest = lock(&self.checkpoint.state).newest.clone();
        let Some(newest) = newest.filter(|newest| newest.txg + 1 == tx.txg()) else {
            return Err(PoolError::Again);
        };
        let uberblock = Uberblock { checkpoint_txg: newest.txg, ..newest };
        let directory = Zap::open(&self.mos, pool_directory::OBJECT)?;
        directory.add(pool_directory::ZPOOL_CHECKPOINT, &uberblock.to_words()[..], tx)?;
        self.features.increment(FEATURE, tx)?;
        let mut state = lock(&self.checkpoint.state);
        (state.txg, state.time) = (uberblock.txg, uberblock.timestamp);
        self.storage.set_checkpoint(uberblock.txg);
        Ok(uberblock.txg)
    }

    fn give_up_checkpoint(&self, tx: &Tx) -> Result<()> {
        if !self.features.is_active(FEATURE) {
            return self.refuse(Ask::Discard, Reason::NoCheckpoint);
        }
        if self.checkpoint.txg() == 0 {
            return self.refuse(Ask::Discard, Reason::DiscardingCheckpoint);
        }
        Zap::open(&self.mos, pool_directory::OBJECT)?.remove(pool_directory::ZPOOL_CHECKPOINT, tx)?;
        lock(&self.checkpoint.state).txg = 0;
        self.storage.set_checkpoint(0);
        Ok(())
    }

    /// Gives back a bounded part of what a discarded checkpoint had kept. `true`: that was the last
    /// of it.
    fn discard_some(&self, tx: &Tx) -> Result<bool> {
        let memory = self.env.tunable(Tunable::DiscardMemoryLimit);
        let most = if self.env.quirk(Quirk::SmallTxg) { FEW } else { memory / ENTRY_MEMORY };
        let mut left = most.max(1);
        while left > 0 {
            let first = lock(&self.checkpoint.state).maps.first_key_value().map(|(id, kept)| (*id, *kept));
            let Some((vdev, mut kept)) = first else {
                self.features.decrement(FEATURE, tx)?;
                lock(&self.checkpoint.state).time = 0;
                return Ok(true);
            };
            let tail = match Tail::read(&self.mos, &kept, left) {
                Ok(tail) => tail,
                Err(error @ PoolError::Suspended) => return Err(error),
                Err(error) => {
                    tracing::error!(vdev, %error, "what a checkpoint kept cannot be read, and is not given back");
                    lock(&self.checkpoint.state).is_stuck = true;
                    return Ok(false);
                }
            };
            left -= tail.segments.len() as u64;
            mark("discarded checkpoint gives space back");
            for segment in &tail.segments {
                self.storage.free_kept(vdev, *segment, tx.touch());
                kept.space = kept.space.saturating_sub(segment.len);
            }
            if tail.length == 0 {
                self.maps.free_map(kept.object, &self.features, tx)?;
                self.zap_of_top(vdev)?.remove(MAP, tx)?;
                lock(&self.checkpoint.state).maps.remove(&vdev);
            } else {
                tail.cut(&self.mos, kept.object, tx)?;
                lock(&self.checkpoint.state).maps.insert(vdev, kept);
            }
        }
        Ok(false)
    }
}

/// The end of a map that is emptied.
struct Tail {
    /// Of the vdev.
    segments: Vec<Segment>,
    /// What the map's length is without them.
    length: u64,
}

impl Tail {
    /// The last `most` segments of a map, or all.
    fn read(mos: &Arc<Objset>, kept: &Kept, most: u64) -> Result<Tail> {
        let (map, phys) = open_map(mos, kept.object)?;
        let damaged = || PoolError::Corrupt(format!("space map {} of the checkpoint", kept.object));
        let block_size = u64::from(map.block_size());
        let mut tail = Tail { segments: Vec::new(), length: phys.length };
        while tail.length > 0 {
            let start = (tail.length - 1) / block_size * block_size;
            let block = map.block(start / block_size)?.ok_or_else(damaged)?;
            let counted = block.get(..(tail.length - start) as usize).ok_or_else(damaged)?;
            let mut entries = Vec::new();
            let mut at = start;
            for entry in Entries::new(counted) {
                let entry = entry?;
                entries.push((at, entry));
                at += 8 * entry.words();
            }
            while let Some((at, entry)) = entries.pop() {
                if let Entry::Segment { kind, offset, run, .. } = entry {
                    if tail.segments.len() as u64 == most {
                        return Ok(tail);
                    }
                    let scaled = |units: u64| units.checked_mul(1 << kept.ashift).ok_or_else(damaged);
                    let segment = Segment { start: scaled(offset)?, len: scaled(run)? };
                    if kind != MapType::Free || segment.start.checked_add(segment.len).is_none() {
                        return Err(damaged());
                    }
                    tail.segments.push(segment);
                }
                tail.length = at;
            }
        }
        Ok(tail)
    }

    /// Takes the end off the map.
    fn cut(&self, mos: &Arc<Objset>, object: u64, tx: &Tx) -> Result<()> {
        let (map, mut phys) = open_map(mos, object)?;
        phys.length = self.length;
        for segment in &self.segments {
            phys.alloc = phys.alloc.saturating_add_unsigned(segment.len);
        }
        map.free_range(self.length.next_multiple_of(u64::from(map.block_size())), u64::MAX, tx)?;
        Ok(map.set_bonus(ondisk::object_type::ObjectType::SPACE_MAP_HEADER, &phys.encode(), tx)?)
    }
}

impl Pool {
    /// Takes a checkpoint of the pool as it is now.
    pub fn take_checkpoint(&self, history: &str) -> Result<u64> {
        // Nobody changes the tree between the group that is kept and the one that says so.
        let alone = self.core.alone()?;
        if self.dsl.is_full() {
            return self.core.refuse(Ask::Take, Reason::NoSpace);
        }
        // All that was done before this belongs to it.
        self.core.txgs.sync_empty()?;
        self.ask(Ask::Take)?;
        drop(alone);
        self.list_vdevs(history)
    }

    /// Gives up the checkpoint; what it kept is given back by the next groups.
    pub fn discard_checkpoint(&self, history: &str) -> Result<u64> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        self.ask(Ask::Discard)?;
        self.list_vdevs(history)
    }

    fn ask(&self, ask: Ask) -> Result<()> {
        let outcome = Arc::new(Mutex::new(None));
        let hold = self.core.txgs.enter(true)?;
        let txg = hold.txg();
        let waiting = Waiting { ask, outcome: outcome.clone() };
        lock(&self.core.checkpoint.waiting).entry(txg).or_default().push(waiting);
        drop(hold);
        self.core.txgs.wait_synced(txg)?;
        let outcome = lock(&outcome).take();
        outcome.unwrap_or(Err(PoolError::Suspended))
    }

    /// Before anything else of a group: checkpoints are taken and given up.
    pub(crate) fn turn_checkpoint(&self, tx: &Tx) -> Result<()> {
        let core = &*self.core;
        if let Some(txg) = lock(&core.checkpoint.state).gone_back.take() {
            self.dsl.note_pool("checkpoint rewind", &format!("rewound state to txg={txg}"), tx);
        }
        let waiting = lock(&core.checkpoint.waiting).remove(&tx.txg()).unwrap_or_default();
        for Waiting { ask, outcome } in waiting {
            let done = match ask {
                Ask::Take => core.take_checkpoint(tx).map(|txg| {
                    self.dsl.note_pool("spa checkpoint", &format!("checkpointed uberblock txg={txg}"), tx);
                }),
                Ask::Discard => core.give_up_checkpoint(tx).map(|()| {
                    let text = "started discarding checkpointed state from the pool";
                    self.dsl.note_pool("spa discard checkpoint", text, tx);
                }),
            };
            *lock(&outcome) = Some(match done {
                Err(error @ (PoolError::Refused(_) | PoolError::Again)) => Err(error),
                // It may have changed something.
                done => Ok(done?),
            });
        }
        Ok(())
    }

    /// A step of discarding, once a group.
    pub(crate) fn discard_step(&self, tx: &Tx) -> Result<()> {
        if self.core.is_discarding() && self.core.discard_some(tx)? {
            let text = "finished discarding checkpointed state from the pool";
            self.dsl.note_pool("spa discard checkpoint", text, tx);
        }
        Ok(())
    }
}
