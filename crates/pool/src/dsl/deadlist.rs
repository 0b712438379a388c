//! Dead lists: the blocks a dataset has given up that its previous snapshot still has.
//!
//! The new form sorts them: a ZAP leads from the transaction group of each earlier snapshot to the
//! list of blocks born after it. Only that ZAP is kept in core, not the lists. Many lists are
//! empty; those share one object of the pool (feature `empty_bpobj`, whose count says how often).
//!
//! Before pool version 26 a dead list is one list of blocks. Those that a pool has when it is
//! upgraded stay so.
//!
//! Livelists ([`super::livelist`]) have the same form, with entries that say that a block is gone.
//!
//! Source: module/zfs/dsl_deadlist.c.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dmu::bpobj::{Bpobj, Space};
use dmu::{DmuError, ObjectSpec, Tx};
use ondisk::BlkPtr;
use ondisk::bpobj::BpobjForm;
use ondisk::deadlist::{DeadlistPhys, is_old_form, parse_int_key};
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::version;

use super::Dsl;
use crate::mos::corrupt;
use crate::sums::{Sums, sums_of};
use crate::{PoolError, Result};

/// Blocks shown at a time.
const BATCH: usize = 1 << 14;

/// See the module.
pub(crate) struct Deadlist {
    object: u64,
    /// `None`: the old form, one list.
    lists: Option<BTreeMap<u64, u64>>,
}

impl Deadlist {
    /// An empty one, in the form that the pool's version asks for.
    pub fn create(dsl: &Dsl, tx: &Tx) -> Result<Deadlist> {
        if dsl.version() < version::DEADLISTS {
            let object = Bpobj::alloc(&dsl.mos.objset, BpobjForm::of_pool(dsl.version()), tx)?;
            return Ok(Deadlist { object, lists: None });
        }
        let spec = ObjectSpec::new(ObjectType::DEADLIST)
            .with_bonus(ObjectType::DEADLIST_HDR, DeadlistPhys::SIZE as u16);
        let object = dsl.mos.create(spec, 0, tx)?;
        Ok(Deadlist { object, lists: Some(BTreeMap::new()) })
    }

    pub fn open(dsl: &Dsl, object: u64) -> Result<Deadlist> {
        if is_old_form(dsl.mos.hold(object)?.object_type()) {
            return Ok(Deadlist { object, lists: None });
        }
        let mut lists = BTreeMap::new();
        for (name, value) in dsl.mos.entries(object)? {
            let key = parse_int_key(name.as_bytes()).ok_or_else(|| damaged(object))?;
            lists.insert(key, value.first());
        }
        Ok(Deadlist { object, lists: Some(lists) })
    }

    pub fn object(&self) -> u64 {
        self.object
    }

    /// An empty one with the keys below `before`, for a clone or after a snapshot. `last` is the
    /// newest snapshot that it knows of: where the keys are not there, for this is of the old form,
    /// they are those of the chain of snapshots.
    pub fn cloned(&self, dsl: &Dsl, before: u64, last: u64, tx: &Tx) -> Result<Deadlist> {
        let mut clone = Deadlist::create(dsl, tx)?;
        let Some(lists) = &self.lists else {
            let mut snapshot = last;
            while snapshot != 0 && clone.lists.is_some() {
                let phys = dsl.mos.dataset(snapshot)?;
                clone.add_key(dsl, phys.prev_snap_txg, tx)?;
                snapshot = phys.prev_snap_obj;
            }
            return Ok(clone);
        };
        for (&key, _) in lists.range(..before) {
            clone.add_key(dsl, key, tx)?;
        }
        Ok(clone)
    }

    /// From now on blocks born after `key` have a list of their own.
    pub fn add_key(&mut self, dsl: &Dsl, key: u64, tx: &Tx) -> Result<()> {
        let Some(lists) = &mut self.lists else { return Ok(()) };
        let list = empty_list(dsl, tx)?;
        dsl.mos.set_int_key(self.object, key, list, tx)?;
        lists.insert(key, list);
        Ok(())
    }

