//! Whether a pool is whole: every block readable, every allocated byte referenced, every referenced
//! byte allocated, nothing owned twice.
//!
//! References are found by walking the meta object set and, of each dataset and snapshot, the
//! blocks born after the snapshot before it; so each block is met once, but for deduplicated ones,
//! which are met as often as their tables say. To these come the intent logs and the lists of
//! blocks that wait to be freed. Allocation is what the space maps say. Every copy of a block is
//! read, not only the first good one, in batches that keep all disks busy. The pool must not be
//! written meanwhile: it is meant for pools imported read-only, and for the simulator. Needs memory
//! for every segment of the pool.
//!
//! Sources: cmd/zdb/zdb.c (`dump_block_stats`), module/zfs/dmu_traverse.c (which log blocks count).

mod livelists;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use dmu::bpobj::Bpobj;
use dmu::bptree::Bptree;
use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use dmu::zap::Zap;
use dmu::{DmuError, Objset};
use env::IoClass;
use ondisk::BlkPtr;
use ondisk::ddt::Class;
use ondisk::dnode::DnodePhys;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::objset::ObjsetPhys;
use storage::metaslab::{RangeTree, SpaceMapSource};
use storage::{Segment, Storage};

use crate::ddt::Ddt;
use crate::dsl::destroy::{is_freed, resume_of};
use crate::spa::Pool;
use crate::undeciphered::Undeciphered;
use crate::zil::{Targets, Walk as LogWalk};
use crate::{PoolError, Result};

/// What to look at.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Read file data too, not only metadata.
    pub data: bool,
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Every copy of the block is bad or unreadable.
    Unreadable { dataset: u64, object: u64, level: u8, block: u64, error: String },
    /// A second reference to space that something else refers to already.
    Twice { dataset: u64, object: u64, vdev: u32, segment: Segment },
    /// Allocated, but nothing refers to it.
    Leaked { vdev: u32, segment: Segment },
    /// Referred to, but free.
    NotAllocated { vdev: u32, segment: Segment },
    /// A table of deduplication counts other references to a block than there are.
    References { vdev: u32, offset: u64, counted: u64, found: u64 },
    /// The livelist of a clone has a block so many times more than the clone.
    Livelist { dataset: u64, vdev: u32, offset: u64, excess: i64 },
    /// A structure of the pool cannot be read.
    Broken(String),
}

/// Objects and blocks of one dataset (or of the meta object set, number 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub objects: u64,
    pub blocks: u64,
    /// Bytes of all copies.
    pub allocated: u64,
    pub logical: u64,
    /// Copies that are bad while another is good.
    pub bad_copies: u64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By dataset object; 0 is the meta object set. Snapshots count what they brought.
    pub datasets: BTreeMap<u64, Tally>,
    pub problems: Vec<Problem>,
    /// Problems met but not kept, for there were too many.
    pub more_problems: u64,
    /// Bytes that the space maps say are allocated.
    pub allocated: u64,
    /// Bytes that something refers to.
    pub referenced: u64,
}

impl Report {
    /// No problem. There may be bad copies, as long as each block has a good one.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Copies that are bad while another is good, in the whole pool.
    pub fn bad_copies(&self) -> u64 {
        self.datasets.values().map(|tally| tally.bad_copies).sum()
    }
}

/// Problems kept; a pool with more is hopeless anyway.
const PROBLEMS_MAX: usize = 10_000;
/// Blocks and bytes that are read together.
const BATCH_BLOCKS: usize = 512;
const BATCH_BYTES: u64 = 16 << 20;

