//! Batches over many objects: loading and writing a level.

use std::ops::Range;

use env::IoClass;
use ondisk::BlkPtr;
use ondisk::dnode::{SLOT_SIZE, slots_at};
use ondisk::object_type::ObjectType;

use super::tree::fill_of;
use super::{Cx, Job};
use crate::error::read_failed;
use crate::policy::BlockKind;
use crate::store::{WriteError, WriteItem};
use crate::tree::check_pointer;
use crate::{DmuError, SyncError};

/// Bytes of level-1 blocks in memory at once.
const SLICE: u64 = 32 << 20;

/// A block of one of the jobs: its index and its number.
type At = (usize, u64);

/// For each job, the indirect blocks of `level` on the way to its changes.
pub fn above(jobs: &[Job], level: u8) -> Vec<At> {
    let tall = jobs.iter().enumerate().filter(|(_, job)| job.tree.phys.nlevels > level);
    tall.flat_map(|(i, job)| {
        job.tree.above(level, job.data.iter().map(|(b, _)| *b)).into_iter().map(move |b| (i, b))
    })
    .collect()
}

/// The dirty indirect blocks of `level`.
pub fn dirty_at(jobs: &[Job], level: u8) -> Vec<At> {
    let all = jobs.iter().enumerate();
    all.flat_map(|(i, job)| job.tree.dirty_at(level).into_iter().map(move |b| (i, b))).collect()
}

/// Reads indirect blocks of `level` that are not in memory; those above them are.
pub fn load(cx: &Cx<'_>, jobs: &mut [Job], level: u8, wanted: &[At]) -> Result<(), DmuError> {
    let mut pointers = Vec::new();
    let mut places = Vec::new();
    for &(i, blkid) in wanted {
        let tree = &mut jobs[i].tree;
        if tree.nodes.contains_key(&(level, blkid)) {
            continue;
        }
        let bp = tree.get(level, blkid);
        if bp.is_hole() {
            tree.load(level, blkid, None)?;
            continue;
        }
        check_pointer(&bp, tree.object, blkid)?;
        pointers.push(bp);
        places.push((i, blkid));
    }
    let blocks = cx.core.store.read_many(&pointers, IoClass::SyncRead, cx.core.keep());
    for ((i, blkid), block) in places.into_iter().zip(blocks) {
        let tree = &mut jobs[i].tree;
        let block = block.map_err(|e| read_failed(e, tree.object, blkid))?;
        tree.load(level, blkid, Some(block))?;
    }
    Ok(())
}

/// Writes the spill blocks.
pub fn spills(cx: &Cx<'_>, jobs: &mut [Job]) -> Result<(), SyncError> {
    let mut items = Vec::new();
    let mut places = Vec::new();
    for (i, job) in jobs.iter().enumerate() {
        let Some(block) = &job.spill else { continue };
        let old = job.tree.phys.spill.unwrap_or(BlkPtr::HOLE);
        let what = BlockKind { object_type: job.attrs.bonus_type, spill: true, ..job.attrs.data_kind() };
        items.push(WriteItem {
            data: block.clone(),
            policy: cx.policy.block(what, 1),
            rewrite: cx.rewrite(&old),
            unless: None,
        });
        places.push((i, old, what.object_type, block.len() as u64));
    }
    for ((i, old, kind, lsize), new) in places.into_iter().zip(write(cx, items)?) {
        let new = account(cx, &mut jobs[i], &old, new, (kind, 0, lsize));
        jobs[i].tree.phys.spill = Some(new);
    }
    Ok(())
}

/// What one level-1 block (or the dnode itself) leads to.
struct Group {
    job: usize,
    l1: Option<u64>,
    /// Of the job's data.
    data: Range<usize>,
}

/// Writes data and the level above it, slice by slice.
pub fn data_in_slices(cx: &Cx<'_>, jobs: &mut [Job]) -> Result<(), SyncError> {
    let groups: Vec<Group> = jobs.iter().enumerate().flat_map(|(i, job)| groups_of(i, job)).collect();
    let mut rest = &groups[..];
    while !rest.is_empty() {
        let mut bytes = 0;
        let count = rest.iter().take_while(|group| {
            let fits = bytes < SLICE;
            bytes += group.l1.map_or(0, |_| jobs[group.job].tree.phys.indirect_block_size());
            fits
        });
        let (slice, later) = rest.split_at(count.count());
        rest = later;
        let l1: Vec<At> = slice.iter().filter_map(|g| g.l1.map(|b| (g.job, b))).collect();
        load(cx, jobs, 1, &l1)?;
        data(cx, jobs, slice)?;
        indirect(cx, jobs, 1, &l1)?;
    }
    Ok(())
}

fn groups_of(i: usize, job: &Job) -> Vec<Group> {
    if job.tree.phys.nlevels == 1 {
        let all = Group { job: i, l1: None, data: 0..job.data.len() };
        return if job.data.is_empty() { Vec::new() } else { vec![all] };
    }
    let epbs = job.tree.phys.epbs();
    let mut at = 0;
    let above = job.tree.above(1, job.data.iter().map(|(b, _)| *b)).into_iter();
    let groups = above.map(|l1| {
        let start = at;
        at += job.data[start..].iter().take_while(|(b, _)| b >> epbs == l1).count();
        Group { job: i, l1: Some(l1), data: start..at }
    });
    let groups: Vec<Group> = groups.collect();
    assert_eq!(at, job.data.len(), "each data block has a parent");
    groups
}

