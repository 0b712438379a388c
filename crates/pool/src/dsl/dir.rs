//! Directories: the nodes of the dataset tree, where space is added up, limited and reserved.
//!
//! What a dataset uses is counted in its directory and, through the parents, up to the root. A
//! reservation makes a directory count for its parent as if at least so much were used.
//!
//! In core a directory is unique while anyone holds it. Its numbers are written to the meta object
//! set as they change (syncing context only), so a directory that nobody holds can be forgotten at
//! any time.
//!
//! A transaction that wants in ([`Dir::reserve`]) leaves an estimate with every directory up to the
//! root while it runs; what it really dirtied ([`Dir::dirtied`]) stays until its group is synced.
//! Limits are checked against both.
//!
//! Locks: one a directory, taken one at a time, child before parent. Source: module/zfs/dsl_dir.c.

use std::sync::{Arc, Mutex};

use dmu::{DmuError, Tx};
use env::lock;
use ondisk::dsl_dir::{DslDirPhys, FLAG_USED_BREAKDOWN};

use crate::mos::Mos;
use crate::sums::Sums;

/// Share of a quota, or of the pool, by which what is in flight may go beyond it: the quota shifted
/// right. OpenZFS lets in a 32nd, but takes what is in flight for 24 times its size where this
/// takes it for three times: so a group overruns a quota here, too, by a 768th at most, and a file
/// system with hardly any room is refused before it has written much.
const SLACK_SHIFT: u32 = 8;

/// What part of a directory's space something is (`dd_used_t`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    Head,
    Snap,
    Child,
    ChildReserve,
    RefReserve,
}

/// See the module.
pub struct Dir {
    pub(crate) object: u64,
    place: Mutex<Place>,
    space: Mutex<Space>,
}

struct Place {
    parent: Option<Arc<Dir>>,
    name: String,
}

struct Space {
    phys: DslDirPhys,
    /// Estimates of running transactions, by `txg & 3`.
    held: [u64; 4],
    /// What finished ones dirtied.
    to_write: [u64; 4],
}

impl Space {
    fn in_flight(&self) -> u64 {
        self.held.iter().sum::<u64>() + self.to_write.iter().sum::<u64>()
    }
}

/// What the dataset itself adds to the checks in its own directory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HeadLimits {
    /// Reserved for the dataset and not used yet: counted as used already.
    pub unused_reserve: u64,
    /// How much of this request comes out of that.
    pub from_reserve: u64,
}

/// Why a transaction may not start now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// Much is in flight; a sync will tell.
    Wait,
    /// There would be room with what has been freed and may not be used again yet, or what intent
    /// logs have.
    Soon,
    Full(DmuError),
}

/// An estimate left with a directory and its parents; taken back when dropped.
pub(crate) struct Reserved {
    txg: u64,
    parts: Vec<(Arc<Dir>, u64)>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        for (dir, bytes) in &self.parts {
            lock(&dir.space).held[self.txg as usize & 3] -= bytes;
        }
    }
}

impl Dir {
    pub(crate) fn new(object: u64, parent: Option<Arc<Dir>>, name: String, phys: DslDirPhys) -> Dir {
        Dir {
            object,
            place: Mutex::new(Place { parent, name }),
            space: Mutex::new(Space { phys, held: [0; 4], to_write: [0; 4] }),
        }
    }

    /// Estimates of all that is not durable yet.
    pub(crate) fn in_flight(&self) -> u64 {
        lock(&self.space).in_flight()
    }

    pub fn parent(&self) -> Option<Arc<Dir>> {
        lock(&self.place).parent.clone()
    }

    /// The last part of its name; the root has the pool's.
    pub fn last_name(&self) -> String {
        lock(&self.place).name.clone()
    }

    /// `pool/a/b`.
    pub fn name(&self) -> String {
        let (parent, name) = {
            let place = lock(&self.place);
            (place.parent.clone(), place.name.clone())
        };
        parent.map_or(name.clone(), |parent| format!("{}/{name}", parent.name()))
    }

    /// It, and all directories above, up to the root.
    pub(crate) fn and_above(self: &Arc<Dir>) -> impl Iterator<Item = Arc<Dir>> {
        std::iter::successors(Some(self.clone()), |dir| dir.parent())
    }

    /// The object of the nearest directory that is both one of these or above it.
    pub(crate) fn common_ancestor(self: &Arc<Dir>, other: &Arc<Dir>) -> Option<u64> {
        let above: Vec<u64> = self.and_above().map(|dir| dir.object).collect();
        other.and_above().map(|dir| dir.object).find(|object| above.contains(object))
    }

    pub(crate) fn move_to(&self, parent: Option<Arc<Dir>>, name: String) {
        *lock(&self.place) = Place { parent, name };
    }

    pub fn phys(&self) -> DslDirPhys {
        lock(&self.space).phys
    }

