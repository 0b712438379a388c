//! Hot spares: disks that wait, perhaps for several pools, until one of the pools needs them.
//!
//! A spare that waits has a label that names no pool, and is listed in the meta object set. One that stands in for a disk
//! is a leaf of the tree, marked `is_spare`, and still listed. Which pool of this program uses a spare is known to all of
//! them ([`SparesInUse`]); a pool of another program has the disk open, so that it cannot be had.
//!
//! Sources: module/zfs/spa.c (`spa_load_spares`, `spa_vdev_remove`), vdev_label.c (`vdev_inuse`),
//! cmd/zed/agents/zfs_retire.c (`spare_is_preferred`), cmd/zpool/zpool_vdev.c (`is_spare`).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::SeqCst;

use dmu::Tx;
use env::{DiskError, OpenMode, lock};
use ondisk::label::config::{PoolState, key};
use ondisk::label::{MIN_DEVICE, allocatable_size};
use storage::labels::Device;
use storage::{OpenedLeaf, VdevConfig, VdevKind};

use super::Core;
use super::create::{Purpose, VdevSpec, new_guid, plan_vdev};
use super::disks::{Leaving, spare_label};
use super::extra::{self, Extra, Listed};
use super::place::Place;
use super::settle::Vacancy;
use super::status::VdevReport;
use crate::{PoolError, Result};

/// Which pools of this program use which spares, by the spares' guids.
#[derive(Debug, Default)]
pub struct SparesInUse(Mutex<BTreeMap<u64, String>>);

impl SparesInUse {
    pub(super) fn claim(&self, spare: u64, pool: &str) {
        lock(&self.0).insert(spare, pool.to_owned());
    }

    pub(super) fn release(&self, spare: u64) {
        lock(&self.0).remove(&spare);
    }

    /// The pool that is closed uses none any more.
    pub(super) fn release_all(&self, pool: &str) {
        lock(&self.0).retain(|_, user| user != pool);
    }

    fn user(&self, spare: u64) -> Option<String> {
        lock(&self.0).get(&spare).cloned()
    }
}

impl Core {
    /// Takes disks into the list of spares, or none of them; they are listed by the next group.
    pub(super) fn add_spares(&self, paths: &[String], purpose: Purpose<'_>) -> Result<()> {
        let mut added: Vec<Listed> = Vec::new();
        for path in paths {
            let spare = self.new_spare(path);
            added.push(spare.map_err(|why| purpose.refuse(why, &format!("{path}: {why}")))?);
        }
        lock(&self.extras.spares).extend(added);
        self.extras.changed.store(true, SeqCst);
        Ok(())
    }

    /// A disk that is a spare of another pool already keeps its label and guid.
    fn new_spare(&self, path: &str) -> std::result::Result<Listed, DiskError> {
        let mut config = plan_vdev(&self.env, 0, &VdevSpec::Leaf(path.to_owned()));
        (config.guid, config.create_txg) = (new_guid(&self.env), None);
        config.pairs.set(key::IS_SPARE, 1u64);
        let device = Device::locate(self.env.disks.open(path, OpenMode::ReadOnly)?)?;
        let labels = device.read_labels();
        let known = labels.config().and_then(|label| Extra::of(path, &device, label));
        if let Some(spare) = known.filter(|extra| extra.state == PoolState::Spare) {
            config.guid = spare.guid;
            if self.extras.name_of(spare.guid).is_some() {
                return Err(DiskError::Busy);
            }
        } else {
            let device = Device::locate(self.env.disks.open(path, OpenMode::ReadWrite)?)?;
            device.init(&spare_label(config.guid))?;
        }
        if device.size < MIN_DEVICE {
            return Err(DiskError::OutOfRange);
        }
        Ok(Listed { config, size: device.size, ashift: None })
    }

    /// Takes a spare off the list; `false` if none has this guid. One in use stays.
    pub(super) fn remove_spare(&self, guid: u64) -> Result<bool> {
        let Some((name, true)) = self.extras.name_of(guid) else { return Ok(false) };
        if Place::find(&lock(&self.config).tree, guid).is_some() {
            let why = "Pool busy; removal may already be in progress";
            return Err(PoolError::Refused(format!("cannot remove {name}: {why}")));
        }
        self.extras.drop_spare(guid);
        Ok(true)
    }