    /// Adds blocks.
    pub fn insert(&mut self, dsl: &Dsl, dead: &[BlkPtr], tx: &Tx) -> Result<()> {
        let entries: Vec<_> = dead.iter().map(|bp| (*bp, false)).collect();
        self.record(dsl, &entries, tx)
    }

    /// Adds entries in their order; `true`, only in a livelist: the block is gone.
    pub fn record(&mut self, dsl: &Dsl, entries: &[(BlkPtr, bool)], tx: &Tx) -> Result<()> {
        let Some(lists) = &mut self.lists else {
            return Ok(Bpobj::open(&dsl.mos.objset, self.object)?.enqueue_all(entries, tx)?);
        };
        let mut by_list: BTreeMap<u64, Vec<(BlkPtr, bool)>> = BTreeMap::new();
        for (bp, gone) in entries {
            let below = lists.range(..bp.birth()).next_back().or(lists.iter().next());
            let (&key, _) = below.ok_or_else(|| damaged(self.object))?;
            by_list.entry(key).or_default().push((*bp, *gone));
        }
        for (key, entries) in by_list {
            let mut object = lists[&key];
            if Some(object) == dsl.empty_bpobj() {
                object = new_list(dsl, tx)?;
                release_empty(dsl, tx)?;
                dsl.mos.set_int_key(self.object, key, object, tx)?;
                lists.insert(key, object);
            }
            Bpobj::open(&dsl.mos.objset, object)?.enqueue_all(&entries, tx)?;
        }
        let mut sums = Sums::default();
        for (bp, gone) in entries {
            let of_block = sums_of(bp, dsl.dsize(bp));
            sums.add(if *gone { of_block.negated() } else { of_block });
        }
        self.count(dsl, sums, tx)
    }

    /// Keys and lists, oldest first. Not of the old form.
    pub fn lists(&self) -> Result<Vec<(u64, u64)>> {
        let lists = self.lists.as_ref().ok_or_else(old_form)?;
        Ok(lists.iter().map(|(key, list)| (*key, *list)).collect())
    }

    /// Takes away a key with its list, not what that lists. Not of the old form.
    pub fn discard(&mut self, dsl: &Dsl, key: u64, tx: &Tx) -> Result<()> {
        let list = self.lists.as_mut().ok_or_else(old_form)?.remove(&key);
        let list = list.ok_or_else(|| damaged(self.object))?;
        dsl.mos.remove_int(self.object, key, tx)?;
        self.count(dsl, sums(Bpobj::open(&dsl.mos.objset, list)?.space()?).negated(), tx)?;
        free_list(dsl, list, tx)
    }

    fn count(&self, dsl: &Dsl, sums: Sums, tx: &Tx) -> Result<()> {
        let dnode = dsl.mos.hold(self.object)?;
        let bonus = dnode.bonus();
        let mut phys = DeadlistPhys::decode(&bonus.bytes).map_err(corrupt(self.object))?;
        phys.used = phys.used.wrapping_add_signed(sums.used);
        phys.comp = phys.comp.wrapping_add_signed(sums.comp);
        phys.uncomp = phys.uncomp.wrapping_add_signed(sums.uncomp);
        Ok(dnode.set_bonus(bonus.bonus_type, &phys.encode(), tx)?)
    }

    /// Of the blocks born after `after`, and not after `until`: both are keys, or `until` is the
    /// end of time.
    pub fn space_between(&self, dsl: &Dsl, after: u64, until: u64) -> Result<Sums> {
        let Some(lists) = &self.lists else {
            return Ok(sums(Bpobj::open(&dsl.mos.objset, self.object)?.space_between(after, until)?));
        };
        let mut all = Sums::default();
        for &list in lists.range(after..until.max(after)).map(|(_, list)| list) {
            if Some(list) != dsl.empty_bpobj() {
                all.add(sums(Bpobj::open(&dsl.mos.objset, list)?.space()?));
            }
        }
        Ok(all)
    }

