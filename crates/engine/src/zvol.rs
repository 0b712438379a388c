//! A volume over an object set: reads, writes and holes of one object, and their records in the
//! intent log.
//!
//! A change takes its range, enters the open group, changes the object and leaves its record;
//! whoever wants it stable commits afterwards, with nothing held. Ranges are what makes each call
//! whole for the others.
//!
//! Invariants:
//! - A large range is freed in several transactions, and the record that says so belongs to the
//!   last: it is needed for as long as any of them is not durable.
//! - The size in memory changes before that on disk when it shrinks, and after it when it grows:
//!   nobody writes to what is about to be no part of the volume.
//! - Every change is noted for the next process as well ([`::pool::kept`]), in its transaction and
//!   with its range held: so notes are in the order of the changes. One that could not be noted is
//!   answered when its group is durable.
//!
//! Other than there, a range that is freed reads as zeroes to its ends, also where it covers less
//! than a block.
//!
//! Sources: module/zfs/zvol.c; `zvol_discard` in module/os/linux/zfs/zvol_os.c.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use ::pool::kept::{Change, KeptPool, Noted, VolumeKey};
use ::pool::txg::Txgs;
use ::pool::zil::{IMMEDIATE_SIZE, LoggedWrite, Zil};
use dmu::{DmuError, Dnode, Holds, Objset, Tx, Zap};
use engine_api::{Error, Promise, ReadBuf, Result, Seek, Stable, VolumeGeometry};
use env::Env;
use ondisk::zil::RecordHead;
use ondisk::zil::record::{LrTruncate, LrWrite, Record, Written};
use ondisk::{Endian, zvol};

use crate::readbuf::slices;
use crate::rlock::RangeLock;
use crate::zpl::api_error;

/// Blocks of metadata that a change may dirty: the dnode, and the way down to its blocks.
const META_BLOCKS: u64 = 4;
/// Bytes from which on a range is freed in several transactions.
const FREE_STEP: u64 = 8 << 30;
/// Bytes up to which what is to be there whole is one record of the log, with its bytes in it:
/// nothing splits that.
const ONE_RECORD: usize = 32 << 10;

/// Where changes are noted for the next process.
pub struct Keeping {
    pub pool: Option<Arc<KeptPool>>,
    pub volume: VolumeKey,
    pub txgs: Arc<Txgs>,
}

/// A change that was made: its group, and whether it was noted.
#[must_use]
struct Made {
    txg: u64,
    noted: Noted,
}

impl Keeping {
    fn note(&self, tx: &Tx, offset: u64, change: Change<'_>) -> Made {
        let note = |pool: &Arc<KeptPool>| pool.note(tx.txg(), self.volume, offset, change);
        Made { txg: tx.txg(), noted: self.pool.as_ref().map_or(Noted::Yes, note) }
    }

    /// Returns when a change can be answered as far as the death of the program goes. The caller is
    /// in no group.
    fn settle(&self, made: &Made) -> std::result::Result<(), DmuError> {
        match made.noted {
            Noted::Yes => {}
            Noted::Soon => self.txgs.request_sync(),
            Noted::No => self.txgs.wait_synced(made.txg)?,
        }
        Ok(())
    }
}

/// One open volume. See the module.
pub struct Zvol {
    env: Env,
    objset: Arc<Objset>,
    data: Arc<Dnode>,
    /// `None` where it can never be written: a snapshot, or a pool imported read-only.
    zil: Option<Arc<Zil>>,
    keeping: Arc<Keeping>,
    ranges: RangeLock,
    size: AtomicU64,
    readonly: AtomicBool,
}

impl Zvol {
    /// Opens the volume in `objset`.
    pub fn open(objset: Arc<Objset>, env: Env, zil: Option<Arc<Zil>>, keeping: Keeping) -> Result<Arc<Zvol>> {
        let zap = Zap::open(&objset, zvol::PROPS).map_err(api_error)?;
        let size = zap.lookup_u64(zvol::SIZE).map_err(api_error)?;
        let data = objset.hold(zvol::DATA).map_err(api_error)?;
        Ok(Arc::new(Zvol {
            env,
            objset,
            data,
            zil,
            keeping: Arc::new(keeping),
            ranges: RangeLock::default(),
            size: AtomicU64::new(size),
            readonly: AtomicBool::new(false),
        }))
    }

