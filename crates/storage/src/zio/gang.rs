//! Blocks in pieces: when no free space is long enough, a header leads to up to three pieces, each
//! perhaps a gang too.
//!
//! A gang's DVAs all lead to copies of one header; the pieces are pointers with a checksum of their
//! own. The header has one copy more than the data, for without it nothing can even be freed. A
//! gang DVA's asize counts the header and the pieces of the same copy, but only the header is freed
//! by it (`zio_write_gang_member_ready`, `metaslab_free_dva`).
//!
//! A header proves that it is of this place and group, no more: later passes of a group rewrite
//! gangs where they lie, and a disk that was lost between two passes has an older header that is
//! just as good. So a gang is read by another copy of its header if what the first leads to is not
//! what the pointer promises. Nothing of it is repaired before the whole has proved itself: two
//! columns of a RAID-Z may have two headers, and two passes of a piece that these lead to; one made
//! like the other by mistake, and nobody can go back to it. What disks could not read is left to a
//! scrub. Source: module/zfs/zio.c, "Gang blocks".

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use env::{AlignedBuf, IoClass};
use ondisk::eck::{Eck, gang_verifier};
use ondisk::gang::{HEADER_POINTERS, HEADER_SIZE, decode, encode};
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, ChecksumKind, Dva};
use stdx::mark::mark;

use super::read::{is_good, refuse};
use super::transform::{Stored, Transformed};
use super::write::{Placed, allocate};
use crate::vdev::open::Tree;
use crate::{Dedup, Payload, ReadError, Storage, WriteError, WritePolicy};

/// How deep gangs may nest. Three to the eighth pieces of 512 bytes are more than the largest block
/// would need in any tree that is not made to waste time.
const MAX_DEPTH: u32 = 10;
/// So many times the pieces that the block can have may be read for it.
const TRIES: u64 = 8;

/// A checksum over a header, with the place it belongs to in the checksum's own place.
fn header_sum(bytes: &[u8], bp: &BlkPtr) -> Option<[u64; 4]> {
    codec::embedded_checksum(ChecksumKind::GangHeader as u8, bytes, gang_verifier(bp)).ok()
}

/// Whether these are the header of this gang.
fn is_header(bp: &BlkPtr, bytes: &[u8]) -> bool {
    let header = &bytes[..HEADER_SIZE];
    match (Eck::decode_tail(header), header_sum(header, bp)) {
        // As with every sum of an encrypted block, half of the place is kept for a MAC
        // (`zio_checksum_handle_crypt`), though a header has none.
        (Ok(eck), Some(sum)) if bp.uses_crypt() && bp.object_type() != ObjectType::OBJSET => {
            eck.checksum[..2] == [sum[0] ^ sum[2], sum[1] ^ sum[3]]
        }
        (Ok(eck), Some(sum)) => eck.checksum == sum,
        _ => false,
    }
}

fn header_places(bp: &BlkPtr) -> Vec<Dva> {
    bp.dvas().into_iter().filter(|dva| dva.is_valid() && dva.gang).collect()
}

/// The pieces that a header names, judged as any pointer from disk.
pub(super) fn pieces_of(header: &[u8]) -> Result<Vec<BlkPtr>, ReadError> {
    let pieces = decode(&header[..HEADER_SIZE]).map_err(|_| ReadError::Corrupt)?;
    let fine = |piece: &BlkPtr| piece.validate().is_ok() && !piece.is_embedded();
    if pieces.is_empty() || !pieces.iter().all(fine) {
        return Err(ReadError::Corrupt);
    }
    Ok(pieces)
}

/// A gang that is being read.
struct Reading {
    class: IoClass,
    depth: u32,
    /// Pieces that may still be read.
    budget: u64,
    /// Something that was read is not what it should be.
    any_bad: AtomicBool,
    proved: Vec<Proved>,
}

impl Reading {
    fn new(bp: &BlkPtr, class: IoClass) -> Reading {
        let budget = bp.psize() / 512 * TRIES;
        Reading { class, depth: 0, budget, any_bad: AtomicBool::new(false), proved: Vec::new() }
    }

    fn note(&self, is_good: bool) -> bool {
        self.any_bad.fetch_or(!is_good, Relaxed);
        is_good
    }
}