    /// Allocated bytes of the blocks under each key: those born after it, and not after the next
    /// key. `groups`, of snapshots in ascending order, are the keys where the list is of the old
    /// form.
    pub fn spaces(&self, dsl: &Dsl, groups: &[u64]) -> Result<Vec<(u64, i64)>> {
        let Some(lists) = &self.lists else {
            let mut spaces: BTreeMap<u64, i64> = BTreeMap::new();
            self.show_old(dsl, |dead| {
                for bp in dead {
                    let older = groups.partition_point(|group| *group < bp.birth());
                    let key = older.checked_sub(1).map_or(0, |last| groups[last]);
                    *spaces.entry(key).or_default() += dsl.dsize(bp) as i64;
                }
                Ok(())
            })?;
            return Ok(spaces.into_iter().collect());
        };
        let mut spaces = Vec::new();
        for (&key, &list) in lists {
            if Some(list) != dsl.empty_bpobj() {
                spaces.push((key, Bpobj::open(&dsl.mos.objset, list)?.space()?.used as i64));
            }
        }
        Ok(spaces)
    }

    /// Moves the blocks born after `after` to another list, with their keys; what they occupy. Not
    /// of the old form.
    pub fn move_to(&mut self, dsl: &Dsl, target: &Bpobj, after: u64, tx: &Tx) -> Result<Sums> {
        let Some(lists) = &mut self.lists else { return Err(old_form()) };
        let mut moved = Sums::default();
        for (key, list) in lists.split_off(&after) {
            dsl.mos.remove_int(self.object, key, tx)?;
            if Some(list) == dsl.empty_bpobj() {
                release_empty(dsl, tx)?;
                continue;
            }
            moved.add(sums(Bpobj::open(&dsl.mos.objset, list)?.space()?));
            target.enqueue_subobj(list, tx)?;
        }
        self.count(dsl, moved.negated(), tx)?;
        Ok(moved)
    }

    /// Takes over all that another lists, and frees that one's object. This one is not of the old
    /// form.
    pub fn merge(&mut self, dsl: &Dsl, other: Deadlist, tx: &Tx) -> Result<()> {
        let Some(lists) = other.lists else {
            for_each_batch(dsl, other.object, |dead| self.insert(dsl, dead, tx))?;
            return Ok(Bpobj::free(&dsl.mos.objset, other.object, tx)?);
        };
        let mut taken = Sums::default();
        for (key, list) in lists {
            if Some(list) == dsl.empty_bpobj() {
                release_empty(dsl, tx)?;
                continue;
            }
            taken.add(sums(Bpobj::open(&dsl.mos.objset, list)?.space()?));
            let lists = self.lists.as_ref().ok_or_else(old_form)?;
            let (&at, _) = lists.range(..=key).next_back().ok_or_else(|| damaged(self.object))?;
            self.include(dsl, at, list, tx)?;
        }
        dsl.mos.free(other.object, tx)?;
        self.count(dsl, taken, tx)
    }

    /// Of the old form: shows its blocks, many at a time.
    pub fn show_old(&self, dsl: &Dsl, each: impl FnMut(&[BlkPtr]) -> Result<()>) -> Result<()> {
        for_each_batch(dsl, self.object, each)
    }

    pub fn is_old(&self) -> bool {
        self.lists.is_none()
    }

    /// Blocks born after `key` have no list of their own any more. Not there in the old form.
    pub fn remove_key(&mut self, dsl: &Dsl, key: u64, tx: &Tx) -> Result<()> {
        let Some(lists) = &mut self.lists else { return Ok(()) };
        let list = lists.remove(&key).ok_or_else(|| damaged(self.object))?;
        dsl.mos.remove_int(self.object, key, tx)?;
        if Some(list) == dsl.empty_bpobj() {
            return release_empty(dsl, tx);
        }
        let (&before, _) = lists.range(..key).next_back().ok_or_else(|| damaged(self.object))?;
        self.include(dsl, before, list, tx)
    }

    /// Makes a list part of the one under a key.
    fn include(&mut self, dsl: &Dsl, key: u64, list: u64, tx: &Tx) -> Result<()> {
        let Some(lists) = &mut self.lists else { return Err(old_form()) };
        let known = lists.get(&key).copied().ok_or_else(|| damaged(self.object))?;
        if Some(known) == dsl.empty_bpobj() {
            release_empty(dsl, tx)?;
            dsl.mos.set_int_key(self.object, key, list, tx)?;
            lists.insert(key, list);
            return Ok(());
        }
        Ok(Bpobj::open(&dsl.mos.objset, known)?.enqueue_subobj(list, tx)?)
    }

