//! Spares and cache devices: disks of a pool that are no part of its tree.
//!
//! The meta object set lists them; their own labels say only what they are, not of which pool, for
//! a spare may wait for several. Cache devices of a pool that is written are in use
//! (`storage::arc::l2`); one that is missing is no error. What spares do is told in
//! [`super::spares`]. Sources: module/zfs/spa.c (`spa_load_spares`, `spa_load_l2cache`,
//! `spa_sync_aux_dev`), vdev_label.c (`vdev_label_init`).

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use dmu::zap::Zap;
use dmu::{Objset, Tx};
use env::{DiskError, lock};
use ondisk::label::allocatable_size;
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::{NvList, NvValue};
use ondisk::object_type::pool_directory;
use storage::arc::l2::{CacheDevice, CacheIntent};
use storage::{VdevConfig, VdevStat, VdevState};

use super::Core;
use super::labels::FoundPool;
use super::packed::{alloc_packed, read_packed, write_packed};
use super::report::{VdevReport, vdev_name};
use crate::Result;

/// The devices that one pool lists.
#[derive(Debug, Default)]
pub struct Extras {
    cache: Mutex<Vec<Listed>>,
    pub(super) spares: Mutex<Vec<Listed>>,
    /// The meta object set has older lists.
    pub(super) changed: AtomicBool,
}

/// One of them, and where it was found.
#[derive(Clone, Debug)]
pub struct Listed {
    pub(super) config: VdevConfig,
    /// Bytes; 0 where the device was not found.
    pub(super) size: u64,
    /// Of a spare: log2 of its sector, where it has been asked.
    pub(super) ashift: Option<u64>,
}

impl Extras {
    /// Reads the pool's lists. One that is damaged keeps nobody from the data: it is told, and
    /// passed over.
    pub(super) fn read(mos: &Arc<Objset>, directory: &Zap, found: &FoundPool) -> Extras {
        let list = |name: &str, key: &str, state: PoolState| {
            read_list(mos, directory, name, key).map_or_else(
                |error| {
                    tracing::warn!(list = name, %error, "the list of devices cannot be read");
                    Vec::new()
                },
                |configs| configs.into_iter().map(|config| Listed::find(config, state, found)).collect(),
            )
        };
        Extras {
            cache: Mutex::new(list(pool_directory::L2CACHE, key::L2CACHE, PoolState::L2cache)),
            spares: Mutex::new(list(pool_directory::SPARES, key::SPARES, PoolState::Spare)),
            changed: AtomicBool::new(false),
        }
    }

    /// Guids of all of them.
    pub fn guids(&self) -> Vec<u64> {
        let (cache, spares) = (lock(&self.cache), lock(&self.spares));
        cache.iter().chain(spares.iter()).map(|listed| listed.config.guid).collect()
    }

    /// The name of a device, and whether it is a spare; `None` if none has this guid.
    pub(super) fn name_of(&self, guid: u64) -> Option<(String, bool)> {
        let find = |list: &Mutex<Vec<Listed>>| {
            lock(list).iter().find(|listed| listed.config.guid == guid).map(Listed::name)
        };
        let spare = find(&self.spares).map(|name| (name, true));
        spare.or_else(|| find(&self.cache).map(|name| (name, false)))
    }

    pub(super) fn has_spares(&self) -> bool {
        !lock(&self.spares).is_empty()
    }

    /// Takes a spare off the list.
    pub(super) fn drop_spare(&self, guid: u64) {
        lock(&self.spares).retain(|listed| listed.config.guid != guid);
        self.changed.store(true, SeqCst);
    }

    /// What a spare turned out to be: its bytes (0 if it cannot be had) and its sector.
    pub(super) fn know_spare(&self, guid: u64, size: u64, ashift: Option<u64>) {
        for listed in lock(&self.spares).iter_mut().filter(|listed| listed.config.guid == guid) {
            (listed.size, listed.ashift) = (size, ashift);
        }
    }
}

impl Core {
    /// Opens the cache devices of a pool that is going to be written.
    pub(super) fn open_cache(&self) {
        for listed in lock(&self.extras.cache).iter_mut() {
            let opened = self.storage.add_cache(&mut listed.config, CacheIntent::Known);
            assert!(opened.is_ok(), "a known cache device may be missing");
        }
    }

    /// Takes a new cache device into use, and lists it with the next transaction group.
    pub(super) fn add_cache(&self, mut config: VdevConfig) -> std::result::Result<(), DiskError> {
        self.storage.add_cache(&mut config, CacheIntent::New)?;
        lock(&self.extras.cache).push(Listed { config, size: 0, ashift: None });
        self.extras.changed.store(true, SeqCst);
        Ok(())
    }

