//! Walking all trees of the pool in the order of datasets, from where the walk stopped last.
//!
//! A walk is over the tree of one durable group and may stop at any level-0 block or root; the next
//! one begins with a newer tree. What was walked before is passed by, by bookmark. Blocks younger
//! than the scan need not be looked at, but what is below them does: an old block may have a new
//! parent.
//!
//! Before the trees come the tables of deduplication; what they showed is left out of what trees
//! lead to.
//!
//! Gangs and blocks of intent logs are healed here and now, for they cannot be sorted. Logs count
//! only where they were claimed and not yet replayed.
//!
//! Source: module/zfs/dsl_scan.c (`dsl_scan_visit` and below).

use dmu::DmuError;
use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use env::IoClass;
use ondisk::BlkPtr;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::objset::ObjsetPhys;
use ondisk::scan::{FLAG_VISIT_DS_AGAIN, ScanPhys};
use ondisk::zbookmark::{DESTROYED_OBJSET, ROOT_LEVEL, SPILL_BLKID, ZIL_LEVEL, Zbookmark};
use ondisk::zil::ZilHeader;

use super::Budget;
use crate::Result;
use crate::ddt::durable::DurableTables;
use crate::mos::Mos;
use crate::spa::{Durable, Pool};
use crate::state::scan::{Departure, OF_TABLE, Position, Waiting, is_due, wanted_copies};
use crate::undeciphered::Undeciphered;

/// How often the clock is looked at.
const CLOCK_EVERY: u64 = 256;

pub(super) struct Walk<'a> {
    pool: &'a Pool,
    /// The meta object set of the tree that is walked, and its root.
    mos: Mos,
    root: BlkPtr,
    position: &'a mut Position,
    budget: Budget,
    stopped: bool,
    /// Bytes met.
    pub examined: u64,
    /// Bytes healed at once.
    pub issued: u64,
    found: Vec<Waiting>,
}