    /// The spare that waits at this path, as a leaf. Its label tells, not where it was found once; and that may still be
    /// the one it had when it stood in for a disk.
    pub(super) fn waiting_spare(&self, path: &str) -> Option<VdevConfig> {
        let waiting = extra::probe(&self.env, path).map(|extra| extra.guid);
        let guid = waiting.or_else(|| Some(super::labels::probe(&self.env, path)?.guid))?;
        let spares = lock(&self.extras.spares);
        let spare = spares.iter().find(|listed| listed.config.guid == guid)?;
        let waits = Place::find(&lock(&self.config).tree, guid).is_none();
        waits.then(|| VdevConfig { path: Some(path.to_owned()), ..spare.config.clone() })
    }

    /// Opens a spare that is to stand in for a disk of top-level vdev `id`. Its label stays until the group is written.
    pub(super) fn open_spare(
        &self,
        config: &VdevConfig,
        id: u32,
    ) -> std::result::Result<OpenedLeaf, DiskError> {
        let opened = self.storage.open_leaf(config, id)?;
        let labels = opened.device().read_labels();
        let is_it = |label: &ondisk::nvlist::NvList| label.u64(key::GUID) == Some(config.guid);
        if labels.configs.iter().flatten().any(is_it) { Ok(opened) } else { Err(DiskError::NotFound) }
    }

    /// The spare that suits a vacancy best: the smallest that is large enough.
    pub(super) fn spare_for(&self, vacancy: &Vacancy) -> Option<VdevConfig> {
        let tree = lock(&self.config).tree.clone();
        // They are held until their label is written, and can be had after that.
        let leaving: Vec<u64> = lock(&self.topology.leaving).iter().filter_map(|disk| disk.spare).collect();
        let free = |listed: &&Listed| {
            listed.size > 0
                && !leaving.contains(&listed.config.guid)
                && allocatable_size(listed.size) >= vacancy.least_asize
                && listed.ashift.is_none_or(|ashift| ashift <= vacancy.ashift)
                && Place::find(&tree, listed.config.guid).is_none()
                && self.spares_in_use.user(listed.config.guid).is_none()
        };
        let spares = lock(&self.extras.spares);
        spares.iter().filter(free).min_by_key(|listed| listed.size).map(|listed| listed.config.clone())
    }

    /// Puts a spare beside a disk that is out of use, if it can be had; else it is not tried again. Syncing context.
    pub(super) fn step_in(&self, vacancy: &Vacancy, spare: VdevConfig, tx: &Tx) -> Result<()> {
        let guid = spare.guid;
        match self.open_spare(&spare, vacancy.top) {
            Ok(disk) if disk.ashift() <= vacancy.ashift && disk.asize() >= vacancy.least_asize => {
                tracing::warn!(spare = spare.path, leaf = vacancy.leaf, "a hot spare steps in");
                self.spares_in_use.claim(guid, &lock(&self.name));
                self.admit(vacancy.leaf, &VdevKind::Spare, spare, disk, tx)
            }
            Ok(disk) => {
                let (size, ashift) = (disk.device().size, Some(disk.ashift()));
                self.extras.know_spare(guid, size, ashift);
                Ok(())
            }
            Err(why) => {
                tracing::warn!(spare = spare.path, %why, "a hot spare cannot be used");
                self.extras.know_spare(guid, 0, None);
                Ok(())
            }
        }
    }

    /// At import: tells all pools which spares this one uses, and gives those their label back that a crash has kept from
    /// getting it.
    pub(super) fn open_spares(&self) {
        let spares = lock(&self.extras.spares).clone();
        for listed in spares {
            let guid = listed.config.guid;
            if Place::find(&lock(&self.config).tree, guid).is_some() {
                self.spares_in_use.claim(guid, &lock(&self.name));
                continue;
            }
            let path = listed.config.path.as_deref().unwrap_or_default();
            let is_ours = super::labels::probe(&self.env, path).is_some_and(|found| found.guid == guid);
            if is_ours && let Ok(opened) = self.storage.open_leaf(&listed.config, 0) {
                lock(&self.topology.leaving).push(Leaving { device: opened.device(), spare: Some(guid) });
            }
        }
    }

    /// All spares, the first listed first.
    pub(super) fn spare_reports(&self) -> Vec<VdevReport> {
        let tree = lock(&self.config).tree.clone();
        let name = lock(&self.name).clone();
        let report = |listed: &Listed| {
            let guid = listed.config.guid;
            let here = Place::find(&tree, guid).map(|_| name.clone());
            VdevReport { used_by: here.or_else(|| self.spares_in_use.user(guid)), ..listed.report() }
        };
        lock(&self.extras.spares).iter().map(report).collect()
    }
}
