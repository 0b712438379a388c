//! Adding vdevs to a running pool and removing them.
//!
//! A new top-level vdev is used when the group is durable that lists it: before that, no import
//! would find what was promised there. Source: module/zfs/spa.c (`spa_vdev_add`), vdev_removal.c
//! (`spa_vdev_remove`).

use std::sync::{Arc, Mutex};

use api_types::{NewVdevs, VdevSpec};
use env::lock;
use ondisk::version;
use refusal::{Action, Reason, Refused, SweepFault, Upgrade, VdevFault};
use storage::{Bias, OpenedLeaf, VdevConfig, VdevKind};

use super::disks::turn_away;
use super::spec::{
    CLASSES, Tops, check_specs, check_version, leaf_paths, plan_leaf, plan_top, refuse_device, size_metaslabs,
};
use super::vdev_objects::make_top_objects;
use super::{Core, Pool};
use crate::space::VdevSpace;
use crate::sweep::{SweepCommand, SweepKind};
use crate::{PoolError, Result};

impl Pool {
    /// Adds vdevs and waits until that is durable; gives the transaction group. `force` takes
    /// devices that hold another pool. `history` is the command line to record, empty for none.
    pub fn add_vdevs(&self, new: &NewVdevs, force: bool, history: &str) -> Result<u64> {
        let core = &self.core;
        let action = &Action::AddVdevs { pool: self.name() };
        check_specs(Tops::of(new))?;
        let able = (core.version(), core.features.is_enabled(CLASSES));
        check_version(able, Tops::of(new), (&new.cache, &new.spares), action)?;
        let new = &NewVdevs { ashift: new.ashift.or(self.dsl.new_ashift()?), ..new.clone() };
        let alone = core.alone()?;
        let paths = Tops::of(new).all().flat_map(|(_, top)| leaf_paths(std::slice::from_ref(top)));
        let paths: Vec<String> = paths.chain(new.cache.clone()).collect();
        core.open_pools.refuse_used(&core.env, &paths, &new.spares, force)?;
        // All of them or none: what the tree gets is added last, for that cannot be taken back.
        let before = core.extras.guids();
        let added = core
            .add_caches(&new.cache, new.ashift, action)
            .and_then(|()| core.add_spares(&new.spares, action))
            .and_then(|()| self.add_tops(new, action));
        if added.is_err() {
            let new = core.extras.guids().into_iter().filter(|guid| !before.contains(guid));
            for guid in new {
                if !core.remove_cache(guid) {
                    core.extras.drop_spare(guid);
                }
            }
            return added.map(|()| 0);
        }
        core.sysevent("vdev_add");
        drop(alone);
        self.list_vdevs(history)
    }

