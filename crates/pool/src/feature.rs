//! The feature flags of a pool: which are enabled, how often each is in use.
//!
//! Two ZAPs map a flag's guid to its count: flags that a reader must know, and those that only a
//! writer must. A flag that is there is enabled; with a count above 0 it is active. Counts change
//! in syncing context only, on disk and in core at once. Flags needed to read the meta object set
//! itself are repeated in the labels.
//!
//! Source: module/zfs/zfeature.c.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dmu::zap::{Zap, ZapParams};
use dmu::{DmuError, ObjectSpec, Objset, ObjsetPolicy, Tx};
use env::lock;
use ondisk::CompressKind;
use ondisk::feature::{self, ACTIVATE_ON_ENABLE, Feature, MOS, READONLY_COMPAT};
use ondisk::object_type::{ObjectType, pool_directory};

use crate::{PoolError, Result};

/// Flags that are built: a pool with these active can be read and written.
const BUILT: &[&str] = &[
    "allocation_classes",
    "async_destroy",
    "bookmark_v2",
    "bookmark_written",
    "bookmarks",
    "device_rebuild",
    "edonr",
    "embedded_data",
    "empty_bpobj",
    "enabled_txg",
    "extensible_dataset",
    "filesystem_limits",
    "hole_birth",
    "large_blocks",
    "large_dnode",
    "livelist",
    "lz4_compress",
    "project_quota",
    "sha512",
    "skein",
    "spacemap_histogram",
    "spacemap_v2",
    "userobj_accounting",
    "zpool_checkpoint",
    "zstd_compress",
];

/// Flags that are kept up, or brought to an end, where they are active, but that new pools are
/// given only by name: other software could not read them else, or nothing here needs them.
const KEPT: &[&str] =
    &["blake3", "device_removal", "encryption", "head_errlog", "log_spacemap", "obsolete_counts"];

/// Flags that new pools have, as they have them everywhere, and that nothing here makes active.
const UNUSED: &[&str] = &["multi_vdev_crash_dump"];

/// Flags that pools are given by name only, and that nothing here makes active: a resilver that
/// waits for another is known by what its disk misses.
const NEVER_ACTIVE: &[&str] = &["resilver_defer"];

/// Flags with which a pool can be read but not written: writing would have to keep something up
/// that is not built.
const READABLE: &[&str] = &[
    "block_cloning",
    "fast_dedup",
    "multi_vdev_crash_dump",
    "redacted_datasets",
    "redaction_bookmarks",
    "resilver_defer",
    "vdev_zaps_v2",
    "zilsaxattr",
];

/// What active flags of a pool allow.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Verdict {
    /// Guids of flags without which the pool cannot even be read.
    pub unreadable: Vec<String>,
    /// Guids of flags without which it cannot be written.
    pub unwritable: Vec<String>,
}

/// Whether new pools have this flag enabled, where their set has it.
pub fn is_built(feature: &Feature) -> bool {
    BUILT.contains(&feature.name) || UNUSED.contains(&feature.name)
}

/// Whether new pools may have it enabled, for OpenZFS's use too.
pub fn is_allowed(feature: &Feature) -> bool {
    is_built(feature) || KEPT.contains(&feature.name) || NEVER_ACTIVE.contains(&feature.name)
}

/// Judges the active flags `(guid, is in features_for_write)`.
pub fn judge<'a>(active: impl Iterator<Item = (&'a str, bool)>) -> Verdict {
    let mut verdict = Verdict::default();
    for (guid, write_only) in active {
        let name = feature::by_guid(guid).map(|feature| feature.name);
        let among = |list: &[&str]| name.is_some_and(|name| list.contains(&name));
        if among(BUILT) || among(KEPT) {
            continue;
        }
        if write_only || among(READABLE) {
            verdict.unwritable.push(guid.to_owned());
        } else {
            verdict.unreadable.push(guid.to_owned());
        }
    }
    verdict
}

/// The flags of one pool.
pub struct Features {
    mos: Arc<Objset>,
    objects: Mutex<Objects>,
    counts: Mutex<BTreeMap<String, u64>>,
}

#[derive(Clone, Copy, Default)]
struct Objects {
    for_read: u64,
    for_write: u64,
    descriptions: u64,
    enabled_txg: u64,
}

impl Features {
    /// No flags: of a pool of an old version, or before [`Features::create`].
    pub fn none(mos: Arc<Objset>) -> Features {
        Features { mos, objects: Mutex::default(), counts: Mutex::default() }
    }

    /// Makes the objects of a new pool. Syncing context.
    pub fn create(&self, salt: u64, tx: &Tx) -> Result<()> {
        let objects = Objects {
            for_read: self.new_zap(pool_directory::FEATURES_FOR_READ, salt, tx)?,
            for_write: self.new_zap(pool_directory::FEATURES_FOR_WRITE, salt, tx)?,
            descriptions: self.new_zap(pool_directory::FEATURE_DESCRIPTIONS, salt, tx)?,
            enabled_txg: 0,
        };
        *lock(&self.objects) = objects;
        Ok(())
    }

    fn new_zap(&self, name: &str, salt: u64, tx: &Tx) -> Result<u64> {
        let spec = ObjectSpec::new(ObjectType::OTN_ZAP_METADATA);
        let zap = Zap::create(&self.mos, spec, ZapParams::salted(salt), tx)?;
        Zap::open(&self.mos, pool_directory::OBJECT)?.add(name, zap.object(), tx)?;
        Ok(zap.object())
    }

