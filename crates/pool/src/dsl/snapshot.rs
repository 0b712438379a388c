//! Snapshots: taking them, keeping books of their space, and their names.
//!
//! ```text
//!   origin ◀─prev── first ◀─prev── second ◀─prev── head           `next` leads the other way, within one directory
//!                     │ dead list      │ dead list     │ dead list
//!                     what the origin    what the first   what the second has, and the head no more
//!                     has, not the first has, not the second
//! ```
//! A snapshot is taken when the group's data is written and nothing of the head is dirty: it takes
//! over the head's root and dead list, and the head gets an empty one. That costs the same however
//! large the head is, and nobody waits for it. Blocks born in that very group are the snapshot's,
//! therefore no head has two snapshots of one group ([`PoolError::Again`]).
//!
//! The intent log is not touched: a snapshot has what its group has, which is all that was answered
//! before. The head of the log that is copied with the root means nothing in a snapshot; a clone
//! starts without.
//!
//! Source: module/zfs/dsl_dataset.c (`dsl_dataset_snapshot_sync_impl`).

use std::sync::Arc;

use dmu::Tx;
use dmu::zap::Value;
use ondisk::dsl_dataset::{DslDatasetPhys, FIELD_IVSET_GUID, FIELD_REMAP_DEADLIST, FLAG_INCONSISTENT};
use ondisk::dsl_dir::{FIELD_CRYPTO_KEY_OBJ, FIELD_SNAPSHOTS_CHANGED};
use ondisk::object_type::ObjectType;
use ondisk::version;
use ondisk::zil::ZilHeader;

use super::Dsl;
use super::bookmark;
use super::counts::Counted;
use super::dataset::recorded_features;
use super::deadlist::Deadlist;
use super::dir::{Dir, Used};
use super::names::Found;
use crate::mos::order::Order;
use crate::namecheck::is_hidden;
use crate::prop::RawValue;
use crate::state::scan::Departure;
use crate::sums::Sums;
use crate::{PoolError, Result};

/// A snapshot, as its head's directory lists it.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// After the `@`.
    pub name: String,
    pub object: u64,
    pub phys: DslDatasetPhys,
}

impl Dsl {
    /// The snapshots of a head, oldest first.
    pub(crate) fn snapshots(&self, head: &DslDatasetPhys) -> Result<Vec<Snapshot>> {
        let mut snapshots = Vec::new();
        for (name, value) in self.mos.entries(head.snapnames_zapobj)? {
            let object = value.first();
            snapshots.push(Snapshot { name, object, phys: self.mos.dataset(object)? });
        }
        snapshots.sort_by(|a, b| (a.phys.creation_txg, &a.name).cmp(&(b.phys.creation_txg, &b.name)));
        Ok(snapshots)
    }

    /// Names and objects of a head's snapshots, oldest first.
    pub(crate) fn by_age(&self, head: &Found) -> Result<Order> {
        let taken = |object| Ok(self.mos.dataset(object)?.creation_txg);
        Ok(self.mos.ordered(head.phys.snapnames_zapobj, taken)?)
    }

    /// Names and objects of a head's snapshots, in no order that means anything.
    pub fn snapshots_of(&self, head: u64) -> Result<Vec<(String, u64)>> {
        let _config = self.reading();
        let names = self.mos.entries(self.mos.dataset(head)?.snapnames_zapobj)?;
        Ok(names.into_iter().map(|(name, value)| (name, value.first())).collect())
    }

    pub fn snapshot_count(&self, head: u64) -> Result<u64> {
        let _config = self.reading();
        Ok(self.mos.count(self.mos.dataset(head)?.snapnames_zapobj)?)
    }

    /// A head's snapshot of this name.
    pub fn snapshot_named(&self, head: u64, name: &str) -> Result<Option<u64>> {
        let _config = self.reading();
        Ok(self.mos.find(self.mos.dataset(head)?.snapnames_zapobj, name)?)
    }

    /// A snapshot's guid, and when it was taken: seconds since 1970.
    pub fn snapshot_identity(&self, object: u64) -> Result<(u64, u64)> {
        let _config = self.reading();
        let phys = self.mos.dataset(object)?;
        if phys.is_snapshot() { Ok((phys.guid, phys.creation_time)) } else { Err(PoolError::NotFound) }
    }

    /// The head whose snapshot this is.
    pub fn head_of_snapshot(&self, object: u64) -> Result<u64> {
        let _config = self.reading();
        Ok(self.dir(self.mos.dataset(object)?.dir_obj)?.phys().head_dataset_obj)
    }

