//! Whether a pool is whole: every block readable, every allocated byte referenced, every referenced byte allocated,
//! nothing owned twice.
//!
//! References are found by walking the meta object set and, of each dataset and snapshot, the blocks born after the
//! snapshot before it; so each block is met once. To these come the lists of blocks that wait to be freed. Allocation is
//! what the space maps say. The pool must not be written meanwhile: it is meant for pools imported read-only, and
//! for the simulator. Needs memory for every segment of the pool.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dmu::bpobj::Bpobj;
use dmu::bptree::Bptree;
use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use dmu::zap::Zap;
use dmu::{DmuError, Objset};
use env::IoClass;
use ondisk::BlkPtr;
use ondisk::dnode::DnodePhys;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::object_type::{ObjectType, pool_directory};
use storage::metaslab::{RangeTree, SpaceMapSource};
use storage::{Segment, Storage};

use crate::spa::Pool;
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
    /// Two references to the same space.
    Twice { dataset: u64, object: u64, vdev: u32, segment: Segment },
    /// Allocated, but nothing refers to it.
    Leaked { vdev: u32, segment: Segment },
    /// Referred to, but free.
    NotAllocated { vdev: u32, segment: Segment },
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
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By dataset object; 0 is the meta object set. Snapshots count what they brought.
    pub datasets: BTreeMap<u64, Tally>,
    pub problems: Vec<Problem>,
    /// Bytes that the space maps say are allocated.
    pub allocated: u64,
    /// Bytes that something refers to.
    pub referenced: u64,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Problems kept; a pool with more is hopeless anyway.
const PROBLEMS_MAX: usize = 10_000;

/// Looks at everything. `progress` is told the bytes met so far, and the bytes allocated.
pub fn verify(pool: &Pool, options: Options, progress: &mut dyn FnMut(u64, u64)) -> Result<Report> {
    let core = &pool.core;
    let mut walk = Walk {
        storage: &core.storage,
        options,
        dataset: 0,
        report: Report::default(),
        owned: BTreeMap::new(),
        progress,
        total: core.storage.space().allocated,
    };
    let roots = datasets(&core.mos)?;
    traverse(&*core.storage, &core.mos.root(), 0, &mut walk);
    for (object, phys) in roots {
        walk.dataset = object;
        traverse(&*core.storage, &phys.bp, phys.prev_snap_txg, &mut walk);
    }
    walk.dataset = 0;
    walk.waiting_frees(&core.mos)?;
    walk.compare(pool)?;
    Ok(walk.report)
}

/// Every dataset and snapshot of the pool, hidden ones too.
fn datasets(mos: &std::sync::Arc<Objset>) -> Result<Vec<(u64, DslDatasetPhys)>> {
    let mut found = Vec::new();
    let mut after = 0;
    while let Some(object) = mos.next_object(after, 0)? {
        after = object;
        let dnode = mos.hold(object)?;
        if dnode.bonus_type() == ObjectType::DSL_DATASET {
            let bonus = dnode.bonus();
            found.push((object, DslDatasetPhys::decode(&bonus.bytes, bonus.endian)?));
        }
    }
    Ok(found)
}

struct Walk<'a> {
    storage: &'a Storage,
    options: Options,
    dataset: u64,
    report: Report,
    /// By vdev: what something refers to.
    owned: BTreeMap<u32, RangeTree>,
    progress: &'a mut dyn FnMut(u64, u64),
    total: u64,
}

impl Walk<'_> {
    fn problem(&mut self, problem: Problem) {
        if self.report.problems.len() < PROBLEMS_MAX {
            self.report.problems.push(problem);
        }
    }

    /// Notes the space of a block and of everything it is made of.
    fn own(&mut self, object: u64, bp: &BlkPtr) {
        if bp.is_hole() || bp.is_embedded() {
            return;
        }
        let dvas = match self.storage.all_dvas(bp) {
            Ok(dvas) => dvas,
            Err(error) => return self.unreadable_block(object, 0, 0, error.to_string()),
        };
        for dva in dvas {
            let tree = self.owned.entry(dva.vdev).or_default();
            if tree.overlaps(dva.offset, dva.asize) {
                // One block of a deduplicated or cloned file has many references by right.
                if !bp.is_dedup() {
                    let segment = Segment { start: dva.offset, len: dva.asize };
                    self.problem(Problem::Twice { dataset: self.dataset, object, vdev: dva.vdev, segment });
                }
                continue;
            }
            tree.add(dva.offset, dva.asize);
            self.report.referenced += dva.asize;
        }
    }

    fn unreadable_block(&mut self, object: u64, level: u8, block: u64, error: String) {
        let dataset = self.dataset;
        self.problem(Problem::Unreadable { dataset, object, level, block, error });
    }

    /// Blocks that nothing refers to any more but a list of what is to be freed.
    fn waiting_frees(&mut self, mos: &std::sync::Arc<Objset>) -> Result<()> {
        let directory = Zap::open(mos, pool_directory::OBJECT)?;
        for name in [pool_directory::SYNC_BPOBJ, pool_directory::FREE_BPOBJ] {
            let Some(object) = directory.find_u64(name)? else { continue };
            let mut waiting = Vec::new();
            let _: ControlFlow<()> = Bpobj::open(mos, object)?.iterate(|bp, _freed| {
                waiting.push(*bp);
                ControlFlow::Continue(())
            })?;
            waiting.iter().for_each(|bp| self.own(object, bp));
        }
        if let Some(object) = directory.find_u64(pool_directory::BPTREE_OBJ)? {
            for entry in Bptree::open(mos, object)?.entries() {
                let entry = entry?;
                traverse(self.storage, &entry.root, entry.birth_txg, self);
            }
        }
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
            let owned = self.owned.remove(&vdev.vdev).unwrap_or_default();
            for segment in difference(&allocated, &owned) {
                self.problem(Problem::Leaked { vdev: vdev.vdev, segment });
            }
            for segment in difference(&owned, &allocated) {
                self.problem(Problem::NotAllocated { vdev: vdev.vdev, segment });
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
        self.own(visit.object, visit.bp);
        let is_data = matches!(visit.part, Part::Tree { level: 0, .. } | Part::Spill)
            && visit.object != dmu::objset::META_OBJECT;
        let skip = is_data && !self.options.data && !visit.bp.object_type().is_metadata();
        if is_data && !skip && !visit.bp.is_embedded() {
            let block = match visit.part {
                Part::Tree { blkid, .. } => blkid,
                Part::Root | Part::Spill => 0,
            };
            if let Err(error) = self.storage.read(visit.bp, IoClass::Scrub) {
                self.unreadable_block(visit.object, 0, block, error.to_string());
            }
        }
        (self.progress)(self.report.referenced, self.total);
        Go::On
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go {
        let (level, block) = match visit.part {
            Part::Tree { level, blkid } => (level, blkid),
            Part::Root | Part::Spill => (0, 0),
        };
        self.unreadable_block(visit.object, level, block, error.to_string());
        Go::Past
    }
}

impl From<storage::ReadError> for PoolError {
    fn from(error: storage::ReadError) -> PoolError {
        match error {
            storage::ReadError::Io => PoolError::Io,
            other => PoolError::Corrupt(other.to_string()),
        }
    }
}
