//! Reading an object: the newest state, overlays first.

use std::sync::Arc;

use ondisk::BlkPtr;
use ondisk::zbookmark::SPILL_BLKID;
use stdx::trail::{self, Source};

use super::{Chunk, Dnode, Seek};
use crate::DmuError;
use crate::error::read_failed;
use crate::overlay::{Place, State};
use crate::owner::LostBlock;
use crate::prefetch;
use crate::store::Block;
use crate::tree::{Step, Walker, check_pointer};

/// The most bytes one read may ask for.
pub const MAX_READ: usize = 64 << 20;

impl Dnode {
    /// The newest bytes, this open txg's included; `len` bytes whatever the object's size, in
    /// order.
    pub fn read(&self, offset: u64, len: usize) -> Result<Vec<Chunk>, DmuError> {
        let end = offset.checked_add(len as u64).ok_or(DmuError::TooBig)?;
        if len == 0 {
            return Ok(Vec::new());
        }
        if len > MAX_READ {
            return Err(DmuError::TooBig);
        }
        let state = self.state();
        let size = u64::from(state.attrs().block_size);
        let (first, last) = (offset / size, (end - 1) / size);
        let places: Vec<Place> = (first..=last).map(|blkid| state.locate(blkid)).collect();
        let clean: Vec<u64> =
            (first..=last).zip(&places).filter(|(_, p)| matches!(p, Place::Clean)).map(|(b, _)| b).collect();
        let walker = (!clean.is_empty()).then(|| self.walker(&state));
        drop(state);
        if trail::is_followed() {
            let dirty = places.iter().filter(|place| matches!(place, Place::Dirty(_)));
            trail::came_from(Source::Overlay, dirty.count());
        }
        let mut read = Vec::new();
        if let Some(mut walker) = walker {
            prefetch::before_read(&self.streams, &mut walker, first, last);
            read = walker.blocks(&clean)?;
        }
        let mut read = read.into_iter();
        let mut chunks = Vec::with_capacity(places.len());
        for (blkid, place) in (first..=last).zip(places) {
            let block = match place {
                Place::Dirty(block) => Some(block),
                Place::Hole => None,
                Place::Clean => read.next().expect("one answer for each clean block"),
            };
            let start = blkid * size;
            let from = offset.saturating_sub(start) as usize;
            let to = (end - start).min(size) as usize;
            push_chunk(&mut chunks, block, from, to);
        }
        Ok(chunks)
    }

    /// As [`Dnode::read`], copied into one buffer; for small things.
    pub fn read_bytes(&self, offset: u64, len: usize) -> Result<Vec<u8>, DmuError> {
        let mut bytes = Vec::with_capacity(len);
        for chunk in self.read(offset, len)? {
            match chunk {
                Chunk::Data(block, range) => bytes.extend_from_slice(&block[range]),
                Chunk::Zero(len) => bytes.resize(bytes.len() + len, 0),
            }
        }
        Ok(bytes)
    }

    /// A whole block, `block_size` bytes; `None` is a hole.
    pub fn block(&self, blkid: u64) -> Result<Option<Arc<Block>>, DmuError> {
        let state = self.state();
        let size = state.attrs().block_size as usize;
        let mut walker = match state.locate(blkid) {
            Place::Clean => self.walker(&state),
            Place::Hole => return Ok(None),
            Place::Dirty(block) => return Ok(Some(block)),
        };
        drop(state);
        Ok(walker.block(blkid)?.map(|block| padded(block, size)))
    }

    /// The newest spill block.
    pub fn spill(&self) -> Result<Option<Arc<Block>>, DmuError> {
        let state = self.state();
        match state.locate_spill() {
            Place::Dirty(block) => return Ok(Some(block)),
            Place::Hole => return Ok(None),
            Place::Clean => {}
        }
        let bp = state.clean.phys.spill.expect("located in the clean dnode");
        let _epoch = self.core.store.epoch();
        drop(state);
        if bp.is_hole() {
            return Ok(None);
        }
        check_pointer(&bp, self.object, 0)?;
        let block = self.core.store.read(&bp, env::IoClass::SyncRead, self.core.keep());
        block.map(Some).map_err(|e| {
            let (object, blkid) = (self.object, SPILL_BLKID);
            self.core.owner.lost(&LostBlock { object, level: 0, blkid, birth: bp.physical_birth() });
            read_failed(e, object, 0)
        })
    }

    /// Reads blocks into the cache, together.
    pub(crate) fn warm(&self, blkids: &[u64]) -> Result<(), DmuError> {
        let state = self.state();
        let clean = blkids.iter().copied().filter(|&b| matches!(state.locate(b), Place::Clean));
        let clean: Vec<u64> = clean.collect();
        let mut walker = self.walker(&state);
        drop(state);
        if clean.is_empty() { Ok(()) } else { walker.blocks(&clean).map(drop) }
    }

    /// Asks for these bytes to be in the cache soon.
    pub fn prefetch(&self, offset: u64, len: u64) {
        let state = self.state();
        let size = u64::from(state.attrs().block_size);
        let last = offset.saturating_add(len.max(1) - 1) / size;
        let last = last.min(state.clean.phys.maxblkid);
        let mut walker = self.walker(&state);
        drop(state);
        prefetch::range(&mut walker, offset / size, last);
    }