    /// When snapshots of a head came or went last: seconds since 1970 and nanoseconds; 0 where that
    /// is not known.
    pub fn snapshots_changed_at(&self, head: u64) -> Result<(u64, u32)> {
        let _config = self.reading();
        let dir = self.mos.dataset(head)?.dir_obj;
        if !self.mos.is_zapified(dir)? {
            return Ok((0, 0));
        }
        let time = self.mos.find_value(dir, FIELD_SNAPSHOTS_CHANGED)?.map(|value| value.words());
        let word = |at: usize| time.as_ref().and_then(|time| time.get(at)).copied().unwrap_or(0);
        Ok((word(0), word(1) as u32))
    }

    /// Names of the snapshots of this guid: a stream that is received twice makes two.
    pub fn snapshots_by_guid(&self, guid: u64) -> Result<Vec<String>> {
        let found = self.snapshot_guids()?.into_iter().filter(|(known, _)| *known == guid);
        let _config = self.reading();
        found.map(|(_, object)| self.dataset_name(object)).collect()
    }

    /// Names of the heads of this guid.
    pub fn heads_by_guid(&self, guid: u64) -> Result<Vec<String>> {
        let _config = self.reading();
        let mut names = Vec::new();
        for name in self.names_below(&self.root()?)? {
            let head = self.head_of(&self.find_dir(&name)?)?;
            names.extend(head.filter(|head| head.phys.guid == guid).map(|_| name));
        }
        Ok(names)
    }

    /// Names of the bookmarks of snapshots of this guid.
    pub fn bookmarks_by_guid(&self, guid: u64) -> Result<Vec<String>> {
        let _config = self.reading();
        let mut names = Vec::new();
        for name in self.names_below(&self.root()?)? {
            let Some(head) = self.head_of(&self.find_dir(&name)?)? else { continue };
            let bookmarks = super::bookmark::all(self, head.object)?.into_iter();
            names.extend(bookmarks.filter(|b| b.phys.guid == guid).map(|b| format!("{name}#{}", b.name)));
        }
        Ok(names)
    }

    /// Guids and objects of all snapshots of the pool.
    pub fn snapshot_guids(&self) -> Result<Vec<(u64, u64)>> {
        let _config = self.reading();
        let mut guids = Vec::new();
        for name in self.names_below(&self.root()?)? {
            let Some(head) = self.head_of(&self.find_dir(&name)?)? else { continue };
            guids.extend(self.snapshots(&head.phys)?.iter().map(|one| (one.phys.guid, one.object)));
        }
        Ok(guids)
    }

    /// Why no snapshot can be taken of a head. `group` is the group it would be of, in syncing
    /// context.
    pub(crate) fn check_snapshot(&self, head: &Found, group: Option<u64>) -> Result<()> {
        let phys = &head.phys;
        if group.is_some_and(|txg| phys.prev_snap_txg >= txg) {
            return Err(PoolError::Again);
        }
        if phys.flags & FLAG_INCONSISTENT != 0 {
            return Err(PoolError::Busy);
        }
        // Older programs take the head of a log in a snapshot for one that is to be claimed.
        let has_log = || Ok::<_, PoolError>(self.log_of(&phys.bp)? != ZilHeader::default());
        if group.is_some() && self.version() < version::FAST_SNAPSHOTS && has_log()? {
            return Err(PoolError::Busy);
        }
        // What the snapshot keeps has to be paid from outside of the head's own reservation.
        let reserved = self.local_number(&head.dir, "refreservation")?.min(phys.unique_bytes);
        // What is not written yet is not in that either.
        if reserved > head.dir.available(self.pool_size(), None, false) {
            return Err(PoolError::NoSpace);
        }
        Ok(())
    }