/// Looks at everything. `progress` is told the bytes met so far, and the bytes allocated.
pub fn verify(pool: &Pool, options: Options, progress: &mut dyn FnMut(u64, u64)) -> Result<Report> {
    let core = &pool.core;
    let mut walk = Walk {
        storage: &core.storage,
        options,
        shares: core.features.is_active("block_cloning"),
        synced: core.txgs.synced(),
        dataset: 0,
        report: Report::default(),
        owned: BTreeMap::new(),
        references: BTreeMap::new(),
        batch: Vec::new(),
        batch_bytes: 0,
        progress,
        total: core.storage.space().allocated,
    };
    let roots = walk.datasets(&core.mos);
    traverse(&Undeciphered(&core.storage), &core.mos.root(), 0, &mut walk);
    for (object, phys) in roots {
        walk.dataset = object;
        traverse(&Undeciphered(&core.storage), &phys.bp, phys.prev_snap_txg, &mut walk);
        walk.intent_log(&phys);
        if let Err(error) = walk.livelist(&pool.dsl, object, &phys) {
            walk.problem(Problem::Broken(format!("livelist of dataset {object}: {error}")));
        }
    }
    walk.dataset = 0;
    let place = Place { dataset: 0, object: 0, level: 0, block: 0 };
    if let Err(error) = pool.dsl.each_of_deleted(&mut |bp| walk.own(place, bp)) {
        walk.problem(Problem::Broken(format!("livelists of destroyed clones: {error}")));
    }
    if let Err(error) = walk.waiting_frees(&core.mos) {
        walk.problem(Problem::Broken(format!("lists of what is to be freed: {error}")));
    }
    walk.read_batch();
    if !core.features.is_active("fast_dedup")
        && let Err(error) = walk.tables(&core.ddt)
    {
        walk.problem(Problem::Broken(format!("tables of deduplication: {error}")));
    }
    walk.compare(pool)?;
    walk.forget_repetitions();
    Ok(walk.report)
}

struct Walk<'a> {
    storage: &'a Storage,
    options: Options,
    /// Blocks may have many references without saying so (block cloning).
    shares: bool,
    synced: u64,
    dataset: u64,
    report: Report,
    /// By vdev: what something refers to.
    owned: BTreeMap<u32, RangeTree>,
    /// Pointers to each deduplicated block, by place and birth.
    references: BTreeMap<(u32, u64, u64), u64>,
    /// Blocks to be read.
    batch: Vec<(Place, BlkPtr)>,
    batch_bytes: u64,
    progress: &'a mut dyn FnMut(u64, u64),
    total: u64,
}

/// Where a block was met.
#[derive(Clone, Copy)]
struct Place {
    dataset: u64,
    object: u64,
    level: u8,
    block: u64,
}

impl Place {
    fn of(dataset: u64, visit: &Visit<'_>) -> Place {
        let (level, block) = match visit.part {
            Part::Tree { level, blkid } => (level, blkid),
            Part::Root | Part::Spill => (0, 0),
        };
        Place { dataset, object: visit.object, level, block }
    }
}

