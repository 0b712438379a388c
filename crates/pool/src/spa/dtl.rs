//! Dirty time logs: which transaction groups each leaf lacks, kept in the pool itself.
//!
//! A side that missed writes shows it by nothing: its labels are valid, and blocks without
//! checksums cannot tell. So the group that a side misses notes it before its own uberblock is
//! written, in a space map whose "space" is groups; the leaf's configuration has its number. A leaf
//! misses the groups in which it could not be written, were it for a moment, and those in which a
//! write failed; that may be more than it lacks, never less.
//!
//! Leaves with entries are *behind*: read last, given no uberblock. A scan that has gone through
//! all that a leaf lacks takes its entries out again ([`DirtyTimeLogs::excise`]), but for blocks
//! that could not be rewritten there, and only if the leaf was there all the time. With the last
//! entry it is whole again.
//!
//! The age of a side's uberblocks says nothing: power cuts in the middle of commits leave
//! uberblocks on one side that lead to what all sides have. Source: module/zfs/vdev.c
//! (`vdev_dtl_sync`, `vdev_dtl_load`, `vdev_dtl_reassess`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use dmu::{Objset, Tx};
use env::lock;
use ondisk::object_type::ObjectType;
use ondisk::spacemap::{Entry, MapType, MapWriter};
use storage::metaslab::RangeTree;
use storage::{Missed, Storage, VdevConfig};

use super::Core;
use super::place::{Place, edit};
use crate::space::{alloc_map, open_map, replay};
use crate::{PoolError, Result};

/// Bytes of a block of a log (`zfs_vdev_dtl_sm_blksz`).
const BLOCK_SIZE: u32 = 4 << 10;

/// The groups that leaves lack, by the leaves' guids.
#[derive(Default)]
pub struct DirtyTimeLogs(Mutex<Logs>);

#[derive(Default)]
struct Logs {
    missing: BTreeMap<u64, RangeTree>,
    /// Not written down as they are.
    dirty: BTreeSet<u64>,
    /// Could not be written when the last group ended.
    away: BTreeSet<u64>,
    /// Were not there all the time since the scan began, or joined later.
    interrupted: BTreeSet<u64>,
    /// What a scan could not rewrite.
    unrepaired: BTreeMap<u64, RangeTree>,
}

impl Logs {
    fn add(&mut self, guid: u64, first: u64, last: u64) -> bool {
        let missing = self.missing.entry(guid).or_default();
        let len = last - first + 1;
        if missing.contains(first, len) {
            return false;
        }
        missing.add_overlap(first, len);
        self.dirty.insert(guid);
        true
    }

    /// Leaves that lack something and can be given it.
    fn ready(&self, storage: &Storage) -> impl Iterator<Item = (u64, &RangeTree)> {
        let lacking = self.missing.iter().filter(|(_, missing)| !missing.is_empty());
        let here = lacking.filter(|(guid, _)| storage.is_usable(**guid) && !self.away.contains(*guid));
        here.map(|(guid, missing)| (*guid, missing))
    }

    fn take_unrepaired(&mut self, storage: &Storage) {
        for (guid, groups) in storage.take_unrepaired() {
            let all = self.unrepaired.entry(guid).or_default();
            groups.iter().for_each(|range| all.add_overlap(range.start, range.len));
        }
    }
}

impl DirtyTimeLogs {
    /// Reads the logs of a tree. Where one cannot be read, its leaf lacks everything up to group
    /// `txg`.
    pub fn load(mos: &Arc<Objset>, tree: &VdevConfig, txg: u64) -> DirtyTimeLogs {
        let mut logs = Logs::default();
        tree.visit(&mut |vdev| {
            if let Some(object) = vdev.dtl.filter(|object| *object != 0 && vdev.kind.is_leaf()) {
                let missing = read(mos, object).unwrap_or_else(|error| {
                    tracing::error!(guid = vdev.guid, %error, "a dirty time log cannot be read");
                    RangeTree::whole(0, txg.saturating_add(1))
                });
                logs.missing.insert(vdev.guid, missing);
            }
        });
        DirtyTimeLogs(Mutex::new(logs))
    }

    /// Tells storage of every leaf that is behind. Where none has everything one has to pass for
    /// whole: it is the one that lacks least.
    pub fn mark(&self, storage: &Storage) {
        let logs = lock(&self.0);
        let mut lacking: Vec<_> = logs.missing.iter().filter(|(_, missing)| !missing.is_empty()).collect();
        lacking.sort_by_key(|(_, missing)| Reverse(missing.space()));
        for (guid, missing) in lacking {
            storage.set_missing(*guid, missing);
            if !storage.mark_behind(*guid) {
                tracing::debug!(guid, "a disk lacks writes: it is away, or no other has them all");
            }
        }
    }