/// A gang, and the header that has proved to be its own.
pub(super) type Proved = (BlkPtr, AlignedBuf);

impl Storage {
    /// Reads a gang and everything below; the pieces are verified one by one, and the whole. Where
    /// anything was wrong, all is written again.
    pub(crate) fn read_gang(
        &self,
        tree: &Tree,
        bp: &BlkPtr,
        class: IoClass,
    ) -> Result<AlignedBuf, ReadError> {
        let mut whole = AlignedBuf::zeroed(bp.psize() as usize);
        let mut reading = Reading::new(bp, class);
        self.read_whole(tree, bp, &mut reading, &mut whole)?;
        if self.is_writable() && reading.any_bad.into_inner() {
            for (gang, header) in reading.proved {
                let header = AlignedBuf::from_slice(&header[..HEADER_SIZE]);
                self.write_over(tree, &header_places(&gang), header);
            }
            // It has been read, whatever comes of this.
            let _ = self.overwrite(tree, bp, &whole);
        }
        Ok(whole)
    }

    /// As [`Storage::read_gang`], into a buffer as long as the block; gives its header and all
    /// below.
    pub(super) fn read_proved(
        &self,
        tree: &Tree,
        bp: &BlkPtr,
        class: IoClass,
        into: &mut [u8],
    ) -> Result<Vec<Proved>, ReadError> {
        let mut reading = Reading::new(bp, class);
        self.read_whole(tree, bp, &mut reading, into)?;
        Ok(reading.proved)
    }

    /// By one copy of the header after the other.
    fn read_whole(
        &self,
        tree: &Tree,
        bp: &BlkPtr,
        reading: &mut Reading,
        into: &mut [u8],
    ) -> Result<(), ReadError> {
        let (salt, how) = (self.salt(), (reading.class, reading.depth));
        let mut wrong: Vec<AlignedBuf> = Vec::new();
        let mut failure = None;
        loop {
            let is_new =
                |bytes: &[u8]| wrong.iter().all(|wrong| wrong[..HEADER_SIZE] != bytes[..HEADER_SIZE]);
            let header = match self.fetch_header(tree, bp, how, &reading.any_bad, &is_new) {
                Ok(header) => header,
                Err(error) => return Err(failure.unwrap_or(error)),
            };
            let proved = reading.proved.len();
            let below = pieces_of(&header);
            match below.and_then(|pieces| self.read_pieces(tree, &pieces, reading, into)) {
                Ok(()) if is_good(bp, into, salt.as_ref()) => {
                    reading.any_bad.fetch_or(!wrong.is_empty(), Relaxed);
                    reading.proved.push((*bp, header));
                    return Ok(());
                }
                Ok(()) => failure = Some(ReadError::Checksum),
                Err(error @ (ReadError::Checksum | ReadError::Corrupt)) => failure = Some(error),
                Err(error) => return Err(error),
            }
            reading.proved.truncate(proved);
            wrong.push(header);
        }
    }

    fn read_pieces(
        &self,
        tree: &Tree,
        pieces: &[BlkPtr],
        reading: &mut Reading,
        into: &mut [u8],
    ) -> Result<(), ReadError> {
        let total: u64 = pieces.iter().map(BlkPtr::psize).sum();
        if total != into.len() as u64 || pieces.len() as u64 > reading.budget {
            return Err(ReadError::Corrupt);
        }
        reading.budget -= pieces.len() as u64;
        let mut rest = into;
        for piece in pieces {
            let (here, after) = rest.split_at_mut(piece.psize() as usize);
            rest = after;
            if piece.is_gang() {
                reading.depth += 1;
                let read = self.read_whole(tree, piece, reading, here);
                reading.depth -= 1;
                read?;
            } else {
                let bytes = self.fetch_piece(tree, piece, reading)?;
                here.copy_from_slice(&bytes[..here.len()]);
            }
        }
        Ok(())
    }

    fn fetch_piece(&self, tree: &Tree, piece: &BlkPtr, reading: &Reading) -> Result<AlignedBuf, ReadError> {
        let salt = self.salt();
        if let Some(error) = refuse(piece, salt.as_ref()) {
            return Err(error);
        }
        let copies = piece.dvas().into_iter().filter(Dva::is_valid).collect();
        let verify = |_, bytes: &[u8]| reading.note(is_good(piece, bytes, salt.as_ref()));
        self.try_copies(tree, &[(copies, piece.psize())], (reading.class, false), &verify).remove(0)
    }

