//! Corrective receive: blocks of a snapshot that no disk has any more are taken from a stream of
//! the same snapshot, and written again where they belong. What can be read is left alone; what the
//! pointers' checksums do not prove is not written, so nothing else than the snapshot can come of
//! it. Everything in a stream but the blocks of files and volumes is passed over.
//!
//! Source: module/zfs/dmu_recv.c (`receive_process_write_record`, `do_corrective_recv`,
//! `corrective_read_done`).

use std::sync::Arc;

use dmu::Block;
use dmu::find::pointer_to;
use dmu::traverse::Part;
use env::IoClass;
use ondisk::Endian;
use ondisk::send::{Begin, Record, Write};
use ondisk::zbookmark::ErrorBlock;
use storage::ReadError;

use super::apply::contents;
use super::{Failure, check_built, invalid};
use crate::dsl::LongHold;
use crate::dsl::dataset::recorded_features;
use crate::spa::Pool;
use crate::stream::RecordReader;
use crate::{PoolError, Result};

impl Pool {
    /// Follows the stream whose begin has been read. What it has mended when it fails stays so.
    pub fn heal_snapshot(&self, name: &str, begin: &Begin, stream: &mut RecordReader<'_>) -> Result<()> {
        check_built(begin)?;
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        stream.payload(u64::from(begin.payload_len))?;
        let (snapshot, head) = {
            let _config = self.dsl.reading();
            let found = self.dsl.find(name)?;
            if !found.is_snapshot() || found.phys.guid != begin.to_guid {
                return Err(Failure::Unlike.into());
            }
            if recorded_features(&self.dsl, found.object)?.contains(&"encryption") {
                return Err(PoolError::Unsupported("healing encrypted datasets".into()));
            }
            (LongHold::on(self.dsl.open_object(found.object)?), found.dir.phys().head_dataset_obj)
        };
        let mut healing = Healing { pool: self, snapshot, mended: Vec::new() };
        let healed = healing.follow(begin, stream);
        if !healing.mended.is_empty() {
            self.core.errlog.healed(head, healing.snapshot.object(), &healing.mended);
            self.core.txgs.sync_empty()?;
        }
        healed
    }
}

struct Healing<'a> {
    pool: &'a Pool,
    /// It is in use, so none of its blocks is freed.
    snapshot: LongHold,
    mended: Vec<ErrorBlock>,
}

impl Healing<'_> {
    fn follow(&mut self, begin: &Begin, stream: &mut RecordReader<'_>) -> Result<()> {
        let limits = self.pool.dsl.stream_limits();
        loop {
            let record = stream.record()?;
            record.check(begin, &limits).map_err(|error| invalid(error.what))?;
            let payload = stream.payload(record.payload_len())?;
            match record {
                Record::End { .. } => return Ok(()),
                Record::Write(write) => self.block(&write, payload, stream.endian())?,
                _ => {}
            }
        }
    }

    fn block(&mut self, write: &Write, payload: Vec<u8>, endian: Endian) -> Result<()> {
        let (storage, objset) = (&self.pool.core.storage, self.snapshot.objset());
        let dnode = objset.hold(write.object).map_err(|_| Failure::Unlike)?;
        let blkid = write.offset / u64::from(dnode.block_size());
        let part = Part::Tree { level: 0, blkid };
        let Some(bp) = pointer_to(storage.as_ref(), &objset.root(), write.object, part)? else {
            return Ok(());
        };
        match storage.read(&bp, IoClass::AsyncRead) {
            Ok(_) => return Ok(()),
            Err(ReadError::Checksum) => {}
            Err(_) => return Err(PoolError::Io),
        }
        if write.lsize != bp.lsize() || !write.offset.is_multiple_of(write.lsize) {
            return Err(Failure::Unlike.into());
        }
        let (data, packed) = contents(write, payload, endian)?;
        let data = Block::from_slice(&data);
        let data = match packed {
            Some(packed) => data.with_packed(packed),
            None => data,
        };
        match storage.mend(&bp, &Arc::new(data), objset.policy().complevel) {
            Ok(()) => {}
            Err(ReadError::Checksum) => return Err(Failure::NotHealed.into()),
            Err(_) => return Err(PoolError::Io),
        }
        tracing::info!(
            snapshot = self.snapshot.object(),
            object = write.object,
            blkid,
            "mended from a stream"
        );
        let birth = bp.physical_birth();
        self.mended.push(ErrorBlock { object: write.object, level: 0, blkid, birth });
        Ok(())
    }
}
