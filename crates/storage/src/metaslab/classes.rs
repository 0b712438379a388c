//! All classes of a pool: where a block goes is the caller's choice, where it lies tells to whom it
//! belongs.
//!
//! The log class is that of top-level vdevs which hold intent logs and nothing else. Its space is
//! not the pool's: it is counted for the vdev alone. Special and dedup vdevs are set apart for
//! metadata, small blocks and dedup tables; where they are full, or not there, all of that lies in
//! the normal class.
//!
//! Sources: module/zfs/spa_misc.c (`spa_preferred_class`), spa.c (`spa_log_class`), metaslab.c.

use std::sync::Arc;

use ondisk::Dva;
use ondisk::object_type::ObjectType;

use super::epoch::{EpochGuard, Epochs};
use super::{ALIQUOT, Class, Freed, Loan, Segment, SpaceChange, SpaceMapSource, SpaceStat};
use crate::{ReadError, WritePolicy};

/// Percent of special vdevs that small blocks leave to metadata
/// (`zfs_special_class_metadata_reserve_pct`).
const METADATA_RESERVE: u64 = 25;

pub struct Classes {
    pub normal: Class,
    /// Devices of intent logs. Each block goes to another one, so that they share the work.
    pub log: Class,
    /// Devices set apart for metadata and small blocks.
    pub special: Class,
    /// Devices set apart for dedup tables.
    pub dedup: Class,
    epochs: Arc<Epochs>,
}

impl Default for Classes {
    fn default() -> Classes {
        let epochs = Arc::<Epochs>::default();
        Classes {
            normal: Class::new(epochs.clone(), ALIQUOT),
            log: Class::new(epochs.clone(), 0),
            special: Class::new(epochs.clone(), ALIQUOT),
            dedup: Class::new(epochs.clone(), ALIQUOT),
            epochs,
        }
    }
}

impl Classes {
    fn all(&self) -> [&Class; 4] {
        [&self.normal, &self.log, &self.special, &self.dedup]
    }

    /// Whether the vdev is set apart for some kinds of blocks.
    pub fn is_apart(&self, vdev: u32) -> bool {
        self.special.has(vdev) || self.dedup.has(vdev)
    }

    /// The class that is asked first for a block of `psize` bytes; `None`: the normal one, which is
    /// asked last in any case.
    pub fn preferred(&self, policy: &WritePolicy, psize: u64) -> Option<&Class> {
        let special = || Some(&self.special).filter(|class| class.space().capacity > 0);
        if policy.object_type == ObjectType::DDT_ZAP.0 && self.dedup.space().capacity > 0 {
            return Some(&self.dedup);
        }
        if policy.is_metadata || policy.level > 0 {
            return special();
        }
        let has_room = |class: &&Class| {
            let space = class.space();
            space.allocated < space.capacity / 100 * (100 - METADATA_RESERVE)
        };
        special().filter(|class| psize <= policy.small && has_room(class))
    }

    /// The class that has the vdev.
    fn of(&self, vdev: u32) -> Option<&Class> {
        self.all().into_iter().find(|class| class.has(vdev))
    }

    pub fn attach_source(&self, source: &Arc<dyn SpaceMapSource>) {
        self.all().into_iter().for_each(|class| class.source.attach(source.clone()));
    }

    /// Breaks the cycle between the classes and what reads maps for them, at export.
    pub fn detach_source(&self) {
        self.all().into_iter().for_each(|class| class.source.detach());
    }

    /// Space of the pool: all but logs.
    pub fn space(&self) -> SpaceStat {
        let parts = [&self.normal, &self.special, &self.dedup].map(Class::space);
        let sum = |of: fn(&SpaceStat) -> u64| parts.iter().map(of).sum();
        SpaceStat {
            capacity: sum(|part| part.capacity),
            allocated: sum(|part| part.allocated),
            deferred: sum(|part| part.deferred),
        }
    }

    /// See [`Class::grow`].
    pub fn grow(&self, vdev: u32, metaslabs: u64) {
        if let Some(class) = self.of(vdev) {
            class.grow(vdev, metaslabs);
        }
    }