    /// Frees the lists, not what they list.
    pub fn destroy(self, dsl: &Dsl, tx: &Tx) -> Result<()> {
        let Some(lists) = self.lists else { return Ok(Bpobj::free(&dsl.mos.objset, self.object, tx)?) };
        lists.into_values().try_for_each(|list| free_list(dsl, list, tx))?;
        Ok(dsl.mos.free(self.object, tx)?)
    }

    /// What all it lists occupies; told without reading the lists.
    pub fn space(dsl: &Dsl, object: u64) -> Result<Sums> {
        let dnode = dsl.mos.hold(object)?;
        if is_old_form(dnode.object_type()) {
            return Ok(sums(Bpobj::open(&dsl.mos.objset, object)?.space()?));
        }
        let bonus = dnode.bonus();
        let phys = DeadlistPhys::decode(&bonus.bytes).map_err(corrupt(object))?;
        Ok(sums(Space { used: phys.used, comp: phys.comp, uncomp: phys.uncomp }))
    }
}

/// Shows the blocks of one list, many at a time.
fn for_each_batch(dsl: &Dsl, list: u64, mut each: impl FnMut(&[BlkPtr]) -> Result<()>) -> Result<()> {
    let mut batch: Vec<BlkPtr> = Vec::new();
    let stopped = Bpobj::open(&dsl.mos.objset, list)?.iterate(|bp, _| {
        batch.push(*bp);
        if batch.len() < BATCH {
            return ControlFlow::Continue(());
        }
        each(&std::mem::take(&mut batch)).map_or_else(ControlFlow::Break, ControlFlow::Continue)
    })?;
    match stopped {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => each(&batch),
    }
}

fn sums(space: Space) -> Sums {
    Sums::of(space.used, space.comp, space.uncomp)
}

fn old_form() -> PoolError {
    PoolError::Corrupt("a dead list of the old form before one of the new".into())
}

fn damaged(object: u64) -> PoolError {
    DmuError::Corrupt { object, block: 0 }.into()
}

/// A list of its own. Where there are livelists, any list has room to say that blocks are gone
/// (`bpobj_alloc`).
fn new_list(dsl: &Dsl, tx: &Tx) -> Result<u64> {
    let form = if dsl.features().is_active("livelist") { BpobjForm::V3 } else { BpobjForm::V2 };
    Ok(Bpobj::alloc(&dsl.mos.objset, form, tx)?)
}

/// Frees a list, not what it lists.
fn free_list(dsl: &Dsl, list: u64, tx: &Tx) -> Result<()> {
    if Some(list) == dsl.empty_bpobj() {
        return release_empty(dsl, tx);
    }
    Ok(Bpobj::free(&dsl.mos.objset, list, tx)?)
}

/// A list with nothing in it: the pool's shared one where the pool has the feature
/// (`bpobj_alloc_empty`).
fn empty_list(dsl: &Dsl, tx: &Tx) -> Result<u64> {
    if !dsl.features().is_enabled("empty_bpobj") {
        return new_list(dsl, tx);
    }
    let shared = match dsl.empty_bpobj() {
        Some(object) => object,
        None => {
            let object = new_list(dsl, tx)?;
            dsl.mos.set_root(pool_directory::EMPTY_BPOBJ, object, tx)?;
            dsl.special(|special| special.empty_bpobj = Some(object));
            object
        }
    };
    dsl.features().increment("empty_bpobj", tx)?;
    Ok(shared)
}

/// One user fewer of the shared list; the last one takes it along (`bpobj_decr_empty`).
fn release_empty(dsl: &Dsl, tx: &Tx) -> Result<()> {
    dsl.features().decrement("empty_bpobj", tx)?;
    if !dsl.features().is_active("empty_bpobj")
        && let Some(object) = dsl.empty_bpobj()
    {
        dsl.mos.remove(pool_directory::OBJECT, pool_directory::EMPTY_BPOBJ, tx)?;
        Bpobj::free(&dsl.mos.objset, object, tx)?;
        dsl.special(|special| special.empty_bpobj = None);
    }
    Ok(())
}
