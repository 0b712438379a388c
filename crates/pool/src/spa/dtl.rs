//! Dirty time logs: which transaction groups each side of a mirror lacks, kept in the pool itself.
//!
//! A side that missed writes shows it by nothing: its labels are valid, and blocks without checksums cannot tell. So
//! the group that a side misses notes it before its own uberblock is written, in a space map whose "space" is groups;
//! the leaf's configuration has its number. Sides with entries are *behind* after an import: read last, given no
//! uberblock. Until a resilver is built, nothing is ever taken out again, and while a side is not whole each group is
//! noted, which may be more than it missed, never less.
//!
//! The age of a side's uberblocks says nothing: power cuts in the middle of commits leave uberblocks on one side that
//! lead to what all sides have. Source: module/zfs/vdev.c (`vdev_dtl_sync`, `vdev_dtl_load`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use dmu::{Objset, Tx};
use env::lock;
use ondisk::object_type::ObjectType;
use ondisk::spacemap::{Entry, MapType, MapWriter};
use storage::metaslab::RangeTree;
use storage::{Storage, VdevConfig};

use super::Core;
use crate::space::{alloc_map, open_map, replay};
use crate::{PoolError, Result};

/// Bytes of a block of a log (`zfs_vdev_dtl_sm_blksz`).
const BLOCK_SIZE: u32 = 4 << 10;

/// The groups that leaves lack, by the leaves' guids.
#[derive(Default)]
pub struct DirtyTimeLogs {
    missing: Mutex<BTreeMap<u64, RangeTree>>,
    /// Leaves whose logs in the pool are older.
    unsaved: Mutex<BTreeSet<u64>>,
}

impl DirtyTimeLogs {
    /// Reads the logs of a tree. Where one cannot be read, its leaf lacks everything up to group `txg`.
    pub fn load(mos: &Arc<Objset>, tree: &VdevConfig, txg: u64) -> DirtyTimeLogs {
        let mut logs = BTreeMap::new();
        tree.visit(&mut |vdev| {
            if let Some(object) = vdev.dtl.filter(|object| *object != 0 && vdev.kind.is_leaf()) {
                let missing = read(mos, object).unwrap_or_else(|error| {
                    tracing::error!(guid = vdev.guid, %error, "a dirty time log cannot be read");
                    RangeTree::whole(0, txg.saturating_add(1))
                });
                logs.insert(vdev.guid, missing);
            }
        });
        DirtyTimeLogs { missing: Mutex::new(logs), unsaved: Mutex::default() }
    }

    /// Tells storage of every side that is behind.
    pub fn mark(&self, storage: &Storage) {
        for (guid, _) in lock(&self.missing).iter().filter(|(_, missing)| !missing.is_empty()) {
            if !storage.mark_behind(*guid) {
                tracing::warn!(guid, "a disk lacks writes: it is away, or no other has them all");
            }
        }
    }

    /// The leaf lacks nothing any more, or is gone.
    pub(super) fn forget(&self, guid: u64) {
        lock(&self.missing).remove(&guid);
    }

    /// The leaf lacks the groups from `first` to `last`; written down with the group being synced.
    pub(super) fn miss(&self, guid: u64, first: u64, last: u64) {
        lock(&self.missing).entry(guid).or_default().add_overlap(first, last + 1 - first);
        lock(&self.unsaved).insert(guid);
    }

    /// Whether the leaf has everything.
    pub(super) fn is_empty(&self, guid: u64) -> bool {
        lock(&self.missing).get(&guid).is_none_or(RangeTree::is_empty)
    }

    /// The leaf has another guid now.
    pub(super) fn rename(&self, before: u64, now: u64) {
        let mut logs = lock(&self.missing);
        if let Some(missing) = logs.remove(&before) {
            logs.insert(now, missing);
        }
    }

    /// Adds a group to the logs of these leaves; gives those that did not have it, with all they have now.
    fn add(&self, guids: Vec<u64>, txg: u64) -> Vec<(u64, RangeTree)> {
        let (mut logs, mut unsaved) = (lock(&self.missing), lock(&self.unsaved));
        let mut grown = Vec::new();
        for guid in guids {
            let missing = logs.entry(guid).or_default();
            if unsaved.remove(&guid) || !missing.contains(txg, 1) {
                missing.add_overlap(txg, 1);
                grown.push((guid, missing.clone()));
            }
        }
        grown
    }
}

fn read(mos: &Arc<Objset>, object: u64) -> Result<RangeTree> {
    let mut missing = RangeTree::new();
    let mut wrong = false;
    replay(mos, object, &mut |entry| match entry {
        Entry::Segment { kind: MapType::Alloc, offset, run, .. } if offset.checked_add(run).is_some() => {
            missing.add_overlap(offset, run);
        }
        Entry::Segment { .. } => wrong = true,
        _ => {}
    })?;
    if wrong { Err(PoolError::Corrupt(format!("dirty time log {object}"))) } else { Ok(missing) }
}

impl Core {
    /// Notes who lacks something of the group being synced; whether that was news. Syncing context; leaves the MOS
    /// dirty then.
    pub(crate) fn note_missed(&self, tx: &Tx) -> Result<bool> {
        let grown = self.dtl.add(self.storage.behind(), tx.txg());
        for (guid, missing) in &grown {
            let (map, mut phys) = open_map(&self.mos, self.dtl_object(*guid, tx)?)?;
            let mut writer = MapWriter::new(0, u64::from(map.block_size()), self.map_form().two_words);
            missing.iter().for_each(|range| writer.segment(MapType::Alloc, range.start, range.len, None));
            (phys.length, phys.alloc) = (writer.length(), missing.space() as i64);
            map.write(0, &writer.into_bytes(), tx)?;
            map.set_bonus(ObjectType::SPACE_MAP_HEADER, &phys.encode(), tx)?;
        }
        Ok(!grown.is_empty())
    }

    /// The object of a leaf's log, made if there is none.
    fn dtl_object(&self, guid: u64, tx: &Tx) -> Result<u64> {
        let mut object = 0;
        lock(&self.config).tree.visit(&mut |vdev| {
            if vdev.guid == guid {
                object = vdev.dtl.unwrap_or(0);
            }
        });
        if object == 0 {
            object = alloc_map(&self.mos, BLOCK_SIZE, self.map_form(), &self.features, tx)?;
            lock(&self.config).tree.visit_mut(&mut |vdev| {
                if vdev.guid == guid {
                    vdev.dtl = Some(object);
                }
            });
            self.config_dirty.store(true, SeqCst);
            self.write_config(tx)?;
        }
        Ok(object)
    }
}
