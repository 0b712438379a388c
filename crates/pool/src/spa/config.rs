//! A pool's configuration list: what labels and the MOS say about the pool as a whole.
//!
//! A label holds the part that concerns its own top-level vdev, so that every disk alone tells what
//! pool it belongs to; the MOS holds the whole tree, and is believed once it can be read. Source:
//! module/zfs/spa_config.c `spa_config_generate`.

use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::{NvList, NvValue};
use storage::{VdevConfig, VdevKind};

use crate::{PoolError, Result};

/// The host that uses a pool.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Host {
    /// 0: this host has none, and the check for foreign use is off.
    pub id: u64,
    pub name: String,
}

/// A pool as its configuration describes it.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    pub version: u64,
    pub name: String,
    pub state: PoolState,
    pub txg: u64,
    pub guid: u64,
    pub host: Host,
    pub comment: Option<String>,
    pub compatibility: Option<String>,
    /// Guids of active features that are needed to read the MOS.
    pub features_for_read: Vec<String>,
    /// The root vdev with all top-level vdevs; of a label only the one it belongs to.
    pub tree: VdevConfig,
    /// Number of top-level vdevs, holes included.
    pub vdev_children: u64,
    /// Pairs of a configuration that was read, kept for what we do not know.
    pub pairs: NvList,
}

impl PoolConfig {
    /// From a label (`vdev_tree` is a top-level vdev) or from the MOS (it is the root).
    pub fn from_nvlist(list: &NvList) -> Result<PoolConfig> {
        let missing = |what: &str| PoolError::Corrupt(format!("pool configuration without {what}"));
        let tree = list.nvlist(key::VDEV_TREE).ok_or_else(|| missing("vdev tree"))?;
        let tree = VdevConfig::from_nvlist(tree).map_err(|error| PoolError::Corrupt(error.to_string()))?;
        let state =
            list.u64(key::POOL_STATE).and_then(PoolState::from_raw).ok_or_else(|| missing("state"))?;
        let features = list.nvlist(key::FEATURES_FOR_READ);
        Ok(PoolConfig {
            version: list.u64(key::VERSION).ok_or_else(|| missing("version"))?,
            name: list.string(key::POOL_NAME).ok_or_else(|| missing("name"))?.to_owned(),
            state,
            txg: list.u64(key::POOL_TXG).unwrap_or(0),
            guid: list.u64(key::POOL_GUID).ok_or_else(|| missing("guid"))?,
            host: Host {
                id: list.u64(key::HOSTID).unwrap_or(0),
                name: list.string(key::HOSTNAME).unwrap_or_default().to_owned(),
            },
            comment: list.string(key::COMMENT).map(str::to_owned),
            compatibility: list.string(key::COMPATIBILITY).map(str::to_owned),
            features_for_read: features
                .map_or_else(Vec::new, |list| list.iter().map(|(name, _)| name.into()).collect()),
            vdev_children: list.u64(key::VDEV_CHILDREN).unwrap_or(tree.children.len() as u64),
            tree,
            pairs: list.clone(),
        })
    }

    fn head(&self) -> NvList {
        let mut list = NvList::new();
        list.set(key::VERSION, self.version);
        list.set(key::POOL_NAME, self.name.as_str());
        list.set(key::POOL_STATE, self.state as u64);
        list.set(key::POOL_TXG, self.txg);
        list.set(key::POOL_GUID, self.guid);
        list.set(key::ERRATA, self.pairs.u64(key::ERRATA).unwrap_or(0));
        if let Some(comment) = &self.comment {
            list.set(key::COMMENT, comment.as_str());
        }
        if let Some(compatibility) = &self.compatibility {
            list.set(key::COMPATIBILITY, compatibility.as_str());
        }
        if self.host.id != 0 {
            list.set(key::HOSTID, self.host.id);
        }
        list.set(key::HOSTNAME, self.host.name.as_str());
        list
    }

    /// Numbers of top-level vdevs that were removed, and are not the last; empty for none.
    pub fn holes(&self) -> Vec<u64> {
        self.tree.children.iter().filter(|top| top.kind == VdevKind::Hole).map(|top| top.id).collect()
    }

    fn put_tree(&self, list: &mut NvList, tree: NvList) {
        let holes = self.holes();
        if !holes.is_empty() {
            list.set(key::HOLE_ARRAY, NvValue::from(holes));
        }
        list.set(key::VDEV_CHILDREN, self.vdev_children);
        list.set(key::VDEV_TREE, NvValue::from(tree));
        let mut features = NvList::new();
        for guid in &self.features_for_read {
            features.set_flag(guid);
        }
        list.set(key::FEATURES_FOR_READ, NvValue::from(features));
    }

    /// For the MOS.
    pub fn to_mos_nvlist(&self) -> NvList {
        let mut list = self.head();
        list.set_flag(key::HAS_PER_VDEV_ZAPS);
        self.put_tree(&mut list, self.tree.to_nvlist());
        list
    }

    /// For the labels of one leaf below `top`.
    pub fn to_label_nvlist(&self, top: &VdevConfig, leaf: u64) -> NvList {
        let mut list = self.head();
        list.set(key::TOP_GUID, top.guid);
        list.set(key::GUID, leaf);
        if top.is_log {
            list.set(key::IS_LOG, 1u64);
        }
        self.put_tree(&mut list, top.to_label_nvlist());
        list
    }
}

#[cfg(test)]
mod tests;
