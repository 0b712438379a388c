//! Lists of block pointers on disk: deferred frees, dead lists, live lists.
//!
//! A list is an object: an array of pointers, counted in the bonus. It can include whole lists, at
//! the cost of one number in a second object; what they hold counts as held by it. A list within a
//! list belongs to that list alone.
//!
//! Lists live in the meta object set and change in syncing context. A change holds the list's
//! content lock; a walk with [`Bpobj::drain`] too, so its callback must not change the same list.
//!
//! Sources: module/zfs/bpobj.c, include/sys/bpobj.h.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};

use ondisk::bpobj::{BpobjForm, BpobjPhys, entry, is_freed};
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, Endian};

use crate::DmuError;
use crate::dnode::{Dnode, ObjectSpec};
use crate::objset::Objset;
use crate::tx::Tx;

/// Block size of a list, and of the array of lists within one.
const BLOCK: u32 = 128 << 10;
const WORD: u64 = 8;

/// What the blocks of a list occupy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Space {
    /// Allocated, all copies.
    pub used: u64,
    /// After compression, one copy.
    pub comp: u64,
    pub uncomp: u64,
}

impl Space {
    fn add(&mut self, other: Space, sign: i64) {
        self.used = self.used.wrapping_add_signed(other.used.cast_signed().wrapping_mul(sign));
        self.comp = self.comp.wrapping_add_signed(other.comp.cast_signed().wrapping_mul(sign));
        self.uncomp = self.uncomp.wrapping_add_signed(other.uncomp.cast_signed().wrapping_mul(sign));
    }
}

/// An open list.
#[derive(Clone)]
pub struct Bpobj {
    objset: Arc<Objset>,
    dnode: Arc<Dnode>,
}

impl Bpobj {
    /// A new, empty list; its object number. `form` as the pool's version and features ask (V2
    /// today, V3 for lists that record frees).
    pub fn alloc(objset: &Objset, form: BpobjForm, tx: &Tx) -> Result<u64, DmuError> {
        let spec = ObjectSpec::new(ObjectType::BPOBJ)
            .with_block_size(BLOCK)
            .with_bonus(ObjectType::BPOBJ_HDR, form.size() as u16);
        Ok(objset.alloc(spec, tx)?.object())
    }

    pub fn open(objset: &Arc<Objset>, object: u64) -> Result<Bpobj, DmuError> {
        let dnode = objset.hold(object)?;
        if dnode.object_type() != ObjectType::BPOBJ {
            return Err(DmuError::Invalid("object is not a list of block pointers"));
        }
        let list = Bpobj { objset: objset.clone(), dnode };
        list.phys()?;
        Ok(list)
    }

    /// Frees the list's object with all lists within, but none of the blocks listed.
    pub fn free(objset: &Arc<Objset>, object: u64, tx: &Tx) -> Result<(), DmuError> {
        let mut left = vec![object];
        let mut met = BTreeSet::new();
        let mut all = Vec::new();
        while let Some(object) = left.pop() {
            let list = Bpobj::open(objset, object)?;
            if !met.insert(object) {
                return Err(list.corrupt());
            }
            let phys = list.phys()?;
            for index in 0..if phys.subobjs == 0 { 0 } else { phys.num_subobjs } {
                left.push(list.subobj(&phys, index)?);
            }
            all.push((object, phys.subobjs));
        }
        for (object, subobjs) in all {
            if subobjs != 0 {
                objset.free(subobjs, tx)?;
            }
            objset.free(object, tx)?;
        }
        Ok(())
    }

    pub fn object(&self) -> u64 {
        self.dnode.object()
    }

    /// The counts.
    pub fn phys(&self) -> Result<BpobjPhys, DmuError> {
        let bonus = self.dnode.bonus();
        BpobjPhys::decode(&bonus.bytes).map_err(|_| self.corrupt())
    }

    pub fn is_empty(&self) -> Result<bool, DmuError> {
        let phys = self.phys()?;
        Ok(phys.num_blkptrs == 0 && phys.num_subobjs == 0)
    }

    /// Of all blocks listed, here and within.
    pub fn space(&self) -> Result<Space, DmuError> {
        let phys = self.phys()?;
        if phys.form > BpobjForm::V0 {
            return Ok(Space { used: phys.bytes, comp: phys.comp, uncomp: phys.uncomp });
        }
        Ok(Space { used: phys.bytes, ..self.space_between(0, u64::MAX)? })
    }

