//! Devices that are in use, and may not be given away.
//!
//! What a label says counts for nothing by itself: a pool that is open in this program knows which
//! devices are its own, whatever their labels say, and nobody takes one of them. What only might be
//! in use, `force` takes: also what another program's file system, partition table or volume
//! manager says is its own.
//!
//! Sources: cmd/zpool/zpool_vdev.c (`check_file_generic`, `vdev_error`),
//! cmd/zpool/os/linux/zpool_vdev_os.c (`check_slice`, `check_disk`), lib/libzfs/libzfs_import.c
//! (`zpool_in_use`).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, Weak};

use env::{AlignedBuf, Env, IoClass, OpenMode, lock};
use ondisk::foreign::{self, Foreign, Table};
use ondisk::label::config::PoolState;
use refusal::{Action, Refused, Use, VdevFault};
use storage::labels::Device;

use super::Core;
use super::labels::{probe, probe_extra};
use super::place::{Place, is_spare};
use crate::Result;

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

    /// Whether a device is a spare or a cache device, and the name of the pool that lists it; its
    /// labels don't say.
    pub fn owner_of_extra(&self, env: &Env, path: &str) -> Option<(PoolState, String)> {
        let extra = probe_extra(env, path)?;
        let pool = self.find(|pool| pool.extras.guids().contains(&extra.guid))?;
        Some((extra.state, lock(&pool.name).clone()))
    }

    /// Refuses devices that are in use. `spares`: those that are to be spares, which may be so in
    /// several pools.
    pub(super) fn refuse_used(
        &self,
        env: &Env,
        paths: &[String],
        spares: &[String],
        force: bool,
    ) -> Result<()> {
        let own = paths.iter().filter_map(|path| self.use_of(env, path, false, force));
        let uses: Vec<Use> =
            own.chain(spares.iter().filter_map(|path| self.use_of(env, path, true, force))).collect();
        if uses.is_empty() {
            return Ok(());
        }
        Err(Refused::new(Action::UseVdevs, VdevFault::InUse { uses, can_force: !force }).into())
    }

    /// What stands against taking a device.
    fn use_of(&self, env: &Env, path: &str, as_spare: bool, force: bool) -> Option<Use> {
        let reserved = |pool: String| (!as_spare).then(|| Use::Spare { path: path.to_owned(), pool });
        let part =
            |state: &str, pool: String| Use::Part { path: path.to_owned(), pool, state: state.to_owned() };
        let Some(found) = probe(env, path) else {
            return match self.owner_of_extra(env, path) {
                Some((PoolState::Spare, pool)) => reserved(pool),
                // OpenZFS has no word for the state of a cache device.
                Some((_, pool)) => (!force).then(|| part("unknown", pool)),
                None => foreign_use(env, path, force),
            };
        };
        if lock(&self.coming).contains(&found.config.guid) {
            return Some(part("active", found.config.name));
        }
        let open = self.find(|pool| lock(&pool.config).guid == found.config.guid);
        match (open, found.config.state) {
            (_, PoolState::Destroyed | PoolState::Spare | PoolState::L2cache) => {
                foreign_use(env, path, force)
            }
            (Some(pool), _) => {
                let name = lock(&pool.name).clone();
                // One that has left the pool has a label that is out of date.
                let place = Place::find(&lock(&pool.config).tree, found.guid)?;
                if is_spare(place.vdev()) { reserved(name) } else { Some(part("active", name)) }
            }
            (None, PoolState::Active) => (!force).then(|| part("potentially active", found.config.name)),
            (None, PoolState::Exported) => (!force).then(|| part("exported", found.config.name)),
        }
    }
}

/// What stands against taking a device that is no pool's: that something else is on it.
fn foreign_use(env: &Env, path: &str, force: bool) -> Option<Use> {
    if force {
        return None;
    }
    let device = Device::locate(env.disks.open(path, OpenMode::ReadOnly).ok()?).ok()?;
    // The pool's first label has taken the place of what was there before; at its very beginning
    // that leaves traces.
    if device.read_labels().configs[0].is_some() {
        return None;
    }
    let content = |path: String, kind: &str| Some(Use::Content { path, kind: kind.to_owned() });
    match foreign_on(&device, 0, device.size)? {
        Foreign::Content(kind) => content(path.to_owned(), kind),
        Foreign::Partitions(table, all) => {
            let named = |(number, partition): (usize, ondisk::gpt::Partition)| match foreign_on(
                &device,
                partition.start,
                partition.len,
            )? {
                Foreign::Content(kind) => content(partition_name(env, path, number), kind),
                Foreign::Partitions(..) => None,
            };
            let whole = || match table {
                Table::Mbr => Use::Mbr { path: path.to_owned() },
                Table::Gpt => Use::Gpt { path: path.to_owned() },
            };
            all.into_iter().find_map(named).or_else(|| Some(whole()))
        }
    }
}

fn foreign_on(device: &Device, start: u64, len: u64) -> Option<Foreign> {
    foreign::find(len, |at, len| {
        let mut buf = AlignedBuf::zeroed(len);
        let at = device.base.checked_add(start)?.checked_add(at)?;
        device.disk.read_at(at, &mut buf, IoClass::SyncRead).ok()?;
        Some(buf.to_vec())
    })
}

/// As Linux names a disk's partitions; those of a file have no name.
fn partition_name(env: &Env, path: &str, number: usize) -> String {
    let between = if path.ends_with(|last: char| last.is_ascii_digit()) { "p" } else { "" };
    if env.disks.is_block_device(path) { format!("{path}{between}{number}") } else { path.to_owned() }
}