    /// Changes the numbers, here and in the meta object set.
    pub(crate) fn edit(&self, mos: &Mos, tx: &Tx, f: impl FnOnce(&mut DslDirPhys)) -> Result<(), DmuError> {
        let phys = {
            let mut space = lock(&self.space);
            f(&mut space.phys);
            space.phys
        };
        mos.put_dir(self.object, &phys, tx)
    }

    /// Space of kind `what` came or went.
    pub(crate) fn used(&self, mos: &Mos, what: Used, sums: Sums, tx: &Tx) -> Result<(), DmuError> {
        self.count(mos, sums, |phys| *part(phys, what) = part(phys, what).wrapping_add_signed(sums.used), tx)
    }

    /// Space came or went (`sums`), and of `tonew` more bytes being `new` only so much was not
    /// there as `old` before.
    pub(crate) fn used_moving(
        &self,
        mos: &Mos,
        sums: Sums,
        tonew: i64,
        (old, new): (Used, Used),
        tx: &Tx,
    ) -> Result<(), DmuError> {
        let shift = move |phys: &mut DslDirPhys| {
            *part(phys, old) = part(phys, old).wrapping_sub_signed(tonew - sums.used);
            *part(phys, new) = part(phys, new).wrapping_add_signed(tonew);
        };
        self.count(mos, sums, shift, tx)
    }

    fn count(
        &self,
        mos: &Mos,
        sums: Sums,
        breakdown: impl FnOnce(&mut DslDirPhys),
        tx: &Tx,
    ) -> Result<(), DmuError> {
        let mut accounted = 0;
        self.edit(mos, tx, |phys| {
            accounted = parent_delta(phys, phys.used_bytes, sums.used);
            phys.used_bytes = phys.used_bytes.wrapping_add_signed(sums.used);
            phys.compressed_bytes = phys.compressed_bytes.wrapping_add_signed(sums.comp);
            phys.uncompressed_bytes = phys.uncompressed_bytes.wrapping_add_signed(sums.uncomp);
            if phys.flags & FLAG_USED_BREAKDOWN != 0 {
                breakdown(phys);
            }
        })?;
        let Some(parent) = self.parent() else { return Ok(()) };
        let up = Sums { used: accounted, ..sums };
        parent.used_moving(mos, up, sums.used, (Used::ChildReserve, Used::Child), tx)
    }

    /// So many bytes that were `old` are now `new`.
    pub(crate) fn transfer(
        &self,
        mos: &Mos,
        bytes: i64,
        (old, new): (Used, Used),
        tx: &Tx,
    ) -> Result<(), DmuError> {
        if bytes == 0 || self.phys().flags & FLAG_USED_BREAKDOWN == 0 {
            return Ok(());
        }
        self.edit(mos, tx, |phys| {
            *part(phys, old) = part(phys, old).wrapping_sub_signed(bytes);
            *part(phys, new) = part(phys, new).wrapping_add_signed(bytes);
        })
    }

    /// Sets the reservation; the parents see the difference.
    pub(crate) fn set_reserved(&self, mos: &Mos, value: u64, tx: &Tx) -> Result<(), DmuError> {
        let mut delta = 0;
        self.edit(mos, tx, |phys| {
            let before = phys.used_bytes.max(phys.reserved);
            phys.reserved = value;
            delta = phys.used_bytes.max(value).wrapping_sub(before) as i64;
        })?;
        let Some(parent) = self.parent() else { return Ok(()) };
        parent.used(mos, Used::ChildReserve, Sums::allocated(delta), tx)
    }

    /// Bytes that may still be used below `self`. With `without = (ancestor, bytes)`, as if so much
    /// less were used at that ancestor. `pool_size` is what the root may have. `in_flight` counts
    /// unsynced changes as used.
    pub(crate) fn available(&self, pool_size: u64, without: Option<(u64, u64)>, in_flight: bool) -> u64 {
        let mut above =
            self.parent().map_or(u64::MAX, |parent| parent.available(pool_size, without, in_flight));
        let space = lock(&self.space);
        let mut quota = if space.phys.quota == 0 { u64::MAX } else { space.phys.quota };
        let mut used = space.phys.used_bytes;
        if in_flight {
            used = used.saturating_add(space.to_write.iter().sum());
        }
        if above == u64::MAX {
            quota = quota.min(pool_size);
        } else if space.phys.reserved > used {
            above = above.saturating_add(space.phys.reserved - used);
        }
        if let Some((ancestor, bytes)) = without
            && ancestor == self.object
        {
            used = used.saturating_sub(bytes);
            if above != u64::MAX {
                above = above.saturating_add(bytes);
            }
        }
        if used > quota { 0 } else { above.min(quota - used) }
    }

