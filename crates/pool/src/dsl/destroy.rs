//! Destroying a head dataset, and giving blocks of what was destroyed back, a bounded part a
//! transaction group.
//!
//! The dataset itself goes at once, and never one that has children: their names are in its
//! directory. Its tree of blocks is put on a queue (`bptree`, feature
//! `async_destroy`); what it used is moved to the hidden directory `$FREE`, and leaves that as
//! blocks are freed. Of a clone that has one, the livelist is queued instead ([`super::livelist`]).
//! A walk that has used up its time remembers where it stopped: every object before that, and every
//! block before in that object, is freed.
//!
//! A block is freed after everything below it, so what the remembered place needs is always
//! readable.
//!
//! Sources: module/zfs/dsl_destroy.c, dsl_scan.c (`dsl_process_async_destroys`), bptree.c.

use std::ops::ControlFlow;
use std::sync::Arc;

use dmu::bpobj::Space;
use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use dmu::{Bpobj, Bptree, DmuError, Tx};
use env::{Nanos, Quirk, Tunable};
use ondisk::BlkPtr;
use ondisk::bptree::BptreeEntry;
use ondisk::dnode::DnodePhys;
use ondisk::object_type::pool_directory;
use refusal::{Action, Reason, Refused};

use super::Dsl;
use super::counts::Counted;
use super::deadlist::Deadlist;
use super::dir::{Dir, Used};
use super::names::Found;
use crate::namecheck::is_hidden;
use crate::state::scan::Departure;
use crate::sums::Sums;
use crate::undeciphered::Undeciphered;
use crate::{PoolError, Result};

/// What one transaction group may spend on freeing.
const BLOCKS: u64 = 200_000;
/// The same under `Quirk::SmallTxg`.
const FEW_BLOCKS: u64 = 64;
const TIME: Nanos = Nanos::from_millis(500);
/// Objects from here on are the accounting's; they are small and freed in one go.
const LAST_OBJECT: u64 = 1 << 48;

impl Dsl {
    /// Why this head cannot be destroyed now, its children and snapshots apart.
    pub(crate) fn check_destroy(&self, found: &Found, name: &str) -> Result<()> {
        let action = || Action::Destroy { name: name.to_owned() };
        let refuse = |reason: Reason| Err(Refused::new(action(), reason).into());
        if found.dir.parent().is_none() {
            return refuse(Reason::IsPool);
        }
        if self.if_open(found.object).is_some_and(|open| open.is_busy()) {
            return refuse(Reason::DatasetBusy);
        }
        // What a receive has left goes along, if it is nothing but that.
        if let Some(clone) = self.left_clone(found)?
            && (self.is_receiving(clone.object) || !self.mos.entries(clone.phys.snapnames_zapobj)?.is_empty())
        {
            return refuse(Reason::DatasetBusy);
        }
        Ok(())
    }

