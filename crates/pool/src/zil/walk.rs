//! Following a log on disk, block by block, record by record.
//!
//! The chain ends where a block does not sum to what its pointer says: it was allocated and never
//! written. Where no disk answers it ends too, but nobody knows whether that is its end
//! ([`Found::is_unknown`]). What the header says was claimed is the limit of a log that an import
//! has seen. Source: `zil_parse` in module/zfs/zil.c.

use std::collections::HashSet;

use ondisk::zil::{self, RecordHead, Records, ZilHeader};
use ondisk::{BlkPtr, Endian};
use storage::{LogBlock, ReadError, Storage};

use super::commit::SEQUENCE;
use crate::frees::FreeQueue;

/// No chain is longer.
const BLOCKS_MAX: usize = 1 << 20;

/// The blocks of a log as the header has them. The last one may never have been written: then it
/// has no content.
pub(crate) struct Walk<'a> {
    storage: &'a Storage,
    next: BlkPtr,
    /// Newest block that was claimed.
    limit: u64,
    left: usize,
}

/// One step of a [`Walk`].
pub(crate) struct Found {
    pub bp: BlkPtr,
    pub content: Result<LogBlock, ReadError>,
}

impl Found {
    /// Its number in the chain.
    pub fn sequence(&self) -> u64 {
        self.bp.checksum()[SEQUENCE]
    }

    /// No disk has answered: it may have been written, and promised, or not.
    pub fn is_unknown(&self) -> bool {
        self.content.as_ref().is_err_and(|error| error.may_pass())
    }
}

impl<'a> Walk<'a> {
    pub fn new(storage: &'a Storage, header: &ZilHeader) -> Walk<'a> {
        let limit = if header.claim_txg == 0 { u64::MAX } else { header.claim_blk_seq };
        Walk { storage, next: header.log, limit, left: BLOCKS_MAX }
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let bp = std::mem::replace(&mut self.next, BlkPtr::HOLE);
        let sequence = bp.checksum()[SEQUENCE];
        if bp.is_hole() || bp.validate().is_err() || sequence > self.limit || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let content = self.storage.read_log_block(&bp);
        if let Ok(block) = &content
            && block.next.checksum()[SEQUENCE] == sequence.wrapping_add(1)
        {
            self.next = block.next;
        }
        Some(Found { bp, content })
    }
}

/// The records of a block, until the first that makes no sense.
pub(crate) fn records(block: &LogBlock) -> impl Iterator<Item = (RecordHead, &[u8], Endian)> {
    let endian = block.endian;
    Records::new(&block.records, endian).map_while(Result::ok).map(move |(head, bytes)| (head, bytes, endian))
}

/// The block of a file that a record leads to, if it was born in `since` or later: then nobody else
/// refers to it.
pub(crate) fn target(head: &RecordHead, bytes: &[u8], endian: Endian, since: u64) -> Option<BlkPtr> {
    let bp = zil::write_target(head.txtype, bytes, endian)?.ok()?;
    let has_space = !bp.is_hole() && !bp.is_embedded();
    (has_space && bp.validate().is_ok() && bp.birth() >= since).then_some(bp)
}

/// Blocks of files that only the records of a claimed log lead to. Records that were not claimed
/// are as if they were not there; two may lead to the same block, which counts once.
pub(crate) struct Targets<'a> {
    header: &'a ZilHeader,
    seen: HashSet<(u32, u64)>,
}

impl<'a> Targets<'a> {
    pub fn new(header: &'a ZilHeader) -> Targets<'a> {
        Targets { header, seen: HashSet::new() }
    }

    /// Those of the next block of the log.
    pub fn of(&mut self, block: &LogBlock) -> Vec<BlkPtr> {
        let header = self.header;
        if header.claim_txg == 0 {
            return Vec::new();
        }
        let claimed = records(block).filter(|(head, ..)| head.seq <= header.claim_lr_seq);
        let targets =
            claimed.filter_map(|(head, bytes, endian)| target(&head, bytes, endian, header.claim_txg));
        targets.filter(|bp| self.seen.insert((bp.dva(0).vdev, bp.dva(0).offset))).collect()
    }
}

/// Gives back a log on disk that nobody will read again, and what only its records lead to.
pub(crate) fn free_on_disk(storage: &Storage, header: &ZilHeader, frees: &FreeQueue) {
    let mut targets = Targets::new(header);
    for found in Walk::new(storage, header) {
        frees.free(&found.bp);
        found.content.iter().flat_map(|block| targets.of(block)).for_each(|bp| frees.free(&bp));
    }
}