impl Walk<'_> {
    /// Every dataset and snapshot of the pool, hidden ones too. What cannot be read is a problem,
    /// not the end.
    fn datasets(&mut self, mos: &Arc<Objset>) -> Vec<(u64, DslDatasetPhys)> {
        let mut found = Vec::new();
        let mut after = 0;
        loop {
            match mos.next_object(after, 0) {
                Ok(Some(object)) => after = object,
                Ok(None) => return found,
                Err(error) => {
                    self.problem(Problem::Broken(format!("objects of the pool after {after}: {error}")));
                    return found;
                }
            }
            let decoded = mos.hold(after).map_err(PoolError::from).and_then(|dnode| {
                let bonus = dnode.bonus();
                let is_dataset = dnode.bonus_type() == ObjectType::DSL_DATASET;
                let phys = is_dataset.then(|| DslDatasetPhys::decode(&bonus.bytes));
                Ok(phys.transpose()?)
            });
            match decoded {
                Ok(phys) => found.extend(phys.map(|phys| (after, phys))),
                Err(error) => self.problem(Problem::Broken(format!("dataset {after}: {error}"))),
            }
        }
    }

    fn problem(&mut self, problem: Problem) {
        if self.report.problems.len() < PROBLEMS_MAX {
            self.report.problems.push(problem);
        } else {
            self.report.more_problems += 1;
        }
    }

    /// Notes the space of a block and of everything it is made of.
    fn own(&mut self, place: Place, bp: &BlkPtr) {
        if bp.is_hole() || bp.is_embedded() {
            return;
        }
        if bp.is_dedup() {
            *self.references.entry(identity(bp)).or_default() += 1;
        }
        let dvas = match self.storage.all_dvas(bp) {
            Ok(dvas) => dvas,
            Err(error) => return self.unreadable_block(place, error.to_string()),
        };
        for dva in dvas {
            let segment = Segment { start: dva.offset, len: dva.asize };
            let tree = self.owned.entry(dva.vdev).or_default();
            if segment.len == 0 || segment.start.checked_add(segment.len).is_none() {
                self.problem(Problem::NotAllocated { vdev: dva.vdev, segment });
            } else if !tree.overlaps(segment.start, segment.len) {
                tree.add(segment.start, segment.len);
                self.report.referenced += segment.len;
            } else if !(bp.is_dedup() || self.shares) || !tree.contains(segment.start, segment.len) {
                // A block of a deduplicated or cloned file may have many references, but always to
                // all of it.
                let (dataset, object) = (place.dataset, place.object);
                self.problem(Problem::Twice { dataset, object, vdev: dva.vdev, segment });
            }
        }
    }

    fn unreadable_block(&mut self, place: Place, error: String) {
        let Place { dataset, object, level, block } = place;
        self.problem(Problem::Unreadable { dataset, object, level, block, error });
    }

    /// A block may turn out unreadable on the way to what is below it, and again among its copies.
    fn forget_repetitions(&mut self) {
        let mut seen = BTreeSet::new();
        self.report.problems.retain(|problem| match problem {
            Problem::Unreadable { dataset, object, level, block, .. } => {
                seen.insert((*dataset, *object, *level, *block))
            }
            _ => true,
        });
    }

    /// Reads a block sooner or later.
    fn want(&mut self, place: Place, bp: &BlkPtr) {
        self.batch.push((place, *bp));
        self.batch_bytes += bp.psize() * bp.ndvas() as u64;
        if self.batch.len() >= BATCH_BLOCKS || self.batch_bytes >= BATCH_BYTES {
            self.read_batch();
        }
    }

    fn read_batch(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let bps: Vec<BlkPtr> = batch.iter().map(|(_, bp)| *bp).collect();
        for ((place, _), survey) in batch.into_iter().zip(self.storage.survey(&bps, IoClass::Scrub)) {
            match survey.error {
                Some(error) => self.unreadable_block(place, error.to_string()),
                None => {
                    let tally = self.report.datasets.entry(place.dataset).or_default();
                    tally.bad_copies += u64::from(survey.bad);
                }
            }
        }
    }

    /// The blocks of a dataset's intent log, and those its records lead to. Of a log that nobody
    /// has claimed, what was written after the last group is not in the space maps yet
    /// (`traverse_zil`). A snapshot has a copy of the log's header, but the log is not its own.
    fn intent_log(&mut self, phys: &DslDatasetPhys) {
        if phys.is_snapshot() {
            return;
        }
        let root = if phys.bp.is_hole() { None } else { self.storage.read(&phys.bp, IoClass::Scrub).ok() };
        let decoded = root.and_then(|block| ObjsetPhys::decode(&block).ok());
        let Some(header) = decoded.map(|objset| objset.zil_header) else { return };
        let place = Place { dataset: self.dataset, object: 0, level: 0, block: 0 };
        let mut targets = Targets::new(&header);
        for found in LogWalk::new(self.storage, &header) {
            if header.claim_txg == 0 && found.bp.birth() > self.synced {
                return;
            }
            // The chain ends where a block was allocated but never written; it counts nevertheless.
            self.own(place, &found.bp);
            for bp in found.content.iter().flat_map(|block| targets.of(block)) {
                self.own(place, &bp);
                self.want(place, &bp);
            }
        }
    }

    /// Blocks that nothing refers to any more but a list of what is to be freed.
    fn waiting_frees(&mut self, mos: &Arc<Objset>) -> Result<()> {
        let directory = Zap::open(mos, pool_directory::OBJECT)?;
        for name in [pool_directory::SYNC_BPOBJ, pool_directory::FREE_BPOBJ] {
            let Some(object) = directory.find_u64(name)? else { continue };
            let mut waiting = Vec::new();
            let _: ControlFlow<()> = Bpobj::open(mos, object)?.iterate(|bp, _freed| {
                waiting.push(*bp);
                ControlFlow::Continue(())
            })?;
            let place = Place { dataset: 0, object, level: 0, block: 0 };
            waiting.iter().for_each(|bp| self.own(place, bp));
        }
        if let Some(object) = directory.find_u64(pool_directory::BPTREE_OBJ)? {
            let store = Undeciphered(self.storage);
            for entry in Bptree::open(mos, object)?.entries()? {
                let entry = entry?;
                let mut rest = Rest { resume: resume_of(&entry), walk: &mut *self };
                traverse(&store, &entry.root, entry.birth_txg, &mut rest);
            }
        }
        Ok(())
    }

    /// Holds the references that were met against those that the tables of deduplication count.
    fn tables(&mut self, tables: &Ddt) -> Result<()> {
        let mut references = std::mem::take(&mut self.references);
        let mut wrong = Vec::new();
        tables.walk(&mut |checksum, class, key, slots| {
            let total = ondisk::ddt::references(slots);
            if class != Class::Ditto && class != Class::of(total) {
                wrong.push(Problem::Broken(format!("{} references in class {}", total, class.name())));
            }
            for slot in slots.iter().filter(|slot| !slot.is_empty()) {
                let (vdev, offset, birth) = identity(&key.pointer(checksum, slot));
                let found = references.remove(&(vdev, offset, birth)).unwrap_or(0);
                if found != slot.references {
                    wrong.push(Problem::References { vdev, offset, counted: slot.references, found });
                }
            }
        })?;
        let unknown = references.into_iter();
        wrong.extend(unknown.map(|((vdev, offset, _), found)| Problem::References {
            vdev,
            offset,
            counted: 0,
            found,
        }));
        wrong.into_iter().for_each(|problem| self.problem(problem));
        Ok(())
    }

    /// Holds what is referred to against what the space maps say.
    fn compare(&mut self, pool: &Pool) -> Result<()> {
        for vdev in pool.core.maps.vdevs() {
            let mut allocated = RangeTree::new();
            for metaslab in 0..vdev.metaslab_count {
                let read = pool.core.maps.load(vdev.vdev, metaslab, &mut |alloc, segment| {
                    if alloc {
                        allocated.add_overlap(segment.start, segment.len);
                    } else {
                        allocated.remove_overlap(segment.start, segment.len);
                    }
                });
                if read.is_err() {
                    self.problem(Problem::Broken(format!("space map {metaslab} of vdev {}", vdev.vdev)));
                }
            }
            self.report.allocated += allocated.space();
            match pool.core.kept_by_checkpoint(vdev.vdev) {
                Ok(kept) => {
                    for segment in kept {
                        if allocated.contains(segment.start, segment.len) {
                            allocated.remove(segment.start, segment.len);
                        } else {
                            self.problem(Problem::NotAllocated { vdev: vdev.vdev, segment });
                        }
                    }
                }
                Err(error) => self.problem(Problem::Broken(format!("what the checkpoint keeps: {error}"))),
            }
            let owned = self.owned.remove(&vdev.vdev).unwrap_or_default();
            for segment in difference(&allocated, &owned) {
                self.problem(Problem::Leaked { vdev: vdev.vdev, segment });
            }
            for segment in difference(&owned, &allocated) {
                self.problem(Problem::NotAllocated { vdev: vdev.vdev, segment });
            }
        }
        for vdev in pool.core.removed.vdevs() {
            let owned = self.owned.remove(&vdev).unwrap_or_default();
            let mut wrong = Vec::new();
            let precise = pool.core.removed.obsolete(vdev, &mut |segment, obsolete| {
                let (has, should) = (owned.space_in(segment), segment.len.saturating_sub(obsolete));
                if has != should {
                    wrong.push((segment, has > should));
                }
            });
            match precise {
                Err(error) => self.problem(Problem::Broken(format!("removed vdev {vdev}: {error}"))),
                Ok(precise) => {
                    for (segment, in_use) in wrong {
                        if in_use {
                            self.problem(Problem::NotAllocated { vdev, segment });
                        } else if precise {
                            self.problem(Problem::Leaked { vdev, segment });
                        }
                    }
                }
            }
        }
        for (vdev, tree) in std::mem::take(&mut self.owned) {
            for segment in tree.iter() {
                self.problem(Problem::NotAllocated { vdev, segment });
            }
        }
        Ok(())
    }
}

