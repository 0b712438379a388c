//! Whether an intent log holds changes that never reached their object set.
//!
//! A log that was closed properly still leads to its last blocks. What counts is whether a record in the chain belongs
//! to a transaction group that was not written, or, once the log has been claimed by an import, to one from that
//! claim on. The chain ends where a block does not sum to what it should.
//!
//! Source: module/zfs/zil.c (`zil_parse`, `zil_replay_log_record`).

use env::IoClass;
use ondisk::zil::{Records, ZilHeader};
use ondisk::{BlkPtr, Endian};

use super::Dsl;
use crate::Result;

/// No chain is longer.
const BLOCKS_MAX: usize = 1 << 20;
/// Which word of a log block's checksum is its place in the chain.
const SEQUENCE: usize = 3;

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
        let block = self.parts.store().read_log_block(bp).ok()?;
        Some((block.next, newest_record(&block.records, block.endian, replayed)))
    }
}

fn newest_record(used: &[u8], endian: Endian, replayed: u64) -> u64 {
    let records = Records::new(used, endian).map_while(std::result::Result::ok);
    records.filter(|(head, _)| head.seq > replayed).map(|(head, _)| head.txg).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
