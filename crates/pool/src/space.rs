//! Space maps as objects of the pool, and the log space maps that real OpenZFS leaves behind.
//!
//! Each top-level vdev has an array object with the number of every metaslab's space map.
//! [`SpaceMaps::persist`] appends what the allocator reports, once a pass, and writes a map anew
//! when it has grown far beyond what it says (condensing). [`SpaceMaps`] is also where the
//! allocator reads maps from.
//!
//! A pool with the feature `log_spacemap` active keeps recent changes in maps of its own, one a
//! txg, and brings them home to the metaslabs lazily. We read them at import as *unflushed* changes
//! on top of the metaslabs' maps, bring them all home in the first group we write, and keep none
//! ourselves.
//!
//! Sources: module/zfs/space_map.c, metaslab.c (condensing), spa_log_spacemap.c (which log entries
//! count).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use dmu::{Dnode, ObjectSpec, Objset, Tx};
use env::lock;
use ondisk::object_type::ObjectType;
use ondisk::spacemap::{self, Entries, Entry, MapType, MapWriter, SpaceMapPhys};
use storage::metaslab::{MetaslabSummary, RangeTree, SpaceChange, SpaceMapSource};
use storage::{ReadError, Segment, Storage};

use crate::feature::Features;
use crate::{PoolError, Result};

/// Bytes of a block of a space map object.
const BLOCK_SIZE: u32 = 16 << 10;
/// Bytes of a block of a map of obsolete space (`zfs_vdev_standard_sm_blksz`).
pub(crate) const OBSOLETE_BLOCK_SIZE: u32 = 128 << 10;
/// A map is written anew when it is this many times longer than it need be …
const CONDENSE_TIMES: u64 = 2;
/// … and longer than this.
const CONDENSE_FROM: u64 = 4 * BLOCK_SIZE as u64;

/// A top-level vdev as its maps need it.
#[derive(Clone, Copy, Debug)]
pub struct VdevSpace {
    pub vdev: u32,
    pub ashift: u32,
    pub metaslab_shift: u32,
    pub metaslab_count: u64,
    /// Object number of the array of space maps.
    pub array: u64,
}

/// Changes that a metaslab's own map does not have.
#[derive(Clone, Debug, Default)]
struct Unflushed {
    allocs: RangeTree,
    frees: RangeTree,
}

/// Which forms may be written.
#[derive(Clone, Copy, Debug)]
pub struct MapForm {
    /// Feature `spacemap_v2`.
    pub two_words: bool,
    /// Feature `spacemap_histogram`.
    pub histogram: bool,
}

/// What maps are written with in a group.
#[derive(Clone, Copy)]
pub struct MapCx<'a> {
    pub storage: &'a Storage,
    pub form: MapForm,
    pub features: &'a Features,
    pub pass: u32,
    pub tx: &'a Tx,
}

pub struct SpaceMaps {
    mos: Arc<Objset>,
    vdevs: Mutex<BTreeMap<u32, VdevSpace>>,
    unflushed: Mutex<BTreeMap<(u32, u64), Unflushed>>,
    /// Held by syncing context from the moment a change is nowhere until it is in its map, and by
    /// whoever reads a map: intent logs are given space, and maps are read for them, in open
    /// context.
    changing: RwLock<()>,
}

impl SpaceMaps {
    pub fn new(mos: Arc<Objset>) -> Arc<SpaceMaps> {
        let (vdevs, unflushed) = (Mutex::default(), Mutex::default());
        Arc::new(SpaceMaps { mos, vdevs, unflushed, changing: RwLock::new(()) })
    }

    pub fn add_vdev(&self, vdev: VdevSpace) {
        lock(&self.vdevs).insert(vdev.vdev, vdev);
    }

    /// A vdev has so many metaslabs now; new ones have no maps yet.
    pub fn grow_vdev(&self, vdev: u32, metaslabs: u64) {
        if let Some(space) = lock(&self.vdevs).get_mut(&vdev) {
            space.metaslab_count = space.metaslab_count.max(metaslabs);
        }
    }

    /// Frees all maps of a vdev that goes, and forgets it.
    pub fn remove_vdev(&self, vdev: u32, features: &Features, tx: &Tx) -> Result<()> {
        let _nobody_reads = self.changing.write().unwrap_or_else(PoisonError::into_inner);
        let Some(space) = lock(&self.vdevs).remove(&vdev) else { return Ok(()) };
        for metaslab in 0..space.metaslab_count {
            let object = map_object(&self.mos, &space, metaslab)?;
            if object != 0 {
                self.free_map(object, features, tx)?;
            }
        }
        Ok(self.mos.free(space.array, tx)?)
    }

    pub fn vdevs(&self) -> Vec<VdevSpace> {
        lock(&self.vdevs).values().copied().collect()
    }

