//! Log devices of a running pool: added, removed, mirrored, replaced, taken offline and brought back.
//!
//! What a log holds counts only until its transaction groups are durable. So a log is *emptied* before its disks change:
//! nothing more is placed there, all chains end, and what they held is durable in the pool. Then there is nothing to
//! copy, and a disk that was away has missed nothing. Only a log that waits to be replayed cannot be emptied: then the
//! change is refused.
//!
//! A new disk gets its label first and belongs to the pool with the next group; one that goes loses its label when the
//! group is durable that does not list it. A new log is used when the group is durable that lists it: before that, no
//! import would find what was promised there.
//!
//! Sources: module/zfs/spa.c (`spa_vdev_add`, `spa_vdev_attach`, `spa_vdev_detach`), vdev_removal.c
//! (`spa_vdev_remove_log`), vdev.c (`vdev_offline`, `vdev_remove_parent`), messages of lib/libzfs/libzfs_pool.c.

use env::{DiskError, lock};
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::NvList;
use storage::labels::Device;
use storage::{OpenedLeaf, VdevConfig, VdevKind};

use super::create::{
    VdevSpec, check_specs, leaf_paths, make_top_objects, make_vdev_zap, new_guid, plan_vdev, size_metaslabs,
    unusable_disk,
};
use super::status::vdev_name;
use super::{Core, Pool, labels};
use crate::space::VdevSpace;
use crate::{PoolError, Result};

/// Groups that emptying a log may take.
const EMPTYING_GROUPS: usize = 8;
/// Groups that are waited for a disk which is still open elsewhere in this program.
const OPENING_GROUPS: usize = 8;

/// A vdev of the tree: a top-level one, or a side of one.
#[derive(Clone)]
pub(super) struct Place {
    top: VdevConfig,
    side: Option<usize>,
}

impl Place {
    fn id(&self) -> u32 {
        self.top.id as u32
    }

    fn vdev(&self) -> &VdevConfig {
        self.side.map_or(&self.top, |side| &self.top.children[side])
    }

    fn name(&self) -> String {
        let vdev = self.vdev();
        vdev_name(&vdev.kind, vdev.path.as_deref(), vdev.guid, vdev.id)
    }
}

impl Core {
    /// The log vdev of this guid, or the side of one. `refused` begins the message when it is none.
    pub(super) fn find_log(&self, guid: u64, refused: &dyn Fn(&str) -> String) -> Result<Place> {
        let config = lock(&self.config);
        for top in &config.tree.children {
            let side = top.children.iter().position(|side| side.guid == guid);
            if top.guid != guid && side.is_none() {
                continue;
            }
            let place = Place { top: top.clone(), side };
            if top.is_log {
                return Ok(place);
            }
            let name = place.name();
            return Err(PoolError::Refused(format!(
                "{}: this can be done to devices of intent logs and cache devices only yet",
                refused(&name)
            )));
        }
        Err(PoolError::NotFound)
    }

    /// Opens a disk that is to join top-level vdev `id`, and makes it a member of nothing.
    fn open_new(&self, config: &VdevConfig, id: u32, refused: &str) -> Result<OpenedLeaf> {
        let path = config.path.clone().unwrap_or_default();
        let unusable = |why: DiskError| unusable_disk(refused, why, &format!("{path}: {why}"));
        let opened = self.open_patiently(config, id).map_err(unusable)?;
        let blank =
            NvList::new().with(key::POOL_TXG, 0u64).with(key::POOL_STATE, PoolState::Destroyed as u64);
        opened.device().init(&blank).map_err(unusable)?;
        Ok(opened)
    }

    /// Opens a disk; one that the pool has just let go may be in use by an I/O under way.
    fn open_patiently(&self, config: &VdevConfig, id: u32) -> std::result::Result<OpenedLeaf, DiskError> {
        let mut opened = self.storage.open_leaf(config, id);
        for _ in 0..OPENING_GROUPS {
            if !matches!(opened, Err(DiskError::Busy)) || self.txgs.sync_empty().is_err() {
                break;
            }
            opened = self.storage.open_leaf(config, id);
        }
        opened
    }

