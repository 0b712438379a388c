//! Replay: doing again what a log says and no durable group has.
//!
//! The records are read twice: first to know the blocks, which are given back in the end, then one
//! after the other. The transaction that does a record carries its number into the header, so a
//! crash in the middle goes on where it was.
//!
//! Source: `zil_replay`, `zil_replay_log_record` in module/zfs/zil.c.

use std::sync::atomic::Ordering::Relaxed;

use dmu::DmuError;
use env::{IoClass, lock};
use ondisk::zil::{self, FLAG_CLAIM_LR_SEQ_VALID, FLAG_REPLAY_NEEDED, RecordHead, ZilHeader};
use ondisk::{BlkPtr, Endian};
use stdx::mark::mark;
use storage::LogBlock;

use super::Zil;
use super::chain::{Chain, log_id};
use super::commit::SEQUENCE;
use super::walk::{Targets, Walk, records};

/// A record to be done again.
pub struct LoggedRecord<'a> {
    pub head: RecordHead,
    /// All of it, head included.
    pub bytes: &'a [u8],
    pub endian: Endian,
    /// What a write wrote where the record leads to a block instead of holding the bytes: that
    /// whole block.
    pub data: Option<Vec<u8>>,
}

/// Who does records again.
pub trait Replay {
    /// In transactions of its own, each of which logs as usual, which here only notes how far the
    /// replay has come. `Ok` too when there is nothing to do because the object is gone.
    fn replay(&self, record: &LoggedRecord<'_>) -> Result<(), DmuError>;

    /// All records of this log up to this one have been done again, now or by an earlier import, in
    /// groups up to `txg`. The log is still there, and goes in no earlier group.
    fn reached(&self, _log: u64, _record: u64, _txg: u64) {}
}

impl Zil {
    /// Does again what the log on disk says, if there is one, and gives the log back. Before
    /// anybody else writes. Gives the number of records done. An error leaves the log as it is, for
    /// another try.
    pub fn replay(&self, to: &dyn Replay) -> Result<u64, DmuError> {
        self.end_unreplayed(|header| match header.flags & FLAG_REPLAY_NEEDED {
            0 => Ok(0),
            _ => self.replay_records(header, to),
        })
    }

    /// Gives a log back that is on disk, whatever it says that was not done again is lost. Before
    /// anybody else writes.
    pub fn abandon(&self) -> Result<(), DmuError> {
        self.end_unreplayed(|_| Ok(0)).map(drop)
    }

    /// Does with the log of before this import what is to be done, and gives it back; nothing if
    /// there is none.
    fn end_unreplayed(
        &self,
        work: impl FnOnce(&ZilHeader) -> Result<u64, DmuError>,
    ) -> Result<u64, DmuError> {
        let header = self.parts.objset.zil_header();
        {
            let mut state = lock(&self.state);
            if header.log.is_hole() || !state.unreplayed {
                state.unreplayed = false;
                return Ok(0);
            }
            if std::mem::replace(&mut state.replaying, true) {
                return Err(DmuError::Busy);
            }
        }
        let done = work(&header).and_then(|done| self.give_back(&header).map(|()| done));
        lock(&self.state).replaying = false;
        done
    }

    fn give_back(&self, header: &ZilHeader) -> Result<(), DmuError> {
        let (blocks, targets) = self.owned(header)?;
        // The end of the replay is in the header of some group before the log is gone in a later
        // one, or in the same.
        lock(&self.state).chain = Some(Chain::replayed(blocks, targets));
        self.retire()
    }

    /// Whether a log of before this import is still there, with or without records.
    pub(crate) fn is_unreplayed(&self) -> bool {
        lock(&self.state).unreplayed
    }

    /// Whether a log waits to be replayed.
    pub fn needs_replay(&self) -> bool {
        lock(&self.state).unreplayed && self.parts.objset.zil_header().flags & FLAG_REPLAY_NEEDED != 0
    }

    fn replay_records(&self, header: &ZilHeader, to: &dyn Replay) -> Result<u64, DmuError> {
        let (mut done, mut reached, mut over) = (0, 0, 0);
        let result = Walk::new(&self.parts.storage, header)
            .filter_map(|found| found.content.ok())
            .try_for_each(|block: LogBlock| {
                for (head, bytes, endian) in records(&block) {
                    reached = reached.max(head.seq);
                    let wanted = head.seq > header.replay_seq
                        && head.seq <= header.claim_lr_seq
                        && head.txg >= header.claim_txg;
                    if wanted {
                        let data = self.indirect_data(&head, bytes, endian)?;
                        self.replaying.store(head.seq, Relaxed);
                        to.replay(&LoggedRecord { head, bytes, endian, data })?;
                        mark("log record replayed");
                        done += 1;
                    }
                    over = over.max(head.seq.min(header.claim_lr_seq));
                }
                Ok(())
            });
        self.replaying.store(0, Relaxed);
        to.reached(log_id(&header.log), over, self.parts.txgs.open());
        result?;
        // The claim has seen that there is more: a device does not answer, and what it holds was
        // promised.
        let counted = header.flags & FLAG_CLAIM_LR_SEQ_VALID != 0;
        if counted && reached < header.claim_lr_seq { Err(DmuError::Io) } else { Ok(done) }
    }

    /// The block that a write record leads to.
    fn indirect_data(
        &self,
        head: &RecordHead,
        bytes: &[u8],
        endian: Endian,
    ) -> Result<Option<Vec<u8>>, DmuError> {
        let Some(target) = zil::write_target(head.txtype, bytes, endian) else { return Ok(None) };
        let bp = target.map_err(|_| DmuError::Corrupt { object: 0, block: 0 })?;
        if bp.is_hole() {
            return Ok(None);
        }
        let block = self.parts.storage.read(&bp, IoClass::SyncRead).map_err(|_| DmuError::Io)?;
        Ok(Some(block.to_vec()))
    }

    /// All blocks that go when the log goes: its own, and what only its records lead to. None may
    /// be forgotten: where a block before the last one cannot be read, the log has to wait.
    fn owned(&self, header: &ZilHeader) -> Result<(Vec<BlkPtr>, Vec<BlkPtr>), DmuError> {
        let (mut blocks, mut targets) = (Vec::new(), Vec::new());
        let mut once = Targets::new(header);
        for found in Walk::new(&self.parts.storage, header) {
            if found.is_unknown() && found.bp.checksum()[SEQUENCE] < header.claim_blk_seq {
                return Err(DmuError::Io);
            }
            blocks.push(found.bp);
            targets.extend(found.content.iter().flat_map(|block| once.of(block)));
        }
        Ok((blocks, targets))
    }
}