    fn vdev(&self, vdev: u32) -> Option<VdevSpace> {
        lock(&self.vdevs).get(&vdev).copied()
    }

    /// What was allocated of a metaslab as of the group of this meta object set, before which no
    /// changes are unflushed; `None` behind the last metaslab.
    pub(crate) fn allocated_in(
        &self,
        mos: &Arc<Objset>,
        vdev: u32,
        metaslab: u64,
    ) -> Result<Option<RangeTree>> {
        let Some(space) = self.vdev(vdev).filter(|space| metaslab < space.metaslab_count) else {
            return Ok(None);
        };
        let mut allocated = RangeTree::new();
        let object = map_object(mos, &space, metaslab)?;
        if object != 0 {
            replay_of(mos, object, &space, metaslab, &mut |is_alloc, segment| match is_alloc {
                true => allocated.add_overlap(segment.start, segment.len),
                false => allocated.remove_overlap(segment.start, segment.len),
            })?;
        }
        Ok(Some(allocated))
    }

    /// What is known of each metaslab without reading its map: for the allocator's start.
    pub fn summaries(&self, vdev: &VdevSpace) -> Result<Vec<MetaslabSummary>> {
        let mut summaries = Vec::with_capacity(vdev.metaslab_count as usize);
        for metaslab in 0..vdev.metaslab_count {
            let object = map_object(&self.mos, vdev, metaslab)?;
            let mut summary = MetaslabSummary::default();
            if object != 0 {
                let (_, phys) = open_map(&self.mos, object)?;
                summary.allocated = phys.alloc.max(0) as u64;
                summary.histogram = phys.histogram.map(|buckets| buckets.to_vec());
            }
            if let Some(unflushed) = lock(&self.unflushed).get(&(vdev.vdev, metaslab)) {
                summary.allocated = summary
                    .allocated
                    .saturating_add(unflushed.allocs.space())
                    .saturating_sub(unflushed.frees.space());
                summary.histogram = None;
            }
            summaries.push(summary);
        }
        Ok(summaries)
    }

    /// Appends what the allocator reports; what a checkpoint keeps of a vdev, `keep` gets. Syncing
    /// context; may leave the MOS dirty.
    pub fn persist(
        &self,
        cx: &MapCx<'_>,
        keep: &mut dyn FnMut(&VdevSpace, &[Segment]) -> Result<()>,
    ) -> Result<()> {
        for change in cx.storage.take_changes(cx.tx.touch()) {
            let vdev = self.vdev(change.vdev).expect("the allocator only knows vdevs that have maps");
            if !change.kept.is_empty() {
                keep(&vdev, &change.kept)?;
            }
            if !change.allocs.is_empty() || !change.frees.is_empty() {
                self.add_change(&vdev, change, cx)?;
            }
        }
        Ok(())
    }

    /// Brings a change into its map, and what older groups left unflushed with it. Readers see all
    /// of it or nothing.
    fn add_change(&self, vdev: &VdevSpace, mut change: SpaceChange, cx: &MapCx<'_>) -> Result<()> {
        let _nobody_reads = self.changing.write().unwrap_or_else(PoisonError::into_inner);
        self.bring_home(&mut change);
        self.append(vdev, &change, cx)
    }

    /// Puts unflushed changes of older groups before the new ones.
    fn bring_home(&self, change: &mut SpaceChange) {
        let Some(old) = lock(&self.unflushed).remove(&(change.vdev, change.metaslab)) else { return };
        // Old allocations and frees are disjoint; a new change may undo an old one, so old ones go
        // first and what a new free gives back of an old allocation is simply never written.
        let mut allocs = old.allocs;
        let mut frees = old.frees;
        for segment in &change.allocs {
            apply(&mut frees, &mut allocs, *segment);
        }
        for segment in &change.frees {
            apply(&mut allocs, &mut frees, *segment);
        }
        change.allocs = allocs.iter().collect();
        change.frees = frees.iter().collect();
    }

    /// Writes home everything that is still unflushed. After this the log space maps are not
    /// needed.
    pub fn flush_unflushed(&self, cx: &MapCx<'_>) -> Result<()> {
        let keys: Vec<(u32, u64)> = lock(&self.unflushed).keys().copied().collect();
        for (id, metaslab) in keys {
            let vdev =
                self.vdev(id).ok_or_else(|| PoolError::Corrupt("a log space map names no vdev".into()))?;
            let nothing = SpaceChange { vdev: id, metaslab, ..SpaceChange::default() };
            self.add_change(&vdev, nothing, cx)?;
        }
        Ok(())
    }

