//! Livelists: what the head of a clone has and its origin has not, so that destroying the clone
//! takes as long as what was written to it, not as its tree.
//!
//! ```text
//!   directory of the clone ─ com.delphix:livelist ─▶ a dead list's ZAP ─ first group ─▶ list: +a +b −a +c
//!   pool directory ─ com.delphix:deleted_clones ─▶ ZAP of livelists        └ later group ─▶ list: +d +e −d
//! ```
//! Every block is noted when it is born (`+`) and again when it goes (`−`), in the list of the
//! stretch of groups it was born in: so both entries are in one list, and each list can be read
//! apart. Read from its end, a `−` takes away the next `+` of its place; the others live. Embedded
//! blocks have no place and are not noted.
//!
//! A list that is full is followed by another, at the start of a group, for all blocks of a group
//! belong in one. Two neighbours of which little lives become one. They are shorter here than
//! OpenZFS has them, because what is done with one is done within a group; both programs read
//! either.
//!
//! A livelist is worth its writing while most of the clone is its origin's. It is given up when
//! that is no more, and when the clone changes origin or contents. That it says what the head has
//! is what [`crate::verify`] and `zdb -d` look at.
//!
//! Sources: module/zfs/dsl_deadlist.c, dsl_dataset.c (`dsl_flush_pending_livelist`,
//! `dsl_livelist_should_disable`), dsl_destroy.c (`dsl_async_clone_destroy`), spa.c
//! (`spa_livelist_delete_cb`, `spa_livelist_condense_sync`).

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use dmu::{Bpobj, DmuError, Tx};
use env::{Nanos, Quirk, Tunable};
use ondisk::BlkPtr;
use ondisk::dsl_dir::FIELD_LIVELIST;
use ondisk::object_type::{ObjectType, pool_directory};

use super::Dsl;
use super::deadlist::Deadlist;
use super::dir::{Dir, Used};
use super::names::Found;
use crate::sums::{Sums, sums_of};
use crate::{PoolError, Result};

/// How often the clock is looked at where blocks are freed.
const CLOCK_EVERY: u64 = 1024;
/// Living blocks from which on a list is full under `Quirk::SmallTxg`.
const FEW_ENTRIES: u64 = 24;
/// Blocks put on the list of what is to be freed at once.
const BATCH: usize = 1 << 14;

/// A clone's, open. See the module.
pub(crate) struct Livelist(Deadlist);

impl Livelist {
    pub fn open(dsl: &Dsl, object: u64) -> Result<Livelist> {
        Ok(Livelist(Deadlist::open(dsl, object)?))
    }

    /// Notes blocks that were born, or with `true` are gone, in the order of that.
    pub fn record(&mut self, dsl: &Dsl, changes: &[(BlkPtr, bool)], tx: &Tx) -> Result<()> {
        if self.0.lists()?.is_empty() {
            self.0.add_key(dsl, tx.txg() - 1, tx)?;
        }
        self.0.record(dsl, changes, tx)
    }

    /// Before anything of this group is noted: follows a full list by another.
    fn turn(&mut self, dsl: &Dsl, tx: &Tx) -> Result<()> {
        let Some(&(_, list)) = self.0.lists()?.last() else { return Ok(()) };
        let (noted, gone) = noted(dsl, list)?;
        if noted.saturating_sub(gone) > full(dsl) { self.0.add_key(dsl, tx.txg() - 1, tx) } else { Ok(()) }
    }

    /// Makes one of the first two neighbours that have room in one, the newest list apart; whether
    /// there were such.
    fn condense(&mut self, dsl: &Dsl, tx: &Tx) -> Result<bool> {
        let mut lists = self.0.lists()?;
        lists.pop();
        for pair in lists.array_windows() {
            let [(first, one), (next, other)] = *pair;
            let ((a, a_gone), (b, b_gone)) = (noted(dsl, one)?, noted(dsl, other)?);
            if (a + b).saturating_sub(2 * (a_gone + b_gone)) >= full(dsl) {
                continue;
            }
            let mut living = Vec::new();
            for list in [one, other] {
                each_living(dsl, list, &mut |bp| {
                    living.push((*bp, false));
                    Ok(())
                })?;
            }
            self.0.discard(dsl, next, tx)?;
            self.0.discard(dsl, first, tx)?;
            self.0.add_key(dsl, first, tx)?;
            self.0.record(dsl, &living, tx)?;
            return Ok(true);
        }
        Ok(false)
    }
}

fn full(dsl: &Dsl) -> u64 {
    let env = &dsl.parts.env;
    if env.quirk(Quirk::SmallTxg) { FEW_ENTRIES } else { env.tunable(Tunable::LivelistMaxEntries) }
}

