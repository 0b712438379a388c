//! Blocks of intent logs: placed in open context, written and flushed at once, read back after a
//! crash.
//!
//! A log block leads to the next one before that is written, so its place comes first
//! ([`Storage::allocate_log`]), then its bytes, durable when [`Storage::write_log`] returns. There
//! is no second try elsewhere: the block before says where it must be. What could not be logged
//! gets into the pool with its transaction group, so a device of logs that fails is given up, and
//! logs go on in the pool itself.
//!
//! The checksum is inside (`zilog2`): over the bytes in use, with the chain's identity, which the
//! pointer has in place of a checksum, as the verifier. A block that was not written, or is left
//! from another chain, does not match: that is how a chain ends.
//!
//! A block whose write or flush failed may be there all the same, on just as many disks as it takes
//! to read it. Once an import has claimed it, it counts like any other, so it is put on all of them
//! ([`Storage::restore`]).
//!
//! Sources: module/zfs/zio.c (`zio_alloc_zil`, `zio_claim`), zil.c (`zil_lwb_write_issue`, and
//! `zil_read_log_block`, `zil_read_log_data`: what is claimed is read as by a scrub),
//! zio_checksum.c (ZILOG2).

use std::sync::Arc;

use env::{AlignedBuf, IoClass, Nanos};
use ondisk::eck::Eck;
use ondisk::object_type::ObjectType;
use ondisk::zil::{CHAIN_SIZE, MIN_BLOCK_SIZE, ZilChain};
use ondisk::{BlkPtr, ChecksumKind, CompressKind, Dva, Endian};

use super::gang::header_asize;
use super::moved::Place;
use super::sides::sides;
use super::write::why;
use crate::flight::{Flight, check, write_io};
use crate::metaslab::AllocError;
use crate::range_tree::Segment;
use crate::vdev::{Done, Io, Kind, Op, Vdev, Verify};
use crate::{IoError, Payload, ReadError, Storage, WriteError};

/// How often disks are asked for a block that only a log leads to, before it is said that they do
/// not answer.
const TRIES: usize = 3;

impl Storage {
    /// A place for a log block of `size` bytes (a multiple of 4 KiB), in use from `txg` on, which
    /// the caller holds open. On a device that logs have to themselves if one has room and works,
    /// else among the pool's blocks, if these can spare it; where something is in stock for logs
    /// ([`super::stock`]), there. The pointer's checksum words are zero: the caller puts the
    /// chain's identity there.
    pub fn allocate_log(
        &self,
        size: usize,
        txg: u64,
        pool_can_spare: &dyn Fn() -> bool,
    ) -> Result<BlkPtr, WriteError> {
        assert!(size >= MIN_BLOCK_SIZE && size.is_multiple_of(MIN_BLOCK_SIZE), "a log block of {size} bytes");
        if self.is_suspended() {
            return Err(WriteError::Suspended);
        }
        let (tree, size) = (self.tree(), size as u64);
        let works = |vdev| tree.top(vdev).is_some_and(|top| top.vdev.is_whole(&tree.leaves, None));
        let log = self.classes().log.allocate_log(size, txg, &works);
        if let Err(AllocError::Read(error)) = &log {
            tracing::error!(%error, "a log device's space map cannot be read");
        }
        let among_blocks = || match pool_can_spare() {
            true => self.classes().normal.allocate_log(size, txg, &|_| true).map_err(why),
            false => Err(WriteError::NoSpace),
        };
        let dva = log.or_else(|_| among_blocks())?;
        self.restock(&tree, dva.vdev);
        let mut bp = BlkPtr::new(ObjectType::INTENT_LOG, 0, size, size);
        bp.set_dva(0, dva).set_birth(txg, txg).set_compression(CompressKind::Off);
        bp.set_checksum(ChecksumKind::Zilog2, [0; 4]);
        Ok(bp)
    }

    /// Whether a block lies on a device that logs have to themselves.
    pub fn is_on_log(&self, bp: &BlkPtr) -> bool {
        self.classes().log.has(bp.dva(0).vdev)
    }

    /// Whether there are devices that logs have to themselves, working or not.
    pub fn has_log_devices(&self) -> bool {
        self.classes().log.space().capacity > 0
    }