    /// Destroys a head that may be, with what a receive has left of it. Syncing context.
    ///
    /// # Errors
    /// It has children: whoever asks has made sure that there are none.
    pub(crate) fn destroy_head(&self, found: &Found, tx: &Tx) -> Result<()> {
        if self.has_children(&found.dir)? {
            return Err(PoolError::Busy);
        }
        if let Some(clone) = self.left_clone(found)? {
            self.destroy_head(&clone, tx)?;
        }
        let object = found.object;
        let features = super::dataset::recorded_features(self, object)?;
        if let Some(open) = self.if_open(object) {
            open.core.settle(self, None, tx)?;
        }
        self.forget_dataset(object);
        let departure = Departure { txg: tx.touch(), dataset: object, heir: None, again: false };
        self.parts.scan.dataset_gone(departure);
        let held = found.dir.phys().used_refrsrv;
        found.dir.used(&self.mos, Used::RefReserve, Sums::allocated(-(held as i64)), tx)?;
        super::bookmark::destroy_all(self, object, tx)?;
        self.parts.errlog.dataset_gone(&self.mos, object, tx)?;
        let phys = self.mos.dataset(object)?;
        if phys.prev_snap_obj != 0 {
            let prev = self.mos.dataset(phys.prev_snap_obj)?;
            self.edit_dataset(phys.prev_snap_obj, tx, |prev| prev.num_children -= 1)?;
            if prev.next_clones_obj != 0 {
                self.mos.remove_int(prev.next_clones_obj, object, tx)?;
            }
            let clones = self.dir(prev.dir_obj)?.phys().clones;
            if clones != 0 {
                self.mos.remove_int(clones, object, tx)?;
            }
        }
        Deadlist::open(self, phys.deadlist_obj)?.destroy(self, tx)?;
        crate::zil::free_on_disk(self.parts.store(), &self.log_of(&phys.bp)?, &self.parts.frees);
        if !self.queue_livelist(&found.dir, tx)? {
            let dir = found.dir.phys();
            let sums = Sums::of(dir.used_bytes, dir.compressed_bytes, dir.uncompressed_bytes);
            self.queue_tree(&found.dir, &phys.bp, phys.prev_snap_txg, sums, tx)?;
        }
        found.dir.edit(&self.mos, tx, |dir| dir.head_dataset_obj = 0)?;
        self.mos.free(phys.snapnames_zapobj, tx)?;
        self.free_dataset_object(object, &features, tx)?;
        self.destroy_dir(&found.dir, tx)?;
        if phys.prev_snap_obj != 0 && self.is_due(&self.mos.dataset(phys.prev_snap_obj)?)? {
            let origin = self.dataset_name(phys.prev_snap_obj)?;
            self.destroy_snapshot(phys.prev_snap_obj, &origin, false, tx)?;
        }
        Ok(())
    }

    /// Puts a head's tree on the queue of those to be freed: what was born after `birth_txg`, which
    /// is `sums`.
    pub(super) fn queue_tree(
        &self,
        dir: &Arc<Dir>,
        root: &BlkPtr,
        birth_txg: u64,
        sums: Sums,
        tx: &Tx,
    ) -> Result<()> {
        let free_dir = self.special(|special| special.free_dir.clone());
        let Some(free_dir) = free_dir.filter(|_| self.features().is_enabled("async_destroy")) else {
            dir.used(&self.mos, Used::Head, sums.negated(), tx)?;
            let mut freeing = Freeing::new(self, None, u64::MAX, Nanos(u64::MAX));
            freeing.walk(root, birth_txg);
            freeing.outcome();
            return Ok(());
        };
        let queue = match self.special(|special| special.bptree) {
            Some(object) => object,
            None => {
                let object = Bptree::alloc(&self.mos.objset, tx)?;
                self.mos.set_root(pool_directory::BPTREE_OBJ, object, tx)?;
                self.features().increment("async_destroy", tx)?;
                self.special(|special| special.bptree = Some(object));
                object
            }
        };
        let space = Space { used: sums.used as u64, comp: sums.comp as u64, uncomp: sums.uncomp as u64 };
        Bptree::open(&self.mos.objset, queue)?.add(root, birth_txg, space, tx)?;
        dir.used(&self.mos, Used::Head, sums.negated(), tx)?;
        Ok(free_dir.used(&self.mos, Used::Head, sums, tx)?)
    }

    /// Takes a directory without dataset and children away.
    fn destroy_dir(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        let Some(parent) = dir.parent() else { return Err(PoolError::Busy) };
        if !is_hidden(&dir.last_name()) {
            self.count(&parent, Counted::Filesystems, -1, tx)?;
        }
        dir.set_reserved(&self.mos, 0, tx)?;
        let phys = dir.phys();
        for zap in [phys.child_dir_zapobj, phys.props_zapobj, phys.clones] {
            if zap != 0 {
                self.mos.free(zap, tx)?;
            }
        }
        self.destroy_delegations(phys.deleg_zapobj, tx)?;
        self.mos.remove(parent.phys().child_dir_zapobj, &dir.last_name(), tx)?;
        self.forget_dir(dir.object);
        self.free_zapified(dir.object, tx)
    }

