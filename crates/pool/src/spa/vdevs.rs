//! Adding vdevs to a running pool and removing them.
//!
//! A new top-level vdev is used when the group is durable that lists it: before that, no import would find what was
//! promised there. Source: module/zfs/spa.c (`spa_vdev_add`), vdev_removal.c (`spa_vdev_remove`), messages of
//! lib/libzfs/libzfs_pool.c.

use std::sync::{Arc, Mutex};

use env::{Env, lock};
use storage::{OpenedLeaf, VdevConfig, VdevKind};

use super::create::{
    VdevSpec, check_specs, leaf_paths, make_top_objects, new_guid, plan_vdev, size_metaslabs, unusable_disk,
};
use super::disks::turn_away;
use super::{Core, Pool, labels};
use crate::space::VdevSpace;
use crate::sweep::{SweepCommand, SweepKind, SweepRefusal};
use crate::{PoolError, Result};

/// Vdevs to add, by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewVdevs {
    pub data: Vec<VdevSpec>,
    pub logs: Vec<VdevSpec>,
    /// Paths.
    pub cache: Vec<String>,
    /// Paths.
    pub spares: Vec<String>,
    /// log2 of the smallest write of new top-level vdevs; `None`: what the disks like best.
    pub ashift: Option<u64>,
}

impl Pool {
    /// Adds vdevs and waits until that is durable; gives the transaction group. `force` takes devices that hold another
    /// pool. `history` is the command line to record, empty for none.
    pub fn add_vdevs(&self, new: &NewVdevs, force: bool, history: &str) -> Result<u64> {
        let core = &self.core;
        let refused = format!("cannot add to '{}'", self.name());
        check_specs(&new.data, &new.logs)?;
        let alone = core.alone()?;
        if !force {
            let paths = leaf_paths(&new.data).into_iter().chain(leaf_paths(&new.logs));
            let paths: Vec<String> = paths.chain(new.cache.clone()).chain(new.spares.clone()).collect();
            labels::refuse_used(&core.env, &paths)?;
        }
        self.add_tops(new, &refused)?;
        core.add_caches(&new.cache, new.ashift, &refused)?;
        core.add_spares(&new.spares, &refused)?;
        core.sysevent("vdev_add");
        drop(alone);
        self.list_vdevs(history)
    }

    /// Adds top-level vdevs and waits until they are in use.
    fn add_tops(&self, new: &NewVdevs, refused: &str) -> Result<()> {
        let core = &*self.core;
        if new.data.is_empty() && new.logs.is_empty() {
            return Ok(());
        }
        let mut tree = lock(&core.config).tree.clone();
        let mut opened = Vec::new();
        let mut added = Vec::new();
        for (number, spec) in new.data.iter().chain(&new.logs).enumerate() {
            let hole = tree.children.iter().position(|top| top.kind == VdevKind::Hole);
            let id = hole.unwrap_or(tree.children.len());
            let mut top = plan_vdev(&core.env, id as u64, spec);
            (top.is_log, top.ashift) = (number >= new.data.len(), new.ashift);
            if let Err(error) = core.open_top(&top, refused, &mut opened) {
                turn_away(&opened);
                return Err(error);
            }
            match hole {
                Some(_) => tree.children[id] = top,
                None => tree.children.push(top),
            }
            added.push(id);
        }
        let made = Arc::new(Mutex::new(Vec::<VdevSpace>::new()));
        let spaces = made.clone();
        core.change_tree(Box::new(move |core, tx| {
            // Sizes are measured when the tree is there.
            core.put_tree(tree, &opened, &[])?;
            let mut tree = lock(&core.config).tree.clone();
            let all = core.vdev_zaps()?;
            for id in added {
                let top = &mut tree.children[id];
                size_metaslabs(top);
                top.visit_mut(&mut |vdev| vdev.create_txg = Some(tx.txg()));
                let space = make_top_objects(&core.mos, &all, top, &core.env, tx)?;
                core.maps.add_vdev(space);
                lock(&spaces).push(space);
            }
            core.put_tree(tree, &[], &[])
        }))?;
        for space in lock(&made).iter() {
            core.storage.init_metaslabs(space.vdev, space.metaslab_shift, space.metaslab_count, Vec::new());
        }
        Ok(())
    }

    /// Removes a vdev and waits until that is durable; gives the transaction group.
    pub fn remove_vdev(&self, guid: u64, history: &str) -> Result<u64> {
        let alone = self.core.alone()?;
        if self.core.remove_cache(guid) || self.core.remove_spare(guid)? {
            self.core.vdev_sysevent("vdev_remove_aux", guid);
        } else {
            let refused = |name: &str| format!("cannot remove {name}");
            let place = self.core.place(guid, &refused)?;
            let refused = refused(&place.name());
            if !place.is_top() || !place.top().is_log {
                let why = "operation not supported on this type of pool";
                return Err(PoolError::Refused(format!("{refused}: {why}")));
            }
            self.remove_log(&place, &refused)?;
            self.core.vdev_sysevent("vdev_remove_dev", guid);
        }
        drop(alone);
        self.list_vdevs(history)
    }

    /// Does what is asked with each of these disks; those that refuse, and why. The others are durable then.
    pub fn sweep(
        &self,
        leaves: &[u64],
        kind: SweepKind,
        command: SweepCommand,
        history: &str,
    ) -> Result<(u64, Vec<(u64, SweepRefusal)>)> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        let core = &self.core;
        let ask = |leaf: &u64| Some((*leaf, core.sweeps.command(&core.storage, *leaf, kind, command).err()?));
        let refused: Vec<_> = leaves.iter().filter_map(ask).collect();
        // What nobody did is no part of the history.
        let history = if refused.len() < leaves.len() { history } else { "" };
        Ok((self.list_vdevs(history)?, refused))
    }

    /// Waits for a group that lists the devices as they are now.
    pub(super) fn list_vdevs(&self, history: &str) -> Result<u64> {
        if history.is_empty() {
            return Ok(self.core.txgs.sync_empty()?);
        }
        self.dsl.log_command(history)?;
        Ok(self.core.txgs.synced())
    }
}

impl Core {
    /// Opens all disks of a new top-level vdev.
    fn open_top(&self, top: &VdevConfig, refused: &str, opened: &mut Vec<OpenedLeaf>) -> Result<()> {
        let mut leaves = Vec::new();
        top.visit(&mut |vdev| leaves.extend(vdev.kind.is_leaf().then(|| vdev.clone())));
        for leaf in leaves {
            let path = leaf.path.clone().unwrap_or_default();
            let disk = self.open_new(&leaf, top.id as u32);
            opened.push(disk.map_err(|why| unusable_disk(refused, why, &format!("{path}: {why}")))?);
        }
        Ok(())
    }

    /// Takes all of these devices into use, or none.
    pub(super) fn add_caches(&self, paths: &[String], ashift: Option<u64>, refused: &str) -> Result<()> {
        let mut added = Vec::new();
        for path in paths {
            let config = cache_config(&self.env, path, ashift);
            let guid = config.guid;
            if let Err(why) = self.add_cache(config) {
                for guid in added {
                    self.remove_cache(guid);
                }
                return Err(unusable_disk(refused, why, &format!("{path}: {why}")));
            }
            added.push(guid);
        }
        Ok(())
    }
}

fn cache_config(env: &Env, path: &str, ashift: Option<u64>) -> VdevConfig {
    let kind = if path.starts_with("/dev/") { VdevKind::Disk } else { VdevKind::File };
    let mut config = VdevConfig::new(kind, 0, new_guid(env));
    config.path = Some(path.to_owned());
    config.ashift = ashift;
    config
}
