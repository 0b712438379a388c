//! Changing an object: every change goes into the overlay of the transaction's group.

use std::sync::Arc;

use ondisk::BlkPtr;
use ondisk::object_type::ObjectType;

use super::Dnode;
use super::read::padded;
use crate::DmuError;
use crate::overlay::{Attrs, Changes, Dirty, Place, SpillChange, State};
use crate::store::{Block, Txg};
use crate::tx::Tx;

/// The largest data block, in bytes.
pub const MAX_BLOCK_SIZE: u32 = 16 << 20;
/// The largest spill block, in bytes.
pub const MAX_SPILL_SIZE: usize = 128 << 10;
const SECTOR: usize = 512;

/// What a block was before it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Was {
    /// What is in the buffer is of no meaning: all of it has to be written.
    Hole,
    Data,
    /// As the last change in this group has left it (see [`Dnode::update_sound_block`]).
    Sound,
}

impl Dnode {
    /// Blocks that `data` covers wholly are not read.
    pub fn write(&self, offset: u64, data: &[u8], tx: &Tx) -> Result<(), DmuError> {
        offset.checked_add(data.len() as u64).ok_or(DmuError::TooBig)?;
        let size = self.block_size() as usize;
        let mut at = offset;
        let mut left = data;
        while !left.is_empty() {
            let blkid = at / size as u64;
            let from = (at % size as u64) as usize;
            let len = left.len().min(size - from);
            let (now, later) = left.split_at(len);
            if len == size {
                self.put_block(blkid, Arc::new(Block::from_slice(now)), tx)?;
            } else {
                self.change_block(blkid, tx, Some(len), |block, was, _| {
                    let (before, rest) = block.split_at_mut(from);
                    let (written, behind) = rest.split_at_mut(len);
                    written.copy_from_slice(now);
                    if was == Was::Hole {
                        before.fill(0);
                        behind.fill(0);
                    }
                })?;
            }
            left = later;
            at += len as u64;
        }
        Ok(())
    }

    /// Replaces a whole block without copying; `block` has `block_size` bytes.
    pub fn put_block(&self, blkid: u64, block: Arc<Block>, tx: &Tx) -> Result<(), DmuError> {
        let mut state = self.state_mut();
        self.check_block(&state, blkid)?;
        let size = state.attrs().block_size as usize;
        if block.len() != size {
            return Err(DmuError::Invalid("block of the wrong size"));
        }
        let fresh = self.insert(&mut state, blkid, block, tx.touch());
        drop(state);
        self.report(fresh, size, tx.txg());
        Ok(())
    }