    /// Frees a bounded part of what has been destroyed. Syncing context, once a group.
    pub fn process_async_destroy(&self, tx: &Tx) -> Result<()> {
        let deadline = Nanos(self.parts.env.clock.now().0.saturating_add(TIME.0));
        let mut left = if self.parts.env.quirk(Quirk::SmallTxg) { FEW_BLOCKS } else { BLOCKS };
        left = left.min(self.parts.env.tunable(Tunable::AsyncBlockMaxBlocks));
        self.process_free_list(&mut left, deadline, tx)?;
        self.process_livelists(&mut left, deadline, tx)?;
        while left > 0 && self.process_first_tree(&mut left, deadline, tx)? {}
        Ok(())
    }

    /// Something destroyed still waits to be freed.
    pub fn is_freeing(&self) -> bool {
        let (list, tree) =
            self.special(|special| (special.free_bpobj, special.bptree.or(special.deleted_clones)));
        let is_filled = |list| Bpobj::open(&self.mos.objset, list).and_then(|list| list.is_empty());
        tree.is_some() || list.is_some_and(|list| !is_filled(list).unwrap_or(true))
    }

    /// Bytes that are still to be freed: property `freeing` of the pool.
    pub fn freeing(&self) -> u64 {
        self.special(|special| special.free_dir.clone()).map_or(0, |dir| dir.phys().used_bytes)
    }

    /// Frees (part of) the first tree; whether there is another.
    fn process_first_tree(&self, left: &mut u64, deadline: Nanos, tx: &Tx) -> Result<bool> {
        let (queue, free_dir) = self.special(|special| (special.bptree, special.free_dir.clone()));
        let (Some(queue), Some(free_dir)) = (queue, free_dir) else { return Ok(false) };
        let tree = Bptree::open(&self.mos.objset, queue)?;
        let Some(mut entry) = tree.first()? else {
            self.drop_queue(queue, tx)?;
            return Ok(false);
        };
        let mut freeing = Freeing::new(self, Some(&entry), *left, deadline);
        freeing.walk(&entry.root, entry.birth_txg);
        *left = freeing.left;
        let stopped = freeing.stopped_at;
        let freed = freeing.outcome();
        free_dir.used(&self.mos, Used::Head, freed.negated(), tx)?;
        let space = Space { used: freed.used as u64, comp: freed.comp as u64, uncomp: freed.uncomp as u64 };
        match stopped {
            Some((object, blkid)) => {
                (entry.object, entry.level, entry.blkid) = (object, 0, blkid);
                tree.set_first(&entry, space, tx)?;
                Ok(false)
            }
            None => {
                tree.remove_first(space, tx)?;
                if tree.is_empty()? {
                    self.drop_queue(queue, tx)?;
                    return Ok(false);
                }
                Ok(true)
            }
        }
    }

    fn drop_queue(&self, queue: u64, tx: &Tx) -> Result<()> {
        self.mos.remove(pool_directory::OBJECT, pool_directory::BPTREE_OBJ, tx)?;
        self.mos.free(queue, tx)?;
        self.special(|special| special.bptree = None);
        self.features().decrement("async_destroy", tx)
    }