    /// Property `readonly`.
    pub fn set_readonly(&self, readonly: bool) {
        self.readonly.store(readonly, SeqCst);
    }

    /// The size that calls go by from now on; those that began before are done when this returns.
    pub fn set_size(&self, size: u64) {
        self.size.store(size, SeqCst);
        drop(self.ranges.whole(&self.env));
    }

    /// Frees what lies behind the end.
    pub fn trim_end(&self) -> Result<()> {
        let size = self.size.load(SeqCst);
        self.objset.free_range_in_steps(&self.data, size, u64::MAX).map_err(api_error)
    }

    pub fn geometry(&self) -> VolumeGeometry {
        VolumeGeometry {
            size: self.size.load(SeqCst),
            block: self.data.block_size(),
            readonly: self.zil.is_none() || self.readonly.load(SeqCst),
        }
    }

    pub fn read(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        let _range = self.ranges.shared(&self.env, offset, len as u64);
        let end = self.check(offset, len as u64)?;
        let parts = slices(self.data.read(offset, len).map_err(api_error)?);
        Ok(ReadBuf { parts, eof: end == self.size.load(SeqCst) })
    }

    pub fn write(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()> {
        let soon = self.is_soon(stable)?;
        let range = self.ranges.alone(&self.env, offset, data.len() as u64);
        self.check(offset, data.len() as u64)?;
        let made = self.put_logged(offset, data, soon)?;
        drop(range);
        self.settle(soon, &made)
    }

    pub fn write_promised(&self, offset: u64, data: &[u8]) -> Result<Promise> {
        let zil = self.log()?;
        let range = self.ranges.alone(&self.env, offset, data.len() as u64);
        self.check(offset, data.len() as u64)?;
        let made = self.put_logged(offset, data, true)?;
        drop(range);
        let (promise, keeping) = (zil.promise(Some(zvol::DATA)), self.keeping.clone());
        Ok(Box::new(move || promise.keep().and_then(|()| keeping.settle(&made)).map_err(api_error)))
    }

    pub fn modify(
        &self,
        offset: u64,
        len: usize,
        stable: Stable,
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<()> {
        let soon = self.is_soon(stable)?;
        let range = self.ranges.alone(&self.env, offset, len as u64);
        self.check(offset, len as u64)?;
        let mut bytes = self.data.read_bytes(offset, len).map_err(api_error)?;
        if !change(&mut bytes) {
            return Ok(());
        }
        let made = if len <= ONE_RECORD {
            self.put_whole(offset, &bytes)?
        } else {
            self.put_logged(offset, &bytes, soon)?
        };
        drop(range);
        self.settle(soon, &made)
    }

    pub fn write_whole(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()> {
        let soon = self.is_soon(stable)?;
        let range = self.ranges.alone(&self.env, offset, data.len() as u64);
        let end = self.check(offset, data.len() as u64)?;
        // A block that it covers in part may be unreadable: that must be known before another is
        // changed.
        let block_size = u64::from(self.data.block_size());
        for edge in [offset, end].into_iter().filter(|edge| edge % block_size != 0) {
            self.data.read(edge - edge % block_size, 1).map_err(api_error)?;
        }
        let made = self.put_whole(offset, data)?;
        drop(range);
        self.settle(soon, &made)
    }

    pub fn write_zeroes(&self, offset: u64, len: u64, stable: Stable) -> Result<()> {
        let (soon, zil) = (self.is_soon(stable)?, self.log()?);
        let range = self.ranges.alone(&self.env, offset, len);
        self.check(offset, len)?;
        let tx = self.free_range(offset, len)?;
        let record = Record::Truncate(LrTruncate { object: zvol::DATA, offset, length: len });
        zil.log_of(&tx, zvol::DATA, record.encode(), None);
        let made = self.keeping.note(&tx, offset, Change::Hole(len));
        drop(tx);
        drop(range);
        self.settle(soon, &made)
    }

    pub fn seek(&self, offset: u64, what: Seek) -> Result<u64> {
        let size = self.size.load(SeqCst);
        let _range = self.ranges.shared(&self.env, offset, u64::MAX);
        if offset >= size {
            return Err(past_the_end());
        }
        let next = |seek| self.data.next_offset(offset, seek).map_err(api_error);
        let found = match what {
            Seek::Data => next(dmu::Seek::Data)?.unwrap_or(size),
            Seek::Hole if next(dmu::Seek::Data)? != Some(offset) => offset,
            Seek::Hole => {
                let blocks = self.data.max_blkid().saturating_add(1);
                let end = blocks.saturating_mul(self.data.block_size().into());
                next(dmu::Seek::Hole)?.unwrap_or(end)
            }
        };
        Ok(found.min(size))
    }

    pub fn flush(&self) -> Result<()> {
        self.zil.as_ref().map_or(Ok(()), |zil| zil.commit(Some(zvol::DATA)).map_err(api_error))
    }

    /// The bytes of a logged write, for its record; `None` where the volume ends before them.
    pub fn logged_data(&self, offset: u64, len: u64) -> std::result::Result<Option<Vec<u8>>, DmuError> {
        let _range = self.ranges.shared(&self.env, offset, len);
        if offset >= self.size.load(SeqCst) {
            return Ok(None);
        }
        let len = usize::try_from(len).map_err(|_| DmuError::TooBig)?;
        self.data.read_bytes(offset, len).map(Some)
    }

    /// Applies one record of the intent log. `block`: what the block holds that a write record
    /// leads to, where that is not a hole. What lies past the end now is passed over.
    pub fn replay_record(
        &self,
        head: &RecordHead,
        bytes: &[u8],
        endian: Endian,
        block: Option<&[u8]>,
    ) -> Result<()> {
        let broken = Error::Corrupt { object: zvol::DATA, block: 0 };
        match Record::decode(head, bytes, endian).map_err(|_| broken)? {
            Record::Write(write, written) => self.replay_write(&write, &written, block),
            Record::Truncate(truncate) => self.replay_free(truncate.offset, truncate.length),
            _ => Err(Error::Unsupported("a record that is no volume's".into())),
        }
    }

    fn replay_write(&self, write: &LrWrite, written: &Written<'_>, block: Option<&[u8]>) -> Result<()> {
        match (written, block) {
            (Written::Here(data), _) => {
                let data = data.get(..write.length as usize).unwrap_or(data);
                self.replay_bytes(write.offset, data)
            }
            (Written::Block { .. }, Some(block)) => {
                let size = block.len() as u64;
                let at = if write.length < size { write.offset - write.offset % size } else { write.offset };
                self.replay_bytes(at, block)
            }
            (Written::Block { .. }, None) => self.replay_free(write.offset, write.length),
            (Written::Elsewhere, _) => Ok(()),
        }
    }

    fn replay_bytes(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.replayed(&self.put_again(offset, data)?);
        Ok(())
    }

    fn replay_free(&self, offset: u64, len: u64) -> Result<()> {
        self.replayed(&self.free_again(offset, len)?);
        Ok(())
    }

    fn put_again(&self, offset: u64, data: &[u8]) -> Result<Tx> {
        let room = self.size.load(SeqCst).saturating_sub(offset);
        let data = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        let holds = self.holds(offset, data.len() as u64);
        let tx = self.begin(Holds { netfree: true, ..holds })?;
        self.data.write(offset, data, &tx).map_err(api_error)?;
        Ok(tx)
    }

    fn free_again(&self, offset: u64, len: u64) -> Result<Tx> {
        self.free_range(offset, len.min(self.size.load(SeqCst).saturating_sub(offset)))
    }

    /// Does again what an earlier process had noted, when the log has been replayed; counts it. It
    /// is durable when this returns. What lies past the end now is passed over. Before anybody else
    /// writes.
    pub fn do_again(&self) -> Result<u64> {
        let (Some(kept), Some(zil)) = (&self.keeping.pool, &self.zil) else { return Ok(0) };
        let again = kept.again(self.keeping.volume).map_err(api_error)?;
        for change in &again {
            let tx = match kept.bytes(change).map_err(api_error)? {
                Some(data) => self.put_again(change.offset, &data)?,
                None => self.free_again(change.offset, change.len)?,
            };
            zil.unlogged(&tx);
        }
        if !again.is_empty() {
            self.keeping.txgs.sync_now().map_err(api_error)?;
        }
        kept.done(self.keeping.volume);
        Ok(again.len() as u64)
    }

    /// The transaction has done what the record says: while it replays, the log takes no more than
    /// that from this.
    fn replayed(&self, tx: &Tx) {
        if let Some(zil) = &self.zil {
            zil.log(tx, Vec::new(), None);
        }
    }

    /// The end of the range, which lies in the volume.
    fn check(&self, offset: u64, len: u64) -> Result<u64> {
        let end = offset.checked_add(len).filter(|end| *end <= self.size.load(SeqCst));
        end.ok_or_else(past_the_end)
    }

    fn log(&self) -> Result<&Arc<Zil>> {
        self.zil.as_ref().filter(|_| !self.readonly.load(SeqCst)).ok_or(Error::ReadOnly)
    }

    /// Whether a change that is to be so stable has to be committed. It may be made at all.
    fn is_soon(&self, stable: Stable) -> Result<bool> {
        Ok(self.log()?.is_always() || stable > Stable::Unstable)
    }

    fn settle(&self, soon: bool, made: &Made) -> Result<()> {
        if soon {
            self.flush()?;
        }
        self.keeping.settle(made).map_err(api_error)
    }

    fn begin(&self, holds: Holds) -> Result<Tx> {
        self.objset.begin(holds).map_err(api_error)
    }

    fn holds(&self, offset: u64, len: u64) -> Holds {
        Holds::covering(offset, len, self.data.block_size().into(), META_BLOCKS)
    }

    /// Writes in a transaction of its own, in which `log` tells the intent log. The caller holds
    /// the range.
    fn put(&self, offset: u64, data: &[u8], log: impl FnOnce(&Zil, &Tx)) -> Result<Made> {
        let zil = self.log()?;
        let tx = self.begin(self.holds(offset, data.len() as u64))?;
        self.data.write(offset, data, &tx).map_err(api_error)?;
        log(zil, &tx);
        Ok(self.keeping.note(&tx, offset, Change::Bytes(data)))
    }

    /// The log has all of it in one record or, where that is too long, nothing: then whoever
    /// commits waits for the group.
    fn put_whole(&self, offset: u64, data: &[u8]) -> Result<Made> {
        self.put(offset, data, |zil, tx| {
            if data.len() <= ONE_RECORD {
                let write = LrWrite { object: zvol::DATA, offset, length: data.len() as u64 };
                zil.log_of(tx, zvol::DATA, write.encode_with(data), None);
            } else {
                zil.unlogged(tx);
            }
        })
    }

    /// The log may keep it in pieces, or point to its blocks. The caller says whether it will
    /// commit.
    fn put_logged(&self, offset: u64, data: &[u8], soon: bool) -> Result<Made> {
        let (len, block_size) = (data.len() as u64, u64::from(self.data.block_size()));
        let logged = LoggedWrite {
            object: zvol::DATA,
            generation: 0,
            offset,
            len,
            block_size,
            is_large: len >= block_size && block_size > IMMEDIATE_SIZE,
            data: soon.then_some(data),
        };
        self.put(offset, data, |zil, tx| zil.log_write(tx, &logged))
    }

    /// Gives the last of its transactions.
    fn free_range(&self, offset: u64, len: u64) -> Result<Tx> {
        if len > FREE_STEP {
            self.objset.free_range_in_steps(&self.data, offset, len).map_err(api_error)?;
        }
        let tx = self.begin(Holds::freeing_range(self.data.block_size().into(), META_BLOCKS))?;
        self.data.free_range(offset, len, &tx).map_err(api_error)?;
        Ok(tx)
    }
}

fn past_the_end() -> Error {
    Error::Invalid("past the end of the volume".into())
}