    /// After an import in the middle of a scan of blocks older than `max_txg`: leaves that were
    /// away or joined while it ran have younger entries.
    pub fn resume(&self, max_txg: u64) {
        let mut logs = lock(&self.0);
        let late = logs.missing.iter().filter(|(_, missing)| end_of(missing) > max_txg);
        logs.interrupted = late.map(|(guid, _)| *guid).collect();
    }

    /// The leaf lacks nothing any more, or is gone.
    pub(super) fn forget(&self, guid: u64) {
        let logs = &mut *lock(&self.0);
        logs.missing.remove(&guid);
        logs.unrepaired.remove(&guid);
        for set in [&mut logs.dirty, &mut logs.away, &mut logs.interrupted] {
            set.remove(&guid);
        }
    }

    /// The leaf lacks the groups from `first` to `last`; written down with the group being synced.
    /// A scan that runs has not given it what it lacks of blocks seen before.
    pub(super) fn miss(&self, guid: u64, first: u64, last: u64) {
        let mut logs = lock(&self.0);
        logs.add(guid, first, last);
        logs.interrupted.insert(guid);
    }

    /// Whether the leaf has everything.
    pub(crate) fn is_empty(&self, guid: u64) -> bool {
        lock(&self.0).missing.get(&guid).is_none_or(RangeTree::is_empty)
    }

    /// The leaf has another guid now.
    pub(super) fn rename(&self, before: u64, now: u64) {
        let logs = &mut *lock(&self.0);
        for groups in [&mut logs.missing, &mut logs.unrepaired] {
            if let Some(moved) = groups.remove(&before) {
                groups.insert(now, moved);
            }
        }
        for set in [&mut logs.dirty, &mut logs.away, &mut logs.interrupted] {
            if set.remove(&before) {
                set.insert(now);
            }
        }
    }

    // ── For scans ──

    /// From now on each leaf has to be there.
    pub(crate) fn begin_scan(&self) {
        let mut logs = lock(&self.0);
        logs.interrupted.clear();
        logs.unrepaired.clear();
    }

    /// From now on each of these leaves has to be there, if it was for all it lacks of groups
    /// before `max_txg`.
    pub(crate) fn begin_rebuild(&self, leaves: &BTreeSet<u64>, max_txg: u64) {
        let logs = &mut *lock(&self.0);
        let late = |guid: &u64| logs.missing.get(guid).is_some_and(|missing| end_of(missing) > max_txg);
        logs.interrupted.retain(|guid| !leaves.contains(guid) || late(guid));
        leaves.iter().for_each(|guid| drop(logs.unrepaired.remove(guid)));
    }

    /// The births of blocks that leaves of those asked for lack which are here now: those after the
    /// first number and before the second.
    pub(crate) fn wanted(&self, storage: &Storage, of: &dyn Fn(u64) -> bool) -> Option<(u64, u64)> {
        let logs = lock(&self.0);
        logs.ready(storage)
            .filter(|(guid, _)| of(*guid))
            .map(|(_, missing)| (missing.iter().next().map_or(0, |range| range.start), end_of(missing)))
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .map(|(first, end)| (first.saturating_sub(1), end))
    }

    /// How many groups each leaf lacks that is here now.
    pub(crate) fn spaces(&self, storage: &Storage) -> BTreeMap<u64, u64> {
        lock(&self.0).ready(storage).map(|(guid, missing)| (guid, missing.space())).collect()
    }

    /// All blocks born before `max_txg` of these leaves have been gone through: those that were
    /// there all the time lack none of them, but what could not be rewritten. Gives whether others
    /// have to wait for the next scan. What was rewritten has been flushed just now, and a leaf
    /// that was opened anew before that was not there all the time. `txg` is being synced.
    pub(crate) fn excise(&self, storage: &Storage, max_txg: u64, txg: u64, of: &dyn Fn(u64) -> bool) -> bool {
        self.note(storage, txg);
        let mut logs = lock(&self.0);
        let logs = &mut *logs;
        let mut waiting = false;
        let lacking = logs.missing.iter_mut().filter(|(guid, missing)| !missing.is_empty() && of(**guid));
        for (guid, missing) in lacking {
            let unrepaired = logs.unrepaired.get(guid);
            if !storage.is_usable(*guid) || logs.interrupted.contains(guid) || logs.away.contains(guid) {
                waiting |= storage.is_usable(*guid);
                continue;
            }
            missing.remove_overlap(0, max_txg);
            for range in unrepaired.iter().flat_map(|groups| groups.iter()) {
                missing.add_overlap(range.start, range.len);
            }
            logs.dirty.insert(*guid);
            storage.set_missing(*guid, missing);
            if missing.is_empty() {
                tracing::info!(guid, "a disk has caught up");
                storage.caught_up(*guid);
            }
        }
        waiting
    }