    /// Of the blocks allocated in `after < birth <= until`.
    pub fn space_between(&self, after: u64, until: u64) -> Result<Space, DmuError> {
        if after == 0 && until == u64::MAX && self.phys()?.form > BpobjForm::V0 {
            return self.space();
        }
        let mut space = Space::default();
        let _: ControlFlow<()> = self.iterate(|bp, _| {
            if bp.birth() > after && bp.birth() <= until {
                space.add(self.space_of(bp), 1);
            }
            ControlFlow::Continue(())
        })?;
        Ok(space)
    }

    /// Appends a block. Never a hole.
    pub fn enqueue(&self, bp: &BlkPtr, freed: bool, tx: &Tx) -> Result<(), DmuError> {
        self.enqueue_all(&[(*bp, freed)], tx)
    }

    /// Appends many at the price of one. `true`: the entry records a free, which only lists of form
    /// V3 can.
    pub fn enqueue_all(&self, blocks: &[(BlkPtr, bool)], tx: &Tx) -> Result<(), DmuError> {
        let _guard = self.dnode.content_lock().write().unwrap_or_else(PoisonError::into_inner);
        let mut phys = self.phys()?;
        let mut bytes = Vec::with_capacity(blocks.len() * BlkPtr::SIZE);
        let mut space = Space::default();
        for (bp, freed) in blocks {
            assert!(!bp.is_hole(), "a hole has nothing to free");
            assert!(!freed || phys.form >= BpobjForm::V3, "the list has no room to say so");
            bytes.extend_from_slice(&entry(bp, *freed).encode());
            space.add(self.space_of(bp), if *freed { -1 } else { 1 });
            phys.num_freed += u64::from(*freed);
        }
        self.append(&self.dnode, phys.num_blkptrs, &bytes, BlkPtr::SIZE, tx)?;
        phys.num_blkptrs += blocks.len() as u64;
        count(&mut phys, space, 1);
        self.set_phys(&phys, tx)
    }

    /// Includes another list, which is this one's from now on: the caller forgets its number. A
    /// small one is copied and its object freed. The pool's shared empty list is the caller's to
    /// recognise, never to be included.
    pub fn enqueue_subobj(&self, subobj: u64, tx: &Tx) -> Result<(), DmuError> {
        let _guard = self.dnode.content_lock().write().unwrap_or_else(PoisonError::into_inner);
        if subobj == self.object() {
            return Err(DmuError::Invalid("a list within itself"));
        }
        let sub = Bpobj::open(&self.objset, subobj)?;
        if sub.is_empty()? {
            return Bpobj::free(&self.objset, subobj, tx);
        }
        let mut phys = self.phys()?;
        if phys.form < BpobjForm::V2 {
            return Err(DmuError::Unsupported("lists within old lists"));
        }
        let space = sub.space()?;
        let mut sub_phys = sub.phys()?;
        // A list of lists that fits one block is taken over, so that lists do not nest ever deeper.
        let mut copy = true;
        if sub_phys.subobjs != 0 {
            let lists = self.objset.hold(sub_phys.subobjs)?;
            copy = lists.max_blkid() == 0;
            if copy {
                let bytes = sub.only_block(&lists, sub_phys.num_subobjs, WORD)?;
                self.append_subobjs(&mut phys, &bytes, tx)?;
                self.objset.free(sub_phys.subobjs, tx)?;
                sub_phys.subobjs = 0;
                sub_phys.num_subobjs = 0;
            }
        }
        if copy && sub.dnode.max_blkid() == 0 {
            let bytes = sub.only_block(&sub.dnode, sub_phys.num_blkptrs, BlkPtr::SIZE as u64)?;
            self.append(&self.dnode, phys.num_blkptrs, &bytes, BlkPtr::SIZE, tx)?;
            phys.num_blkptrs += sub_phys.num_blkptrs;
            phys.num_freed += sub_phys.num_freed;
            self.objset.free(subobj, tx)?;
        } else {
            sub.set_phys(&sub_phys, tx)?;
            self.append_subobjs(&mut phys, &Endian::Little.put_u64(subobj), tx)?;
        }
        count(&mut phys, space, 1);
        self.set_phys(&phys, tx)
    }