    pub fn epoch(&self) -> EpochGuard {
        self.epochs.enter()
    }

    /// See [`Class::unallocate`].
    pub fn unallocate(&self, dva: &Dva, txg: u64) {
        self.of(dva.vdev).expect("an allocation came from a class").unallocate(dva, txg);
    }

    /// See [`Class::free`].
    pub fn free(&self, dva: &Dva, txg: u64, kept: bool) -> Freed {
        self.of(dva.vdev).map_or(Freed::Nowhere, |class| class.free(dva, txg, kept))
    }

    /// See [`Class::claim`].
    pub fn claim(&self, dva: &Dva, txg: u64) -> Result<(), ReadError> {
        self.of(dva.vdev).ok_or(ReadError::Corrupt)?.claim(dva, txg)
    }

    /// See [`Class::take_changes`].
    pub fn take_changes(&self, txg: u64) -> Vec<SpaceChange> {
        self.all().into_iter().flat_map(|class| class.take_changes(txg)).collect()
    }

    /// See [`Class::allocated_segments`].
    pub fn allocated_segments(&self, vdev: u32, metaslab: u64) -> Option<Vec<Segment>> {
        self.of(vdev)?.allocated_segments(vdev, metaslab)
    }

    /// Txg `txg` is durable, and nobody finds pointers any more to what it freed.
    pub fn sync_done(&self, txg: u64) {
        let epoch = self.epochs.advance();
        self.all().into_iter().for_each(|class| class.sync_done(txg, epoch));
    }

    /// See [`Class::lend`].
    pub fn lend(&self, vdev: u32, from: u64, sizes: (u64, u64)) -> Result<Option<Loan>, ReadError> {
        self.of(vdev).map_or(Ok(None), |class| class.lend(vdev, from, sizes))
    }

    /// See [`Class::lend_freed`].
    pub fn lend_freed(&self, vdev: u32, min: u64, max: u64) -> Option<Segment> {
        self.of(vdev)?.lend_freed(vdev, min, max)
    }

    /// Ends a loan. A log may have left the pool meanwhile: then nobody wants it back.
    pub fn give_back(&self, vdev: u32, lent: Segment) {
        if let Some(class) = self.of(vdev) {
            class.give_back(vdev, lent);
        }
    }

    /// See [`Class::asks_for_stock`].
    pub fn asks_for_stock(&self, vdev: u32, possible: &dyn Fn() -> bool) -> bool {
        self.of(vdev).is_some_and(|class| class.asks_for_stock(vdev, possible))
    }

    /// See [`Class::lend_for_stock`].
    pub fn lend_for_stock(&self, vdev: u32) -> Result<Option<Segment>, ReadError> {
        self.of(vdev).map_or(Ok(None), |class| class.lend_for_stock(vdev))
    }

    /// See [`Class::add_to_stock`].
    pub fn add_to_stock(&self, vdev: u32, lent: Segment) {
        if let Some(class) = self.of(vdev) {
            class.add_to_stock(vdev, lent);
        }
    }

    /// See [`Class::empty_stock`].
    pub fn empty_stock(&self) {
        self.all().into_iter().for_each(|class| _ = class.empty_stock());
    }

    /// See [`Class::remember_freed`].
    pub fn remember_freed(&self, wanted: bool) {
        self.all().into_iter().for_each(|class| class.remember_freed(wanted));
    }

    /// Whether freed space still waits to become allocatable.
    pub fn has_deferred(&self) -> bool {
        self.all().into_iter().any(Class::has_deferred)
    }

    /// Space of one top-level vdev.
    pub fn vdev_space(&self, vdev: u32) -> Option<SpaceStat> {
        self.of(vdev)?.vdev_space(vdev)
    }

    /// Percent, of one vdev or of the pool; `None` where nothing is known to be free.
    pub fn fragmentation(&self, vdev: Option<u32>) -> Option<u8> {
        match vdev {
            Some(vdev) => self.of(vdev)?.fragmentation(Some(vdev)),
            None => self.normal.fragmentation(None),
        }
    }
}
