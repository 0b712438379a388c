//! Whether an intent log holds changes that never reached their object set.
//!
//! A log that was closed properly still leads to its last blocks. What counts is whether a record in the chain belongs
//! to a transaction group that was not written, or, once the log has been claimed by an import, to one from that
//! claim on. The chain ends where a block does not sum to what it should.
//!
//! Source: module/zfs/zil.c (`zil_parse`, `zil_replay_log_record`).

use env::IoClass;
use ondisk::eck::Eck;
use ondisk::zil::{CHAIN_SIZE, Records, ZilChain, ZilHeader};
use ondisk::{BlkPtr, ChecksumKind, Endian};

use super::Dsl;
use crate::Result;

/// No chain is longer.
const BLOCKS_MAX: usize = 1 << 20;
/// Which word of a log block's checksum is its place in the chain.
const SEQUENCE: usize = 3;
/// Where the embedded checksum of a chained block lies.
const ECK_AT: usize = CHAIN_SIZE - Eck::SIZE;

impl Dsl {
    /// Names of datasets with a log that would have to be replayed.
    pub fn unreplayed_logs(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let root = self.root()?;
        for name in self.names_below(&root)? {
            let object = self.find_dir(&name)?.phys().head_dataset_obj;
            if object == 0 {
                continue;
            }
            let phys = self.mos.dataset(object)?;
            if self.needs_replay(&self.log_of(&phys.bp)?) {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// The head of the log of an object set.
    pub(super) fn log_of(&self, root: &BlkPtr) -> Result<ZilHeader> {
        if root.is_hole() {
            return Ok(ZilHeader::default());
        }
        let block = self.parts.store().read(root, IoClass::SyncRead).map_err(|_| crate::PoolError::Io)?;
        Ok(ondisk::objset::ObjsetPhys::decode(&block, block.endian())?.zil_header)
    }

    /// Gives back the blocks of a log nobody will read again. What its records point to belongs to files.
    pub(super) fn free_log(&self, header: &ZilHeader) {
        let mut bp = header.log;
        for _ in 0..BLOCKS_MAX {
            if bp.is_hole() {
                return;
            }
            self.parts.frees.free(&bp);
            let Some((next, _)) = self.log_block(&bp, 0) else { return };
            if next.checksum()[SEQUENCE] != bp.checksum()[SEQUENCE].wrapping_add(1) {
                return;
            }
            bp = next;
        }
    }

    fn needs_replay(&self, header: &ZilHeader) -> bool {
        let written = match header.claim_txg {
            0 => self.parts.txgs.synced(),
            claimed => claimed - 1,
        };
        let mut bp = header.log;
        for _ in 0..BLOCKS_MAX {
            let Some((next, newest)) = self.log_block(&bp, header.replay_seq) else { return false };
            if newest > written {
                return true;
            }
            let follows = next.checksum()[SEQUENCE] == bp.checksum()[SEQUENCE].wrapping_add(1);
            if next.is_hole() || !follows {
                return false;
            }
            bp = next;
        }
        true
    }

    /// The next block of the chain, and the newest group of this one's records that were not replayed; `None` where
    /// the chain ends.
    fn log_block(&self, bp: &BlkPtr, replayed: u64) -> Option<(BlkPtr, u64)> {
        if bp.is_hole() {
            return None;
        }
        let mut unchecked = *bp;
        unchecked.set_checksum(ChecksumKind::Off, bp.checksum());
        let block = self.parts.store().read(&unchecked, IoClass::SyncRead).ok()?;
        let kind = bp.checksum_kind_raw();
        let chained = kind == ChecksumKind::Zilog2 as u8;
        let eck = if chained { Eck::decode(block.get(ECK_AT..)?) } else { Eck::decode_tail(&block) }.ok()?;
        if codec::embedded_checksum(kind, &block, bp.checksum()).ok()? != eck.checksum {
            return None;
        }
        let (chain, records) = if chained {
            let chain = ZilChain::decode(&block, eck.endian).ok()?;
            let used = block.get(CHAIN_SIZE..usize::try_from(chain.nused).ok()?)?;
            (chain, used)
        } else {
            let at = block.len().checked_sub(CHAIN_SIZE)?;
            let chain = ZilChain::decode(block.get(at..)?, eck.endian).ok()?;
            let used = block.get(..usize::try_from(chain.nused).ok()?.min(at))?;
            (chain, used)
        };
        Some((chain.next, newest_record(records, eck.endian, replayed)))
    }
}

fn newest_record(used: &[u8], endian: Endian, replayed: u64) -> u64 {
    let records = Records::new(used, endian).map_while(std::result::Result::ok);
    records.filter(|(head, _)| head.seq > replayed).map(|(head, _)| head.txg).max().unwrap_or(0)
}