/// Entries of a list, and how many of them say that a block is gone.
fn noted(dsl: &Dsl, list: u64) -> Result<(u64, u64)> {
    let phys = Bpobj::open(&dsl.mos.objset, list)?.phys()?;
    Ok((phys.num_blkptrs, phys.num_freed))
}

/// Shows the blocks of one list that live. A deduplicated one is shown as often as it is referred
/// to.
fn each_living(dsl: &Dsl, list: u64, each: &mut dyn FnMut(&BlkPtr) -> Result<()>) -> Result<()> {
    let mut gone: HashMap<(u32, u64), u64> = HashMap::new();
    let walked = Bpobj::open(&dsl.mos.objset, list)?.iterate(|bp, freed| {
        let dva = bp.first_dva();
        let place = (dva.vdev, dva.offset);
        if freed {
            *gone.entry(place).or_default() += 1;
            return ControlFlow::Continue(());
        }
        match gone.get_mut(&place) {
            Some(1) => {
                gone.remove(&place);
            }
            Some(count) => *count -= 1,
            None => return each(bp).map_or_else(ControlFlow::Break, ControlFlow::Continue),
        }
        ControlFlow::Continue(())
    })?;
    if !gone.is_empty() {
        tracing::error!(list, count = gone.len(), "blocks went from a livelist that it never had");
    }
    walked.break_value().map_or(Ok(()), Err)
}

impl Dsl {
    /// Gives a new clone a livelist where the pool has them. Syncing context, before the clone is
    /// opened.
    pub(super) fn create_livelist(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        if !self.features().is_enabled("livelist") {
            return Ok(());
        }
        let list = Deadlist::create(self, tx)?;
        self.zapify(dir.object, tx)?;
        self.mos.set(dir.object, FIELD_LIVELIST, list.object(), tx)?;
        self.features().increment("livelist", tx)
    }

    /// The livelist of a directory's head.
    pub(crate) fn livelist(&self, dir: &Dir) -> Result<Option<u64>> {
        let is_active = self.features().is_active("livelist");
        Ok(if is_active { self.mos.field(dir.object, FIELD_LIVELIST)? } else { None })
    }

    /// Gives up the livelist of a directory's head, if there is one. Syncing context.
    pub(crate) fn remove_livelist(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        let Some(object) = self.livelist(dir)? else { return Ok(()) };
        self.forget_livelist(dir, tx)?;
        self.free_livelist(object, tx)
    }

    fn forget_livelist(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        self.mos.remove(dir.object, FIELD_LIVELIST, tx)?;
        if let Some(open) = self.if_open(dir.phys().head_dataset_obj) {
            open.core.state(|state| {
                state.around.livelist = None;
                state.livelist = None;
            });
        }
        Ok(())
    }

    fn free_livelist(&self, object: u64, tx: &Tx) -> Result<()> {
        Deadlist::open(self, object)?.destroy(self, tx)?;
        self.features().decrement("livelist", tx)
    }

    /// Whether a clone with these bytes has drifted so far from its origin that a livelist is of no
    /// use any more.
    pub(super) fn is_little_shared(&self, dir: &Dir, referenced: u64) -> bool {
        let least = self.parts.env.tunable(Tunable::LivelistMinPercentShared);
        let shared = referenced.saturating_sub(dir.phys().used_head);
        referenced != 0 && u128::from(shared) * 100 / u128::from(referenced) <= u128::from(least)
    }

    /// Before the datasets of a group are written: see [`Livelist::turn`]; and one pair of lists of
    /// the pool becomes one.
    pub(crate) fn turn_livelists(&self, tx: &Tx) -> Result<()> {
        if !self.features().is_active("livelist") {
            return Ok(());
        }
        let mut condensed = false;
        for dataset in self.dirty_datasets(tx.txg()) {
            dataset.core.state(|state| {
                let Some(livelist) = state.livelist(self)? else { return Ok(()) };
                livelist.turn(self, tx)?;
                condensed = condensed || livelist.condense(self, tx)?;
                Ok::<_, PoolError>(())
            })?;
        }
        Ok(())
    }

    /// What the history says of how a head goes.
    pub(crate) fn how_destroyed(&self, found: &Found) -> Result<String> {
        let Some(object) = self.livelist(&found.dir)? else {
            return Ok(format!("(bptree, mintxg={})", found.phys.prev_snap_txg));
        };
        let first = Deadlist::open(self, object)?.lists()?.first().map_or(0, |(key, _)| *key);
        Ok(format!("(livelist, mintxg={first})"))
    }