    /// Takes note of who missed something of this group; whether that was news.
    fn note(&self, storage: &Storage, txg: u64) -> bool {
        let mut logs = lock(&self.0);
        logs.take_unrepaired(storage);
        let missed = storage.take_missed();
        let away: BTreeSet<u64> =
            missed.iter().filter(|(_, why)| *why == Missed::Away).map(|(guid, _)| *guid).collect();
        let mut news = false;
        // One that is back was away for a part of this group.
        for guid in away.union(&logs.away).copied().collect::<Vec<_>>() {
            logs.interrupted.insert(guid);
            news |= logs.add(guid, txg, txg);
            storage.mark_behind(guid);
        }
        for (guid, _) in missed.iter().filter(|(_, why)| *why == Missed::Failed) {
            // Blocks of intent logs may belong to the next group already.
            news |= logs.add(*guid, txg, txg + 1);
            storage.mark_behind(*guid);
        }
        for guid in logs.dirty.clone() {
            logs.missing.get(&guid).inspect(|missing| storage.set_missing(guid, missing));
        }
        // Until the group ends they count as away.
        logs.away.extend(away);
        news
    }

    /// The group has been written down.
    pub(crate) fn sync_done(&self, storage: &Storage) {
        lock(&self.0).away.retain(|guid| storage.is_away(*guid));
    }

    fn take_dirty(&self) -> Vec<(u64, RangeTree)> {
        let mut logs = lock(&self.0);
        let dirty = std::mem::take(&mut logs.dirty);
        dirty.into_iter().filter_map(|guid| Some((guid, logs.missing.get(&guid)?.clone()))).collect()
    }
}

/// The first group after all entries.
fn end_of(missing: &RangeTree) -> u64 {
    missing.iter().last().map_or(0, |range| range.end())
}

fn read(mos: &Arc<Objset>, object: u64) -> Result<RangeTree> {
    let mut missing = RangeTree::new();
    let mut wrong = false;
    replay(mos, object, &mut |entry| match entry {
        Entry::Segment { kind: MapType::Alloc, offset, run, .. } if offset.checked_add(run).is_some() => {
            missing.add_overlap(offset, run);
        }
        Entry::Segment { .. } => wrong = true,
        Entry::Debug { .. } => {}
    })?;
    if wrong { Err(PoolError::Corrupt(format!("dirty time log {object}"))) } else { Ok(missing) }
}

impl Core {
    /// Notes who lacks something of the group being synced, and writes down all logs that changed;
    /// whether any did. Syncing context; leaves the MOS dirty then.
    pub(crate) fn sync_dtls(&self, tx: &Tx) -> Result<bool> {
        self.dtl.note(&self.storage, tx.touch());
        let dirty = self.dtl.take_dirty();
        for (guid, missing) in &dirty {
            let (map, mut phys) = open_map(&self.mos, self.dtl_object(*guid, tx)?)?;
            let mut writer = MapWriter::new(0, u64::from(map.block_size()), self.map_form().two_words);
            missing.iter().for_each(|range| writer.segment(MapType::Alloc, range.start, range.len, None));
            (phys.length, phys.alloc) = (writer.length(), missing.space() as i64);
            let bytes = writer.into_bytes();
            if !bytes.is_empty() {
                map.write(0, &bytes, tx)?;
            }
            map.set_bonus(ObjectType::SPACE_MAP_HEADER, &phys.encode(), tx)?;
        }
        Ok(!dirty.is_empty())
    }

    /// The object of a leaf's log, made if there is none.
    fn dtl_object(&self, guid: u64, tx: &Tx) -> Result<u64> {
        let known = Place::find(&lock(&self.config).tree, guid).and_then(|place| place.vdev().dtl);
        if let Some(object) = known.filter(|object| *object != 0) {
            return Ok(object);
        }
        let object = alloc_map(&self.mos, BLOCK_SIZE, self.map_form(), &self.features, tx)?;
        edit(&mut lock(&self.config).tree, guid, &mut |vdev| vdev.dtl = Some(object));
        self.config_dirty.store(true, SeqCst);
        self.write_config(tx)?;
        Ok(object)
    }
}
