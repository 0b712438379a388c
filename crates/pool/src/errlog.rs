//! The error log: which blocks of the pool cannot be had, whoever met them.
//!
//! There are two lists in the meta object set. What readers meet goes into the *last* one; what is met while a scan runs
//! goes into the *scrub* one, which takes the last one's place when the scan ends: so what has healed meanwhile, or was
//! deleted, is forgotten with the second scrub at the latest. Each is a ZAP whose keys are bookmarks. A pool that keeps
//! its lists by dataset (feature `head_errlog`) is only read.
//!
//! Source: module/zfs/spa_errlog.c.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use dmu::Tx;
use dmu::zap::Zap;
use env::lock;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::zbookmark::Zbookmark;

use crate::Result;
use crate::dsl::Mos;
use crate::spa::Pool;

/// Entries kept in memory until the next group.
const PENDING_MAX: usize = 1 << 16;

/// See the module.
#[derive(Default)]
pub(crate) struct ErrorLog(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    /// Not on disk yet, with the blocks' births.
    last: BTreeMap<Zbookmark, u64>,
    scrub: BTreeMap<Zbookmark, u64>,
    /// The ZAPs, 0 for none.
    last_object: u64,
    scrub_object: u64,
    scanning: bool,
    rotate: bool,
}

impl ErrorLog {
    /// Of a pool that is being imported, in the middle of a scan or not.
    pub fn load(directory: &Zap, scanning: bool) -> Result<ErrorLog> {
        let object = |name: &str| -> Result<u64> { Ok(directory.find_u64(name)?.unwrap_or(0)) };
        let last_object = object(pool_directory::ERRLOG_LAST)?;
        let scrub_object = object(pool_directory::ERRLOG_SCRUB)?;
        Ok(ErrorLog(Mutex::new(Lists { last_object, scrub_object, scanning, ..Lists::default() })))
    }

    /// A block cannot be had.
    pub fn log(&self, place: Zbookmark, birth: u64) {
        let mut lists = lock(&self.0);
        let list = if lists.scanning || lists.rotate { &mut lists.scrub } else { &mut lists.last };
        if list.len() < PENDING_MAX {
            list.entry(place).or_insert(birth);
        }
    }

    /// From now on a scan runs.
    pub fn begin_scan(&self) {
        lock(&self.0).scanning = true;
    }

    /// The scan has ended: its list is the one that counts.
    pub fn rotate(&self) {
        let mut lists = lock(&self.0);
        (lists.scanning, lists.rotate) = (false, true);
    }

    /// Writes what is new. Syncing context.
    pub fn sync(&self, mos: &Mos, tx: &Tx) -> Result<()> {
        let mut lists = lock(&self.0);
        if lists.last.is_empty() && lists.scrub.is_empty() && !lists.rotate {
            return Ok(());
        }
        let (last, scrub) = (std::mem::take(&mut lists.last), std::mem::take(&mut lists.scrub));
        add(mos, &last, &mut lists.last_object, tx)?;
        if std::mem::take(&mut lists.rotate) {
            if lists.last_object != 0 {
                mos.free(lists.last_object, tx)?;
            }
            lists.last_object = std::mem::take(&mut lists.scrub_object);
            add(mos, &scrub, &mut lists.last_object, tx)?;
        } else {
            add(mos, &scrub, &mut lists.scrub_object, tx)?;
        }
        mos.set_root(pool_directory::ERRLOG_LAST, lists.last_object, tx)?;
        Ok(mos.set_root(pool_directory::ERRLOG_SCRUB, lists.scrub_object, tx)?)
    }

    /// Number of entries, what two lists both have counted twice (`spa_approx_errlog_size`).
    pub fn count(&self, mos: &Mos) -> Result<u64> {
        let lists = lock(&self.0);
        let mut count = (lists.last.len() + lists.scrub.len()) as u64;
        for object in [lists.last_object, lists.scrub_object].into_iter().filter(|object| *object != 0) {
            count += mos.count(object)?;
        }
        Ok(count)
    }

    /// Every entry of both lists.
    fn entries(&self, mos: &Mos, by_head: bool) -> Result<BTreeSet<Zbookmark>> {
        let lists = lock(&self.0);
        let mut all: BTreeSet<Zbookmark> = lists.last.keys().chain(lists.scrub.keys()).copied().collect();
        for object in [lists.last_object, lists.scrub_object].into_iter().filter(|object| *object != 0) {
            for (name, value) in mos.entries(object)? {
                if !by_head {
                    all.extend(Zbookmark::from_name(&name));
                    continue;
                }
                let Ok(head) = u64::from_str_radix(&name, 16) else { continue };
                let entries = mos.entries(value.first())?;
                all.extend(entries.iter().filter_map(|(name, _)| Zbookmark::from_head_name(head, name)));
            }
        }
        Ok(all)
    }
}

fn add(mos: &Mos, new: &BTreeMap<Zbookmark, u64>, object: &mut u64, tx: &Tx) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    if *object == 0 {
        *object = mos.create_zap(ObjectType::ERROR_LOG, tx)?;
    }
    // The value is a name for people, which nobody has looked up yet.
    new.keys().try_for_each(|place| Ok(mos.set(*object, &place.to_name(), "", tx)?))
}

/// Something that is hurt: an object of a dataset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HurtObject {
    /// 0 is the meta object set.
    pub dataset: u64,
    pub object: u64,
    /// The dataset's, if it still exists.
    pub dataset_name: Option<String>,
}

impl Pool {
    /// Number of known data errors.
    pub fn error_count(&self) -> u64 {
        self.core.errlog.count(&self.dsl.mos).unwrap_or_else(|error| {
            tracing::error!(%error, "the error log cannot be read");
            1
        })
    }

    /// What is hurt, each object once.
    pub fn hurt_objects(&self) -> Result<Vec<HurtObject>> {
        let by_head = self.core.features.is_active("head_errlog");
        let entries = self.core.errlog.entries(&self.dsl.mos, by_head)?;
        let objects: BTreeSet<(u64, u64)> =
            entries.iter().map(|place| (place.objset, place.object)).collect();
        let _config = self.dsl.reading();
        let named = |(dataset, object)| {
            let dataset_name = self.dsl.dataset_name(dataset).ok();
            HurtObject { dataset, object, dataset_name }
        };
        Ok(objects.into_iter().map(named).collect())
    }
}
