//! Walking the clean block tree of an object.
//!
//! The tree hangs from a snapshot of the dnode ([`Clean`]), so a walk sees one state from beginning
//! to end, whatever is synced meanwhile; the epoch it holds keeps the blocks in place. Blocks come
//! from the cache as a rule: a walker keeps only the path it is on.

use std::sync::Arc;

use env::IoClass;
use ondisk::dnode::DnodePhys;
use ondisk::{BlkPtr, Endian};

use crate::DmuError;
use crate::error::read_failed;
use crate::overlay::Clean;
use crate::owner::{BlockOwner, LostBlock};
use crate::store::{Block, BlockStore, Foresight, Keep, ReadError};

/// What a search does at a block pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing of interest there or below.
    Skip,
    /// Look below; at level 0 the same as `Take`.
    Enter,
    /// This is it: the first block below (or at the start of the search) is the answer.
    Take,
}

/// See the module.
pub struct Walker<'a> {
    store: &'a dyn BlockStore,
    owner: &'a dyn BlockOwner,
    clean: Arc<Clean>,
    object: u64,
    class: IoClass,
    keep: Keep,
    /// By level: the last block visited.
    path: Vec<Option<(u64, Arc<Block>)>>,
    _epoch: Box<dyn Send>,
}

impl<'a> Walker<'a> {
    /// `epoch` was taken no later than `clean`.
    pub fn new(
        (store, owner): (&'a dyn BlockStore, &'a dyn BlockOwner),
        clean: Arc<Clean>,
        object: u64,
        epoch: Box<dyn Send>,
        keep: Keep,
    ) -> Walker<'a> {
        let path = vec![None; usize::from(clean.phys.nlevels)];
        Walker { store, owner, clean, object, class: IoClass::SyncRead, keep, path, _epoch: epoch }
    }

    pub fn phys(&self) -> &DnodePhys {
        &self.clean.phys
    }

    /// Asks for these to be in the cache soon.
    pub fn prefetch(&self, bps: Vec<BlkPtr>) {
        self.store.prefetch(bps, self.keep);
    }

    /// What a read was to whoever reads ahead.
    pub fn foresaw(&self, what: Foresight) {
        self.store.foresaw(what);
    }

    /// The highest indirect block above `blkid` that is not in the cache while its own pointer is.
    pub fn missing_indirect(&mut self, blkid: u64) -> Option<BlkPtr> {
        let epbs = self.clean.phys.epbs();
        (1..self.clean.phys.nlevels).rev().find_map(|level| {
            let bp = self.cached_pointer(level, block_above(blkid, level, epbs))?;
            let missing = !bp.is_hole() && bp.validate().is_ok() && self.store.cached(&bp).is_none();
            missing.then_some(bp)
        })
    }

    /// The pointer to a block; a hole where the tree has none.
    pub fn pointer(&mut self, level: u8, blkid: u64) -> Result<BlkPtr, DmuError> {
        let phys = &self.clean.phys;
        if level + 1 >= phys.nlevels {
            let root = usize::try_from(blkid).ok().and_then(|i| phys.blkptrs.get(i));
            return Ok(root.filter(|_| level + 1 == phys.nlevels).copied().unwrap_or(BlkPtr::HOLE));
        }
        let epbs = phys.epbs();
        let index = (blkid & ((1 << epbs) - 1)) as usize;
        let Some(parent) = self.indirect(level + 1, blkid >> epbs)? else {
            return Ok(BlkPtr::HOLE);
        };
        BlkPtr::decode_at(&parent, index, Endian::Little).map_err(|_| self.corrupt(blkid))
    }

    /// The pointer, if finding it needs no disk.
    pub fn cached_pointer(&mut self, level: u8, blkid: u64) -> Option<BlkPtr> {
        let phys = &self.clean.phys;
        if level + 1 >= phys.nlevels {
            return self.pointer(level, blkid).ok();
        }
        let epbs = phys.epbs();
        let index = (blkid & ((1 << epbs) - 1)) as usize;
        let parent = self.cached_indirect(level + 1, blkid >> epbs)?;
        BlkPtr::decode_at(&parent, index, Endian::Little).ok()
    }

    fn cached_indirect(&mut self, level: u8, blkid: u64) -> Option<Arc<Block>> {
        if let Some(block) = self.on_path(level, blkid) {
            return Some(block);
        }
        let bp = self.cached_pointer(level, blkid)?;
        let block = if bp.is_hole() { None } else { self.store.cached(&bp) }?;
        self.path[usize::from(level)] = Some((blkid, block.clone()));
        Some(block)
    }

    fn on_path(&self, level: u8, blkid: u64) -> Option<Arc<Block>> {
        let (at, block) = self.path.get(usize::from(level))?.as_ref()?;
        (*at == blkid).then(|| block.clone())
    }

    /// An indirect block; `None` is a hole.
    fn indirect(&mut self, level: u8, blkid: u64) -> Result<Option<Arc<Block>>, DmuError> {
        if let Some(block) = self.on_path(level, blkid) {
            return Ok(Some(block));
        }
        let bp = self.pointer(level, blkid)?;
        if bp.is_hole() {
            return Ok(None);
        }
        let block = self.read(&bp, level, blkid)?;
        if block.len() as u64 != self.clean.phys.indirect_block_size() {
            return Err(self.corrupt(blkid));
        }
        self.path[usize::from(level)] = Some((blkid, block.clone()));
        Ok(Some(block))
    }

    fn corrupt(&self, block: u64) -> DmuError {
        DmuError::Corrupt { object: self.object, block }
    }

    fn read(&self, bp: &BlkPtr, level: u8, blkid: u64) -> Result<Arc<Block>, DmuError> {
        check_pointer(bp, self.object, blkid)?;
        self.store.read(bp, self.class, self.keep).map_err(|e| self.failed(e, bp, level, blkid))
    }

    fn failed(&self, error: ReadError, bp: &BlkPtr, level: u8, blkid: u64) -> DmuError {
        self.owner.lost(&LostBlock { object: self.object, level, blkid, birth: bp.physical_birth() });
        read_failed(error, self.object, blkid)
    }

    /// A data block; `None` is a hole.
    pub fn block(&mut self, blkid: u64) -> Result<Option<Arc<Block>>, DmuError> {
        let bp = self.pointer(0, blkid)?;
        if bp.is_hole() { Ok(None) } else { self.read(&bp, 0, blkid).map(Some) }
    }

    /// Several data blocks, ascending, read together.
    pub fn blocks(&mut self, blkids: &[u64]) -> Result<Vec<Option<Arc<Block>>>, DmuError> {
        if let [one] = blkids {
            return Ok(vec![self.block(*one)?]);
        }
        let pointers = blkids.iter().map(|&b| self.pointer(0, b)).collect::<Result<Vec<_>, _>>()?;
        let mut wanted = Vec::with_capacity(pointers.len());
        for (bp, &blkid) in pointers.iter().zip(blkids).filter(|(bp, _)| !bp.is_hole()) {
            check_pointer(bp, self.object, blkid)?;
            wanted.push(*bp);
        }
        let mut read = self.store.read_many(&wanted, self.class, self.keep).into_iter();
        let answer = pointers.iter().zip(blkids).map(|(bp, &blkid)| {
            if bp.is_hole() {
                return Ok(None);
            }
            let block = read.next().expect("read_many answers for each");
            block.map(Some).map_err(|e| self.failed(e, bp, 0, blkid))
        });
        answer.collect()
    }

    /// The first data block at or after `start`, and up to the tree's last, that `step` takes.
    /// `step` sees the pointers from the top down, with their level; holes too.
    pub fn find(
        &mut self,
        start: u64,
        step: &mut dyn FnMut(&BlkPtr, u8) -> Step,
    ) -> Result<Option<u64>, DmuError> {
        let (top, epbs) = (self.clean.phys.nlevels - 1, self.clean.phys.epbs());
        // Whatever the dnode says, there is nothing where no pointer of its own leads.
        let last = self.clean.phys.maxblkid.min(self.clean.phys.capacity_blocks().saturating_sub(1));
        let mut at = start;
        let mut level = top;
        // The search goes down by entering and on by skipping; after a skip it climbs as far as a
        // new parent begins.
        while at <= last {
            let blkid = block_above(at, level, epbs);
            let bp = self.pointer(level, blkid)?;
            match step(&bp, level) {
                Step::Take => return Ok(Some(at)),
                Step::Enter if level == 0 => return Ok(Some(at)),
                Step::Enter if !bp.is_hole() => level -= 1,
                Step::Enter | Step::Skip => {
                    let Some(next) = first_below(blkid + 1, level, epbs) else { return Ok(None) };
                    at = next;
                    while level < top && at & mask(level + 1, epbs) == 0 {
                        level += 1;
                    }
                }
            }
        }
        Ok(None)
    }

    /// The first block at or after `start` that is (or is not) a hole.
    pub fn find_data(&mut self, start: u64, data: bool) -> Result<Option<u64>, DmuError> {
        let epbs = self.clean.phys.epbs();
        let mut find = |bp: &BlkPtr, level: u8| {
            if data {
                return if bp.is_hole() { Step::Skip } else { Step::Enter };
            }
            let span = 1u64.checked_shl(u32::from(level) * epbs).unwrap_or(u64::MAX);
            match (bp.is_hole(), level) {
                (true, _) => Step::Take,
                (false, 0) => Step::Skip,
                (false, _) if bp.fill() == span => Step::Skip,
                (false, _) => Step::Enter,
            }
        };
        self.find(start, &mut find)
    }
}

/// The block of `level` above (or at) data block `blkid`.
pub fn block_above(blkid: u64, level: u8, epbs: u32) -> u64 {
    blkid.checked_shr(u32::from(level) * epbs).unwrap_or(0)
}

/// The first data block below a block; `None` beyond 2^64.
pub fn first_below(blkid: u64, level: u8, epbs: u32) -> Option<u64> {
    let shift = u32::from(level) * epbs;
    if blkid == 0 { Some(0) } else { blkid.checked_shl(shift).filter(|&b| b >> shift == blkid) }
}

fn mask(level: u8, epbs: u32) -> u64 {
    1u64.checked_shl(u32::from(level) * epbs).unwrap_or(0).wrapping_sub(1)
}

/// Refuses to follow what storage could not make sense of.
pub fn check_pointer(bp: &BlkPtr, object: u64, block: u64) -> Result<(), DmuError> {
    if bp.is_redacted() {
        return Err(DmuError::Io);
    }
    if bp.is_encrypted() {
        return Err(DmuError::Unsupported("encrypted block"));
    }
    bp.validate().map_err(|_| DmuError::Corrupt { object, block })
}