    /// Takes a snapshot of a head of which nothing is dirty; its object. Syncing context.
    pub(crate) fn take_snapshot(&self, head: &Found, name: &str, tx: &Tx) -> Result<u64> {
        let (dir, before) = (&head.dir, &head.phys);
        if !is_hidden(name) {
            self.count(dir, Counted::Snapshots, 1, tx)?;
        }
        let object = self.alloc_dataset(tx)?;
        let snapshot = DslDatasetPhys {
            fsid_guid: self.new_fsid(),
            guid: self.mos.random(),
            next_snap_obj: head.object,
            num_children: 1,
            creation_time: self.now(),
            creation_txg: tx.txg(),
            snapnames_zapobj: 0,
            unique_bytes: 0,
            next_clones_obj: 0,
            props_obj: 0,
            userrefs_obj: 0,
            ..before.clone()
        };
        self.mos.put_dataset(object, &snapshot, tx)?;
        for feature in recorded_features(self, head.object)? {
            self.activate_feature(object, feature, tx)?;
        }
        self.relink_previous(before.prev_snap_obj, head.object, object, tx)?;
        let charged = self.local_number(dir, "refreservation")?.min(before.unique_bytes);
        if charged != 0 {
            dir.used(&self.mos, Used::RefReserve, Sums::allocated(charged as i64), tx)?;
        }
        let mut deadlist =
            Deadlist::open(self, before.deadlist_obj)?.cloned(self, u64::MAX, before.prev_snap_obj, tx)?;
        deadlist.add_key(self, before.prev_snap_txg, tx)?;
        for key in bookmark::keys_after(self, head.object, before.prev_snap_txg)? {
            deadlist.add_key(self, key, tx)?;
        }
        self.hand_over_fields(head, object, tx)?;
        self.edit_dataset(head.object, tx, |phys| {
            phys.deadlist_obj = deadlist.object();
            phys.prev_snap_obj = object;
            phys.prev_snap_txg = tx.txg();
            phys.unique_bytes = 0;
            phys.flags |= self.unique_flag();
        })?;
        self.mos.set(before.snapnames_zapobj, name, object, tx)?;
        let (dataset, heir) = (head.object, Some(object));
        self.parts.scan.dataset_gone(Departure { txg: tx.touch(), dataset, heir, again: false });
        self.snapshots_changed(dir, tx)?;
        Ok(object)
    }

    /// A dataset's previous snapshot, or its origin, leads to another dataset instead; gives the
    /// group before that snapshot, if it is of the same chain.
    pub(super) fn relink_previous(&self, previous: u64, from: u64, to: u64, tx: &Tx) -> Result<Option<u64>> {
        if previous == 0 {
            return Ok(None);
        }
        let phys = self.mos.dataset(previous)?;
        if phys.next_snap_obj == from {
            self.edit_dataset(previous, tx, |phys| phys.next_snap_obj = to)?;
            return Ok(Some(phys.prev_snap_txg));
        }
        if phys.next_clones_obj != 0 {
            self.mos.remove_int(phys.next_clones_obj, from, tx)?;
            self.mos.add_int(phys.next_clones_obj, to, tx)?;
        }
        Ok(None)
    }

    /// What a snapshot has in its own ZAP: the head's dead list of moved blocks, and where it is
    /// encrypted, a number of its own.
    fn hand_over_fields(&self, head: &Found, snapshot: u64, tx: &Tx) -> Result<()> {
        if let Some(moved) = self.mos.field(head.object, FIELD_REMAP_DEADLIST)? {
            self.mos.remove(head.object, FIELD_REMAP_DEADLIST, tx)?;
            self.zapify(snapshot, tx)?;
            self.mos.set(snapshot, FIELD_REMAP_DEADLIST, moved, tx)?;
        }
        let is_encrypted = self.mos.field(head.dir.object, FIELD_CRYPTO_KEY_OBJ)?.is_some();
        if is_encrypted && self.features().is_enabled("bookmark_v2") {
            self.zapify(snapshot, tx)?;
            self.mos.set(snapshot, FIELD_IVSET_GUID, self.new_fsid(), tx)?;
        }
        Ok(())
    }

    /// Makes a directory's or dataset's object one that has fields of its own.
    pub(crate) fn zapify(&self, object: u64, tx: &Tx) -> Result<()> {
        if self.mos.zapify(object, tx)? {
            self.features().increment("extensible_dataset", tx)?;
        }
        Ok(())
    }

    /// Snapshots of a directory came or went: property `snapshots_changed`.
    pub(crate) fn snapshots_changed(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        if !self.features().is_enabled("extensible_dataset") {
            return Ok(());
        }
        let now = self.parts.env.clock.wall();
        let time = Value::U64(vec![now.secs as u64, u64::from(now.nanos)]);
        self.zapify(dir.object, tx)?;
        Ok(self.mos.set(dir.object, FIELD_SNAPSHOTS_CHANGED, time, tx)?)
    }

    /// Gives a snapshot a property of its own, or takes it.
    pub(crate) fn write_snapshot_prop(
        &self,
        snapshot: u64,
        name: &str,
        value: Option<&RawValue>,
        tx: &Tx,
    ) -> Result<()> {
        let mut zap = self.mos.dataset(snapshot)?.props_obj;
        if let Some(value) = value {
            if zap == 0 {
                zap = self.mos.create_zap(ObjectType::DSL_PROPS, tx)?;
                self.edit_dataset(snapshot, tx, |phys| phys.props_obj = zap)?;
            }
            self.mos.set(zap, name, value.to_zap(), tx)?;
        } else if zap != 0 {
            self.mos.remove(zap, name, tx)?;
        }
        Ok(())
    }
}