    /// The first byte at or after `offset` that lies in a block of data (or in a hole), dirty state
    /// included; exact to whole blocks. `None`: no more of them before the end of the last block.
    pub fn next_offset(&self, offset: u64, seek: Seek) -> Result<Option<u64>, DmuError> {
        loop {
            let state = self.state();
            let size = u64::from(state.attrs().block_size);
            let generation = state.generation;
            drop(state);
            let found = match seek {
                Seek::Data => self.next_data(offset / size, generation)?,
                Seek::Hole => self.next_hole(offset / size, generation)?,
            };
            match found {
                Search::Stale => continue,
                Search::None => return Ok(None),
                Search::At(blkid) => return Ok(Some(offset.max(blkid * size))),
            }
        }
    }

    /// Reads all that leads to the blocks on disk from a byte on: who is about to free them in a
    /// group learns now what cannot be read, for the group would be lost by it
    /// (`dmu_tx_check_ioerr` in module/zfs/dmu_tx.c).
    pub fn check_reach(&self, offset: u64) -> Result<(), DmuError> {
        let state = self.state();
        let first = offset / u64::from(state.attrs().block_size);
        let mut walker = self.walker(&state);
        drop(state);
        let enter = |bp: &BlkPtr, level: u8| {
            if bp.is_hole() || level == 0 { Step::Skip } else { Step::Enter }
        };
        walker.find(first, &mut { enter }).map(drop)
    }

    fn next_data(&self, start: u64, generation: u64) -> Result<Search, DmuError> {
        let mut at = start;
        loop {
            let state = self.state();
            if state.generation != generation {
                return Ok(Search::Stale);
            }
            if at > state.attrs().max_blkid {
                return Ok(Search::None);
            }
            let dirty = nearest_dirty(&state, at);
            let mut walker = self.walker(&state);
            drop(state);
            let clean = walker.find_data(at, true)?;
            let Some(next) = [dirty, clean].into_iter().flatten().min() else { return Ok(Search::None) };
            let state = self.state();
            match state.locate(next) {
                Place::Dirty(..) => return Ok(Search::At(next)),
                Place::Clean if clean == Some(next) => return Ok(Search::At(next)),
                _ => at = hole_end(&state, next),
            }
        }
    }

    fn next_hole(&self, start: u64, generation: u64) -> Result<Search, DmuError> {
        let mut at = start;
        loop {
            let state = self.state();
            if state.generation != generation {
                return Ok(Search::Stale);
            }
            if at > state.attrs().max_blkid {
                return Ok(Search::None);
            }
            match state.locate(at) {
                Place::Hole => return Ok(Search::At(at)),
                Place::Dirty(..) => {
                    at += 1;
                    continue;
                }
                Place::Clean => {}
            }
            let freed = state.newest_first().filter_map(|c| c.freed.next_from(at)).min();
            let mut walker = self.walker(&state);
            drop(state);
            let last = walker.phys().maxblkid;
            let clean = walker.find_data(at, false)?.unwrap_or(last + 1);
            if clean == at {
                return Ok(Search::At(at));
            }
            at = freed.map_or(clean, |f| f.min(clean));
        }
    }

    /// A walker over the state's clean tree; its epoch begins under the state's lock.
    pub(crate) fn walker(&self, state: &State) -> Walker<'_> {
        let epoch = self.core.store.epoch();
        let below = (&*self.core.store, &*self.core.owner);
        Walker::new(below, state.clean.clone(), self.object, epoch, self.core.keep())
    }
}

enum Search {
    At(u64),
    None,
    /// The clean tree was replaced meanwhile.
    Stale,
}

/// The first block at or after `at` that some group has written.
fn nearest_dirty(state: &State, at: u64) -> Option<u64> {
    state.newest_first().filter_map(|c| c.blocks.range(at..).next().map(|(&b, _)| b)).min()
}

/// The end of the freed range that hides `blkid`, or the block after it.
fn hole_end(state: &State, blkid: u64) -> u64 {
    let mut end = blkid + 1;
    for changes in state.newest_first() {
        // A block written in a newer group ends the hole sooner.
        let range_end = changes.freed.covering(blkid).unwrap_or(end);
        let visible = nearest_dirty(state, blkid + 1).unwrap_or(u64::MAX);
        end = end.max(range_end.min(visible));
    }
    end
}

fn push_chunk(chunks: &mut Vec<Chunk>, block: Option<Arc<Block>>, from: usize, to: usize) {
    let have = block.as_ref().map_or(0, |b| b.len()).clamp(from, to);
    if let Some(block) = block.filter(|_| have > from) {
        chunks.push(Chunk::Data(block, from..have));
    }
    if to > have {
        match chunks.last_mut() {
            Some(Chunk::Zero(len)) => *len += to - have,
            _ => chunks.push(Chunk::Zero(to - have)),
        }
    }
}

/// The block with zeros up to `size`, should the disk have it shorter.
pub(super) fn padded(block: Arc<Block>, size: usize) -> Arc<Block> {
    if block.len() >= size {
        return block;
    }
    let mut longer = Block::zeroed(size);
    longer[..block.len()].copy_from_slice(&block);
    Arc::new(longer)
}