    /// Lets go of a disk that is to be opened anew, without a change of the configuration.
    fn release(&self, guid: u64) -> Result<()> {
        let mut without = lock(&self.config).tree.clone();
        without.visit_mut(&mut |vdev| vdev.offline |= vdev.guid == guid);
        self.swap_only(&without)
    }

    /// After [`Core::release`] came to nothing: the disk is listed as it was, and not there.
    fn unrelease(&self) {
        let tree = lock(&self.config).tree.clone();
        if let Err(error) = self.swap_only(&tree) {
            tracing::error!(%error, "the tree of vdevs does not make sense any more");
        }
    }

    fn swap_only(&self, tree: &VdevConfig) -> Result<()> {
        self.storage.swap_tree(tree, &[], &[]).map_err(|error| PoolError::Invalid(error.to_string()))
    }

    /// Devices of a vdev and those below, to be cleared later.
    fn devices_of(&self, vdev: &VdevConfig) -> Vec<Device> {
        let mut guids = Vec::new();
        vdev.visit(&mut |vdev| guids.push(vdev.guid));
        let open = self.storage.leaves();
        open.into_iter().filter(|leaf| guids.contains(&leaf.guid)).map(|leaf| leaf.device).collect()
    }
}

/// So that nothing takes them for a part of the pool. A disk that cannot be written has a label older than the pool's.
fn clear_labels(devices: &[Device]) {
    for device in devices {
        if let Err(error) = device.clear() {
            tracing::warn!(%error, "the label of a device that left the pool could not be cleared");
        }
    }
}

/// A log that nothing is placed on until this is dropped.
struct Emptied<'a> {
    core: &'a Core,
    id: u32,
}

impl Drop for Emptied<'_> {
    fn drop(&mut self) {
        self.core.storage.use_log(self.id, true);
    }
}

