//! Claiming intent logs: at import, before anything else is allocated, the blocks of all logs are
//! taken into use.
//!
//! Blocks that were written after the last durable group are in no space map. What a log leads to
//! may be needed until its file system is opened and replays it, so it is claimed for the first
//! group of the import, and the header says how far. A record that leads to a block which cannot be
//! read is the end of its log.
//!
//! A log ends where a block was never written. Where no disk answers, nobody knows whether it was:
//! what was promised is not given up for that, unless an operator says so.
//!
//! What was under way when the power went may be on some disks only. From the claim on it is waited
//! for: losing as many disks as the pool can do without must not make it unreadable, so it is put
//! on the others. Should the import fail then, nothing is lost by that: as long as an uberblock
//! leads to the log, or the next one would, nobody else has its places.
//!
//! Source: `zil_claim` and kin in module/zfs/zil.c.

use std::collections::HashSet;
use std::sync::Arc;

use dmu::{DmuError, Tx};
use env::IoClass;
use ondisk::zil::{FLAG_CLAIM_LR_SEQ_VALID, FLAG_REPLAY_NEEDED, ZilHeader};
use ondisk::{BlkPtr, objset::ObjsetPhys};

use super::Dsl;
use super::dataset::Dataset;
use super::open::ENCRYPTED;
use crate::zil::{LoggedRecord, Replay, Walk, free_on_disk, records, target};
use crate::{PoolError, Result};

/// A log can be ahead of the last durable group by those that were open, and by what an import went
/// back.
const AHEAD_MAX: u64 = 1024;

/// The group an import went back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackTo {
    pub txg: u64,
    /// It is that of the pool's checkpoint.
    pub is_checkpoint: bool,
}

/// What was found in the logs of a pool.
#[derive(Default)]
pub(crate) struct Claimed {
    /// Datasets with their new headers.
    pub headers: Vec<(Arc<Dataset>, ZilHeader)>,
    /// The newest group any of the blocks belongs to.
    pub newest: u64,
    /// Datasets whose logs, or ends of them, are on devices that are missing, with the vdev.
    pub lost: Vec<(String, u32)>,
    /// Datasets whose logs may go on where no disk answers, though the device is not missing, with
    /// the vdev.
    pub unknown: Vec<(String, u32)>,
}

impl Dsl {
    /// The head of the log of an object set.
    pub(crate) fn log_of(&self, root: &BlkPtr) -> Result<ZilHeader> {
        if root.is_hole() {
            return Ok(ZilHeader::default());
        }
        let block = self.parts.store().read(root, IoClass::SyncRead).map_err(|_| PoolError::Io)?;
        Ok(ObjsetPhys::decode(&block)?.zil_header)
    }

    /// All datasets that have a log on disk: names, objects, headers.
    fn logs_on_disk(&self) -> Result<Vec<(String, u64, ZilHeader)>> {
        let mut found = Vec::new();
        for name in self.names_below(&self.root()?)? {
            let object = self.find_dir(&name)?.phys().head_dataset_obj;
            if object == 0 {
                continue;
            }
            let header = match self.if_open(object) {
                Some(open) => open.objset().zil_header(),
                None => self.log_of(&self.mos.dataset(object)?.bp)?,
            };
            if !header.log.is_hole() {
                found.push((name, object, header));
            }
        }
        Ok(found)
    }