    /// Blocks that destroyed snapshots left on a list.
    fn process_free_list(&self, left: &mut u64, deadline: Nanos, tx: &Tx) -> Result<()> {
        let (list, free_dir) = self.special(|special| (special.free_bpobj, special.free_dir.clone()));
        let (Some(list), Some(free_dir)) = (list, free_dir) else { return Ok(()) };
        let list = Bpobj::open(&self.mos.objset, list)?;
        if list.is_empty()? {
            return Ok(());
        }
        let mut freed = Sums::default();
        let _ = list.drain(tx, &mut |bp: &BlkPtr, _| -> std::result::Result<ControlFlow<()>, DmuError> {
            if *left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            self.free_timed(bp, left, deadline, &mut freed);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(free_dir.used(&self.mos, Used::Head, freed.negated(), tx)?)
    }
}

/// `(object, block)` of a tree on the queue: everything before is freed.
pub(crate) fn resume_of(entry: &BptreeEntry) -> Option<(u64, u64)> {
    Some((entry.object, entry.blkid)).filter(|(object, _)| *object != 0)
}

/// Everything at and below this block was freed before a walk stopped at `resume`.
pub(crate) fn is_freed(resume: Option<(u64, u64)>, visit: &Visit<'_>) -> bool {
    resume.is_some_and(|(object, blkid)| visit.is_before(object, blkid))
}

/// Frees the blocks of a tree, from a place remembered on.
struct Freeing<'a> {
    dsl: &'a Dsl,
    /// `(object, block)`: everything before is freed.
    resume: Option<(u64, u64)>,
    left: u64,
    deadline: Nanos,
    freed: Sums,
    stopped_at: Option<(u64, u64)>,
    error: Option<DmuError>,
}

impl<'a> Freeing<'a> {
    fn new(dsl: &'a Dsl, entry: Option<&BptreeEntry>, left: u64, deadline: Nanos) -> Freeing<'a> {
        let resume = entry.and_then(resume_of);
        Freeing { dsl, resume, left, deadline, freed: Sums::default(), stopped_at: None, error: None }
    }

    /// What was born after a group. Nobody needs a key to give space back.
    fn walk(&mut self, root: &BlkPtr, birth_txg: u64) {
        let store = self.dsl.parts.store();
        match root.uses_crypt() {
            true => traverse(&Undeciphered(store), root, birth_txg, self),
            false => traverse(store.as_ref(), root, birth_txg, self),
        }
    }

    fn free(&mut self, bp: &BlkPtr) {
        self.dsl.free_timed(bp, &mut self.left, self.deadline, &mut self.freed);
    }

    /// What was freed. Blocks below one that could not be read stay allocated, and are told.
    fn outcome(self) -> Sums {
        if let Some(error) = self.error {
            tracing::error!(%error, "part of a destroyed dataset cannot be read; its blocks leak");
        }
        self.freed
    }

    /// Where a walk that ends before this block goes on.
    fn place(visit: &Visit<'_>) -> Option<(u64, u64)> {
        let dnode = visit.dnode?;
        let Part::Tree { level, blkid } = visit.part else { return None };
        let may_stop = visit.object != 0 && visit.object < LAST_OBJECT;
        may_stop.then(|| (visit.object, blkid.saturating_mul(dnode.span(level))))
    }
}

impl Visitor for Freeing<'_> {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        if is_freed(self.resume, visit) {
            return Go::Past;
        }
        if self.left == 0
            && let Some(place) = Freeing::place(visit)
        {
            self.stopped_at = Some(place);
            return Go::Stop;
        }
        let is_leaf = match visit.part {
            Part::Root => false,
            Part::Tree { level, .. } => level == 0 && visit.object != 0,
            Part::Spill => true,
        };
        if is_leaf {
            self.free(visit.bp);
            return Go::Past;
        }
        Go::On
    }

    fn object(&mut self, object: u64, _dnode: &DnodePhys) -> Go {
        match self.resume {
            Some((resume, _)) if object != 0 && object < resume => Go::Past,
            _ => Go::On,
        }
    }

    fn left(&mut self, visit: &Visit<'_>) {
        self.free(visit.bp);
    }

    fn unreadable(&mut self, _visit: &Visit<'_>, error: DmuError) -> Go {
        self.error = Some(error);
        Go::Past
    }
}