    /// Lets go of a cache device; `false` if none has this guid.
    pub(super) fn remove_cache(&self, guid: u64) -> bool {
        let mut cache = lock(&self.extras.cache);
        let before = cache.len();
        cache.retain(|listed| listed.config.guid != guid);
        let found = cache.len() < before;
        drop(cache);
        if found {
            self.storage.remove_cache(guid);
            self.extras.changed.store(true, SeqCst);
        }
        found
    }

    pub(super) fn cache_reports(&self) -> Vec<VdevReport> {
        let open = self.storage.cache_devices();
        let report = |listed: &Listed| {
            let device = open.iter().find(|device| device.stat.guid == listed.config.guid);
            device.map_or_else(|| listed.cache_report(), |device| listed.open_report(device))
        };
        lock(&self.extras.cache).iter().map(report).collect()
    }

    /// Writes the lists if they changed.
    pub(crate) fn write_extras(&self, tx: &Tx) -> Result<()> {
        if !self.extras.changed.swap(false, SeqCst) {
            return Ok(());
        }
        self.write_list(pool_directory::L2CACHE, key::L2CACHE, &self.extras.cache, tx)?;
        self.write_list(pool_directory::SPARES, key::SPARES, &self.extras.spares, tx)
    }

    fn write_list(&self, name: &str, key: &str, listed: &Mutex<Vec<Listed>>, tx: &Tx) -> Result<()> {
        let devices: Vec<NvList> = lock(listed).iter().map(|listed| to_nvlist(&listed.config)).collect();
        let directory = Zap::open(&self.mos, pool_directory::OBJECT)?;
        let object = match directory.find_u64(name)? {
            Some(object) => object,
            None if devices.is_empty() => return Ok(()),
            None => {
                let object = alloc_packed(&self.mos, tx)?;
                directory.add(name, object, tx)?;
                object
            }
        };
        let list = NvList::new().with(key, NvValue::from(devices));
        write_packed(&self.mos, object, &list.encode_xdr(), tx)
    }
}

/// A cache device as the list has it: what was read, and what is known now.
fn to_nvlist(config: &VdevConfig) -> NvList {
    let mut list = config.pairs.clone();
    list.set(key::TYPE, config.kind.name());
    list.set(key::GUID, config.guid);
    if let Some(path) = &config.path {
        list.set(key::PATH, path.as_str());
    }
    if let Some(ashift) = config.ashift {
        list.set(key::ASHIFT, ashift);
    }
    list
}

fn read_list(mos: &Arc<Objset>, directory: &Zap, name: &str, key: &str) -> Result<Vec<VdevConfig>> {
    let Some(object) = directory.find_u64(name)? else { return Ok(Vec::new()) };
    let list = read_packed(mos, object)?;
    let vdevs = list.nvlist_array(key).iter().map(VdevConfig::from_nvlist);
    vdevs.collect::<std::result::Result<_, _>>().map_err(|error| crate::PoolError::Corrupt(error.to_string()))
}

impl Listed {
    fn find(mut config: VdevConfig, state: PoolState, found: &FoundPool) -> Listed {
        let there = found.extras.iter().find(|extra| extra.guid == config.guid && extra.state == state);
        if let Some(extra) = there {
            config.path = Some(extra.path.clone());
        }
        // A spare that is in use, or was when the power went, has a label of the pool.
        let member = found.devices.iter().find(|device| device.guid == config.guid);
        if let (None, Some(device)) = (there, member) {
            config.path = Some(device.path.clone());
        }
        let size = there.map(|extra| extra.size).or(member.map(|device| device.size)).unwrap_or(0);
        Listed { config, size, ashift: None }
    }

    fn name(&self) -> String {
        vdev_name(&self.config.kind, self.config.path.as_deref(), self.config.guid, self.config.id)
    }

    pub(super) fn report(&self) -> VdevReport {
        let config = &self.config;
        let state = if self.size > 0 { VdevState::Online } else { VdevState::Unavail };
        let stat = VdevStat { state, size: self.size, ..VdevStat::blank(config) };
        let ashift = config.ashift.unwrap_or(0) as u32;
        VdevReport { ashift, physical: self.size, ..VdevReport::of(self.name(), config.id, stat) }
    }

    /// A cache device has space of its own, though nothing is put there.
    pub(super) fn cache_report(&self) -> VdevReport {
        let space = if self.size > 0 { allocatable_size(self.size) } else { 0 };
        VdevReport { size: space, fragmentation: (space > 0).then_some(0), ..self.report() }
    }

    fn open_report(&self, device: &CacheDevice) -> VdevReport {
        VdevReport {
            stat: device.stat.clone(),
            ashift: device.ashift,
            allocated: device.allocated,
            size: device.size,
            physical: device.stat.size,
            fragmentation: (device.size > 0).then_some(0),
            ..self.report()
        }
    }
}