    fn append(&self, vdev: &VdevSpace, change: &SpaceChange, cx: &MapCx<'_>) -> Result<()> {
        let MapCx { storage, form, pass, tx, .. } = *cx;
        let object = self.ensure_map(vdev, change.metaslab, cx)?;
        let (map, mut phys) = open_map(&self.mos, object)?;
        let sum = |segments: &[Segment]| segments.iter().map(|segment| segment.len as i64).sum::<i64>();
        phys.alloc += sum(&change.allocs) - sum(&change.frees);
        let whole = if pass == 1 { self.condensed(storage, vdev, change, &phys) } else { None };
        if whole.is_some() {
            map.free_range(0, u64::MAX, tx)?;
            phys.length = 0;
        }
        let mut writer = MapWriter::new(phys.length, u64::from(map.block_size()), form.two_words);
        let start = change.metaslab << vdev.metaslab_shift;
        let mut write = |kind, segments: &[Segment]| {
            if !segments.is_empty() {
                writer.debug(kind, pass as u16, tx.txg());
            }
            for segment in segments {
                let offset = (segment.start - start) >> vdev.ashift;
                writer.segment(kind, offset, segment.len >> vdev.ashift, None);
            }
        };
        match &whole {
            Some(allocated) => write(MapType::Alloc, allocated),
            None => {
                write(MapType::Alloc, &change.allocs);
                write(MapType::Free, &change.frees);
            }
        }
        let (from, length) = (phys.length, writer.length());
        let bytes = writer.into_bytes();
        if !bytes.is_empty() {
            map.write(from, &bytes, tx)?;
        }
        phys.length = length;
        if let (Some(kept), Some(new)) = (&mut phys.histogram, &change.histogram) {
            kept.iter_mut().zip(new).for_each(|(bucket, count)| *bucket = *count);
        }
        map.set_bonus(ObjectType::SPACE_MAP_HEADER, &phys.encode(), tx)?;
        Ok(())
    }

    /// All allocated segments, where writing them anew is worth it.
    fn condensed(
        &self,
        storage: &Storage,
        vdev: &VdevSpace,
        change: &SpaceChange,
        phys: &SpaceMapPhys,
    ) -> Option<Vec<Segment>> {
        if phys.length < CONDENSE_FROM {
            return None;
        }
        let allocated = storage.allocated_segments(vdev.vdev, change.metaslab)?;
        let words = |segment: &Segment| 1 + (segment.len >> vdev.ashift) / spacemap::RUN_MAX;
        let needed = 8 * allocated.iter().map(words).sum::<u64>();
        (phys.length > CONDENSE_TIMES * needed).then_some(allocated)
    }

    fn ensure_map(&self, vdev: &VdevSpace, metaslab: u64, cx: &MapCx<'_>) -> Result<u64> {
        let object = map_object(&self.mos, vdev, metaslab)?;
        if object != 0 {
            return Ok(object);
        }
        let object = alloc_map(&self.mos, BLOCK_SIZE, cx.form, cx.features, cx.tx)?;
        let array = self.mos.hold(vdev.array)?;
        array.write(metaslab * 8, &object.to_le_bytes(), cx.tx)?;
        Ok(object)
    }

    /// Frees a map that is not needed any more.
    pub fn free_map(&self, object: u64, features: &Features, tx: &Tx) -> Result<()> {
        let (_, phys) = open_map(&self.mos, object)?;
        if phys.histogram.is_some() {
            features.decrement("spacemap_histogram", tx)?;
        }
        Ok(self.mos.free(object, tx)?)
    }

    /// Takes one log space map into account: the changes of `txg`, for each metaslab whose own map
    /// lacks them. `flushed` gives the txg from which on a metaslab's map is incomplete.
    pub fn read_log(&self, object: u64, txg: u64, flushed: &dyn Fn(u32, u64) -> u64) -> Result<()> {
        let mut wrong = false;
        let vdevs = lock(&self.vdevs).clone();
        let mut unflushed = lock(&self.unflushed);
        replay(&self.mos, object, &mut |entry| {
            let Entry::Segment { kind, offset, run, vdev } = entry else { return };
            let Some(owner) = vdev.and_then(|id| vdevs.get(&id)) else {
                wrong = true;
                return;
            };
            // Log space maps count in the smallest sectors, whatever the vdev's.
            let segment = Segment { start: offset.saturating_mul(512), len: run.saturating_mul(512) };
            let metaslab = segment.start >> owner.metaslab_shift;
            let last = segment.start.checked_add(segment.len - 1).map(|last| last >> owner.metaslab_shift);
            if metaslab >= owner.metaslab_count || last != Some(metaslab) {
                wrong = true;
                return;
            }
            if txg < flushed(owner.vdev, metaslab) {
                return;
            }
            let changes = unflushed.entry((owner.vdev, metaslab)).or_default();
            match kind {
                MapType::Alloc => apply(&mut changes.frees, &mut changes.allocs, segment),
                MapType::Free => apply(&mut changes.allocs, &mut changes.frees, segment),
            }
        })?;
        if wrong {
            Err(PoolError::Corrupt(format!("log space map {object} names space of no vdev")))
        } else {
            Ok(())
        }
    }
}

