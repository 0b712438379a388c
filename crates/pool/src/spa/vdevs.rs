//! Adding and removing vdevs of a running pool.
//!
//! A device gets its label first and is listed by the next transaction group: a crash between leaves a label that no
//! pool knows of. Source: module/zfs/spa.c (`spa_vdev_add`), vdev_removal.c (`spa_vdev_remove`), messages of
//! lib/libzfs/libzfs_pool.c.

use env::Env;
use storage::{VdevConfig, VdevKind};

use super::create::{VdevSpec, new_guid, unusable_disk};
use super::{Core, Pool, labels};
use crate::trim::{TrimCommand, TrimRefusal};
use crate::{PoolError, Result};

/// Vdevs to add, by what they are for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewVdevs {
    pub data: Vec<VdevSpec>,
    pub logs: Vec<VdevSpec>,
    /// Paths.
    pub cache: Vec<String>,
}

impl Pool {
    /// Adds vdevs and waits until that is durable; gives the transaction group. `force` takes devices that hold another
    /// pool. `history` is the command line to record, empty for none.
    pub fn add_vdevs(&self, new: &NewVdevs, force: bool, history: &str) -> Result<u64> {
        let core = &self.core;
        let refused = format!("cannot add to '{}'", self.name());
        if core.readonly {
            return Err(PoolError::ReadOnly);
        }
        if !new.data.is_empty() {
            let why = "only log and cache devices can be added yet";
            return Err(PoolError::Unsupported(format!("{refused}: {why}")));
        }
        if !force {
            labels::refuse_used(&core.env, &new.cache)?;
        }
        if !new.logs.is_empty() {
            self.add_logs(&new.logs, force, &refused)?;
        }
        core.add_caches(&new.cache, None, &refused)?;
        self.list_vdevs(history)
    }

    /// Removes a vdev and waits until that is durable; gives the transaction group.
    pub fn remove_vdev(&self, guid: u64, history: &str) -> Result<u64> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        if !self.core.remove_cache(guid) {
            self.remove_log(guid)?;
        }
        self.list_vdevs(history)
    }

    /// Takes a device that is out of use into use again.
    pub fn online_vdev(&self, guid: u64, history: &str) -> Result<u64> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        match self.core.storage.reopen_cache(guid) {
            Some(Ok(())) => self.list_vdevs(history),
            Some(Err(why)) => Err(PoolError::Invalid(why.to_string())),
            None => {
                self.online_log(guid)?;
                self.list_vdevs(history)
            }
        }
    }

    /// Takes a device out of use; with `temporary` until the next import, else until it is brought online.
    pub fn offline_vdev(&self, guid: u64, temporary: bool, history: &str) -> Result<u64> {
        self.offline_log(guid, temporary)?;
        self.list_vdevs(history)
    }

    /// Makes a device a side of the mirror that `guid` belongs to, or becomes.
    pub fn attach_vdev(&self, guid: u64, path: &str, force: bool, history: &str) -> Result<u64> {
        self.attach_log(guid, path, force)?;
        self.list_vdevs(history)
    }

    /// Takes one side out of a mirror.
    pub fn detach_vdev(&self, guid: u64, history: &str) -> Result<u64> {
        self.detach_log(guid)?;
        self.list_vdevs(history)
    }

    /// Puts a device in the place of another; without a path, of the one that was at its path before.
    pub fn replace_vdev(&self, guid: u64, path: Option<&str>, force: bool, history: &str) -> Result<u64> {
        self.replace_log(guid, path, force)?;
        self.list_vdevs(history)
    }

    /// Does what is asked with each of these disks; those that refuse, and why. The others are durable then.
    pub fn trim(
        &self,
        leaves: &[u64],
        command: TrimCommand,
        history: &str,
    ) -> Result<(u64, Vec<(u64, TrimRefusal)>)> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        let ask =
            |leaf: &u64| Some((*leaf, self.core.trim.command(&self.core.storage, *leaf, command).err()?));
        let refused = leaves.iter().filter_map(ask).collect();
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
