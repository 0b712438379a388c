//! Hot spares: disks that wait, perhaps for several pools, until one of the pools needs them.
//!
//! A spare that waits has a label that names no pool, and is listed in the meta object set. One
//! that stands in for a disk is a leaf of the tree, marked `is_spare`, and still listed. Which pool
//! of this program uses a spare is known to all of them ([`SparesInUse`]); a pool of another
//! program has the disk open, so that it cannot be had. One that waits is held open as well, once
//! for all pools of this program, so that nobody makes a file system on it meanwhile.
//!
//! Sources: module/zfs/spa.c (`spa_load_spares`, `spa_vdev_remove`), vdev_label.c (`vdev_inuse`),
//! cmd/zed/agents/zfs_retire.c (`spare_is_preferred`), cmd/zpool/zpool_vdev.c (`is_spare`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use api_types::VdevSpec;
use dmu::Tx;
use env::{Disk, DiskError, Env, OpenMode, lock};
use ondisk::label::config::{PoolState, key};
use ondisk::label::{MIN_DEVICE, allocatable_size};
use refusal::{Action, Refused, VdevFault};
use stdx::mark::mark;
use storage::labels::Device;
use storage::{OpenedLeaf, VdevConfig, VdevKind};

use super::Core;
use super::disks::{Leaving, spare_label};
use super::extra::Listed;
use super::labels::{Extra, probe, probe_extra};
use super::place::Place;
use super::report::VdevReport;
use super::settle::Vacancy;
use super::spec::{new_guid, plan_vdev, refuse_device};
use crate::Result;

/// Which pools of this program use which spares, and which spares wait, by the spares' guids.
#[derive(Default)]
pub struct SparesInUse {
    users: Mutex<BTreeMap<u64, String>>,
    held: Mutex<BTreeMap<u64, Held>>,
}

/// A spare that waits.
struct Held {
    /// As long as it is open here, nobody else can open it to write. `None`: it is needed, or
    /// cannot be had.
    disk: Option<Arc<dyn Disk>>,
    /// Names of the pools that list it.
    pools: BTreeSet<String>,
}

impl SparesInUse {
    pub(super) fn claim(&self, spare: u64, pool: &str) {
        lock(&self.users).insert(spare, pool.to_owned());
    }

    /// Whether a pool uses a spare that another one lists, too.
    pub fn has_shared_in_use(&self, pool: &str) -> bool {
        let (users, held) = (lock(&self.users), lock(&self.held));
        let is_listed_elsewhere =
            |spare: &u64| held.get(spare).is_some_and(|held| held.pools.iter().any(|other| other != pool));
        users.iter().any(|(spare, user)| user == pool && is_listed_elsewhere(spare))
    }

    pub(super) fn release(&self, spare: u64) {
        lock(&self.users).remove(&spare);
    }

    /// The pool that is closed uses none any more.
    pub(super) fn release_all(&self, pool: &str) {
        lock(&self.users).retain(|_, user| user != pool);
        lock(&self.held).retain(|_, held| {
            held.pools.remove(pool);
            !held.pools.is_empty()
        });
    }

    /// Holds a spare that waits for this pool, if it is there and nobody else has it.
    fn hold(&self, env: &Env, spare: u64, path: &str, pool: &str) {
        let mut all = lock(&self.held);
        let held = all.entry(spare).or_insert_with(|| Held { disk: None, pools: BTreeSet::new() });
        held.pools.insert(pool.to_owned());
        if held.disk.is_none() && probe_extra(env, path).is_some_and(|found| found.guid == spare) {
            held.disk = env.disks.open(path, OpenMode::ReadWrite).ok();
        }
    }

    /// The pool lists the spare no more.
    fn leave(&self, spare: u64, pool: &str) {
        lock(&self.held).retain(|guid, held| {
            *guid != spare || {
                held.pools.remove(pool);
                !held.pools.is_empty()
            }
        });
    }

    /// Opens a spare that is needed: it is not held from now on, and by nobody until it is open.
    fn take<T>(&self, spare: u64, open: impl FnOnce() -> T) -> T {
        let mut held = lock(&self.held);
        held.get_mut(&spare).and_then(|held| held.disk.take());
        open()
    }