/// What a deduplicated block is told from others by.
fn identity(bp: &BlkPtr) -> (u32, u64, u64) {
    let dva = bp.first_dva();
    (dva.vdev, dva.offset, bp.physical_birth())
}

/// What is in `a` and not in `b`.
fn difference(a: &RangeTree, b: &RangeTree) -> Vec<Segment> {
    let mut rest = a.clone();
    b.iter().for_each(|segment| rest.remove_overlap(segment.start, segment.len));
    rest.iter().collect()
}

impl Visitor for Walk<'_> {
    fn object(&mut self, object: u64, _dnode: &DnodePhys) -> Go {
        if object != dmu::objset::META_OBJECT && object < u64::MAX - 8 {
            self.report.datasets.entry(self.dataset).or_default().objects += 1;
        }
        Go::On
    }

    fn block(&mut self, visit: &Visit<'_>) -> Go {
        let tally = self.report.datasets.entry(self.dataset).or_default();
        tally.blocks += 1;
        tally.allocated += visit.bp.asize();
        tally.logical += visit.bp.lsize();
        let place = Place::of(self.dataset, visit);
        self.own(place, visit.bp);
        let is_file =
            matches!(visit.part, Part::Tree { level: 0, .. }) && !visit.bp.object_type().is_metadata();
        if self.options.data || !is_file {
            self.want(place, visit.bp);
        }
        (self.progress)(self.report.referenced, self.total);
        Go::On
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go {
        // A block without a good copy shows when the batch is read.
        if !matches!(error, DmuError::Io) {
            self.unreadable_block(Place::of(self.dataset, visit), error.to_string());
        }
        Go::Past
    }
}

/// The part of a destroyed dataset that has not been freed yet.
struct Rest<'a, 'b> {
    walk: &'a mut Walk<'b>,
    resume: Option<(u64, u64)>,
}

impl Visitor for Rest<'_, '_> {
    fn object(&mut self, object: u64, dnode: &DnodePhys) -> Go {
        match self.resume {
            Some((resume, _)) if object != dmu::objset::META_OBJECT && object < resume => Go::Past,
            _ => self.walk.object(object, dnode),
        }
    }

    fn block(&mut self, visit: &Visit<'_>) -> Go {
        if is_freed(self.resume, visit) { Go::Past } else { self.walk.block(visit) }
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go {
        self.walk.unreadable(visit, error)
    }
}

impl From<storage::ReadError> for PoolError {
    fn from(error: storage::ReadError) -> PoolError {
        match error {
            storage::ReadError::Io | storage::ReadError::Missing | storage::ReadError::Suspended => {
                PoolError::Io
            }
            other => PoolError::Corrupt(other.to_string()),
        }
    }
}
