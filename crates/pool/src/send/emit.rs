//! What is met on the walk becomes records. Neighbouring frees become one; blocks are read together
//! and written in order.

use std::sync::Arc;

use dmu::store::{Block, BlockStore, Keep};
use env::IoClass;
use ondisk::ddt::DdtKey;
use ondisk::dnode::DnodePhys;
use ondisk::send::{
    CHECKSUM_DEDUP, OBJECT_SPILL, Object, Record, SPILL_UNMODIFIED, Spill, TO_END, Write, WriteEmbedded,
    feature,
};
use ondisk::{BlkPtr, ChecksumKind, CompressKind, Endian};
use storage::{ReadError, Shelf, Storage};

use super::item::Item;
use super::{Failure, broken};
use crate::PoolError;
use crate::stream::RecordWriter;

/// Larger blocks are cut up, unless they may not be.
const OLD_MAX_BLOCK: u64 = 128 << 10;

/// See the module.
pub(super) struct Emit<'a> {
    store: &'a Arc<Storage>,
    /// Blocks that are sent as they are stored.
    shelf: Shelf,
    to: RecordWriter<'a>,
    features: u64,
    from_txg: u64,
    /// Frees that more may be added to.
    pending: Option<Record>,
}

/// A block's bytes, as they go into the stream.
enum Bytes {
    Decoded(Arc<Block>),
    Stored(Vec<u8>),
    /// In the pointer.
    Embedded,
}

