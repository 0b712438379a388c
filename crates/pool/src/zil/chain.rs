//! The blocks of a log that count, oldest first; the last one is open: allocated, named by the
//! block before or by the header, and not written yet.

use std::collections::VecDeque;

use ondisk::BlkPtr;
use ondisk::zil::{CHAIN_SIZE, MIN_BLOCK_SIZE, ZilHeader};
use stdx::mark::mark;

/// Largest log block (`zil_maxblocksize`).
const BLOCK_MAX: usize = 128 << 10;
/// So many of the last blocks are asked how large the next should be.
const MEMORY: usize = 16;

/// Which chain a block is of, as far as a word can tell.
pub(super) fn log_id(bp: &BlkPtr) -> u64 {
    bp.checksum()[0]
}

/// A block of the chain.
pub(super) struct Block {
    pub bp: BlkPtr,
    /// The newest group that it belongs to: its own allocation's, or a record's.
    pub max_txg: u64,
    /// Its write is over, well or badly; until then it may not be freed.
    pub landed: bool,
}

/// See the module.
#[derive(Default)]
pub(super) struct Chain {
    /// The header leads here from this group on.
    pub since: u64,
    blocks: VecDeque<Block>,
    /// Blocks of files that only records lead to, freed with the chain.
    targets: Vec<BlkPtr>,
    /// Number of the newest record.
    pub seq: u64,
    /// It has come to its end; what was not durable in it waits for the group.
    pub retiring: bool,
    /// A block did not reach the disk: nothing behind it counts.
    pub broken: bool,
    /// Bytes that were wanted by the last blocks.
    wanted: VecDeque<usize>,
}

impl Chain {
    /// A new one that begins at `first`, allocated in `txg`.
    pub fn new(first: BlkPtr, txg: u64) -> Chain {
        let blocks = VecDeque::from([Block { bp: first, max_txg: txg, landed: false }]);
        Chain { since: txg, blocks, ..Chain::default() }
    }

    /// One from disk that was replayed: it is only there to be given back.
    pub fn replayed(blocks: Vec<BlkPtr>, targets: Vec<BlkPtr>) -> Chain {
        let blocks = blocks.into_iter().map(|bp| Block { bp, max_txg: 0, landed: true }).collect();
        Chain { blocks, targets, retiring: true, ..Chain::default() }
    }

    /// Whether a header of `txg` may lead to it.
    pub fn exists_in(&self, txg: u64) -> bool {
        self.since <= txg
    }

    /// Whether a commit may rely on it, `synced` being the last durable group.
    pub fn is_usable(&self, synced: u64) -> bool {
        !self.retiring && self.since <= synced
    }

    /// What all its blocks have in common, and those of no other chain.
    pub fn id(&self) -> u64 {
        self.blocks.front().map_or(0, |block| log_id(&block.bp))
    }

    /// The block to be filled; `None` where a chain ends for want of space.
    pub fn open(&self) -> Option<&Block> {
        self.blocks.back().filter(|block| !block.landed)
    }

    /// Bytes of records that the open block takes.
    pub fn room(&self) -> usize {
        self.open().map_or(0, |block| block.bp.lsize() as usize - CHAIN_SIZE)
    }

    /// How large to make the next block, when so many bytes would have been written now.
    pub fn next_size(&mut self, wanted: usize) -> usize {
        if self.wanted.len() == MEMORY {
            self.wanted.pop_front();
        }
        self.wanted.push_back(wanted);
        let most = self.wanted.iter().max().copied().unwrap_or(0);
        (most + CHAIN_SIZE).next_multiple_of(MIN_BLOCK_SIZE).clamp(MIN_BLOCK_SIZE, BLOCK_MAX)
    }

    /// The open block is about to be written with records of groups up to `txg`; `next` follows.
    pub fn advance(&mut self, txg: u64, next: Option<(BlkPtr, u64)>) {
        let open = self.blocks.back_mut().expect("a chain has an open block");
        open.max_txg = open.max_txg.max(txg);
        match next {
            Some((bp, txg)) => self.blocks.push_back(Block { bp, max_txg: txg, landed: false }),
            None => self.retiring = true,
        }
    }

    /// The write of a block is over.
    pub fn landed(&mut self, bp: &BlkPtr, well: bool) {
        // It is one of the last; before them may be thousands, all of the groups that are not
        // durable.
        if let Some(block) = self.blocks.iter_mut().rev().find(|block| block.bp == *bp) {
            block.landed = true;
        }
        if !well {
            mark("log chain breaks");
            (self.broken, self.retiring) = (true, true);
        }
    }

    /// Gives back what nobody needs once `txg` is durable, and tells what the header has to say. A
    /// chain that retires ends as soon as nothing of it is under way (`idle`) and all its groups
    /// are durable.
    pub fn settle(&mut self, txg: u64, idle: bool, mut free: impl FnMut(&BlkPtr)) -> ZilHeader {
        if self.retiring && idle && self.blocks.iter().all(|block| block.max_txg <= txg) {
            self.blocks.drain(..).for_each(|block| free(&block.bp));
            self.targets.drain(..).for_each(|bp| free(&bp));
            return ZilHeader::default();
        }
        let is_over = |block: &Block| block.landed && block.max_txg <= txg;
        while self.blocks.len() > 1 && self.blocks.front().is_some_and(is_over) {
            if let Some(block) = self.blocks.pop_front() {
                free(&block.bp);
            }
        }
        ZilHeader { log: self.blocks.front().map_or(BlkPtr::HOLE, |block| block.bp), ..ZilHeader::default() }
    }
}

#[cfg(test)]
mod tests;
