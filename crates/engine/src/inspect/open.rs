//! From paths to devices, and from devices to pools opened for reading.

use std::sync::Arc;

use ::pool::Pool;
use ::pool::spa::create::Surroundings;
use ::pool::spa::import::{ImportSpec, import};
use ::pool::spa::labels::{FoundPool, expand, search};
use ::pool::txg::Limits;
use dmu::Objset;
use env::{Env, OpenMode};
use ondisk::label::config::PoolState;
use ondisk::nvlist::NvList;
use storage::Storage;
use storage::arc::Cache;
use storage::labels::{Device as Place, Found as Labels};

use crate::facade::zpl_format;

/// Bytes of the block cache: enough for the metadata on one way down a tree.
const CACHE: usize = 64 << 20;

/// A device and what its labels say.
pub struct Device {
    pub path: String,
    /// Of the whole device, in bytes.
    pub size: u64,
    /// The part of it that may belong to a pool.
    pub base: u64,
    pub part: u64,
    pub labels: Labels,
}

/// What is at the paths.
pub struct Found {
    pub devices: Vec<Device>,
    pub pools: Vec<FoundPool>,
    /// Paths that cannot be opened, and why.
    pub unreadable: Vec<(String, String)>,
}

/// Reads all labels.
pub fn look_for(env: &Env, paths: &[String]) -> Found {
    let mut devices = Vec::new();
    let mut unreadable = Vec::new();
    for path in expand(&*env.disks, paths) {
        let located = env.disks.open(&path, OpenMode::ReadOnly).and_then(Place::locate);
        match located {
            Ok(place) => {
                let labels = place.read_labels();
                // In a folder, what belongs to no pool is passed by.
                let foreign = labels.config().is_none() && labels.uberblocks.is_empty();
                if !foreign || paths.contains(&path) {
                    let (size, base, part) = (place.disk.size(), place.base, place.size);
                    devices.push(Device { path, size, base, part, labels });
                }
            }
            Err(error) if paths.contains(&path) => unreadable.push((path, error.to_string())),
            Err(_) => {}
        }
    }
    let pools = search(env, paths);
    Found { devices, pools, unreadable }
}

/// A pool, open for reading.
pub struct Opened {
    pub pool: Arc<Pool>,
    /// As the labels say it was left.
    pub state: PoolState,
}

/// Opens a pool read-only, whoever uses it; `Err` says why that cannot be.
pub fn open(env: &Env, found: &FoundPool) -> Result<Opened, String> {
    let around = Surroundings {
        events: Arc::default(),
        env: env.clone(),
        cache: Cache::new(CACHE),
        limits: Limits::default(),
        fs_format: zpl_format(env),
        spares_in_use: Default::default(),
        open_pools: Default::default(),
        kept: None,
    };
    let mut found = found.clone();
    let state = found.config.state;
    // A destroyed pool is as good as any to look at.
    found.config.state = PoolState::Exported;
    let spec = ImportSpec { readonly: true, force: true, as_is: true, ..ImportSpec::default() };
    let pool = import(&around, &found, &spec).map_err(|error| error.to_string())?;
    Ok(Opened { pool, state })
}

impl Opened {
    pub fn storage(&self) -> &Arc<Storage> {
        &self.pool.core().storage
    }

    /// The meta object set.
    pub fn mos(&self) -> &Arc<Objset> {
        &self.pool.core().mos
    }

    /// The newest group on disk.
    pub fn txg(&self) -> u64 {
        self.pool.core().txgs.synced()
    }

    /// The configuration that the pool keeps in itself.
    pub fn config(&self) -> NvList {
        self.pool.config().pairs
    }

    pub fn close(&self) {
        // Read-only: there is nothing to write, so nothing that could fail.
        let _ = self.pool.export();
    }
}