    /// Changes a block in place (a hole is zeros first). `f` runs under the object's lock: short,
    /// no I/O, no calls on this dnode.
    pub fn update_block<R>(
        &self,
        blkid: u64,
        tx: &Tx,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, DmuError> {
        self.change_block(blkid, tx, None, |block, was, _| {
            if was == Was::Hole {
                block.fill(0);
            }
            f(block)
        })
    }

    /// As [`Dnode::update_block`], for a form that `f` relies on and keeps. `f` is told whether the
    /// block is sound: it was left so in this group by this call, and nothing else has changed it
    /// since. Where it is not, `f` checks it first. `f` fails before it changes anything.
    pub fn update_sound_block<R, E>(
        &self,
        blkid: u64,
        tx: &Tx,
        f: impl FnOnce(&mut [u8], bool) -> Result<R, E>,
    ) -> Result<Result<R, E>, DmuError> {
        self.change_block(blkid, tx, None, |block, was, is_sound| {
            if was == Was::Hole {
                block.fill(0);
            }
            let answer = f(block, was == Was::Sound);
            *is_sound = answer.is_ok();
            answer
        })
    }

    /// As [`Dnode::update_block`]; so many bytes of it change, all of them as far as is known
    /// without. `f` is told what the block was, and says whether it is sound now; it starts as not.
    fn change_block<R>(
        &self,
        blkid: u64,
        tx: &Tx,
        changed: Option<usize>,
        f: impl FnOnce(&mut [u8], Was, &mut bool) -> R,
    ) -> Result<R, DmuError> {
        let (mut state, old) = loop {
            let state = self.state_mut();
            self.check_block(&state, blkid)?;
            match state.locate(blkid) {
                Place::Dirty(block) => break (state, Some(block)),
                Place::Hole => break (state, None),
                Place::Clean => {}
            }
            let generation = state.generation;
            let mut walker = self.walker(&state);
            drop(state);
            let old = walker.block(blkid)?;
            let state = self.state_mut();
            if state.generation == generation && matches!(state.locate(blkid), Place::Clean) {
                self.check_block(&state, blkid)?;
                break (state, old);
            }
        };
        let size = state.attrs().block_size as usize;
        // The reference in `old` would force a copy of a block that is in this group's overlay
        // already.
        let txg = tx.touch();
        let mine = state.changes(txg).is_some_and(|c| c.blocks.contains_key(&blkid));
        let is_hole = !mine && old.is_none();
        let fresh = if mine {
            drop(old);
            false
        } else {
            let block = old.map_or_else(|| Arc::new(Block::scratch(size)), |old| padded(old, size));
            self.insert(&mut state, blkid, block, txg)
        };
        let (changes, _) = state.dirty(txg);
        let dirty = changes.blocks.get_mut(&blkid).expect("was just inserted");
        dirty.written = false;
        let was = match std::mem::take(&mut dirty.is_sound) {
            true => Was::Sound,
            false if is_hole => Was::Hole,
            false => Was::Data,
        };
        let block: &mut Block = Arc::make_mut(&mut dirty.block);
        let answer = f(block, was, &mut dirty.is_sound);
        drop(state);
        match changed {
            Some(changed) => {
                let bytes = if fresh { size } else { 0 };
                self.core.admission.dirtied(txg, bytes as u64, changed as u64);
            }
            None => self.report(fresh, size, txg),
        }
        Ok(answer)
    }

    fn check_block(&self, state: &State, blkid: u64) -> Result<(), DmuError> {
        let attrs = state.attrs();
        if !attrs.exists {
            return Err(DmuError::NotFound);
        }
        let end = blkid.checked_add(1).and_then(|n| n.checked_mul(u64::from(attrs.block_size)));
        end.map(drop).ok_or(DmuError::TooBig)
    }

    /// True if the block was not dirty in this group before.
    fn insert(&self, state: &mut State, blkid: u64, block: Arc<Block>, txg: Txg) -> bool {
        let changes = self.change(state, txg);
        changes.attrs.max_blkid = changes.attrs.max_blkid.max(blkid);
        changes.blocks.insert(blkid, Dirty::new(block)).is_none()
    }

    /// The group's changes, to be changed.
    pub(crate) fn change<'a>(&self, state: &'a mut State, txg: Txg) -> &'a mut Changes {
        let (changes, fresh) = state.dirty(txg);
        if fresh {
            self.enlist(txg);
        }
        changes
    }

    fn report(&self, fresh: bool, bytes: usize, txg: Txg) {
        if fresh {
            self.core.admission.dirtied(txg, bytes as u64, bytes as u64);
        }
    }

    /// Makes the bytes zero; whole blocks become holes. `len` of `u64::MAX` means to the end.
    pub fn free_range(&self, offset: u64, len: u64, tx: &Tx) -> Result<(), DmuError> {
        let (size, max_blkid) = {
            let state = self.state();
            self.check_block(&state, 0)?;
            (u64::from(state.attrs().block_size), state.attrs().max_blkid)
        };
        let object_end = (max_blkid + 1).saturating_mul(size);
        let end = offset.saturating_add(len);
        if offset >= object_end || len == 0 {
            return Ok(());
        }
        let to_end = end >= object_end;
        let first = offset.div_ceil(size);
        let after = if to_end { max_blkid + 1 } else { end / size };
        if first > after {
            return self.zero(offset, end, size, tx);
        }
        self.zero(offset, first * size, size, tx)?;
        if !to_end {
            self.zero(after * size, end, size, tx)?;
        }
        let mut state = self.state_mut();
        self.check_block(&state, 0)?;
        if first < after {
            self.free_blocks(&mut state, first, after, tx.touch());
        }
        Ok(())
    }

    /// Zeroes a part of one block, unless it is a hole.
    fn zero(&self, from: u64, to: u64, size: u64, tx: &Tx) -> Result<(), DmuError> {
        if from >= to || self.block(from / size)?.is_none() {
            return Ok(());
        }
        let within = (from % size) as usize..;
        self.update_block(from / size, tx, |block| block[within][..(to - from) as usize].fill(0))
    }

    fn free_blocks(&self, state: &mut State, first: u64, after: u64, txg: Txg) {
        let changes = self.change(state, txg);
        let mut later = changes.blocks.split_off(&first);
        let mut beyond = later.split_off(&after);
        changes.blocks.append(&mut beyond);
        changes.freed.add(first, after);
        changes.to_free.add(first, after);
        if after > changes.attrs.max_blkid {
            changes.attrs.max_blkid = first.saturating_sub(1);
        }
    }

    /// Frees the whole object; what it had is freed at sync.
    pub(crate) fn free(&self, tx: &Tx) -> Result<(), DmuError> {
        let mut state = self.state_mut();
        if !state.attrs().exists {
            return Err(DmuError::NotFound);
        }
        self.free_blocks(&mut state, 0, u64::MAX, tx.touch());
        let changes = self.change(&mut state, tx.touch());
        changes.spill = SpillChange::Removed;
        changes.attrs.has_spill = false;
        changes.attrs.exists = false;
        Ok(())
    }

    /// `Busy` unless the object has at most one block. `size` in bytes, a multiple of 512.
    pub fn set_block_size(&self, size: u32, tx: &Tx) -> Result<(), DmuError> {
        if size == 0 || !(size as usize).is_multiple_of(SECTOR) || size > MAX_BLOCK_SIZE {
            return Err(DmuError::Invalid("block size"));
        }
        loop {
            let old = self.block(0)?;
            let mut state = self.state_mut();
            self.check_block(&state, 0)?;
            if state.attrs().block_size == size {
                return Ok(());
            }
            if state.attrs().max_blkid != 0 {
                return Err(DmuError::Busy);
            }
            let changed = match (&old, state.locate(0)) {
                (Some(old), Place::Dirty(now)) => !Arc::ptr_eq(old, &now),
                (None, Place::Dirty(..)) | (Some(_), Place::Hole) => true,
                _ => false,
            };
            if changed {
                continue;
            }
            let changes = self.change(&mut state, tx.touch());
            changes.attrs.block_size = size;
            let mut fresh = false;
            if let Some(old) = old {
                let mut block = Block::zeroed(size as usize);
                let keep = old.len().min(block.len());
                block[..keep].copy_from_slice(&old[..keep]);
                fresh = changes.blocks.insert(0, Dirty::new(Arc::new(block))).is_none();
            }
            drop(state);
            self.report(fresh, size as usize, tx.txg());
            return Ok(());
        }
    }

    /// Replaces bytes and type. `TooBig` when it does not fit.
    pub fn set_bonus(&self, bonus_type: ObjectType, bytes: &[u8], tx: &Tx) -> Result<(), DmuError> {
        let mut state = self.state_mut();
        self.check_block(&state, 0)?;
        if bytes.len() > state.attrs().bonus_capacity() {
            return Err(DmuError::TooBig);
        }
        let changes = self.change(&mut state, tx.touch());
        changes.attrs.bonus_type = bonus_type;
        changes.attrs.bonus = bytes.to_vec().into();
        Ok(())
    }

    /// Turns the object into one of another type, its content as it is.
    pub fn set_object_type(&self, object_type: ObjectType, tx: &Tx) -> Result<(), DmuError> {
        self.change_attrs(tx, |attrs| attrs.object_type = object_type)
    }

    /// Changes bonus bytes in place; the length stays.
    pub fn update_bonus<R>(&self, tx: &Tx, f: impl FnOnce(&mut [u8]) -> R) -> Result<R, DmuError> {
        self.change_attrs(tx, |attrs| f(Arc::make_mut(&mut attrs.bonus).as_mut_slice()))
    }

    /// Replaces (whole sectors, up to 128 KiB) or removes the spill block. `TooBig` where the bonus
    /// leaves no room for its pointer: shrink that first.
    pub fn set_spill(&self, bytes: Option<&[u8]>, tx: &Tx) -> Result<(), DmuError> {
        let mut state = self.state_mut();
        self.check_block(&state, 0)?;
        let Some(bytes) = bytes else {
            let changes = self.change(&mut state, tx.touch());
            changes.spill = SpillChange::Removed;
            changes.attrs.has_spill = false;
            return Ok(());
        };
        if bytes.is_empty() || bytes.len() % SECTOR != 0 {
            return Err(DmuError::Invalid("spill size"));
        }
        let attrs = state.attrs();
        let pointer = if attrs.has_spill { 0 } else { BlkPtr::SIZE };
        if bytes.len() > MAX_SPILL_SIZE || attrs.bonus.len() + pointer > attrs.bonus_capacity() {
            return Err(DmuError::TooBig);
        }
        let changes = self.change(&mut state, tx.touch());
        let block = Arc::new(Block::from_slice(bytes));
        changes.spill = SpillChange::Set(Dirty::new(block));
        changes.attrs.has_spill = true;
        drop(state);
        self.report(true, bytes.len(), tx.txg());
        Ok(())
    }

    /// Has the dnode written again as it is.
    pub(crate) fn touch_in(&self, tx: &Tx) -> Result<(), DmuError> {
        self.change_attrs(tx, |_| ())
    }

    /// Its own checksum and compression (`ondisk` numbers; 0 follows the object set).
    pub fn set_kinds(&self, checksum: u8, compress: u8, tx: &Tx) -> Result<(), DmuError> {
        self.change_attrs(tx, |attrs| {
            attrs.checksum = checksum;
            attrs.compress = compress;
        })
    }

    fn change_attrs<R>(&self, tx: &Tx, f: impl FnOnce(&mut Attrs) -> R) -> Result<R, DmuError> {
        let mut state = self.state_mut();
        self.check_block(&state, 0)?;
        Ok(f(&mut self.change(&mut state, tx.touch()).attrs))
    }
}
