//! The intent log: its head in the object set, the chain of its blocks, and the frame of its
//! records.
//!
//! ```text
//! header (192): 0 claim_txg   8 replay_seq   16 first block   144 claim_blk_seq  152 flags  160 claim_lr_seq  168 zero
//! block's chain (184), at the block's start (zilog2 checksum) or its end (zilog):
//!   0 zero   8 next block   136 bytes used   144 … the embedded checksum (40)
//! record: 0 type (bit 63: ignore case)   8 length   16 txg   24 sequence number   32 …
//! ```
//! Source: include/sys/zil.h.

pub mod record;

use crate::BlkPtr;
use crate::malformed::{Endian, Malformed, Reader, Writer, slice_at, u64_at};

/// Replay is needed.
pub const FLAG_REPLAY_NEEDED: u64 = 1 << 0;
/// `claim_lr_seq` is valid.
pub const FLAG_CLAIM_LR_SEQ_VALID: u64 = 1 << 1;

/// Smallest log block.
pub const MIN_BLOCK_SIZE: usize = 4096;
/// Bytes of a block's chain structure, its embedded checksum included.
pub const CHAIN_SIZE: usize = 184;
/// Bytes common to all records.
pub const RECORD_HEAD: usize = 32;
/// A record of this type ignored case (create, remove, rename and kin).
pub const TX_CI: u64 = 1 << 63;

/// The head of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ZilHeader {
    /// Group in which the blocks were claimed at import; 0: not since the last.
    pub claim_txg: u64,
    /// Highest record replayed.
    pub replay_seq: u64,
    /// First block; a hole where there is no log.
    pub log: BlkPtr,
    /// Highest block claimed.
    pub claim_blk_seq: u64,
    /// `FLAG_*`.
    pub flags: u64,
    /// Highest record claimed.
    pub claim_lr_seq: u64,
}

const LOG_AT: usize = 16;

impl ZilHeader {
    pub const SIZE: usize = 192;

    pub fn decode(bytes: &[u8]) -> Result<ZilHeader, Malformed> {
        let bytes = slice_at(bytes, 0, Self::SIZE, "zil header")?;
        let word = |at| u64_at(bytes, at, Endian::Little, "zil header");
        let log = slice_at(bytes, LOG_AT, BlkPtr::SIZE, "zil header")?;
        Ok(ZilHeader {
            claim_txg: word(0)?,
            replay_seq: word(8)?,
            log: BlkPtr::decode(log, Endian::Little).map_err(|e| e.within(LOG_AT))?,
            claim_blk_seq: word(144)?,
            flags: word(152)?,
            claim_lr_seq: word(160)?,
        })
    }

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let mut to = Writer::new(&mut bytes, Endian::Little);
        to.u64(self.claim_txg);
        to.u64(self.replay_seq);
        to.bytes(&self.log.encode());
        to.u64(self.claim_blk_seq);
        to.u64(self.flags);
        to.u64(self.claim_lr_seq);
        bytes
    }
}

/// How log blocks hang together; the embedded checksum that follows is [`crate::eck`]'s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZilChain {
    pub next: BlkPtr,
    /// Bytes of the block in use, the chain included where it stands first.
    pub nused: u64,
}

impl ZilChain {
    /// The chain at the start of `bytes`.
    pub fn decode(bytes: &[u8], endian: Endian) -> Result<ZilChain, Malformed> {
        let next = slice_at(bytes, 8, BlkPtr::SIZE, "zil chain")?;
        Ok(ZilChain {
            next: BlkPtr::decode(next, endian).map_err(|e| e.within(8))?,
            nused: u64_at(bytes, 136, endian, "zil chain")?,
        })
    }

    /// Without the embedded checksum, whose 40 bytes are zero here.
    pub fn encode(&self) -> [u8; CHAIN_SIZE] {
        let mut bytes = [0; CHAIN_SIZE];
        let mut to = Writer::new(&mut bytes, Endian::Little);
        to.skip(8);
        to.bytes(&self.next.encode());
        to.u64(self.nused);
        bytes
    }
}

/// What all records begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordHead {
    /// `TX_*`, without [`TX_CI`].
    pub txtype: u64,
    pub ignores_case: bool,
    /// Bytes of the whole record, this head included.
    pub reclen: u64,
    pub txg: u64,
    pub seq: u64,
}

/// The records in the used part of a log block: each head with its whole record, until the first
/// malformed one.
pub struct Records<'a> {
    from: Reader<'a>,
}

impl<'a> Records<'a> {
    pub fn new(used: &'a [u8], endian: Endian) -> Records<'a> {
        Records { from: Reader::new(used, endian) }
    }

    fn record(&mut self) -> Option<(RecordHead, &'a [u8])> {
        let mut head = self.from.clone();
        let txtype = head.u64()?;
        let record = RecordHead {
            txtype: txtype & !TX_CI,
            ignores_case: txtype & TX_CI != 0,
            reclen: head.u64()?,
            txg: head.u64()?,
            seq: head.u64()?,
        };
        let len = usize::try_from(record.reclen).ok().filter(|len| *len >= RECORD_HEAD && len % 8 == 0)?;
        Some((record, self.from.take(len)?))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(RecordHead, &'a [u8]), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.from.is_empty() {
            return None;
        }
        let at = self.from.position();
        let found = self.record().ok_or(Malformed::at("zil record", at));
        if found.is_err() {
            self.from.rest();
        }
        Some(found)
    }
}

/// A write to a file. Its data follows, or is in a block of its own that only this record leads to.
pub const TX_WRITE: u64 = 9;
/// Where such a record has its block pointer (`lr_write_t`).
const WRITE_BLKPTR: usize = RECORD_HEAD + 4 * 8;

/// The block that a write record leads to, a hole where the data is in the record; `None` for other
/// records.
pub fn write_target(txtype: u64, record: &[u8], endian: Endian) -> Option<Result<BlkPtr, Malformed>> {
    let decode = |bytes| BlkPtr::decode(bytes, endian).map_err(|e| e.within(WRITE_BLKPTR));
    (txtype == TX_WRITE)
        .then(|| slice_at(record, WRITE_BLKPTR, BlkPtr::SIZE, "zil write record").and_then(decode))
}

#[cfg(test)]
mod tests;