impl Pool {
    /// Empties a log. `Refused` if something on it waits to be replayed.
    fn empty_log(&self, id: u32, refused: &str) -> Result<Emptied<'_>> {
        let core = &*self.core;
        core.storage.use_log(id, false);
        let emptied = Emptied { core, id };
        for _ in 0..EMPTYING_GROUPS {
            self.dsl.retire_logs()?;
            if core.storage.vdev_space(id).is_none_or(|space| space.allocated == 0) {
                return Ok(emptied);
            }
            core.txgs.sync_empty()?;
        }
        // What is allocated there without a log that leads to it was lost with an earlier device.
        let waiting = self.dsl.logs_on(id)?;
        if waiting.is_empty() {
            return Ok(emptied);
        }
        Err(PoolError::Refused(format!(
            "{refused}: its intent logs have not been replayed yet; mount these datasets first: {}",
            waiting.join(", ")
        )))
    }

    /// Adds log vdevs and waits until they are in use.
    pub(super) fn add_logs(&self, specs: &[VdevSpec], force: bool, refused: &str) -> Result<u64> {
        let core = &*self.core;
        check_specs(&[], specs)?;
        let _alone = core.alone()?;
        let paths: Vec<String> =
            specs.iter().flat_map(|spec| leaf_paths(std::slice::from_ref(spec))).collect();
        if !force {
            labels::refuse_used(&core.env, &paths)?;
        }
        let mut tree = lock(&core.config).tree.clone();
        let mut opened = Vec::new();
        let mut tops = Vec::new();
        for spec in specs {
            let hole = tree.children.iter().position(|top| top.kind == VdevKind::Hole);
            let id = hole.unwrap_or(tree.children.len());
            match self.plan_log(id as u64, spec, refused, &mut opened) {
                Ok(top) if id < tree.children.len() => tree.children[id] = top,
                Ok(top) => tree.children.push(top),
                Err(error) => {
                    clear_labels(&opened.iter().map(OpenedLeaf::device).collect::<Vec<_>>());
                    return Err(error);
                }
            }
            tops.push(id);
        }
        let added = tops.clone();
        let made = std::sync::Arc::new(std::sync::Mutex::new(Vec::<VdevSpace>::new()));
        let spaces = made.clone();
        let txg = core.change_tree(Box::new(move |core, tx| {
            let all = core.vdev_zaps()?;
            for id in added {
                let top = &mut tree.children[id];
                top.visit_mut(&mut |vdev| vdev.create_txg = Some(tx.txg()));
                let space = make_top_objects(&core.mos, &all, top, &core.env, tx)?;
                core.maps.add_vdev(space);
                lock(&spaces).push(space);
            }
            core.put_tree(tree, &opened, &[])
        }))?;
        for space in lock(&made).iter() {
            core.storage.init_metaslabs(space.vdev, space.metaslab_shift, space.metaslab_count, Vec::new());
        }
        Ok(txg)
    }

    /// A new log vdev whose disks are open.
    fn plan_log(
        &self,
        id: u64,
        spec: &VdevSpec,
        refused: &str,
        opened: &mut Vec<OpenedLeaf>,
    ) -> Result<VdevConfig> {
        let core = &*self.core;
        let mut top = plan_vdev(&core.env, id, spec);
        let mut leaves = Vec::new();
        top.visit(&mut |vdev| leaves.extend(vdev.kind.is_leaf().then(|| vdev.clone())));
        let (mut asize, mut ashift) = (u64::MAX, 9);
        for leaf in leaves {
            let disk = core.open_new(&leaf, id as u32, refused)?;
            (asize, ashift) = (asize.min(disk.asize()), ashift.max(disk.ashift()));
            opened.push(disk);
        }
        (top.asize, top.ashift, top.is_log) = (Some(asize), Some(ashift), true);
        size_metaslabs(&mut top);
        Ok(top)
    }

    /// Removes a log vdev. What it held is durable elsewhere when nothing lists it any more.
    pub(super) fn remove_log(&self, guid: u64) -> Result<u64> {
        let core = &*self.core;
        let _alone = core.alone()?;
        let refused = |name: &str| format!("cannot remove {name}");
        let place = core.find_log(guid, &refused)?;
        let refused = refused(&place.name());
        if place.side.is_some() {
            let why = "it is one side of a mirror, which 'zpool detach' takes out of it";
            return Err(PoolError::Refused(format!("{refused}: {why}")));
        }
        let emptied = self.empty_log(place.id(), &refused)?;
        let devices = core.devices_of(&place.top);
        let top = place.top.clone();
        let txg = core.change_tree(Box::new(move |core, tx| {
            let id = top.id as usize;
            core.storage.drop_metaslabs(top.id as u32);
            core.maps.remove_vdev(top.id as u32, &core.features, tx)?;
            core.free_vdev_objects(&top, tx)?;
            let mut tree = lock(&core.config).tree.clone();
            if id + 1 == tree.children.len() {
                tree.children.pop();
            } else {
                tree.children[id] = hole(top.id);
            }
            core.put_tree(tree, &[], &[])
        }))?;
        drop(emptied);
        clear_labels(&devices);
        Ok(txg)
    }

    /// Makes a device a side of the mirror that the log `guid` belongs to, or becomes.
    pub(super) fn attach_log(&self, guid: u64, path: &str, force: bool) -> Result<u64> {
        let core = &*self.core;
        let _alone = core.alone()?;
        let refused = |name: &str| format!("cannot attach {path} to {name}");
        let place = core.find_log(guid, &refused)?;
        let refused = refused(&place.name());
        if !force {
            labels::refuse_used(&core.env, &[path.to_owned()])?;
        }
        let emptied = self.empty_log(place.id(), &refused)?;
        let (leaf, disk) = self.open_side(&place, path, &refused)?;
        let mirror = new_guid(&core.env);
        let id = place.top.id as usize;
        let txg = core.change_tree(Box::new(move |core, tx| {
            let mut tree = lock(&core.config).tree.clone();
            let top = &mut tree.children[id];
            if top.kind != VdevKind::Mirror {
                *top = mirrored(top, mirror);
            }
            let zap = make_vdev_zap(&core.mos, &core.vdev_zaps()?, &core.env, tx)?;
            let id = top.children.len() as u64;
            top.children.push(VdevConfig { id, create_txg: Some(tx.txg()), leaf_zap: Some(zap), ..leaf });
            core.put_tree(tree, &[disk], &[])
        }))?;
        drop(emptied);
        Ok(txg)
    }

    /// A new disk for a log, of the right size, open.
    fn open_side(&self, place: &Place, path: &str, refused: &str) -> Result<(VdevConfig, OpenedLeaf)> {
        let leaf = plan_vdev(&self.core.env, 0, &VdevSpec::Leaf(path.to_owned()));
        let disk = self.core.open_new(&leaf, place.id(), refused)?;
        let why = if disk.asize() < place.top.asize.unwrap_or(0) {
            "device is too small"
        } else if disk.ashift() > place.top.ashift.unwrap_or(9) {
            "new device has a different optimal sector size; use the option '-o ashift=N' to override the optimal size"
        } else {
            return Ok((leaf, disk));
        };
        clear_labels(&[disk.device()]);
        Err(PoolError::Refused(format!("{refused}: {why}")))
    }

    /// Takes one side out of a log that is mirrored.
    pub(super) fn detach_log(&self, guid: u64) -> Result<u64> {
        let core = &*self.core;
        let _alone = core.alone()?;
        let refused = |name: &str| format!("cannot detach {name}");
        let place = core.find_log(guid, &refused)?;
        let refused = |why: &str| Err(PoolError::Refused(format!("{}: {why}", refused(&place.name()))));
        let Some(side) = place.side else { return refused("only applicable to mirror and replacing vdevs") };
        if !core.storage.is_whole_without(place.id(), guid) {
            return refused("no valid replicas");
        }
        // What only the side that goes may have is durable elsewhere before.
        let emptied = self.empty_log(place.id(), &format!("cannot detach {}", place.name()))?;
        let devices = core.devices_of(place.vdev());
        let (id, gone) = (place.top.id as usize, place.vdev().clone());
        let txg = core.change_tree(Box::new(move |core, tx| {
            core.free_vdev_objects(&gone, tx)?;
            let mut tree = lock(&core.config).tree.clone();
            let top = &mut tree.children[id];
            top.children.remove(side);
            top.children.iter_mut().zip(0..).for_each(|(side, id)| side.id = id);
            let mut renamed = Vec::new();
            if top.children.len() == 1 {
                renamed.push((top.children[0].guid, top.guid));
                *top = unmirrored(top);
            }
            core.put_tree(tree, &[], &renamed)
        }))?;
        drop(emptied);
        clear_labels(&devices);
        Ok(txg)
    }

    /// Puts a device in the place of another; without a path, of the one that was at its path before.
    pub(super) fn replace_log(&self, guid: u64, path: Option<&str>, force: bool) -> Result<u64> {
        let core = &*self.core;
        let _alone = core.alone()?;
        let refused = |name: &str| match path {
            Some(path) => format!("cannot replace {name} with {path}"),
            None => format!("cannot replace {name}"),
        };
        let place = core.find_log(guid, &refused)?;
        let refused = refused(&place.name());
        if !place.vdev().kind.is_leaf() {
            return Err(PoolError::Refused(format!("{refused}: only devices can be replaced")));
        }
        let before = place.vdev().path.clone().unwrap_or_default();
        let path = path.unwrap_or(&before).to_owned();
        if !force {
            labels::refuse_used(&core.env, std::slice::from_ref(&path))?;
        }
        let emptied = self.empty_log(place.id(), &refused)?;
        let in_place = path == before;
        if in_place {
            core.release(guid)?;
        }
        let devices = core.devices_of(place.vdev());
        let (leaf, disk) = match self.open_side(&place, &path, &refused) {
            Ok(opened) => opened,
            Err(error) => {
                if in_place {
                    core.unrelease();
                }
                return Err(error);
            }
        };
        let id = place.top.id as usize;
        let txg = core.change_tree(Box::new(move |core, tx| {
            let zap = make_vdev_zap(&core.mos, &core.vdev_zaps()?, &core.env, tx)?;
            let mut tree = lock(&core.config).tree.clone();
            let top = &mut tree.children[id];
            let old = match place.side {
                Some(side) => &mut top.children[side],
                None => top,
            };
            // What belongs to a top-level vdev stays; what belongs to the disk goes.
            let gone = VdevConfig { top_zap: None, children: Vec::new(), ..old.clone() };
            core.free_vdev_objects(&gone, tx)?;
            let mut pairs = old.pairs.clone();
            for name in [key::AUX_STATE, key::ORIG_GUID, key::DEVID, key::PHYS_PATH] {
                pairs.remove(name);
            }
            *old = VdevConfig {
                kind: leaf.kind,
                guid: leaf.guid,
                path: leaf.path,
                leaf_zap: Some(zap),
                create_txg: Some(tx.txg()),
                dtl: None,
                offline: false,
                faulted: false,
                removed: false,
                pairs,
                ..old.clone()
            };
            core.put_tree(tree, &[disk], &[])
        }))?;
        drop(emptied);
        clear_labels(&devices);
        Ok(txg)
    }

    /// Takes a device of a log out of use, until it is brought online, or with `temporary` until the next import.
    pub(super) fn offline_log(&self, guid: u64, temporary: bool) -> Result<u64> {
        let core = &*self.core;
        let _alone = core.alone()?;
        let refused = |name: &str| format!("cannot offline {name}");
        let place = core.find_log(guid, &refused)?;
        let refused = refused(&place.name());
        if !place.vdev().kind.is_leaf() {
            return Err(PoolError::Refused(format!("{refused}: only devices can be taken offline")));
        }
        // Another side may have what this one has.
        let alone = !core.storage.is_whole_without(place.id(), guid);
        let emptied = alone.then(|| self.empty_log(place.id(), &refused)).transpose()?;
        let txg = core.change_tree(Box::new(move |core, _| {
            let mut tree = lock(&core.config).tree.clone();
            tree.visit_mut(&mut |vdev| vdev.offline |= vdev.guid == guid);
            core.put_tree(tree, &[], &[])?;
            if temporary {
                lock(&core.config).tree.visit_mut(&mut |vdev| vdev.offline &= vdev.guid != guid);
            }
            Ok(())
        }))?;
        drop(emptied);
        Ok(txg)
    }

    /// Takes a device of a log into use again, which must be the one that it was.
    pub(super) fn online_log(&self, guid: u64) -> Result<u64> {
        let core = &*self.core;
        let _alone = core.alone()?;
        let refused = |name: &str| format!("cannot online {name}");
        let place = core.find_log(guid, &refused)?;
        let refused = refused(&place.name());
        if !place.vdev().kind.is_leaf() {
            return Err(PoolError::Refused(format!("{refused}: only devices can be brought online")));
        }
        if core.storage.is_working(guid) && !place.vdev().faulted {
            return Ok(core.txgs.sync_empty()?);
        }
        let emptied = self.empty_log(place.id(), &refused)?;
        core.release(guid)?;
        let disk = self.open_known(&place, &refused).inspect_err(|_| core.unrelease())?;
        let txg = core.change_tree(Box::new(move |core, tx| {
            core.dtl.forget(guid);
            let mut tree = lock(&core.config).tree.clone();
            let mut dtl = None;
            tree.visit_mut(&mut |vdev| {
                if vdev.guid == guid {
                    (vdev.offline, vdev.faulted, vdev.removed) = (false, false, false);
                    vdev.pairs.remove(key::AUX_STATE);
                    dtl = vdev.dtl.take();
                }
            });
            if let Some(dtl) = dtl.filter(|object| *object != 0) {
                core.maps.free_map(dtl, &core.features, tx)?;
            }
            core.put_tree(tree, &[disk], &[])
        }))?;
        drop(emptied);
        Ok(txg)
    }

    /// Opens the disk of a leaf and makes sure that it is this leaf.
    fn open_known(&self, place: &Place, refused: &str) -> Result<OpenedLeaf> {
        let core = &*self.core;
        let vdev = place.vdev();
        let disk = core
            .open_patiently(vdev, place.id())
            .map_err(|why| unusable_disk(refused, why, &why.to_string()))?;
        let found = disk.device().read_labels();
        let is_it = |label: &NvList| {
            label.u64(key::POOL_GUID) == Some(self.guid())
                && [label.u64(key::GUID), label.u64(key::TOP_GUID)].contains(&Some(vdev.guid))
        };
        if !found.configs.iter().flatten().any(is_it) {
            let why = "it is another device now; use 'zpool replace'";
            return Err(PoolError::Refused(format!("{refused}: {why}")));
        }
        if disk.asize() < place.top.asize.unwrap_or(0) {
            return Err(PoolError::Refused(format!("{refused}: device is too small")));
        }
        Ok(disk)
    }
}