    /// Reads the flags of a pool.
    pub fn open(mos: Arc<Objset>) -> Result<Features> {
        let directory = Zap::open(&mos, pool_directory::OBJECT)?;
        let object = |name: &str| -> Result<u64> { Ok(directory.find_u64(name)?.unwrap_or(0)) };
        let objects = Objects {
            for_read: object(pool_directory::FEATURES_FOR_READ)?,
            for_write: object(pool_directory::FEATURES_FOR_WRITE)?,
            descriptions: object(pool_directory::FEATURE_DESCRIPTIONS)?,
            enabled_txg: object(pool_directory::FEATURE_ENABLED_TXG)?,
        };
        let features = Features { mos, objects: Mutex::new(objects), counts: Mutex::default() };
        for object in [objects.for_read, objects.for_write].into_iter().filter(|&object| object != 0) {
            for entry in Zap::open(&features.mos, object)?.entries()? {
                let guid = String::from_utf8_lossy(&entry.name).into_owned();
                lock(&features.counts).insert(guid, entry.value.first());
            }
        }
        Ok(features)
    }

    /// What the active flags allow this program to do.
    pub fn verdict(&self) -> Result<Verdict> {
        let objects = *lock(&self.objects);
        let mut write_only = Vec::new();
        if objects.for_write != 0 {
            for entry in Zap::open(&self.mos, objects.for_write)?.entries()? {
                write_only.push(String::from_utf8_lossy(&entry.name).into_owned());
            }
        }
        let counts = lock(&self.counts).clone();
        let active = counts.iter().filter(|(_, count)| **count > 0);
        Ok(judge(active.map(|(guid, _)| (guid.as_str(), write_only.contains(guid)))))
    }

    /// `None`: disabled. Else how often it is in use.
    pub fn count(&self, name: &str) -> Option<u64> {
        let feature = feature::by_name(name)?;
        lock(&self.counts).get(feature.guid).copied()
    }

    pub fn is_enabled(&self, name: &str) -> bool {
        self.count(name).is_some()
    }

    pub fn is_active(&self, name: &str) -> bool {
        self.count(name).is_some_and(|count| count > 0)
    }

    /// How the meta object set of a pool of this version is written.
    pub fn mos_policy(&self, version: u64) -> ObjsetPolicy {
        let compression = self.metadata_compression();
        ObjsetPolicy {
            compression,
            metadata_compression: compression,
            embedded_data: self.is_active("embedded_data"),
            hole_birth: self.is_active("hole_birth"),
            ..ObjsetPolicy::meta()
        }
        .of_pool(version)
    }

    /// What metadata is compressed with, and data with compression=on.
    pub fn metadata_compression(&self) -> CompressKind {
        if self.is_active("lz4_compress") { CompressKind::Lz4 } else { CompressKind::Lzjb }
    }

    /// All flags of the pool, known or not: (guid, count).
    pub fn all(&self) -> Vec<(String, u64)> {
        lock(&self.counts).iter().map(|(guid, count)| (guid.clone(), *count)).collect()
    }

    /// Guids of active flags that labels repeat.
    pub fn for_labels(&self) -> Vec<String> {
        let needed = |guid: &str| feature::by_guid(guid).is_some_and(|feature| feature.is(MOS));
        let active = self.all().into_iter().filter(|(guid, count)| *count > 0 && needed(guid));
        active.map(|(guid, _)| guid).collect()
    }

    /// Enables a flag and those it needs. Syncing context.
    pub fn enable(&self, feature: &'static Feature, salt: u64, tx: &Tx) -> Result<()> {
        if self.is_enabled(feature.name) {
            return Ok(());
        }
        for need in feature.needs {
            let needed = feature::by_name(need).expect("the table names its own members");
            self.enable(needed, salt, tx)?;
        }
        let objects = *lock(&self.objects);
        Zap::open(&self.mos, objects.descriptions)?.update(feature.guid, feature.description, tx)?;
        self.store(feature, u64::from(feature.is(ACTIVATE_ON_ENABLE)), tx)?;
        if self.is_enabled("enabled_txg") && objects.enabled_txg == 0 {
            let object = self.new_zap(pool_directory::FEATURE_ENABLED_TXG, salt, tx)?;
            lock(&self.objects).enabled_txg = object;
            self.increment("enabled_txg", tx)?;
        }
        let enabled_txg = lock(&self.objects).enabled_txg;
        if enabled_txg != 0 {
            Zap::open(&self.mos, enabled_txg)?.update(feature.guid, tx.txg(), tx)?;
        }
        Ok(())
    }

    /// One more use. The flag is enabled.
    pub fn increment(&self, name: &str, tx: &Tx) -> Result<()> {
        self.change(name, 1, tx)
    }

    /// One use less.
    pub fn decrement(&self, name: &str, tx: &Tx) -> Result<()> {
        self.change(name, -1, tx)
    }

    fn change(&self, name: &str, delta: i64, tx: &Tx) -> Result<()> {
        assert!(tx.is_syncing(), "feature counts change in syncing context only");
        let feature = feature::by_name(name).ok_or(PoolError::NotFound)?;
        let count = self.count(name).ok_or(PoolError::NotFound)?;
        let count = count.checked_add_signed(delta).ok_or_else(|| {
            PoolError::Corrupt(format!("feature {name} is used more often than its count says"))
        })?;
        Ok(self.store(feature, count, tx)?)
    }

    fn store(&self, feature: &Feature, count: u64, tx: &Tx) -> std::result::Result<(), DmuError> {
        let objects = *lock(&self.objects);
        let object = if feature.is(READONLY_COMPAT) { objects.for_write } else { objects.for_read };
        Zap::open(&self.mos, object)?.update(feature.guid, count, tx)?;
        lock(&self.counts).insert(feature.guid.to_owned(), count);
        Ok(())
    }
}