    /// Shows every block listed, here and within, newest first; `true` with entries that record a
    /// free.
    pub fn iterate<B>(
        &self,
        mut each: impl FnMut(&BlkPtr, bool) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, DmuError> {
        Walk::new(self, None)?.run(&mut |bp, freed| Ok(each(bp, freed)))
    }

    /// As [`Bpobj::iterate`], and takes out what was shown. The entry at which `each` breaks or
    /// fails stays.
    pub fn drain<B>(
        &self,
        tx: &Tx,
        mut each: impl FnMut(&BlkPtr, bool) -> Result<ControlFlow<B>, DmuError>,
    ) -> Result<ControlFlow<B>, DmuError> {
        let _guard = self.dnode.content_lock().write().unwrap_or_else(PoisonError::into_inner);
        Walk::new(self, Some(tx))?.run(&mut each)
    }

    // ── Beneath ──

    fn corrupt(&self) -> DmuError {
        DmuError::Corrupt { object: self.object(), block: 0 }
    }

    fn set_phys(&self, phys: &BpobjPhys, tx: &Tx) -> Result<(), DmuError> {
        self.dnode.set_bonus(ObjectType::BPOBJ_HDR, &phys.encode(), tx)
    }

    fn space_of(&self, bp: &BlkPtr) -> Space {
        let used = if bp.is_embedded() { 0 } else { self.objset.store().dsize(bp) };
        Space { used, comp: bp.psize(), uncomp: bp.ucsize() }
    }

    /// Writes items after the first `count` of an array.
    fn append(&self, dnode: &Dnode, count: u64, bytes: &[u8], item: usize, tx: &Tx) -> Result<(), DmuError> {
        let at = count.checked_mul(item as u64).ok_or(self.corrupt())?;
        dnode.write(at, bytes, tx)
    }

    fn append_subobjs(&self, phys: &mut BpobjPhys, bytes: &[u8], tx: &Tx) -> Result<(), DmuError> {
        if phys.subobjs == 0 {
            let spec = ObjectSpec::new(ObjectType::BPOBJ_SUBOBJ).with_block_size(BLOCK);
            phys.subobjs = self.objset.alloc(spec, tx)?.object();
        }
        let lists = self.objset.hold(phys.subobjs)?;
        self.append(&lists, phys.num_subobjs, bytes, WORD as usize, tx)?;
        phys.num_subobjs += bytes.len() as u64 / WORD;
        Ok(())
    }

    /// The first `count` items of an array in one block.
    fn only_block(&self, dnode: &Dnode, count: u64, item: u64) -> Result<Vec<u8>, DmuError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let block = dnode.block(0)?.ok_or(self.corrupt())?;
        let len = count.checked_mul(item).and_then(|len| usize::try_from(len).ok()).ok_or(self.corrupt())?;
        Ok(block.get(..len).ok_or(self.corrupt())?.to_vec())
    }

    /// The number of a list within.
    fn subobj(&self, phys: &BpobjPhys, index: u64) -> Result<u64, DmuError> {
        let lists = self.objset.hold(phys.subobjs).map_err(|error| self.broken_link(error))?;
        let per_block = u64::from(lists.block_size()) / WORD;
        let block = lists.block(index / per_block)?.ok_or(self.corrupt())?;
        let at = ((index % per_block) * WORD) as usize;
        let word = block.get(at..).and_then(<[u8]>::first_chunk).ok_or(self.corrupt())?;
        match Endian::Little.u64(*word) {
            0 => Err(self.corrupt()),
            object => Ok(object),
        }
    }

    /// What a list refers to must be there.
    fn broken_link(&self, error: DmuError) -> DmuError {
        match error {
            DmuError::NotFound | DmuError::Invalid(_) => self.corrupt(),
            error => error,
        }
    }
}

fn count(phys: &mut BpobjPhys, space: Space, sign: i64) {
    let mut sum = Space { used: phys.bytes, comp: phys.comp, uncomp: phys.uncomp };
    sum.add(space, sign);
    phys.bytes = sum.used;
    if phys.form > BpobjForm::V0 {
        (phys.comp, phys.uncomp) = (sum.comp, sum.uncomp);
    }
}

/// A list on the way from the outermost to the one being walked.
struct Frame {
    list: Bpobj,
    phys: BpobjPhys,
    subobjs_left: u64,
    visited: bool,
}

/// A walk through a list and the lists within, deepest last; lists can nest deeper than a thread's
/// stack.
struct Walk<'a> {
    tx: Option<&'a Tx>,
    frames: Vec<Frame>,
    /// Lists met: a list within itself must not be walked for ever.
    met: BTreeSet<u64>,
}