/// What is left of a top-level vdev that is not the last one.
fn hole(id: u64) -> VdevConfig {
    let mut hole = VdevConfig::new(VdevKind::Hole, id, 0);
    (hole.metaslab_array, hole.metaslab_shift) = (Some(0), Some(0));
    (hole.ashift, hole.asize) = (Some(0), Some(0));
    hole
}

/// A mirror in the place of a top-level disk, which is its only side yet.
fn mirrored(disk: &VdevConfig, guid: u64) -> VdevConfig {
    let mut mirror = VdevConfig::new(VdevKind::Mirror, disk.id, guid);
    give_top(disk, &mut mirror);
    mirror.create_txg = disk.create_txg;
    mirror.children = vec![VdevConfig { id: 0, ..without_top(disk) }];
    mirror
}

/// The only side of a mirror in its place. It takes the mirror's guid: else an import that finds the other side would
/// think that there are two top-level vdevs, not two versions of one.
fn unmirrored(mirror: &VdevConfig) -> VdevConfig {
    let mut disk = mirror.children[0].clone();
    disk.pairs.set(key::ORIG_GUID, disk.guid);
    give_top(mirror, &mut disk);
    (disk.id, disk.guid) = (mirror.id, mirror.guid);
    disk
}

/// Hands over what only top-level vdevs have.
fn give_top(from: &VdevConfig, to: &mut VdevConfig) {
    (to.ashift, to.asize) = (from.ashift, from.asize);
    (to.metaslab_array, to.metaslab_shift) = (from.metaslab_array, from.metaslab_shift);
    (to.is_log, to.top_zap) = (from.is_log, from.top_zap);
    for name in [key::MIN_ALLOC, key::MAX_ALLOC, key::ALLOCATION_BIAS] {
        if let Some(value) = from.pairs.get(name) {
            to.pairs.set(name, value.clone());
        }
    }
}

fn without_top(vdev: &VdevConfig) -> VdevConfig {
    let mut side = vdev.clone();
    (side.ashift, side.asize) = (None, None);
    (side.metaslab_array, side.metaslab_shift) = (None, None);
    (side.is_log, side.top_zap) = (false, None);
    for name in [key::MIN_ALLOC, key::MAX_ALLOC, key::ALLOCATION_BIAS, key::IS_LOG] {
        side.pairs.remove(name);
    }
    side
}