    /// Whether a dataset whose header this program cannot write has a log that would have to be
    /// claimed. That of an encrypted one can be claimed without the key.
    pub(crate) fn has_logs_out_of_reach(&self) -> Result<bool> {
        for (_, object, header) in self.logs_on_disk()? {
            let unclaimed = header.claim_txg == 0;
            if unclaimed && self.open_object(object)?.readonly().is_some_and(|why| why != ENCRYPTED) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Claims all blocks of all logs for `txg`, the first group of this import. Nothing has been
    /// allocated yet. A log that begins on a vdev which is `missing` is given up: it leads nowhere,
    /// and must not be believed when the device is back. Where the import went back to a group, all
    /// logs are: what they lead to may have been overwritten since. Where that group is a
    /// checkpoint, those stay which had been claimed in it, for what they lead to it has kept.
    pub(crate) fn claim_logs(
        &self,
        txg: u64,
        missing: &dyn Fn(u32) -> bool,
        back_to: Option<BackTo>,
    ) -> Result<Claimed> {
        let mut claimed = Claimed::default();
        for (name, object, header) in self.logs_on_disk()? {
            if let Some(back) = back_to.filter(|back| !back.is_checkpoint || header.claim_txg == 0) {
                self.discard(&header, back.txg);
                claimed.headers.push((self.open_object(object)?, ZilHeader::default()));
                continue;
            }
            let mut vdevs = Walk::new(self.parts.store(), &header).map(|found| found.bp.dva(0).vdev);
            claimed.lost.extend(vdevs.find(|vdev| missing(*vdev)).map(|vdev| (name.clone(), vdev)));
            if missing(header.log.dva(0).vdev) {
                self.give_up(&header, txg);
                claimed.headers.push((self.open_object(object)?, ZilHeader::default()));
            } else if header.claim_txg == 0 {
                let dataset = self.open_object(object)?;
                let (header, unknown) = self.claim_log(&header, txg, &mut claimed.newest);
                let unknown = unknown.map(|bp| bp.dva(0).vdev).filter(|vdev| !missing(*vdev));
                claimed.unknown.extend(unknown.map(|vdev| (name, vdev)));
                claimed.headers.push((dataset, header));
            }
        }
        Ok(claimed)
    }

    /// Frees what the space maps have of a log that cannot be read: at least its first block.
    fn give_up(&self, header: &ZilHeader, txg: u64) {
        if header.claim_txg != 0 {
            free_on_disk(self.parts.store(), header, &self.parts.frees);
        } else if header.log.birth() < txg {
            self.parts.frees.free(&header.log);
        }
    }

    /// Frees what the space maps of group `synced` have of a log.
    fn discard(&self, header: &ZilHeader, synced: u64) {
        if header.claim_txg != 0 {
            return free_on_disk(self.parts.store(), header, &self.parts.frees);
        }
        let blocks = Walk::new(self.parts.store(), header).map(|found| found.bp);
        blocks.take_while(|bp| bp.birth() <= synced).for_each(|bp| self.parts.frees.free(&bp));
    }

    /// Ends all logs in use, and those on disk that hold nothing to replay. What they promised is
    /// durable in the pool afterwards. New ones may have begun meanwhile.
    pub(crate) fn retire_logs(&self) -> Result<()> {
        for dataset in self.open_datasets() {
            dataset.zil().map_or(Ok(()), |zil| zil.retire())?;
        }
        let on_disk = {
            let _config = self.reading();
            self.logs_on_disk()?
        };
        for (_, object, header) in on_disk {
            if header.claim_txg == 0 || header.flags & FLAG_REPLAY_NEEDED != 0 {
                continue;
            }
            if let Some(zil) = self.open_object(object)?.zil().filter(|zil| zil.is_unreplayed()) {
                zil.replay(&Nothing)?;
            }
        }
        Ok(())
    }

    /// Whether a log waits to be replayed, or it cannot be told.
    pub(crate) fn has_logs_to_replay(&self) -> bool {
        let waits = |header: &ZilHeader| header.claim_txg != 0 && header.flags & FLAG_REPLAY_NEEDED != 0;
        self.logs_on_disk().map_or(true, |logs| logs.iter().any(|(_, _, header)| waits(header)))
    }

    /// Datasets whose logs on disk have blocks on a vdev.
    pub(crate) fn logs_on(&self, vdev: u32) -> Result<Vec<String>> {
        let _config = self.reading();
        let mut logs = self.logs_on_disk()?;
        logs.retain(|(_, _, header)| {
            Walk::new(self.parts.store(), header).any(|found| found.bp.dva(0).vdev == vdev)
        });
        Ok(logs.into_iter().map(|(name, _, _)| name).collect())
    }

    /// The header that says so, and the block at which it is not known whether the log ends there.
    fn claim_log(&self, header: &ZilHeader, txg: u64, newest: &mut u64) -> (ZilHeader, Option<BlkPtr>) {
        let mut claimed =
            ZilHeader { claim_txg: txg, flags: header.flags | FLAG_CLAIM_LR_SEQ_VALID, ..header.clone() };
        let mut seen = HashSet::new();
        let (mut blocks, mut any, mut unknown) = (0, false, None);
        'chain: for found in Walk::new(self.parts.store(), header) {
            if !self.claim_block(&found.bp, txg, &mut seen, newest) {
                break;
            }
            claimed.claim_blk_seq = found.sequence();
            let Ok(block) = &found.content else {
                unknown = found.is_unknown().then_some(found.bp);
                break;
            };
            self.restore(&found.bp);
            blocks += 1;
            for (head, bytes, endian) in records(block) {
                if let Some(bp) = target(&head, bytes, endian, txg) {
                    let read = self.parts.store().read_undeciphered(&bp, IoClass::SyncRead);
                    if read.is_err() || !self.claim_block(&bp, txg, &mut seen, newest) {
                        unknown = read.is_err_and(storage::ReadError::may_pass).then_some(bp);
                        break 'chain;
                    }
                    self.restore(&bp);
                }
                claimed.claim_lr_seq = head.seq;
                any = true;
            }
        }
        if any || blocks > 1 {
            claimed.flags |= FLAG_REPLAY_NEEDED;
        }
        (claimed, unknown)
    }

    /// Puts a claimed block that was read on all the disks that should have it.
    fn restore(&self, bp: &BlkPtr) {
        let storage = self.parts.store();
        if !bp.is_gang() {
            storage.restore(bp);
        } else if let Err(error) = storage.heal_gang(bp) {
            tracing::warn!(%error, "a gang that an intent log leads to lacks copies");
        }
    }

    /// `false`: the space is somebody else's, or no space at all, or the block says it is from a
    /// far future.
    fn claim_block(&self, bp: &BlkPtr, txg: u64, seen: &mut HashSet<(u32, u64)>, newest: &mut u64) -> bool {
        if bp.birth() > txg + AHEAD_MAX {
            return false;
        }
        *newest = (*newest).max(bp.birth());
        if bp.birth() < txg {
            return true; // The space maps have it.
        }
        bp.dvas()
            .iter()
            .filter(|dva| dva.is_valid())
            .all(|dva| !seen.insert((dva.vdev, dva.offset)) || self.parts.store().claim(dva, txg).is_ok())
    }
}

/// For logs without records.
struct Nothing;

impl Replay for Nothing {
    fn replay(&self, _: &LoggedRecord<'_>) -> std::result::Result<(), DmuError> {
        unreachable!("a log that holds nothing to replay")
    }
}

impl Claimed {
    /// Puts the headers into the first group.
    pub fn store(&self, tx: &Tx) {
        for (dataset, header) in &self.headers {
            dataset.objset().set_zil_header(header.clone(), tx);
        }
    }
}