    fn user(&self, spare: u64) -> Option<String> {
        lock(&self.users).get(&spare).cloned()
    }
}

impl Core {
    /// Takes disks into the list of spares, or none of them; they are listed by the next group.
    pub(super) fn add_spares(&self, paths: &[String], action: &Action) -> Result<()> {
        let mut added: Vec<Listed> = Vec::new();
        for path in paths {
            let spare = self.new_spare(path);
            added.push(spare.map_err(|why| refuse_device(action, path, why))?);
        }
        lock(&self.extras.spares).extend(added);
        self.extras.changed.store(true, SeqCst);
        self.hold_spares();
        Ok(())
    }

    /// Holds the spares that wait. Those that are seen off get their label first.
    pub(super) fn hold_spares(&self) {
        let waiting = lock(&self.extras.spares).clone();
        if self.readonly || waiting.is_empty() {
            return;
        }
        let (tree, name) = (lock(&self.config).tree.clone(), lock(&self.name).clone());
        let leaving: Vec<u64> = lock(&self.topology.leaving).iter().filter_map(|disk| disk.spare).collect();
        for Listed { config, .. } in waiting {
            let is_used = Place::find(&tree, config.guid).is_some()
                || leaving.contains(&config.guid)
                || self.spares_in_use.user(config.guid).is_some();
            if let (false, Some(path)) = (is_used, &config.path) {
                self.spares_in_use.hold(&self.env, config.guid, path, &name);
            }
        }
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
            return Err(Refused::new(Action::RemoveVdev { vdev: name }, VdevFault::SpareBusy).into());
        }
        self.extras.drop_spare(guid);
        self.spares_in_use.leave(guid, &lock(&self.name));
        Ok(true)
    }

    /// The spare that waits at this path, as a leaf. Its label tells, not where it was found once;
    /// and that may still be the one it had when it stood in for a disk.
    pub(super) fn waiting_spare(&self, path: &str) -> Option<VdevConfig> {
        let waiting = probe_extra(&self.env, path).map(|extra| extra.guid);
        let guid = waiting.or_else(|| Some(probe(&self.env, path)?.guid))?;
        let spares = lock(&self.extras.spares);
        let spare = spares.iter().find(|listed| listed.config.guid == guid)?;
        let waits = Place::find(&lock(&self.config).tree, guid).is_none();
        waits.then(|| VdevConfig { path: Some(path.to_owned()), ..spare.config.clone() })
    }

    /// Opens a spare that is to stand in for a disk of top-level vdev `id`. Its label stays until
    /// the group is written.
    pub(super) fn open_spare(
        &self,
        config: &VdevConfig,
        id: u32,
    ) -> std::result::Result<OpenedLeaf, DiskError> {
        let opened = self.spares_in_use.take(config.guid, || self.storage.open_leaf(config, id))?;
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

    /// Puts a spare beside a disk that is out of use, if it can be had; else it is not tried again.
    /// Syncing context.
    pub(super) fn step_in(&self, vacancy: &Vacancy, spare: VdevConfig, tx: &Tx) -> Result<()> {
        let guid = spare.guid;
        match self.open_spare(&spare, vacancy.top) {
            Ok(disk) if disk.ashift() <= vacancy.ashift && disk.asize() >= vacancy.least_asize => {
                tracing::warn!(spare = spare.path, leaf = vacancy.leaf, "a hot spare steps in");
                mark("hot spare steps in");
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

    /// At import: tells all pools which spares this one uses, and gives those their label back that
    /// a crash has kept from getting it.
    pub(super) fn open_spares(&self) {
        let spares = lock(&self.extras.spares).clone();
        for listed in spares {
            let guid = listed.config.guid;
            if Place::find(&lock(&self.config).tree, guid).is_some() {
                self.spares_in_use.claim(guid, &lock(&self.name));
                continue;
            }
            let path = listed.config.path.as_deref().unwrap_or_default();
            let is_ours = probe(&self.env, path).is_some_and(|found| found.guid == guid);
            if is_ours && let Ok(opened) = self.storage.open_leaf(&listed.config, 0) {
                lock(&self.topology.leaving).push(Leaving {
                    device: opened.device(),
                    guid,
                    spare: Some(guid),
                });
            }
        }
        self.hold_spares();
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