    /// The pieces that a gang's first good header names.
    pub(crate) fn read_header(
        &self,
        tree: &Tree,
        bp: &BlkPtr,
        class: IoClass,
        depth: u32,
    ) -> Result<Vec<BlkPtr>, ReadError> {
        pieces_of(&self.fetch_header(tree, bp, (class, depth), &AtomicBool::new(false), &|_| true)?)
    }

    /// The first copy of a gang's header that is wanted; says when there were others that are not.
    fn fetch_header(
        &self,
        tree: &Tree,
        bp: &BlkPtr,
        (class, depth): (IoClass, u32),
        any_bad: &AtomicBool,
        wanted: &(dyn Fn(&[u8]) -> bool + Sync),
    ) -> Result<AlignedBuf, ReadError> {
        if depth > MAX_DEPTH {
            return Err(ReadError::Corrupt);
        }
        let verify = |_, bytes: &[u8]| {
            let is_wanted = is_header(bp, bytes) && wanted(bytes);
            any_bad.fetch_or(!is_wanted, Relaxed);
            is_wanted
        };
        self.try_copies(tree, &[(header_places(bp), HEADER_SIZE as u64)], (class, false), &verify).remove(0)
    }

    /// Finds room in pieces for what has no room as a whole.
    pub(crate) fn place_gang(
        &self,
        tree: &Tree,
        stored: &Stored,
        mut bp: BlkPtr,
        policy: &WritePolicy,
        txg: u64,
        depth: u32,
    ) -> Result<Placed, WriteError> {
        let sector = 1u64 << tree.min_ashift();
        if depth >= MAX_DEPTH || stored.psize <= sector {
            return Err(WriteError::NoSpace);
        }
        let header_copies = (usize::from(policy.copies) + 1).min(ondisk::blkptr::DVAS);
        let headers = allocate(self, HEADER_SIZE as u64, header_copies, txg)?;
        mark("gang block");
        for (index, dva) in headers.iter().enumerate() {
            let mut dva = *dva;
            dva.gang = true;
            bp.set_dva(index, dva);
        }
        let mut placed = Placed::new(bp, headers.clone());
        let mut pieces: Vec<BlkPtr> = Vec::new();
        let mut at = 0;
        while at < stored.psize {
            let left = stored.psize - at;
            let share = left / (HEADER_POINTERS - pieces.len()) as u64;
            let len = share.max(1).next_multiple_of(sector).min(left);
            let part = Payload::padded(
                &stored.payload.bytes()[at as usize..][..len as usize],
                1 << tree.max_ashift(),
            );
            match self.place_piece(tree, part, len, stored.checksum_kind, policy, txg, depth) {
                Ok(piece) => {
                    pieces.push(piece.bp);
                    placed.absorb(piece);
                }
                Err(error) => {
                    placed.give_back(self);
                    return Err(error);
                }
            }
            at += len;
        }
        for piece in &pieces {
            for (index, child) in piece.dvas().into_iter().enumerate().filter(|(_, dva)| dva.is_valid()) {
                let mut dva = placed.bp.dva(index);
                // A piece that is a gang has one copy more; the parent's DVAs beyond its own copies
                // stay as they are.
                if index < usize::from(policy.copies) {
                    dva.asize += child.asize;
                    placed.bp.set_dva(index, dva);
                }
            }
        }
        let header = self.header_payload(tree, &placed.bp, &pieces);
        placed.write_copies(tree, &headers, &header, HEADER_SIZE as u64);
        Ok(placed)
    }

    fn header_payload(&self, tree: &Tree, bp: &BlkPtr, pieces: &[BlkPtr]) -> Payload {
        let mut header = encode(pieces, HEADER_SIZE, gang_verifier(bp));
        let sum = header_sum(&header, bp).expect("a header that was just encoded");
        Eck::put_tail(&mut header, ondisk::Endian::Little, sum);
        Payload::padded(&header, 1 << tree.max_ashift())
    }