    /// Asks whether `bytes` more may be used by a transaction of `txg`, here and above.
    pub(crate) fn reserve(
        self: &Arc<Dir>,
        bytes: u64,
        netfree: bool,
        head: HeadLimits,
        pool: PoolRoom,
        txg: u64,
    ) -> Result<Reserved, NoRoom> {
        let mut reserved = Reserved { txg, parts: Vec::new() };
        let mut dir = self.clone();
        let mut want = bytes;
        let mut ignore_quota = false;
        let mut limits = head;
        loop {
            let above = dir.reserve_here(&mut want, netfree || ignore_quota, limits, pool, &mut reserved)?;
            match above {
                Some(parent) if want != 0 => dir = parent,
                _ => return Ok(reserved),
            }
            ignore_quota = dir.phys().head_dataset_obj == 0;
            limits = HeadLimits::default();
        }
    }

    /// One step of [`Dir::reserve`]; leaves in `want` what the parent is to be asked for.
    fn reserve_here(
        self: &Arc<Dir>,
        want: &mut u64,
        ignore_quota: bool,
        head: HeadLimits,
        pool: PoolRoom,
        reserved: &mut Reserved,
    ) -> Result<Option<Arc<Dir>>, NoRoom> {
        let parent = self.parent();
        let mut space = lock(&self.space);
        let in_flight = space.in_flight();
        let used = space.phys.used_bytes.saturating_sub(head.unused_reserve);
        let mut quota = if ignore_quota || space.phys.quota == 0 { u64::MAX } else { space.phys.quota };
        let mut refusal = NoRoom::Full(DmuError::Quota);
        if parent.is_none() && pool.size < quota {
            quota = pool.size;
            refusal = NoRoom::Full(DmuError::NoSpace);
            if used >= quota && used - quota < pool.deferred {
                refusal = NoRoom::Soon;
            }
        }
        let slack = if quota == u64::MAX { 0 } else { quota >> SLACK_SHIFT };
        if used >= quota {
            return Err(refusal);
        }
        if used.saturating_add(in_flight) >= quota.saturating_add(slack) {
            return Err(NoRoom::Wait);
        }
        // The quota may be overrun by one transaction; the disks may not, for a group that finds no
        // room is lost.
        if parent.is_none() && used.saturating_add(in_flight).saturating_add(*want) > pool.most {
            return Err(if in_flight == 0 { NoRoom::Full(DmuError::NoSpace) } else { NoRoom::Wait });
        }
        if parent.is_none() && in_flight.saturating_add(*want) > pool.free {
            return Err(if in_flight == 0 { NoRoom::Soon } else { NoRoom::Wait });
        }
        space.held[reserved.txg as usize & 3] += *want;
        let more = (*want - head.from_reserve.min(*want)) as i64;
        let up = parent_delta(&space.phys, used.saturating_add(in_flight), more);
        drop(space);
        reserved.parts.push((self.clone(), *want));
        *want = up.max(0) as u64;
        Ok(parent)
    }

    /// A transaction of `txg` dirtied so many bytes.
    pub(crate) fn dirtied(&self, bytes: u64, txg: u64) {
        let up = {
            let mut space = lock(&self.space);
            let estimate = space.phys.used_bytes.saturating_add(space.to_write.iter().sum());
            space.to_write[txg as usize & 3] += bytes;
            parent_delta(&space.phys, estimate, bytes as i64)
        };
        if up > 0
            && let Some(parent) = self.parent()
        {
            parent.dirtied(up as u64, txg);
        }
    }

    /// `txg` is counted now.
    pub(crate) fn settle(&self, txg: u64) {
        lock(&self.space).to_write[txg as usize & 3] = 0;
    }

    /// Something is dirty that is not counted yet.
    pub(crate) fn to_write(&self) -> u64 {
        lock(&self.space).to_write.iter().sum()
    }
}

/// What the root directory may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolRoom {
    pub size: u64,
    /// Freed, and not yet to be allocated again.
    pub deferred: u64,
    /// What there is at all, but for what was freed lately.
    pub most: u64,
    /// Can be allocated now.
    pub free: u64,
}

/// By how much the parent's use changes when `used` changes by `delta`.
fn parent_delta(phys: &DslDirPhys, used: u64, delta: i64) -> i64 {
    let before = used.max(phys.reserved);
    let after = used.saturating_add_signed(delta).max(phys.reserved);
    after.wrapping_sub(before) as i64
}

fn part(phys: &mut DslDirPhys, what: Used) -> &mut u64 {
    match what {
        Used::Head => &mut phys.used_head,
        Used::Snap => &mut phys.used_snap,
        Used::Child => &mut phys.used_child,
        Used::ChildReserve => &mut phys.used_child_rsrv,
        Used::RefReserve => &mut phys.used_refrsrv,
    }
}

#[cfg(test)]
mod tests;