impl<'a> Walk<'a> {
    /// Over the tree of this group.
    pub fn new(
        pool: &'a Pool,
        durable: Durable,
        position: &'a mut Position,
        budget: Budget,
    ) -> Result<Walk<'a>> {
        let mos = Mos::new(pool.core.durable_mos(durable)?, &pool.core.env);
        let found = Vec::new();
        let root = durable.root;
        Ok(Walk { pool, mos, root, position, budget, stopped: false, examined: 0, issued: 0, found })
    }

    /// Walks until the budget is used up or all is seen; whether all is.
    pub fn run(&mut self) -> Result<bool> {
        if self.position.phys.is_in_tables() {
            self.tables();
            // What was found is healed before the trees' turn: only then it is known whether the
            // tables can be relied on.
            return Ok(false);
        }
        match self.position.phys.bookmark().objset {
            0 => {
                self.limit(self.position.phys.min_txg, self.position.phys.max_txg);
                let root = self.root;
                self.tree(0, &root);
                if self.stopped {
                    return Ok(false);
                }
                match self.pool.dsl.origin_snap() {
                    Some(origin) => self.dataset(origin),
                    // Before version 11 there is no common origin.
                    None => {
                        self.position.queue.extend(self.clones_of(0, 0)?.into_iter().map(|first| (first, 0)));
                    }
                }
            }
            DESTROYED_OBJSET => {}
            dataset => self.dataset(dataset),
        }
        while !self.stopped {
            self.position.phys.set_bookmark(Zbookmark::default());
            let Some((dataset, since)) = self.position.queue.pop_first() else {
                self.position.phys.set_bookmark(Zbookmark::new(DESTROYED_OBJSET, 0, 0, 0));
                return Ok(true);
            };
            self.limit_to(dataset, since);
            self.dataset(dataset);
        }
        Ok(false)
    }

    /// Goes through the tables of deduplication: what they show, trees need not lead to again.
    /// Gangs are left to the trees.
    fn tables(&mut self) {
        let ScanPhys { cur_min_txg, cur_max_txg, .. } = self.position.phys;
        self.limit(self.position.phys.min_txg, self.position.phys.max_txg);
        if let Err(error) = self.go_through_tables() {
            tracing::error!(%error, "a scan cannot read a deduplication table");
            let _ = self.position.give_tables_up();
        }
        // The trees may have been begun already.
        self.limit(cur_min_txg, cur_max_txg);
    }

    fn go_through_tables(&mut self) -> Result<()> {
        let tables = DurableTables::of(&self.mos.objset, &self.position.phys)?;
        while self.pool.core.env.clock.now() < self.budget.until && self.budget.blocks > 0 {
            let Some(shown) = tables.next(&mut self.position.phys)? else { return Ok(()) };
            self.budget.blocks = self.budget.blocks.saturating_sub(shown.len() as u64);
            for entry in shown {
                for slot in entry.slots.iter().filter(|slot| !slot.is_empty()) {
                    let bp = entry.key.pointer(entry.checksum, slot);
                    if !bp.is_gang() {
                        self.meet(&bp, OF_TABLE);
                    }
                }
            }
        }
        Ok(())
    }

    /// What the walk found, but for what tables have shown.
    pub fn found(&mut self) -> Vec<Waiting> {
        let found = std::mem::take(&mut self.found);
        if !self.position.phys.relies_on_tables() {
            return found;
        }
        let shared: Vec<BlkPtr> =
            found.iter().filter(|block| may_be_shown(block)).map(|block| block.bp).collect();
        if shared.is_empty() {
            return found;
        }
        // Where tables cannot be read, the trees tell.
        let have =
            DurableTables::of(&self.mos.objset, &self.position.phys).map(|tables| tables.have(&shared));
        let mut have = have.unwrap_or_default().into_iter();
        let mut is_new = |block: &Waiting| {
            let was_shown = may_be_shown(block) && have.next().unwrap_or(false);
            if was_shown {
                self.position.phys.examined -= block.asize();
                self.examined -= block.asize();
            }
            !was_shown
        };
        found.into_iter().filter(|block| is_new(block)).collect()
    }

    /// Sets the births of interest in a dataset from the queue. One that cannot be read is told
    /// when it is visited.
    fn limit_to(&mut self, dataset: u64, since: u64) {
        let phys = self.mos.dataset(dataset).unwrap_or_default();
        let since = if since == 0 { phys.prev_snap_txg } else { since };
        let max = self.position.phys.max_txg;
        let until = if phys.is_snapshot() { max.min(phys.creation_txg) } else { max };
        self.limit(self.position.phys.min_txg.max(since), until);
    }

    fn limit(&mut self, min: u64, max: u64) {
        (self.position.phys.cur_min_txg, self.position.phys.cur_max_txg) = (min, max);
    }

    /// A dataset's blocks; then those that descend from it are in the queue. One whose own record
    /// cannot be read is hurt, and so is all that only it leads to.
    fn dataset(&mut self, object: u64) {
        if let Err(error) = self.visit(object) {
            tracing::error!(object, %error, "a scan cannot read a dataset");
            self.hurt(Zbookmark::new(0, object, 0, 0), 0, true);
        }
    }

    fn visit(&mut self, object: u64) -> Result<()> {
        if self.position.phys.cur_min_txg >= self.position.phys.max_txg {
            return Ok(());
        }
        let phys = self.mos.dataset(object)?;
        if !phys.is_snapshot() {
            self.intent_log(object, &phys.bp);
        }
        self.tree(object, &phys.bp);
        if self.stopped {
            return Ok(());
        }
        if self.position.phys.flags & FLAG_VISIT_DS_AGAIN != 0 {
            self.position.phys.flags &= !FLAG_VISIT_DS_AGAIN;
            self.position.queue.insert(object, self.position.phys.cur_max_txg);
            return Ok(());
        }
        self.enqueue_below(object, &phys)
    }

    fn enqueue_below(&mut self, object: u64, phys: &DslDatasetPhys) -> Result<()> {
        if phys.next_snap_obj != 0 {
            self.position.queue.insert(phys.next_snap_obj, phys.creation_txg);
        }
        if phys.num_children <= 1 {
            return Ok(());
        }
        let listed = match phys.next_clones_obj {
            0 => Vec::new(),
            clones => self.mos.entries(clones)?,
        };
        let clones: Vec<u64> = match listed.len() as u64 == phys.num_children - 1 {
            true => listed.iter().map(|(_, value)| value.first()).collect(),
            // A list that old software did not keep.
            false => self.clones_of(object, phys.next_snap_obj)?,
        };
        self.position.queue.extend(clones.into_iter().map(|clone| (clone, phys.creation_txg)));
        Ok(())
    }

    /// Datasets whose previous snapshot this one is, but for the next in its own chain.
    fn clones_of(&self, object: u64, next: u64) -> Result<Vec<u64>> {
        let (mut clones, mut after) = (Vec::new(), 0);
        while let Some(found) = self.mos.objset.next_object(after, 0)? {
            after = found;
            let is_clone = |phys: DslDatasetPhys| phys.prev_snap_obj == object && found != next;
            // Most objects are no datasets.
            if self.mos.dataset(found).is_ok_and(is_clone) {
                clones.push(found);
            }
        }
        Ok(clones)
    }

    /// All blocks of an object set, 0 the meta one.
    fn tree(&mut self, objset: u64, root: &BlkPtr) {
        let storage = self.pool.core.storage.clone();
        let min = self.position.phys.cur_min_txg;
        traverse(&Undeciphered(&storage), root, min, &mut InObjset { walk: self, objset });
    }

    fn intent_log(&mut self, objset: u64, root: &BlkPtr) {
        let storage = self.pool.core.storage.clone();
        if root.is_hole() {
            return;
        }
        let Ok(block) = storage.read_undeciphered(root, IoClass::Scrub) else { return };
        let Ok(phys) = ObjsetPhys::decode(&block) else { return };
        let header: ZilHeader = phys.zil_header;
        if header.claim_txg == 0 {
            return;
        }
        let (min, max) = (self.position.phys.cur_min_txg, self.position.phys.max_txg);
        let wanted = |bp: &BlkPtr| bp.birth() > min && bp.birth() < max;
        let mut targets = crate::zil::Targets::new(&header);
        for found in crate::zil::Walk::new(&storage, &header) {
            if wanted(&found.bp) {
                storage.heal_log_block(&found.bp);
            }
            for bp in found.content.iter().flat_map(|block| targets.of(block)).filter(wanted) {
                self.meet(&bp, Zbookmark::new(objset, 0, ZIL_LEVEL, 0));
            }
        }
    }

    /// Whether it is time to stop before this block; remembers it then.
    fn stops_at(&mut self, place: Zbookmark) -> bool {
        if self.stopped {
            return true;
        }
        let resuming = !self.position.phys.bookmark().is_zero();
        if resuming || (place.level != 0 && place.level != ROOT_LEVEL) {
            return false;
        }
        self.budget.blocks = self.budget.blocks.saturating_sub(1);
        let late = || self.pool.core.env.clock.now() >= self.budget.until;
        if self.budget.blocks > 0 && !(self.budget.blocks.is_multiple_of(CLOCK_EVERY) && late()) {
            return false;
        }
        let stop = if place.level == 0 { place } else { Zbookmark::new(place.objset, 0, 0, 0) };
        self.position.phys.set_bookmark(stop);
        self.stopped = true;
        true
    }

    /// Whether everything from here down was seen before the walk stopped last.
    fn was_seen(&mut self, place: &Zbookmark, visit: &Visit<'_>) -> bool {
        let last = self.position.phys.bookmark();
        let Some(dnode) = visit.dnode.filter(|_| !last.is_zero()) else { return false };
        if place.is_before(dnode, &last) {
            return true;
        }
        if place.is_from(dnode, &last) {
            self.position.phys.set_bookmark(Zbookmark::default());
        }
        false
    }

    /// Takes a block up, if it is one for this scan.
    fn meet(&mut self, bp: &BlkPtr, place: Zbookmark) {
        let phys = &mut self.position.phys;
        if bp.is_embedded() {
            return;
        }
        if !is_due(phys, bp) {
            phys.skipped += bp.asize();
            return;
        }
        phys.examined += bp.asize();
        self.examined += bp.asize();
        let storage = &self.pool.core.storage;
        let copies = wanted_copies(storage, phys, bp);
        let taken: u64 = copies.iter().map(|&copy| bp.dva(copy).asize).sum();
        phys.skipped += bp.asize() - taken;
        if copies.is_empty() {
            return;
        }
        if bp.is_gang() {
            self.issued += taken;
            if let Err(error) = storage.heal_gang(bp) {
                self.hurt(place, bp.physical_birth(), error.may_pass());
            }
            return;
        }
        self.found.extend(copies.into_iter().map(|copy| Waiting::new(*bp, copy, place)));
    }

    fn hurt(&mut self, place: Zbookmark, birth: u64, is_unread: bool) {
        self.position.phys.errors += 1;
        self.position.unread |= is_unread;
        self.pool.core.errlog.log(place, birth);
    }
}