    #[expect(clippy::too_many_arguments, reason = "one call, split off to keep functions short")]
    fn place_piece(
        &self,
        tree: &Tree,
        payload: Payload,
        psize: u64,
        kind: ChecksumKind,
        policy: &WritePolicy,
        txg: u64,
        depth: u32,
    ) -> Result<Placed, WriteError> {
        let (stored, bp, policy) = self.piece(payload, psize, kind, policy, txg);
        match allocate(self, psize, usize::from(policy.copies), txg) {
            Ok(dvas) => Ok(Placed::plain(tree, bp, dvas, &stored)),
            Err(WriteError::NoSpace) => self.place_gang(tree, &stored, bp, &policy, txg, depth + 1),
            Err(error) => Err(error),
        }
    }

    /// A piece is stored as it is, with object type 0, under the checksum of the whole.
    fn piece(
        &self,
        payload: Payload,
        psize: u64,
        kind: ChecksumKind,
        policy: &WritePolicy,
        txg: u64,
    ) -> (Stored, BlkPtr, WritePolicy) {
        let policy = WritePolicy {
            object_type: ObjectType(0).0,
            level: 0,
            compression: ondisk::CompressKind::Off,
            embed: false,
            fill: 0,
            dedup: Dedup::Off,
            ..*policy
        };
        let salt = self.salt();
        let checksum = codec::checksum(kind as u8, &payload.bytes()[..psize as usize], salt.as_ref(), false)
            .expect("the whole block's checksum was computed with the same kind");
        let compression = ondisk::CompressKind::Off;
        let stored = Stored { payload, psize, compression, checksum_kind: kind, checksum, dedup: false };
        let bp = stored.pointer(psize, &policy, txg);
        (stored, bp, policy)
    }

    /// Overwrites a gang born in this txg with other bytes of the same size, piece by piece where
    /// they lie.
    pub(crate) fn rewrite_gang(
        &self,
        tree: &Tree,
        stored: &Stored,
        old: &BlkPtr,
        bp: BlkPtr,
        policy: &WritePolicy,
        depth: u32,
    ) -> Result<Placed, ReadError> {
        mark("gang block rewritten");
        let headers: Vec<Dva> = old.dvas().into_iter().filter(Dva::is_valid).collect();
        let mut placed = Placed::new(bp, Vec::new());
        let mut pieces = self.read_header(tree, old, IoClass::SyncRead, depth)?;
        let mut at = 0usize;
        for piece in &mut pieces {
            let len = piece.psize() as usize;
            let bytes = stored.payload.bytes().get(at..at + len).ok_or(ReadError::Corrupt)?;
            let part = Payload::padded(bytes, 1 << tree.max_ashift());
            let txg = bp.logical_birth();
            let (below, mut new, _) = self.piece(part, piece.psize(), stored.checksum_kind, policy, txg);
            for (index, dva) in piece.dvas().into_iter().enumerate() {
                new.set_dva(index, dva);
            }
            let rewritten = if piece.is_gang() {
                self.rewrite_gang(tree, &below, piece, new, policy, depth + 1)?
            } else {
                let dvas: Vec<Dva> = piece.dvas().into_iter().filter(Dva::is_valid).collect();
                let mut rewritten = Placed::new(new, Vec::new());
                rewritten.write_copies(tree, &dvas, &below.payload, below.psize);
                rewritten
            };
            *piece = rewritten.bp;
            placed.absorb(rewritten);
            at += len;
        }
        let header = self.header_payload(tree, &placed.bp, &pieces);
        placed.write_copies(tree, &headers, &header, HEADER_SIZE as u64);
        Ok(placed)
    }

    /// Whether a test asked for pieces where a whole would do.
    pub(crate) fn wants_gang(&self, tree: &Tree, transformed: &Transformed) -> bool {
        let Transformed::Stored(stored) = transformed else { return false };
        let asked = self.env().quirk(env::Quirk::ForceGang)
            || stored.psize >= self.env().tunable(env::Tunable::MetaslabForceGanging);
        asked && stored.psize > 1 << tree.min_ashift()
    }
}

/// Header bytes a gang DVA itself occupies on this vdev.
pub(crate) fn header_asize(tree: &Arc<Tree>, vdev: u32) -> u64 {
    tree.top(vdev).map_or(0, |top| top.asize_of(HEADER_SIZE as u64))
}

#[cfg(test)]
mod tests;
