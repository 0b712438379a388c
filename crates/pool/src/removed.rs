//! Removed top-level vdevs: where their blocks are now, and how much of them nothing refers to any
//! more.
//!
//! The mapping of such a vdev is an object of the pool. It is read through once when the pool is
//! opened, to see that it can be believed; in memory is kept only which stretch of it begins where,
//! so that finding a place reads one stretch of a few kilobytes, which the cache has most of the
//! time. A vdev that was removed earlier may have its mapping on one that was removed later: so
//! they are opened latest first, and none is consulted before it was opened. That also makes sure
//! that no mapping leads to itself.
//!
//! What is freed on a removed vdev is appended to the vdev's map of obsolete space, in units of
//! bytes, if the pool has the feature `obsolete_counts`. Mappings are not condensed yet; one that
//! OpenZFS has begun to condense is left as it is.
//!
//! Sources: module/zfs/vdev_indirect.c (`vdev_indirect_sync_obsolete`), vdev_indirect_mapping.c,
//! vdev_removal.c (`spa_remove_init`, `spa_removal_get_stats`).

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use dmu::zap::Zap;
use dmu::{Dnode, Objset};
use ondisk::Dva;
use ondisk::indirect::{
    COUNTS_ARE_PRECISE, CondensingPhys, MappingEntry, MappingPhys, OBSOLETE_SM, RemovingPhys,
};
use ondisk::label::config::key;
use ondisk::malformed::{Endian, u32_at};
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::scan::STATE_SCANNING;
use ondisk::spacemap::{Entry, MapType, MapWriter, OFFSET_END};
use storage::metaslab::RangeTree;
use storage::{MovedSource, ReadError, Segment, Storage, VdevConfig, VdevKind};

use crate::space::{MapCx, OBSOLETE_BLOCK_SIZE, alloc_map, open_map, replay};
use crate::{PoolError, Result};

/// Entries of a stretch.
const STRETCH: u64 = 512;
/// No vdev.
const NONE: u64 = u64::MAX;

/// The mapping of one removed vdev.
struct Mapping {
    object: Arc<Dnode>,
    phys: MappingPhys,
    top_zap: u64,
    /// The first source of each stretch.
    firsts: Vec<u64>,
}

/// The removed vdevs of a pool.
pub struct Removed {
    mos: Arc<Objset>,
    mappings: RwLock<BTreeMap<u32, Arc<Mapping>>>,
    last: Option<RemovingPhys>,
    condensing: Option<CondensingPhys>,
}

const POISON: &str = "another thread panicked while holding this lock";

impl Removed {
    /// Of a pool from which nothing was removed.
    pub fn none(mos: Arc<Objset>) -> Arc<Removed> {
        Arc::new(Removed { mos, mappings: RwLock::default(), last: None, condensing: None })
    }

    /// Opens the mappings of a tree, and has storage ask for them.
    pub fn open(
        mos: &Arc<Objset>,
        directory: &Zap,
        tree: &VdevConfig,
        storage: &Storage,
    ) -> Result<Arc<Removed>> {
        let words = |name: &str| -> Result<Option<Vec<u8>>> {
            let value = directory.find(name)?;
            Ok(value.map(|value| value.words().iter().flat_map(|word| word.to_le_bytes()).collect()))
        };
        let last = words(pool_directory::REMOVING)?;
        let last = last.map(|bytes| RemovingPhys::decode(&bytes)).transpose()?;
        let condensing = words(pool_directory::CONDENSING_INDIRECT)?;
        let condensing = condensing.map(|bytes| CondensingPhys::decode(&bytes)).transpose()?;
        let removed = Arc::new(Removed { mos: mos.clone(), mappings: RwLock::default(), last, condensing });
        storage.attach_moved(removed.clone());
        let gone = tree.children.iter().filter(|top| top.kind == VdevKind::Indirect).count();
        let mut next = last.map_or(NONE, |last| last.prev_indirect_vdev);
        for _ in 0..gone {
            let top = usize::try_from(next).ok().and_then(|id| tree.children.get(id));
            let top = top.filter(|top| top.kind == VdevKind::Indirect);
            let top = top.ok_or_else(|| PoolError::Corrupt("the list of removed vdevs".into()))?;
            let mapping = Mapping::open(mos, top, tree)?;
            if removed.mappings.write().expect(POISON).insert(top.id as u32, Arc::new(mapping)).is_some() {
                return Err(PoolError::Corrupt("a vdev was removed twice".into()));
            }
            next = top.pairs.u64(key::PREV_INDIRECT_VDEV).unwrap_or(NONE);
        }
        Ok(removed)
    }