    /// Queues what a destroyed clone had of its own by its livelist, which then belongs to the
    /// pool. `false` where there is none, or none to go by: then the tree has to be walked.
    pub(super) fn queue_livelist(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<bool> {
        let free_dir = self.special(|special| special.free_dir.clone());
        let (Some(object), Some(free_dir)) = (self.livelist(dir)?, free_dir) else { return Ok(false) };
        let (listed, own) = (Deadlist::space(self, object)?, dir.phys());
        if listed.used != own.used_bytes as i64 || listed.comp != own.compressed_bytes as i64 {
            tracing::error!(
                dir = dir.name(),
                "a livelist does not say what its clone has; the tree is walked"
            );
            self.remove_livelist(dir, tx)?;
            return Ok(false);
        }
        let (name, kind) = (pool_directory::DELETED_CLONES, ObjectType::OTN_ZAP_METADATA);
        let waiting = self.mos.zap_under(pool_directory::OBJECT, name, kind, tx)?;
        self.special(|special| special.deleted_clones = Some(waiting));
        self.mos.add_int(waiting, object, tx)?;
        self.forget_livelist(dir, tx)?;
        // Embedded blocks count with the directory only.
        let gone = Sums { uncomp: -(own.uncompressed_bytes as i64), ..listed.negated() };
        dir.used(&self.mos, Used::Head, gone, tx)?;
        free_dir.used(&self.mos, Used::Head, listed, tx)?;
        Ok(true)
    }

    /// Livelists of destroyed clones.
    fn deleted_livelists(&self) -> Result<Vec<u64>> {
        let Some(waiting) = self.special(|special| special.deleted_clones) else { return Ok(Vec::new()) };
        Ok(self.mos.entries(waiting)?.into_iter().map(|(_, value)| value.first()).collect())
    }

    /// Frees (part of) what livelists of destroyed clones say, list by list.
    pub(super) fn process_livelists(&self, left: &mut u64, deadline: Nanos, tx: &Tx) -> Result<()> {
        for object in self.deleted_livelists()? {
            let mut livelist = Deadlist::open(self, object)?;
            for (key, list) in livelist.lists()? {
                if *left == 0 || self.parts.env.clock.now() >= deadline {
                    return Ok(());
                }
                self.free_living(list, left, deadline, tx)?;
                livelist.discard(self, key, tx)?;
            }
            self.drop_deleted(object, tx)?;
        }
        Ok(())
    }

    /// Frees the blocks of one list. What the group has no time for goes to the pool's list of what
    /// is to be freed.
    fn free_living(&self, list: u64, left: &mut u64, deadline: Nanos, tx: &Tx) -> Result<()> {
        let (later, free_dir) = self.special(|special| (special.free_bpobj, special.free_dir.clone()));
        let (Some(later), Some(free_dir)) = (later, free_dir) else { return Err(PoolError::NotFound) };
        let later = Bpobj::open(&self.mos.objset, later)?;
        let (mut freed, mut rest) = (Sums::default(), Vec::new());
        each_living(self, list, &mut |bp| {
            if *left == 0 {
                rest.push((*bp, false));
                if rest.len() >= BATCH {
                    later.enqueue_all(&std::mem::take(&mut rest), tx)?;
                }
                return Ok(());
            }
            self.free_timed(bp, left, deadline, &mut freed);
            Ok(())
        })?;
        later.enqueue_all(&rest, tx)?;
        Ok(free_dir.used(&self.mos, Used::Head, freed.negated(), tx)?)
    }

    /// Frees a block of what was destroyed. After the deadline nothing is `left`.
    pub(super) fn free_timed(&self, bp: &BlkPtr, left: &mut u64, deadline: Nanos, freed: &mut Sums) {
        freed.add(sums_of(bp, self.dsize(bp)));
        self.parts.frees.free(bp);
        *left = left.saturating_sub(1);
        if left.is_multiple_of(CLOCK_EVERY) && self.parts.env.clock.now() >= deadline {
            *left = 0;
        }
    }

    /// All of a destroyed clone is freed.
    fn drop_deleted(&self, object: u64, tx: &Tx) -> Result<()> {
        let waiting = self.special(|special| special.deleted_clones).ok_or(DmuError::NotFound)?;
        self.mos.remove_int(waiting, object, tx)?;
        self.free_livelist(object, tx)?;
        if self.mos.count(waiting)? == 0 {
            self.mos.remove(pool_directory::OBJECT, pool_directory::DELETED_CLONES, tx)?;
            self.mos.free(waiting, tx)?;
            self.special(|special| special.deleted_clones = None);
        }
        Ok(())
    }

    /// Shows what livelists of destroyed clones still have.
    pub(crate) fn each_of_deleted(&self, each: &mut dyn FnMut(&BlkPtr)) -> Result<()> {
        self.deleted_livelists()?.into_iter().try_for_each(|object| self.each_of_livelist(object, each))
    }

    /// Shows what a livelist says that a clone has.
    pub(crate) fn each_of_livelist(&self, object: u64, each: &mut dyn FnMut(&BlkPtr)) -> Result<()> {
        for (_, list) in Deadlist::open(self, object)?.lists()? {
            each_living(self, list, &mut |bp| {
                each(bp);
                Ok(())
            })?;
        }
        Ok(())
    }
}