    /// Puts the space of a block to use that was written in a group which was never synced. To be
    /// called before anything else is allocated; the space is in use from `txg` on. Nothing happens
    /// where it is in use already.
    ///
    /// `Corrupt`: there is no such space, or some of it belongs to another block.
    pub fn claim(&self, dva: &Dva, txg: u64) -> Result<(), ReadError> {
        let tree = self.tree();
        let asize = if dva.gang { header_asize(&tree, dva.vdev) } else { dva.asize };
        let pieces = self.pieces(&tree, &Dva::new(dva.vdev, dva.offset, asize))?;
        pieces.now.iter().try_for_each(|dva| self.classes().claim(dva, txg))
    }

    /// Writes blocks where their pointers say, side by side, and then flushes their vdevs and those
    /// of `also`, each once. The bytes of a block are the chain (with room for the checksum, which
    /// is computed here) and the records behind it: those in use, of which the chain's `nused`
    /// tells the number. What is behind them in the block is not written but for what rounding
    /// takes.
    ///
    /// `losses` is what [`Storage::losses`] was before anything of this was written, what lies on
    /// `also` too: where a disk has been opened anew since, its flush says nothing about that.
    ///
    /// The caller holds no lock. An error is final: any of the blocks may be there or not, and the
    /// disks that failed are faulted if the pool can do without them.
    pub fn write_log(
        &self,
        blocks: Vec<(BlkPtr, Vec<u8>)>,
        also: &[u32],
        losses: u64,
    ) -> Result<LogTimes, WriteError> {
        if self.is_suspended() {
            return Err(WriteError::Suspended);
        }
        let clock = &self.env().clock;
        let begun = clock.now();
        let turns: Vec<_> = blocks
            .iter()
            .map(|(bp, _)| bp.dva(0))
            .map(|dva| self.turns.log(self.env(), dva.vdev, Segment { start: dva.offset, len: dva.asize }))
            .collect();
        let tree = self.tree();
        let mut tops = also.to_vec();
        let mut ios = Vec::new();
        for (bp, block) in blocks {
            let dva = bp.dva(0);
            // Where the columns of a raidz begin and end depends on the whole block's length.
            let whole = tree.top(dva.vdev).is_some_and(|top| matches!(top.vdev.kind, Kind::Raidz(_)));
            let bytes = sealed(&bp, block, whole);
            let len = bytes.len() as u64;
            let place = check(&tree, dva.vdev, dva.offset, len).filter(|_| self.is_writable());
            let ashift = place.ok_or(WriteError::Io)?;
            let payload = Payload::from_buf(bytes);
            ios.push((dva.vdev, write_io(ashift, dva.offset, &payload, len, IoClass::SyncWrite)));
            tops.push(dva.vdev);
        }
        tops.sort_unstable();
        tops.dedup();
        let done = Flight::take_off(self.env(), &tree, IoClass::SyncWrite, ios).land(&|_, _| true);
        if let Some(error) = done.into_iter().find_map(Result::err) {
            tracing::error!(?error, "a log block could not be written");
            return Err(WriteError::Io);
        }
        drop(turns);
        let written = clock.now();
        self.flush_on(&tree, &tops)?;
        if self.losses() != losses {
            tracing::warn!("disks were opened anew while a log was written");
            return Err(WriteError::Io);
        }
        Ok(LogTimes { write: written.since(begun), flush: clock.now().since(written) })
    }

    /// A block of an intent log, which checks itself: its bytes in use, and where the next one is.
    /// A chain simply ends at a block that was never written, so [`ReadError::Checksum`] is how
    /// most logs end. What no disk has answered to ([`ReadError::may_pass`]) is no end: it may have
    /// been promised.
    pub fn read_log_block(&self, bp: &BlkPtr) -> Result<LogBlock, ReadError> {
        let seal = Seal::of(bp).ok_or(ReadError::Corrupt)?;
        let bytes = self.speculate(bp, &|bytes| seal.is_whole(bp, bytes))?;
        let endian = seal.trailer(&bytes).ok_or(ReadError::Corrupt)?.endian;
        let chain = ZilChain::decode(&bytes[seal.chain_at..], endian).map_err(|_| ReadError::Corrupt)?;
        let used = usize::try_from(chain.nused).map_err(|_| ReadError::Corrupt)?;
        let start = if seal.chain_at == 0 { CHAIN_SIZE } else { 0 };
        let records = bytes.get(start..used).ok_or(ReadError::Corrupt)?.to_vec();
        Ok(LogBlock { records, next: chain.next, endian })
    }