impl<'a> Emit<'a> {
    pub fn new(store: &'a Arc<Storage>, to: RecordWriter<'a>, features: u64, from_txg: u64) -> Emit<'a> {
        Emit { store, shelf: Shelf::new(store), to, features, from_txg, pending: None }
    }

    fn has(&self, feature: u64) -> bool {
        self.features & feature != 0
    }

    /// Has the blocks of a batch read that will be sent soon.
    pub fn ask(&self, items: &[Item]) {
        let (decoded, stored) = self.blocks(items);
        self.store.prefetch(decoded, Keep::ALL);
        self.shelf.order(&stored);
    }

    /// Everything has been met.
    pub fn end(mut self) -> Result<RecordWriter<'a>, Failure> {
        self.flush()?;
        Ok(self.to)
    }

    pub fn batch(&mut self, items: Vec<Item>) -> Result<(), Failure> {
        let mut blocks = self.read(&items)?.into_iter();
        for item in items {
            let mut bytes = || blocks.next().expect("one for each block");
            match item {
                Item::Object(object, dnode) => self.object(object, &dnode)?,
                Item::FreeObjects { first, count } => self.free_objects(first, count)?,
                Item::Free { object, offset, length } => self.free(object, offset, length)?,
                Item::Spill { object, bp } => self.spill(object, &bp, &bytes())?,
                Item::Data { object, kind, blkid, bp } => self.data((object, kind, blkid), &bp, &bytes())?,
            }
        }
        Ok(())
    }

    /// The blocks of a batch, in its order.
    fn read(&self, items: &[Item]) -> Result<Vec<Bytes>, Failure> {
        let (decoded, stored) = self.blocks(items);
        let mut decoded =
            BlockStore::read_many(self.store.as_ref(), &decoded, IoClass::AsyncRead, Keep::ALL).into_iter();
        let mut stored = self.shelf.take(&stored).into_iter();
        let mut bytes = Vec::new();
        for item in items {
            let Some(bp) = item.block() else { continue };
            bytes.push(match self.form(item, bp) {
                Form::Decoded => Bytes::Decoded(decoded.next().expect("all were asked for").map_err(lost)?),
                Form::Stored => Bytes::Stored(stored.next().expect("all were asked for").map_err(lost)?),
                Form::Embedded => Bytes::Embedded,
            });
        }
        Ok(bytes)
    }

    /// Those that are sent decoded, and as they are stored.
    fn blocks(&self, items: &[Item]) -> (Vec<BlkPtr>, Vec<BlkPtr>) {
        let (mut decoded, mut stored) = (Vec::new(), Vec::new());
        for item in items {
            match item.block().map(|bp| (bp, self.form(item, bp))) {
                Some((bp, Form::Decoded)) => decoded.push(*bp),
                Some((bp, Form::Stored)) => stored.push(*bp),
                Some((_, Form::Embedded)) | None => {}
            }
        }
        (decoded, stored)
    }

    fn form(&self, item: &Item, bp: &BlkPtr) -> Form {
        // What is too long for the stream is cut, which only bytes can be.
        let is_cut = bp.lsize() > OLD_MAX_BLOCK && !self.has(feature::LARGE_BLOCKS);
        if bp.is_embedded() {
            return if !is_cut && self.embeds(item, bp) { Form::Embedded } else { Form::Decoded };
        }
        let Item::Data { .. } = item else { return Form::Decoded };
        let as_stored = self.has(feature::COMPRESSED)
            && !is_cut
            && bp.byteorder() == Endian::Little
            && !bp.object_type().is_metadata()
            && bp.compression_raw() != CompressKind::Off as u8;
        if as_stored { Form::Stored } else { Form::Decoded }
    }

    /// Whether a pointer with data is sent as such (`send_do_embed`).
    fn embeds(&self, item: &Item, bp: &BlkPtr) -> bool {
        let needed = match bp.compression() {
            Ok(CompressKind::Lz4) => feature::LZ4,
            Ok(CompressKind::Zstd) => feature::LZ4 | feature::ZSTD,
            _ => 0,
        };
        let is_data = matches!(item, Item::Data { .. });
        is_data && self.has(feature::EMBED_DATA) && self.features & needed == needed
    }

    // ── Records ──

    fn write(&mut self, record: &Record, payload: &[u8]) -> Result<(), Failure> {
        self.flush()?;
        self.to.write(record, payload).map_err(broken)
    }

    /// Writes the bytes of a block, as it is stored or not: often its pointer has their sums,
    /// against which they were held when they were read.
    fn write_block(
        &mut self,
        write: Write,
        bp: &BlkPtr,
        bytes: &[u8],
        is_stored: bool,
    ) -> Result<(), Failure> {
        let is_whole = is_stored || bp.compression_raw() == CompressKind::Off as u8;
        let is_known = is_whole
            && !bp.is_gang()
            && bp.byteorder() == Endian::Little
            && bp.checksum_kind() == Ok(ChecksumKind::Fletcher4)
            && bytes.len() as u64 == bp.psize();
        let record = Record::Write(write);
        if !is_known {
            return self.write(&record, bytes);
        }
        self.flush()?;
        self.to.write_summed(&record, bytes, bp.checksum()).map_err(broken)
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.pending.take().map_or(Ok(()), |record| self.to.write(&record, &[]).map_err(broken))
    }

    fn free(&mut self, object: u64, offset: u64, length: u64) -> Result<(), Failure> {
        if let Some(Record::Free { object: of, offset: from, length: before }) = &mut self.pending
            && *of == object
            && from.checked_add(*before) == Some(offset)
        {
            let all = before.checked_add(length).filter(|_| length != TO_END);
            *before = all.filter(|_| offset.checked_add(length).is_some()).unwrap_or(TO_END);
            return Ok(());
        }
        self.flush()?;
        let length = if offset.checked_add(length).is_some() { length } else { TO_END };
        self.pending = Some(Record::Free { object, offset, length });
        if length == TO_END { self.flush() } else { Ok(()) }
    }

    fn free_objects(&mut self, first: u64, count: u64) -> Result<(), Failure> {
        if let Some(Record::FreeObjects { first: from, count: before }) = &mut self.pending
            && *from + *before == first
        {
            *before += count;
            return Ok(());
        }
        self.flush()?;
        self.pending = Some(Record::FreeObjects { first, count });
        Ok(())
    }

    fn object(&mut self, number: u64, dnode: &DnodePhys) -> Result<(), Failure> {
        let mut size = dnode.data_block_size();
        if !self.has(feature::LARGE_BLOCKS) {
            size = size.min(OLD_MAX_BLOCK);
        }
        let object = Object {
            object: number,
            object_type: u32::from(dnode.object_type.0),
            bonus_type: u32::from(dnode.bonus_type.0),
            block_size: size as u32,
            bonus_len: dnode.bonus.len() as u32,
            checksum: dnode.checksum,
            compress: dnode.compress,
            slots: dnode.slots() as u8,
            flags: if dnode.spill.is_some() { OBJECT_SPILL } else { 0 },
            raw_bonus_len: 0,
            indirect_shift: 0,
            levels: 0,
            blkptrs: 0,
            max_blkid: 0,
        };
        self.write(&Record::Object(object), &dnode.bonus)?;
        let end = dnode.maxblkid.saturating_add(1).saturating_mul(dnode.data_block_size());
        self.free(number, end, TO_END)?;
        // Old receivers lose a spill block that they are not told of.
        if let Some(spill) = dnode.spill.filter(|bp| !bp.is_hole() && bp.birth() <= self.from_txg) {
            let read = self.store.read(&spill, IoClass::AsyncRead).map_err(lost)?;
            self.spill(number, &spill, &Bytes::Decoded(read))?;
        }
        Ok(())
    }

    fn spill(&mut self, object: u64, bp: &BlkPtr, bytes: &Bytes) -> Result<(), Failure> {
        let Bytes::Decoded(block) = bytes else { return Ok(()) };
        let flags = if bp.logical_birth() <= self.from_txg { SPILL_UNMODIFIED } else { 0 };
        let length = block.len() as u64;
        let spill = Spill { object, length, flags, compress: 0, compressed_size: 0, object_type: 0 };
        self.write(&Record::Spill(spill), block)
    }

    fn data(&mut self, at: (u64, u8, u64), bp: &BlkPtr, bytes: &Bytes) -> Result<(), Failure> {
        let (object, kind, blkid) = at;
        let size = bp.lsize();
        let offset = blkid.saturating_mul(size);
        let plain = Write {
            object,
            object_type: u32::from(kind),
            offset,
            lsize: size,
            checksum: ChecksumKind::Off as u8,
            flags: 0,
            compress: 0,
            key: DdtKey::default(),
            compressed_size: 0,
        };
        match bytes {
            Bytes::Embedded => self.embedded(object, offset, bp),
            Bytes::Stored(bytes) => {
                let (compress, compressed_size) = (bp.compression_raw(), bp.psize());
                let write = Write { compress, compressed_size, ..keyed(plain, bp) };
                self.write_block(write, bp, bytes, true)
            }
            Bytes::Decoded(block) if size > OLD_MAX_BLOCK && !self.has(feature::LARGE_BLOCKS) => {
                let mut offset = offset;
                for part in block.chunks(OLD_MAX_BLOCK as usize) {
                    let lsize = part.len() as u64;
                    self.write(&Record::Write(Write { offset, lsize, ..plain.clone() }), part)?;
                    offset += lsize;
                }
                Ok(())
            }
            Bytes::Decoded(block) if bp.is_embedded() => self.write(&Record::Write(plain), block),
            Bytes::Decoded(block) => self.write_block(keyed(plain, bp), bp, block, false),
        }
    }

    fn embedded(&mut self, object: u64, offset: u64, bp: &BlkPtr) -> Result<(), Failure> {
        let embedded = bp.embedded().map_err(PoolError::from)?.ok_or(lost(ReadError::Corrupt))?;
        let payload = embedded.payload();
        let write = WriteEmbedded {
            object,
            offset,
            length: embedded.lsize,
            compress: embedded.compression as u8,
            kind: embedded.kind as u8,
            lsize: embedded.lsize as u32,
            psize: payload.len() as u32,
        };
        self.write(&Record::WriteEmbedded(write), payload)
    }
}

enum Form {
    Decoded,
    Stored,
    Embedded,
}

/// With what the block's pointer says of it.
fn keyed(write: Write, bp: &BlkPtr) -> Write {
    let is_strong = bp.checksum_kind().is_ok_and(ChecksumKind::is_dedup_strength);
    Write {
        checksum: bp.checksum_kind_raw(),
        flags: if is_strong { CHECKSUM_DEDUP } else { 0 },
        key: DdtKey::new(bp.checksum(), bp.lsize(), bp.psize(), bp.compression_raw()),
        ..write
    }
}

fn lost(error: ReadError) -> Failure {
    Failure::Pool(match error {
        ReadError::Suspended => PoolError::Suspended,
        ReadError::Unsupported => PoolError::Unsupported("a block pointer of an unknown kind".into()),
        _ => PoolError::Io,
    })
}
