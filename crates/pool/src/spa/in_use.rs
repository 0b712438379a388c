//! Devices that are in use, and may not be given away.
//!
//! What a label says counts for nothing by itself: a pool that is open in this program knows which devices are its own,
//! whatever their labels say, and nobody takes one of them. What only might be in use, `force` takes.
//!
//! Sources: cmd/zpool/zpool_vdev.c (`check_file_generic`, `vdev_error`), lib/libzfs/libzfs_import.c (`zpool_in_use`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};

use env::{Env, lock};
use ondisk::label::config::PoolState;

use super::labels::probe;
use super::place::{Place, is_spare};
use super::{Core, extra};
use crate::{PoolError, Result};

/// The pools that are open in this program.
#[derive(Default)]
pub struct OpenPools {
    open: Mutex<Vec<Weak<Core>>>,
    /// Guids of those being imported.
    coming: Mutex<BTreeSet<u64>>,
}

/// A pool that is being imported; ends with the value.
pub(super) struct Coming<'a> {
    pools: &'a OpenPools,
    guid: u64,
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        lock(&self.pools.coming).remove(&self.guid);
    }
}

impl OpenPools {
    /// The devices of this pool are nobody else's from now on.
    pub(super) fn announce(&self, guid: u64) -> Coming<'_> {
        lock(&self.coming).insert(guid);
        Coming { pools: self, guid }
    }

    pub(super) fn enter(&self, pool: &Arc<Core>) {
        lock(&self.open).push(Arc::downgrade(pool));
    }

    pub(super) fn leave(&self, pool: &Core) {
        lock(&self.open).retain(|open| open.strong_count() > 0 && !std::ptr::eq(open.as_ptr(), pool));
    }

    /// The first pool of which something is so.
    fn find(&self, is: impl Fn(&Core) -> bool) -> Option<Arc<Core>> {
        let open: Vec<Weak<Core>> = lock(&self.open).clone();
        open.iter().filter_map(Weak::upgrade).find(|pool| is(pool))
    }

    /// Whether a device is a spare or a cache device, and the name of the pool that lists it; its labels don't say.
    pub fn owner_of_extra(&self, env: &Env, path: &str) -> Option<(PoolState, String)> {
        let extra = extra::probe(env, path)?;
        let pool = self.find(|pool| pool.extras.guids().contains(&extra.guid))?;
        Some((extra.state, lock(&pool.name).clone()))
    }

    /// Refuses devices that are in use, in OpenZFS's words. `spares`: those that are to be spares, which may be so in
    /// several pools.
    pub(super) fn refuse_used(
        &self,
        env: &Env,
        paths: &[String],
        spares: &[String],
        force: bool,
    ) -> Result<()> {
        let own = paths.iter().filter_map(|path| self.use_of(env, path, false, force));
        let used: Vec<String> =
            own.chain(spares.iter().filter_map(|path| self.use_of(env, path, true, force))).collect();
        if used.is_empty() {
            return Ok(());
        }
        let hint = match force {
            true => "the following errors must be manually repaired:",
            false => "use '-f' to override the following errors:",
        };
        Err(PoolError::Refused(format!("invalid vdev specification\n{hint}\n{}", used.join("\n"))))
    }

    /// What stands against taking a device.
    fn use_of(&self, env: &Env, path: &str, as_spare: bool, force: bool) -> Option<String> {
        let reserved =
            |pool: &str| (!as_spare).then(|| format!("{path} is reserved as a hot spare for pool {pool}"));
        let part = |state: &str, pool: &str| format!("{path} is part of {state} pool '{pool}'");
        let Some(found) = probe(env, path) else {
            return match self.owner_of_extra(env, path)? {
                (PoolState::Spare, pool) => reserved(&pool),
                // OpenZFS has no word for the state of a cache device.
                (_, pool) => (!force).then(|| part("unknown", &pool)),
            };
        };
        if lock(&self.coming).contains(&found.config.guid) {
            return Some(part("active", &found.config.name));
        }
        let open = self.find(|pool| lock(&pool.config).guid == found.config.guid);
        match (open, found.config.state) {
            (_, PoolState::Destroyed | PoolState::Spare | PoolState::L2cache) => None,
            (Some(pool), _) => {
                let name = lock(&pool.name).clone();
                // One that has left the pool has a label that is out of date.
                let place = Place::find(&lock(&pool.config).tree, found.guid)?;
                if is_spare(place.vdev()) { reserved(&name) } else { Some(part("active", &name)) }
            }
            (None, PoolState::Active) => (!force).then(|| part("potentially active", &found.config.name)),
            (None, PoolState::Exported) => (!force).then(|| part("exported", &found.config.name)),
        }
    }
}