    /// Writes what can be read of a block, a log's or one that only a log leads to, where a disk
    /// that should have it has something else: from now on it bears the loss of as many disks as
    /// any. A disk that has it is not written, so that what is good stays good if the power goes;
    /// nobody is blamed. Not of a gang, whose pieces lie elsewhere. The next group makes it
    /// durable.
    pub fn restore(&self, bp: &BlkPtr) {
        let tree = self.tree();
        let place = |dva: Dva| match self.copy(&tree, &dva, bp.psize()) {
            Ok(Place::Whole(dva, ashift)) => Some((&tree.top(dva.vdev)?.vdev, dva.offset, ashift)),
            _ => None,
        };
        let places: Vec<_> = bp.dvas().into_iter().filter(Dva::is_valid).filter_map(place).collect();
        let count: usize = places.iter().map(|(vdev, ..)| vdev.leaves().len()).sum();
        if count < 2 || !self.is_writable() {
            return; // It is where it was read.
        }
        let seal = Seal::of(bp);
        let is_it = |bytes: &[u8]| match &seal {
            Some(seal) => seal.is_whole(bp, bytes),
            None => self.is_what(bp, bytes),
        };
        let Ok(bytes) = self.speculate(bp, &is_it) else { return };
        let spread = |(vdev, offset, ashift): (&Arc<Vdev>, u64, u32)| {
            vdev.spread(offset, &Payload::padded(&bytes[..bp.psize() as usize], 1 << ashift))
        };
        let mut parts: Vec<(Arc<Vdev>, u64, Payload)> = places.into_iter().flat_map(spread).collect();
        parts.retain(|(disk, ..)| disk.is_readable(&tree.leaves, None));
        let carry = |class, ops: Vec<(&Arc<Vdev>, u64, Op)>| {
            let io = |(disk, offset, op)| (disk, Io { op, offset, class, repair: false });
            let ios = ops.into_iter().map(io).collect();
            Flight::take_off_at(self.env(), &tree, class, ios).land(&|_, _| true)
        };
        let reads = parts.iter().map(|(disk, at, part)| (disk, *at, Op::Read(part.len())));
        let found = carry(IoClass::SyncRead, reads.collect());
        let has =
            |part: &Payload, found: Done| matches!(found, Ok(Some(bytes)) if bytes[..] == *part.bytes());
        let lacking = parts.iter().zip(found).filter_map(|((disk, at, part), found)| {
            (!has(part, found)).then(|| (disk, *at, Op::Write(part.clone())))
        });
        carry(IoClass::SyncWrite, lacking.collect());
    }

    /// The first copy that `verify` likes. Finding none is nobody's fault, so no disk is blamed for
    /// it; where none answers, they are asked again.
    fn speculate(&self, bp: &BlkPtr, verify: Verify<'_>) -> Result<AlignedBuf, ReadError> {
        let mut found = self.speculate_once(bp, verify);
        for _ in 1..TRIES {
            if !found.as_ref().is_err_and(|error| error.may_pass()) {
                break;
            }
            found = self.speculate_once(bp, verify);
        }
        found
    }

    fn speculate_once(&self, bp: &BlkPtr, verify: Verify<'_>) -> Result<AlignedBuf, ReadError> {
        let tree = self.tree();
        let (mut ios, mut answer) = (Vec::new(), ReadError::Corrupt);
        for dva in bp.dvas().into_iter().filter(Dva::is_valid) {
            let Ok(Place::Whole(dva, ashift)) = self.copy(&tree, &dva, bp.psize()) else { continue };
            let op = Op::Read(bp.psize().next_multiple_of(1 << ashift) as usize);
            let io = Io { op, offset: dva.offset, class: IoClass::SyncRead, repair: false };
            ios.extend(sides(&tree, dva.vdev).into_iter().map(|leaf| (leaf, io.clone())));
            answer = ReadError::Missing;
        }
        // A disk is judged here, without being told; parity cannot help but who knows what is
        // right.
        let parity: Vec<bool> = ios.iter().map(|(vdev, _)| matches!(vdev.kind, Kind::Raidz(_))).collect();
        let flight = Flight::take_off_at(self.env(), &tree, IoClass::SyncRead, ios);
        for done in flight.land(&|n, bytes| !parity[n] || verify(bytes)) {
            match done {
                Ok(Some(bytes)) if verify(&bytes) => return Ok(bytes),
                Ok(_) | Err(IoError::Checksum) => answer = ReadError::Checksum,
                Err(error) if answer != ReadError::Checksum => answer = error.into(),
                Err(_) => {}
            }
        }
        Err(answer)
    }
}