fn data(cx: &Cx<'_>, jobs: &mut [Job], slice: &[Group]) -> Result<(), SyncError> {
    let mut items = Vec::new();
    let mut places = Vec::new();
    let mut there = Vec::new();
    for group in slice {
        let job = &jobs[group.job];
        let what = job.attrs.data_kind();
        for (blkid, block) in &job.data[group.data.clone()] {
            let old = job.tree.get(0, *blkid);
            if let Some(bp) = job.early.get(blkid) {
                there.push((group.job, *blkid, old, block.len() as u64, *bp));
                continue;
            }
            let fill =
                if what.object_type == ObjectType::DNODE { dnodes_in(block).count() as u64 } else { 1 };
            let policy = cx.policy.block(what, fill);
            let (rewrite, unless) = (cx.rewrite(&old), cx.unless(&old));
            items.push(WriteItem { data: block.clone(), policy, rewrite, unless });
            places.push((group.job, *blkid, old, block.len() as u64));
        }
    }
    for (i, blkid, old, lsize, bp) in there {
        let kind = jobs[i].attrs.object_type;
        let new = account(cx, &mut jobs[i], &old, bp, (kind, 0, lsize));
        jobs[i].tree.set(0, blkid, &new);
        cx.core.admission.written(cx.tx.txg, lsize);
    }
    let mut note = |bytes| cx.core.admission.written(cx.tx.txg, bytes);
    let written = cx.core.store.write_batch(items, cx.tx.txg, &mut note);
    for ((i, blkid, old, lsize), new) in places.into_iter().zip(all_written(written)?) {
        let kind = jobs[i].attrs.object_type;
        // What is there already: the tree stays as it is.
        if new == old && !old.is_hole() && cx.unless(&old).is_some() {
            continue;
        }
        let new = account(cx, &mut jobs[i], &old, new, (kind, 0, lsize));
        jobs[i].tree.set(0, blkid, &new);
    }
    Ok(())
}

/// Writes those of the indirect blocks that are dirty, and forgets them all.
pub fn indirect(cx: &Cx<'_>, jobs: &mut [Job], level: u8, blocks: &[At]) -> Result<(), SyncError> {
    let mut items = Vec::new();
    let mut places = Vec::new();
    for &(i, blkid) in blocks {
        let job = &mut jobs[i];
        let node = job.tree.nodes.remove(&(level, blkid)).expect("was loaded");
        if !node.dirty {
            continue;
        }
        let old = job.tree.get(level, blkid);
        let kind = job.attrs.object_type;
        let shape = (kind, level, node.block.len() as u64);
        let Some(fill) = fill_of(&node.block) else {
            // All it leads to are holes: it is one itself.
            let new = account(cx, job, &old, BlkPtr::HOLE, shape);
            job.tree.set(level, blkid, &new);
            continue;
        };
        let what = BlockKind { object_type: kind, level, spill: false, own: (0, 0) };
        items.push(WriteItem {
            data: node.block,
            policy: cx.policy.block(what, fill),
            rewrite: cx.rewrite(&old),
            unless: None,
        });
        places.push((i, blkid, old, shape));
    }
    for ((i, blkid, old, shape), new) in places.into_iter().zip(write(cx, items)?) {
        let new = account(cx, &mut jobs[i], &old, new, shape);
        jobs[i].tree.set(level, blkid, &new);
    }
    Ok(())
}

pub fn write(cx: &Cx<'_>, items: Vec<WriteItem>) -> Result<Vec<BlkPtr>, SyncError> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let count = items.len();
    let written = cx.core.store.write_batch(items, cx.tx.txg, &mut |_| {});
    assert_eq!(written.len(), count, "an answer for each block");
    all_written(written)
}

fn all_written(written: Vec<Result<BlkPtr, WriteError>>) -> Result<Vec<BlkPtr>, SyncError> {
    Ok(written.into_iter().collect::<Result<_, _>>()?)
}

/// Settles with the owner that `new` has taken the place of `old`; the pointer to be stored.
fn account(cx: &Cx<'_>, job: &mut Job, old: &BlkPtr, new: BlkPtr, shape: (ObjectType, u8, u64)) -> BlkPtr {
    let (kind, level, lsize) = shape;
    let new = if new.is_hole() { cx.hole_after(old, kind, level, lsize) } else { new };
    let (added, freed) = settle(cx, old, &new);
    job.tree.add_used(added, freed, &cx.policy);
    new
}

/// As [`account`], without an object: the bytes that `new` has more, and that `old` had.
pub fn settle(cx: &Cx<'_>, old: &BlkPtr, new: &BlkPtr) -> (u64, u64) {
    let in_place = !old.is_hole() && !new.is_hole() && !old.is_embedded() && old.same_block(new);
    if in_place {
        return (0, 0);
    }
    let dsize = |bp: &BlkPtr| if bp.is_hole() { 0 } else { cx.core.store.dsize(bp) };
    let sizes = (dsize(new), dsize(old));
    if !old.is_hole() {
        cx.core.owner.kill(old, &cx.tx);
    }
    if !new.is_hole() {
        cx.core.owner.born(new, &cx.tx);
    }
    sizes
}

/// The dnodes in a block of dnodes: where each begins, and how many slots it has.
pub fn dnodes_in(block: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut next = 0;
    let slots = std::iter::from_fn(move || {
        let bytes = block.get(next * SLOT_SIZE..).filter(|bytes| !bytes.is_empty())?;
        let (slot, slots) = (next, slots_at(bytes));
        next += slots.unwrap_or(1);
        Some((slot, slots))
    });
    slots.filter_map(|(slot, slots)| Some((slot, slots?)))
}