type Each<'a, B> = dyn FnMut(&BlkPtr, bool) -> Result<ControlFlow<B>, DmuError> + 'a;

impl<'a> Walk<'a> {
    fn new(list: &Bpobj, tx: Option<&'a Tx>) -> Result<Walk<'a>, DmuError> {
        let mut walk = Walk { tx, frames: Vec::new(), met: BTreeSet::new() };
        walk.enter(list.clone())?;
        Ok(walk)
    }

    fn enter(&mut self, list: Bpobj) -> Result<(), DmuError> {
        if !self.met.insert(list.object()) {
            return Err(list.corrupt());
        }
        let phys = list.phys()?;
        let subobjs_left = if phys.subobjs == 0 { 0 } else { phys.num_subobjs };
        self.frames.push(Frame { list, phys, subobjs_left, visited: false });
        Ok(())
    }

    fn run<B>(&mut self, each: &mut Each<'_, B>) -> Result<ControlFlow<B>, DmuError> {
        while let Some(frame) = self.frames.last_mut() {
            if !frame.visited {
                frame.visited = true;
                if let ControlFlow::Break(why) = self.blocks(each)? {
                    return Ok(ControlFlow::Break(why));
                }
            } else if frame.subobjs_left > 0 {
                frame.subobjs_left -= 1;
                let object = frame.list.subobj(&frame.phys, frame.subobjs_left)?;
                let within = Bpobj::open(&frame.list.objset, object);
                let within = within.map_err(|error| frame.list.broken_link(error))?;
                self.enter(within)?;
            } else {
                self.leave()?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The blocks the innermost list has itself, last first.
    fn blocks<B>(&mut self, each: &mut Each<'_, B>) -> Result<ControlFlow<B>, DmuError> {
        let frame = self.frames.last_mut().expect("a list");
        let (mut taken, mut answer) = (Space::default(), Ok(ControlFlow::Continue(())));
        let per_block = (u64::from(frame.list.dnode.block_size()) / BlkPtr::SIZE as u64).max(1);
        let mut left = frame.phys.num_blkptrs;
        'all: while left > 0 {
            let blkid = (left - 1) / per_block;
            if blkid > 0 && left.is_multiple_of(per_block) {
                let size = u64::from(frame.list.dnode.block_size());
                frame.list.dnode.prefetch((blkid - 1) * size, size);
            }
            let block = match frame.list.dnode.block(blkid) {
                Ok(Some(block)) => block,
                Ok(None) => {
                    answer = Err(frame.list.corrupt());
                    break;
                }
                Err(error) => {
                    answer = Err(error);
                    break;
                }
            };
            while left > blkid * per_block {
                let index = (left - 1 - blkid * per_block) as usize;
                let Ok(bp) = BlkPtr::decode_at(&block, index, Endian::Little) else {
                    answer = Err(frame.list.corrupt());
                    break 'all;
                };
                let freed = is_freed(&bp);
                answer = each(&bp, freed);
                if !matches!(answer, Ok(ControlFlow::Continue(()))) {
                    break 'all;
                }
                left -= 1;
                taken.add(frame.list.space_of(&bp), if freed { -1 } else { 1 });
                if self.tx.is_some() && freed {
                    frame.phys.num_freed = frame.phys.num_freed.saturating_sub(1);
                }
            }
        }
        if let Some(tx) = self.tx {
            frame.phys.num_blkptrs = left;
            frame.list.dnode.free_range(left * BlkPtr::SIZE as u64, u64::MAX, tx)?;
            for frame in &mut self.frames {
                count(&mut frame.phys, taken, -1);
                frame.list.set_phys(&frame.phys, tx)?;
            }
        }
        answer
    }

    /// The innermost list is done: drained, it goes, unless it is the outermost.
    fn leave(&mut self) -> Result<(), DmuError> {
        let done = self.frames.pop().expect("a list");
        let (Some(parent), Some(tx)) = (self.frames.last_mut(), self.tx) else { return Ok(()) };
        parent.phys.num_subobjs -= 1;
        let objset = &done.list.objset;
        let lists = objset.hold(parent.phys.subobjs)?;
        lists.free_range(parent.phys.num_subobjs * WORD, WORD, tx)?;
        parent.list.set_phys(&parent.phys, tx)?;
        if done.phys.subobjs != 0 {
            objset.free(done.phys.subobjs, tx)?;
        }
        objset.free(done.list.object(), tx)
    }
}

#[cfg(test)]
mod tests;