    /// The last removal, if there ever was one.
    pub fn last(&self) -> Option<RemovingPhys> {
        self.last
    }

    /// Whether a vdev is on its way out: blocks are being copied, and frees would have to know how
    /// far that is.
    pub fn is_removing(&self) -> bool {
        self.last.is_some_and(|last| last.state == STATE_SCANNING)
    }

    /// Bytes of all mappings, as OpenZFS would hold them in memory.
    pub fn mapping_bytes(&self) -> u64 {
        let mappings = self.mappings.read().expect(POISON);
        mappings.values().map(|mapping| mapping.phys.num_entries * MappingEntry::SIZE as u64).sum()
    }

    fn mapping(&self, vdev: u32) -> Option<Arc<Mapping>> {
        self.mappings.read().expect(POISON).get(&vdev).cloned()
    }

    /// Writes down what became obsolete. Syncing context; may leave the MOS dirty.
    pub fn persist(&self, cx: &MapCx<'_>) -> Result<()> {
        let MapCx { storage, form, features, pass, tx } = *cx;
        for (vdev, segments) in storage.take_obsolete() {
            let mapping = self.mapping(vdev).expect("only mapped space becomes obsolete");
            if !features.is_enabled("obsolete_counts") || mapping.top_zap == 0 {
                continue;
            }
            let zap = Zap::open(&self.mos, mapping.top_zap)?;
            let object = match zap.find_u64(OBSOLETE_SM)? {
                Some(object) => object,
                None => {
                    let object = alloc_map(&self.mos, OBSOLETE_BLOCK_SIZE, form, features, tx)?;
                    zap.add(OBSOLETE_SM, object, tx)?;
                    features.increment("obsolete_counts", tx)?;
                    object
                }
            };
            let (map, mut phys) = open_map(&self.mos, object)?;
            let mut writer = MapWriter::new(phys.length, u64::from(map.block_size()), form.two_words);
            writer.debug(MapType::Alloc, pass as u16, tx.txg());
            for segment in segments {
                if segment.end() > OFFSET_END && !form.two_words {
                    return Err(PoolError::Corrupt("a removed vdev larger than its maps can say".into()));
                }
                writer.segment(MapType::Alloc, segment.start, segment.len, None);
                phys.alloc += segment.len as i64;
            }
            let from = phys.length;
            phys.length = writer.length();
            map.write(from, &writer.into_bytes(), tx)?;
            map.set_bonus(ObjectType::SPACE_MAP_HEADER, &phys.encode(), tx)?;
        }
        Ok(())
    }

    // ── For verification ──

    /// Numbers of the removed vdevs.
    pub fn vdevs(&self) -> Vec<u32> {
        self.mappings.read().expect(POISON).keys().copied().collect()
    }

    /// Shows each mapped stretch of a removed vdev with the bytes of it that are obsolete. `false`:
    /// the counts are known not to be exact.
    pub fn obsolete(&self, vdev: u32, each: &mut dyn FnMut(Segment, u64)) -> Result<bool> {
        let Some(mapping) = self.mapping(vdev) else { return Ok(true) };
        let mut precise = false;
        let mut maps = Vec::new();
        if mapping.top_zap != 0 {
            let zap = Zap::open(&self.mos, mapping.top_zap)?;
            precise = zap.find_u64(COUNTS_ARE_PRECISE)?.is_some_and(|precise| precise != 0);
            maps.extend(zap.find_u64(OBSOLETE_SM)?);
        }
        if let Some(condensing) = self.condensing.filter(|condensing| condensing.vdev == u64::from(vdev)) {
            maps.push(condensing.prev_obsolete_sm_object);
        }
        let mut ranges = RangeTree::new();
        for map in maps {
            replay(&self.mos, map, &mut |entry| {
                if let Entry::Segment { kind: MapType::Alloc, offset, run, .. } = entry
                    && offset.checked_add(run).is_some()
                {
                    ranges.add_overlap(offset, run);
                }
            })?;
        }
        let counts = match mapping.phys.counts_object {
            0 => None,
            object => Some(self.mos.hold(object)?),
        };
        for stretch in 0..mapping.firsts.len() as u64 {
            let entries = mapping.stretch(stretch)?;
            let bytes = match &counts {
                Some(counts) => counts.read_bytes(stretch * STRETCH * 4, entries.len() * 4)?,
                None => vec![0; entries.len() * 4],
            };
            for (n, entry) in entries.iter().enumerate() {
                let counted = u32_at(&bytes, n * 4, Endian::Little, "obsolete counts")?;
                let segment = Segment { start: entry.source, len: entry.len() };
                each(segment, u64::from(counted) + ranges.space_in(segment));
            }
        }
        Ok(precise)
    }
}

