//! The tables of a durable group, as a scan sees them: gone through in OpenZFS's order, and asked
//! what they have shown.
//!
//! The order is class, checksum, hash; a place in it is four numbers of the scan's state
//! ([`ScanPhys`]), of which the type is always 0.
//!
//! Sources: module/zfs/ddt.c (`ddt_walk`, `ddt_class_contains`), ddt_zap.c (`ddt_zap_walk`).

use std::collections::BTreeMap;
use std::sync::Arc;

use dmu::Objset;
use dmu::zap::{Cursor, Zap};
use ondisk::ddt::{Class, DdtKey, Slots, object_name};
use ondisk::object_type::pool_directory;
use ondisk::scan::ScanPhys;
use ondisk::{BlkPtr, ChecksumKind};

use super::table::slots_of;
use super::{CHECKSUMS, TOGETHER};
use crate::Result;

/// Entries fetched at a time.
const PAGE: usize = 512;

/// See the module.
pub(crate) struct DurableTables(BTreeMap<(u64, u64), (ChecksumKind, Zap)>);

/// An entry of some table.
pub(crate) struct Shown {
    pub checksum: ChecksumKind,
    pub key: DdtKey,
    pub slots: Slots,
}

impl DurableTables {
    /// Of a meta object set, those of classes up to the last that the scan goes through.
    pub fn of(mos: &Arc<Objset>, phys: &ScanPhys) -> Result<DurableTables> {
        let directory = Zap::open(mos, pool_directory::OBJECT)?;
        let mut tables = BTreeMap::new();
        if directory.find_u64(pool_directory::DDT_STATS)?.is_none() {
            return Ok(DurableTables(tables));
        }
        for class in Class::ALL.into_iter().filter(|class| *class as u64 <= phys.ddt_class_max) {
            for checksum in CHECKSUMS {
                if let Some(object) = directory.find_u64(object_name(checksum, class))? {
                    tables.insert((class as u64, checksum as u64), (checksum, Zap::open(mos, object)?));
                }
            }
        }
        Ok(DurableTables(tables))
    }

    /// The group that changed them last; 0: there are none.
    pub fn newest(&self) -> u64 {
        let births = |zap: &Zap| zap.dnode().phys().blkptrs.iter().map(BlkPtr::birth).max();
        self.0.values().filter_map(|(_, zap)| births(zap)).max().unwrap_or(0)
    }

    /// Some entries from where the scan is among them, which moves on; `None` when it is through.
    pub fn next(&self, phys: &mut ScanPhys) -> Result<Option<Vec<Shown>>> {
        let at = (phys.ddt_class, phys.ddt_checksum);
        let Some((&place, (checksum, zap))) = self.0.range(at..).next() else {
            phys.leave_tables();
            return Ok(None);
        };
        if place != at {
            (phys.ddt_class, phys.ddt_checksum) = place;
            phys.ddt_cursor = 0;
        }
        let page = zap.page(phys.ddt_cursor, PAGE)?;
        match page.next {
            Cursor::END => (phys.ddt_checksum, phys.ddt_cursor) = (place.1 + 1, 0),
            next => phys.ddt_cursor = next,
        }
        let shown = |entry: dmu::zap::Entry| {
            let (key, slots) = (DdtKey::from_words(&entry.words)?, slots_of(entry.value)?);
            Ok(Shown { checksum: *checksum, key, slots })
        };
        page.entries.into_iter().map(shown).collect::<Result<Vec<Shown>>>().map(Some)
    }

    /// Of each pointer, whether it leads to a block that is in these tables. What cannot be read
    /// has not been seen there.
    pub fn have(&self, bps: &[BlkPtr]) -> Vec<bool> {
        let mut have = vec![false; bps.len()];
        for (checksum, zap) in self.0.values() {
            let is_of =
                |n: &usize| !have[*n] && bps[*n].is_dedup() && bps[*n].checksum_kind() == Ok(*checksum);
            let mut asked: Vec<usize> = (0..bps.len()).filter(is_of).collect();
            asked.sort_by_cached_key(|&n| bps[n].checksum()[0]);
            for asked in asked.chunks(TOGETHER) {
                let keys: Vec<[u64; 5]> = asked.iter().map(|&n| DdtKey::of(&bps[n]).words()).collect();
                for (&n, answer) in asked.iter().zip(zap.values_of_words(&keys).answers) {
                    let slots = answer.ok().flatten().and_then(|value| slots_of(value).ok());
                    have[n] = slots.is_some_and(|slots| slots.iter().any(|slot| slot.is_of(&bps[n])));
                }
            }
        }
        have
    }
}
