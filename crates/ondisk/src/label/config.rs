//! The names and numbers in a pool's configuration list, as labels and the MOS keep it.
//!
//! Only what is stored: what `zpool` and the kernel merely tell each other is not part of the
//! format. Source: include/sys/fs/zfs.h `ZPOOL_CONFIG_*`, `VDEV_TYPE_*`, `pool_state_t`,
//! `vdev_aux_t`.

macro_rules! keys {
    ($($name:ident = $text:literal),* $(,)?) => {
        $(#[doc = concat!("`\"", $text, "\"`")] pub const $name: &str = $text;)*
    };
}

/// Keys of the configuration and of the vdev tree in it.
pub mod key {
    keys! {
        VERSION = "version", POOL_NAME = "name", POOL_STATE = "state", POOL_TXG = "txg", POOL_GUID = "pool_guid",
        ERRATA = "errata", COMMENT = "comment", COMPATIBILITY = "compatibility", HOSTID = "hostid",
        HOSTNAME = "hostname", TOP_GUID = "top_guid", GUID = "guid", VDEV_CHILDREN = "vdev_children",
        VDEV_TREE = "vdev_tree", FEATURES_FOR_READ = "features_for_read", TIMESTAMP = "timestamp",
        TYPE = "type", ID = "id", CHILDREN = "children", PATH = "path", DEVID = "devid", PHYS_PATH = "phys_path",
        FRU = "fru", WHOLE_DISK = "whole_disk", ENC_SYSFS_PATH = "vdev_enc_sysfs_path", CREATE_TXG = "create_txg",
        METASLAB_ARRAY = "metaslab_array", METASLAB_SHIFT = "metaslab_shift", ASHIFT = "ashift", ASIZE = "asize",
        MIN_ALLOC = "min_alloc", MAX_ALLOC = "max_alloc", IS_LOG = "is_log", IS_HOLE = "is_hole",
        IS_SPARE = "is_spare", NPARITY = "nparity", DTL = "DTL", NOT_PRESENT = "not_present",
        OFFLINE = "offline", FAULTED = "faulted", DEGRADED = "degraded", REMOVED = "removed",
        AUX_STATE = "aux_state", UNSPARE = "unspare", SPARES = "spares", L2CACHE = "l2cache",
        HOLE_ARRAY = "hole_array", ORIG_GUID = "orig_guid", SPLIT = "splitcfg", SPLIT_GUID = "split_guid",
        SPLIT_LIST = "guid_list", REMOVING = "removing", NON_ALLOCATING = "non_allocating",
        RESILVER_TXG = "resilver_txg", REBUILD_TXG = "rebuild_txg", ALLOCATION_BIAS = "alloc_bias",
        ROTATIONAL = "rotational",
        INDIRECT_OBJECT = "com.delphix:indirect_object", INDIRECT_BIRTHS = "com.delphix:indirect_births",
        PREV_INDIRECT_VDEV = "com.delphix:prev_indirect_vdev", VDEV_ROOT_ZAP = "com.klarasystems:vdev_zap_root",
        VDEV_TOP_ZAP = "com.delphix:vdev_zap_top", VDEV_LEAF_ZAP = "com.delphix:vdev_zap_leaf",
        HAS_PER_VDEV_ZAPS = "com.delphix:has_per_vdev_zaps", RESILVER_DEFER = "com.datto:resilver_defer",
        RAIDZ_EXPANDING = "raidz_expanding", RAIDZ_EXPAND_TXGS = "raidz_expand_txgs",
    }
}

/// Values of [`key::TYPE`].
pub mod vdev_type {
    keys! {
        ROOT = "root", MIRROR = "mirror", REPLACING = "replacing", RAIDZ = "raidz", DRAID = "draid",
        DRAID_SPARE = "dspare", DISK = "disk", FILE = "file", MISSING = "missing", HOLE = "hole",
        SPARE = "spare", LOG = "log", L2CACHE = "l2cache", INDIRECT = "indirect",
    }
}

/// Values of [`key::ALLOCATION_BIAS`].
pub mod bias {
    keys! { LOG = "log", SPECIAL = "special", DEDUP = "dedup" }
}

/// Values of [`key::POOL_STATE`] that are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum PoolState {
    /// In use, or was when its host went away.
    Active = 0,
    Exported = 1,
    Destroyed = 2,
    /// The device is a hot spare.
    Spare = 3,
    /// The device is a cache.
    L2cache = 4,
}

impl PoolState {
    pub const fn from_raw(raw: u64) -> Option<PoolState> {
        Some(match raw {
            0 => PoolState::Active,
            1 => PoolState::Exported,
            2 => PoolState::Destroyed,
            3 => PoolState::Spare,
            4 => PoolState::L2cache,
            _ => return None,
        })
    }
}