impl MovedSource for Removed {
    fn moved(&self, vdev: u32, offset: u64, len: u64) -> std::result::Result<Vec<Dva>, ReadError> {
        let mapping = self.mapping(vdev).ok_or(ReadError::Corrupt)?;
        mapping.places(offset, len).map_err(|error| match error {
            PoolError::Corrupt(_) => ReadError::Corrupt,
            _ => ReadError::Io,
        })
    }
}

impl Mapping {
    /// Reads all of it once; whatever is asked of it later was seen to be in order then.
    fn open(mos: &Arc<Objset>, top: &VdevConfig, tree: &VdevConfig) -> Result<Mapping> {
        let corrupt = || PoolError::Corrupt(format!("mapping of the removed vdev {}", top.id));
        let object = mos.hold(top.pairs.u64(key::INDIRECT_OBJECT).ok_or_else(corrupt)?)?;
        let bonus = object.bonus();
        let phys = MappingPhys::decode(&bonus.bytes)?;
        let room = (object.max_blkid() + 1).saturating_mul(u64::from(object.block_size()));
        if phys.num_entries > room / MappingEntry::SIZE as u64 {
            return Err(corrupt());
        }
        let top_zap = top.top_zap.unwrap_or(0);
        let mut mapping = Mapping { object, phys, top_zap, firsts: Vec::new() };
        let mut end = 0;
        for stretch in 0..phys.num_entries.div_ceil(STRETCH) {
            let entries = mapping.stretch(stretch)?;
            mapping.firsts.push(entries[0].source);
            for entry in entries {
                let to = entry.destination;
                let known = tree.children.get(to.vdev as usize).is_some_and(|to| to.id != top.id);
                let fits = entry.source >= end && entry.end() <= top.asize.unwrap_or(0);
                if entry.is_empty() || !known || !fits || to.offset.checked_add(to.asize).is_none() {
                    return Err(corrupt());
                }
                end = entry.end();
            }
        }
        Ok(mapping)
    }

    fn stretch(&self, stretch: u64) -> Result<Vec<MappingEntry>> {
        let first = stretch * STRETCH;
        let count = STRETCH.min(self.phys.num_entries.saturating_sub(first)) as usize;
        let size = MappingEntry::SIZE;
        let bytes = self.object.read_bytes(first * size as u64, count * size)?;
        let entries = (0..count).map(|n| MappingEntry::decode_at(&bytes, n));
        Ok(entries.collect::<std::result::Result<_, _>>()?)
    }

    fn places(&self, offset: u64, len: u64) -> Result<Vec<Dva>> {
        let corrupt = || PoolError::Corrupt("space of a removed vdev that is not mapped".into());
        let end = offset.checked_add(len).ok_or_else(corrupt)?;
        let mut stretch =
            self.firsts.partition_point(|first| *first <= offset).checked_sub(1).ok_or_else(corrupt)?;
        let mut entries = self.stretch(stretch as u64)?;
        let mut index = entries.partition_point(|entry| entry.end() <= offset);
        let mut places = Vec::new();
        let mut at = offset;
        while at < end {
            if index == entries.len() {
                stretch += 1;
                if stretch == self.firsts.len() {
                    return Err(corrupt());
                }
                entries = self.stretch(stretch as u64)?;
                index = 0;
            }
            let entry = entries[index];
            if !(entry.source..entry.end()).contains(&at) {
                return Err(corrupt());
            }
            let here = entry.end().min(end) - at;
            let to = entry.destination;
            places.push(Dva::new(to.vdev, to.offset + (at - entry.source), here));
            at += here;
            index += 1;
        }
        Ok(places)
    }
}