    /// Adds top-level vdevs and waits until they are in use.
    fn add_tops(&self, new: &NewVdevs, action: &Action) -> Result<()> {
        let core = &*self.core;
        if Tops::of(new).all().next().is_none() {
            return Ok(());
        }
        let mut tree = core.draft();
        let is_raidz = |spec: &VdevSpec| matches!(spec, VdevSpec::Raidz { .. });
        if Tops::of(new).all().any(|(_, top)| is_raidz(top))
            && tree.children.iter().any(|top| top.kind == VdevKind::Indirect)
        {
            return Err(Refused::new(action.clone(), VdevFault::RaidzBesideRemoved).into());
        }
        let mut opened = Vec::new();
        let mut added = Vec::new();
        for spec in Tops::of(new).all() {
            let hole = tree.children.iter().position(|top| top.kind == VdevKind::Hole);
            let id = hole.unwrap_or(tree.children.len());
            let top = plan_top(&core.env, id as u64, spec, new.ashift);
            if let Err(error) = core.open_top(&top, action, &mut opened) {
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
            let mut tree = core.draft();
            let all = core.vdev_zaps()?;
            for id in added {
                let top = &mut tree.children[id];
                size_metaslabs(&core.env, top);
                top.visit_mut(&mut |vdev| vdev.create_txg = Some(tx.txg()));
                let space = make_top_objects(&core.mos, &all, top, &core.env, tx)?;
                core.maps.add_vdev(space);
                if tree.children[id].bias != Bias::None {
                    core.features.increment(CLASSES, tx)?;
                }
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
        let remove = |vdev: String| Action::RemoveVdev { vdev };
        if self.core.checkpoint_forbids().is_some() {
            let name = match self.core.extras.name_of(guid) {
                Some((name, _)) => name,
                None => self.core.place(guid, &remove)?.name(),
            };
            self.core.refuse_with_checkpoint(&|| remove(name.clone()))?;
        }
        if self.core.remove_cache(guid) || self.core.remove_spare(guid)? {
            self.core.vdev_sysevent("vdev_remove_aux", guid);
        } else {
            let place = self.core.place(guid, &remove)?;
            let remove = remove(place.name());
            let reason = match (place.is_top(), place.top().is_log) {
                (true, true) if self.core.version() >= version::HOLES => None,
                (true, true) => Some(Reason::PoolTooOld(Upgrade::LogRemoval)),
                (true, false) => Some(VdevFault::DataNotRemovable.into()),
                (false, _) => Some(Reason::NotByThisPool),
            };
            if let Some(reason) = reason {
                return Err(Refused::new(remove, reason).into());
            }
            self.remove_log(&place, &remove)?;
            self.core.vdev_sysevent("vdev_remove_dev", guid);
        }
        drop(alone);
        self.list_vdevs(history)
    }

    /// Does what is asked with each of these disks; those that refuse, and why. The others are
    /// durable then.
    pub fn sweep(
        &self,
        leaves: &[u64],
        kind: SweepKind,
        command: SweepCommand,
        history: &str,
    ) -> Result<(u64, Vec<(u64, SweepFault)>)> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        let core = &self.core;
        if kind == SweepKind::Trim && matches!(command, SweepCommand::Start { .. }) {
            // What was freed before the command is free only some groups later.
            for _ in 0..=DEFER_GROUPS {
                core.txgs.sync_empty()?;
            }
        }
        let ask = |leaf: &u64| Some((*leaf, core.sweeps.command(&core.storage, *leaf, kind, command).err()?));
        let refused: Vec<_> = leaves.iter().filter_map(ask).collect();
        // What nobody did is no part of the history.
        let history = if refused.len() < leaves.len() { history } else { "" };
        Ok((self.list_vdevs(history)?, refused))
    }

    /// Waits for a group that lists the devices as they are now.
    pub(crate) fn list_vdevs(&self, history: &str) -> Result<u64> {
        if history.is_empty() {
            return Ok(self.core.txgs.sync_empty()?);
        }
        self.dsl.log_command(history)?;
        Ok(self.core.txgs.synced())
    }
}

/// Groups for which freed space is kept (`TXG_DEFER_SIZE`).
const DEFER_GROUPS: usize = 2;

impl Core {
    /// Opens all disks of a new top-level vdev.
    fn open_top(&self, top: &VdevConfig, action: &Action, opened: &mut Vec<OpenedLeaf>) -> Result<()> {
        let mut leaves = Vec::new();
        top.visit(&mut |vdev| leaves.extend(vdev.kind.is_leaf().then(|| vdev.clone())));
        for leaf in leaves {
            let path = leaf.path.clone().unwrap_or_default();
            let disk = self.open_new(&leaf, top.id as u32);
            opened.push(disk.map_err(|why| refuse_device(action, &path, why))?);
        }
        Ok(())
    }

    /// Takes these devices into use, up to the first that cannot be had.
    pub(super) fn add_caches(&self, paths: &[String], ashift: Option<u64>, action: &Action) -> Result<()> {
        for path in paths {
            let config = VdevConfig { ashift, ..plan_leaf(&self.env, 0, path) };
            self.add_cache(config).map_err(|why| refuse_device(action, path, why))?;
        }
        Ok(())
    }
}
