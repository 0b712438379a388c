//! Spares and cache devices: disks of a pool that are no part of its tree.
//!
//! The meta object set lists them; their own labels say only what they are, not of which pool, for a spare may wait for
//! several. They are shown and left alone: never opened for writing, and the lists stay as they are. Sources:
//! module/zfs/spa.c (`spa_load_spares`, `spa_load_l2cache`), vdev_label.c (`vdev_label_init`).

use std::sync::Arc;

use dmu::Objset;
use dmu::zap::Zap;
use env::{Env, OpenMode};
use ondisk::label::allocatable_size;
use ondisk::label::config::{PoolState, key};
use ondisk::object_type::pool_directory;
use storage::labels::Device;
use storage::{LeafIo, VdevConfig, VdevStat, VdevState};

use super::import::read_packed;
use super::labels::FoundPool;
use super::status::{VdevReport, vdev_name};
use crate::Result;

/// A device whose label says that it is a spare or a cache device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    pub path: String,
    pub guid: u64,
    /// [`PoolState::Spare`] or [`PoolState::L2cache`].
    pub state: PoolState,
    /// Bytes of the device.
    pub size: u64,
}

impl Extra {
    /// What a label without a pool's name tells.
    pub(super) fn of(path: &str, device: &Device, label: &ondisk::nvlist::NvList) -> Option<Extra> {
        let state = label.u64(key::POOL_STATE).and_then(PoolState::from_raw)?;
        let extra = matches!(state, PoolState::Spare | PoolState::L2cache);
        let guid = label.u64(key::GUID)?;
        extra.then(|| Extra { path: path.to_owned(), guid, state, size: device.size })
    }
}

/// Whether a device is a spare or a cache device, of whatever pool.
pub fn probe(env: &Env, path: &str) -> Option<Extra> {
    let device = Device::locate(env.disks.open(path, OpenMode::ReadOnly).ok()?).ok()?;
    let labels = device.read_labels();
    Extra::of(path, &device, labels.config()?)
}

/// The devices that one pool lists.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    pub cache: Vec<Listed>,
    pub spares: Vec<Listed>,
}

/// One of them, and where it was found.
#[derive(Clone, Debug)]
pub struct Listed {
    config: VdevConfig,
    /// Bytes; 0 where the device was not found.
    size: u64,
}

impl Extras {
    /// Reads the pool's lists. One that is damaged keeps nobody from the data: it is told, and passed over.
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
            cache: list(pool_directory::L2CACHE, key::L2CACHE, PoolState::L2cache),
            spares: list(pool_directory::SPARES, key::SPARES, PoolState::Spare),
        }
    }

    /// Guids of all of them.
    pub fn guids(&self) -> impl Iterator<Item = u64> {
        self.cache.iter().chain(&self.spares).map(|listed| listed.config.guid)
    }
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
        Listed { config, size: there.map_or(0, |extra| extra.size) }
    }

    fn report(&self) -> VdevReport {
        let config = &self.config;
        let stat = VdevStat {
            kind: config.kind.clone(),
            guid: config.guid,
            path: config.path.clone(),
            is_log: false,
            state: if self.size > 0 { VdevState::Online } else { VdevState::Unavail },
            read_errors: 0,
            write_errors: 0,
            checksum_errors: 0,
            io: LeafIo::zero(),
            size: self.size,
            children: Vec::new(),
        };
        VdevReport {
            name: vdev_name(&config.kind, config.path.as_deref(), config.guid, config.id),
            ashift: config.ashift.unwrap_or(0) as u32,
            allocated: 0,
            size: 0,
            physical: self.size,
            fragmentation: None,
            children: Vec::new(),
            stat,
        }
    }

    /// A cache device has space of its own, though nothing is put there.
    pub(super) fn cache_report(&self) -> VdevReport {
        let space = if self.size > 0 { allocatable_size(self.size) } else { 0 };
        VdevReport { size: space, fragmentation: (space > 0).then_some(0), ..self.report() }
    }

    pub(super) fn spare_report(&self) -> VdevReport {
        self.report()
    }
}