/// Where a log block has its chain, and so its checksum.
pub(super) struct Seal {
    kind: ChecksumKind,
    chain_at: usize,
}

impl Seal {
    /// `None` for what is no block of a log.
    pub fn of(bp: &BlkPtr) -> Option<Seal> {
        if bp.validate().is_err() || bp.is_hole() || bp.is_embedded() || bp.is_gang() {
            return None;
        }
        let kind = bp.checksum_kind().ok()?;
        // The trailer is the last 40 bytes of the chain structure, which stands first or last.
        let chain_at = match kind {
            ChecksumKind::Zilog2 => 0,
            ChecksumKind::Zilog => (bp.psize() as usize).checked_sub(CHAIN_SIZE)?,
            _ => return None,
        };
        Some(Seal { kind, chain_at })
    }

    fn trailer(&self, bytes: &[u8]) -> Option<Eck> {
        let end = self.chain_at + CHAIN_SIZE;
        bytes.get(end - Eck::SIZE..end).and_then(|bytes| Eck::decode(bytes).ok())
    }

    /// Whether these are the block's bytes, or at least those of the block that was written there
    /// last for this chain.
    pub fn is_whole(&self, bp: &BlkPtr, bytes: &[u8]) -> bool {
        let stored = self.trailer(bytes).map(|eck| eck.checksum);
        let block = bytes.get(..bp.psize() as usize);
        let sum =
            block.and_then(|bytes| codec::embedded_checksum(self.kind as u8, bytes, bp.checksum()).ok());
        match (stored, sum) {
            // Half of what is stored is the MAC, and the sum is folded into the other.
            (Some(stored), Some(sum)) if bp.uses_crypt() => stored[..2] == [sum[0] ^ sum[2], sum[1] ^ sum[3]],
            (Some(stored), Some(sum)) => stored == sum,
            _ => false,
        }
    }
}

/// The bytes in use with their checksum, and zeros up to a multiple of 4 KiB, or to the end of the
/// whole block.
fn sealed(bp: &BlkPtr, block: Vec<u8>, whole: bool) -> AlignedBuf {
    let chain = ZilChain::decode(&block, Endian::Little).expect("a log block begins with its chain");
    assert_eq!(chain.nused, block.len() as u64, "the chain counts the bytes in use");
    let len = if whole { bp.psize() as usize } else { block.len().next_multiple_of(MIN_BLOCK_SIZE) };
    assert!(len as u64 <= bp.psize(), "a log block of {} bytes is too small for {len}", bp.psize());
    let mut bytes = AlignedBuf::zeroed(len);
    bytes[..block.len()].copy_from_slice(&block);
    let tail = CHAIN_SIZE - Eck::SIZE..CHAIN_SIZE;
    let eck = |checksum| Eck { endian: Endian::Little, checksum }.encode();
    bytes[tail.clone()].copy_from_slice(&eck(bp.checksum()));
    let sum = codec::embedded_checksum(ChecksumKind::Zilog2 as u8, &bytes, bp.checksum());
    bytes[tail].copy_from_slice(&eck(sum.expect("a block that was just put together")));
    bytes
}

/// How long log blocks were on their way, and how long the flush took then.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LogTimes {
    pub write: Nanos,
    pub flush: Nanos,
}

/// A whole block of an intent log.
#[derive(Clone, Debug)]
pub struct LogBlock {
    /// Records one after the other.
    pub records: Vec<u8>,
    pub next: BlkPtr,
    pub endian: Endian,
}

#[cfg(test)]
mod tests;