/// A new, empty map.
pub(crate) fn alloc_map(
    mos: &Objset,
    block_size: u32,
    form: MapForm,
    features: &Features,
    tx: &Tx,
) -> Result<u64> {
    let phys = SpaceMapPhys {
        histogram: form.histogram.then_some([0; spacemap::HISTOGRAM_SIZE]),
        ..SpaceMapPhys::default()
    };
    let bonus = phys.encode();
    let spec = ObjectSpec::new(ObjectType::SPACE_MAP)
        .with_block_size(block_size)
        .with_bonus(ObjectType::SPACE_MAP_HEADER, bonus.len() as u16);
    let map = mos.alloc(spec, tx)?;
    map.set_bonus(ObjectType::SPACE_MAP_HEADER, &bonus, tx)?;
    if form.histogram {
        features.increment("spacemap_histogram", tx)?;
    }
    Ok(map.object())
}

pub(crate) fn open_map(mos: &Arc<Objset>, object: u64) -> Result<(Arc<Dnode>, SpaceMapPhys)> {
    let map = mos.hold(object)?;
    let bonus = map.bonus();
    let phys = SpaceMapPhys::decode(&bonus.bytes)?;
    Ok((map, phys))
}

/// Calls `each` for every entry of a map.
pub(crate) fn replay(mos: &Arc<Objset>, object: u64, each: &mut dyn FnMut(Entry)) -> Result<()> {
    let (map, phys) = open_map(mos, object)?;
    let block_size = u64::from(map.block_size());
    let mut at = 0;
    while at < phys.length {
        let len = block_size.min(phys.length - at);
        let Some(block) = map.block(at / block_size)? else {
            return Err(PoolError::Corrupt(format!("space map {object} has a hole")));
        };
        let counted = block.get(..len as usize).unwrap_or(&block);
        for entry in Entries::new(counted) {
            each(entry?);
        }
        at += len;
    }
    Ok(())
}

/// Object number of a metaslab's map; 0: nothing was ever allocated there.
fn map_object(mos: &Objset, vdev: &VdevSpace, metaslab: u64) -> Result<u64> {
    let bytes = mos.hold(vdev.array)?.read_bytes(metaslab * 8, 8)?;
    Ok(ondisk::malformed::u64_at(&bytes, 0, ondisk::malformed::Endian::Little, "metaslab array")?)
}

/// Calls `each` with (allocated?, segment of the vdev) for every entry of a metaslab's map.
fn replay_of(
    mos: &Arc<Objset>,
    object: u64,
    vdev: &VdevSpace,
    metaslab: u64,
    each: &mut dyn FnMut(bool, Segment),
) -> Result<()> {
    let start = metaslab << vdev.metaslab_shift;
    replay(mos, object, &mut |entry| {
        if let Entry::Segment { kind, offset, run, .. } = entry {
            // Absurd numbers saturate, and are then refused as space outside the metaslab.
            let offset = offset.checked_mul(1 << vdev.ashift).unwrap_or(u64::MAX / 4);
            let len = run.checked_mul(1 << vdev.ashift).unwrap_or(u64::MAX / 4);
            each(kind == MapType::Alloc, Segment { start: start.saturating_add(offset), len });
        }
    })
}

/// Records a segment in `to`, but for the parts that undo what is in `undone`.
fn apply(undone: &mut RangeTree, to: &mut RangeTree, segment: Segment) {
    let mut at = segment.start;
    while at < segment.end() {
        if let Some(old) = undone.covering(at) {
            let end = old.end().min(segment.end());
            undone.remove(at, end - at);
            at = end;
        } else {
            let next = undone.iter_from(at).next().map_or(segment.end(), |old| old.start.min(segment.end()));
            to.add_overlap(at, next - at);
            at = next;
        }
    }
}

impl SpaceMapSource for SpaceMaps {
    fn load(
        &self,
        vdev: u32,
        metaslab: u64,
        each: &mut dyn FnMut(bool, Segment),
    ) -> std::result::Result<(), ReadError> {
        let damaged = |_| ReadError::Corrupt;
        let _nobody_changes = self.changing.read().unwrap_or_else(PoisonError::into_inner);
        let owner = self.vdev(vdev).ok_or(ReadError::Corrupt)?;
        let object = map_object(&self.mos, &owner, metaslab).map_err(damaged)?;
        if object != 0 {
            replay_of(&self.mos, object, &owner, metaslab, each).map_err(damaged)?;
        }
        if let Some(unflushed) = lock(&self.unflushed).get(&(vdev, metaslab)) {
            unflushed.allocs.iter().for_each(|segment| each(true, segment));
            unflushed.frees.iter().for_each(|segment| each(false, segment));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