/// Whether a table may have shown what a tree leads to.
fn may_be_shown(block: &Waiting) -> bool {
    block.bp.is_dedup() && !block.is_of_table()
}

/// One object set of a walk.
struct InObjset<'w, 'a> {
    walk: &'w mut Walk<'a>,
    objset: u64,
}

impl InObjset<'_, '_> {
    fn place(&self, visit: &Visit<'_>) -> Zbookmark {
        let (level, blkid) = match visit.part {
            Part::Root => (ROOT_LEVEL, 0),
            Part::Tree { level, blkid } => (i64::from(level), blkid),
            Part::Spill => (0, SPILL_BLKID),
        };
        Zbookmark::new(self.objset, visit.object, level, blkid)
    }
}

impl Visitor for InObjset<'_, '_> {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        let place = self.place(visit);
        // The accounting's objects have numbers that are no part of the order: they are looked at
        // each time.
        if (place.object as i64) >= 0 {
            if self.walk.stops_at(place) {
                return Go::Stop;
            }
            if self.walk.was_seen(&place, visit) {
                return Go::Past;
            }
        }
        if visit.bp.is_redacted() {
            return Go::Past;
        }
        if visit.bp.physical_birth() <= self.walk.position.phys.cur_max_txg {
            self.walk.meet(visit.bp, place);
        }
        Go::On
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go {
        let place = self.place(visit);
        self.walk.hurt(place, visit.bp.physical_birth(), !matches!(error, DmuError::Corrupt { .. }));
        Go::Past
    }
}

/// Applies what became of datasets as of this group, and forgets about it.
pub(super) fn follow_gone(position: &mut Position, gone: &mut Vec<Departure>, txg: u64) {
    gone.iter().filter(|gone| gone.txg <= txg).for_each(|gone| position.follow(gone));
    gone.retain(|gone| gone.txg > txg);
}
