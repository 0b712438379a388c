//! Writing: transform, place, issue, in chunks.
//!
//! While the disks write one chunk, the processors transform the next, and the thread that called
//! places the one between. Placing is done by that thread alone, in the order of the items, so that
//! neighbours in a file become neighbours on disk. A block whose copies do not all arrive is placed
//! once more elsewhere; after that one good copy of each piece is enough, and none is an error.

use std::collections::VecDeque;
use std::sync::Mutex;

use env::{IoClass, lock};
use ondisk::{BlkPtr, Dva};
use stdx::mark::mark;

use super::dedup::{Batch, Judged};
use super::same::unchanged;
use super::transform::{Shape, Stored, Transformed, transform};
use crate::flight::{Flight, check, write_io};
use crate::metaslab::AllocError;
use crate::vdev::Io;
use crate::vdev::open::Tree;
use crate::{IoError, Payload, Storage, WriteError, WriteItem};

/// Logical bytes transformed at once.
const CHUNK_BYTES: usize = 4 << 20;
/// Blocks transformed at once.
const CHUNK_ITEMS: usize = 512;
/// Fewer bytes than these are transformed by one thread: waking others takes longer.
const ALONE_BELOW: usize = 128 << 10;
/// Chunks on their way to disk.
const CHUNKS_IN_FLIGHT: usize = 4;

type Written = Result<BlkPtr, WriteError>;

/// A block with a place, and the writes that bring it there.
pub(crate) struct Placed {
    pub bp: BlkPtr,
    /// What was allocated for it; empty for a rewrite in place.
    dvas: Vec<Dva>,
    /// Each with the number of the piece it is a copy of.
    writes: Vec<(usize, u32, Io)>,
    pieces: usize,
}

impl Placed {
    pub fn new(bp: BlkPtr, dvas: Vec<Dva>) -> Placed {
        Placed { bp, dvas, writes: Vec::new(), pieces: 0 }
    }

    /// A whole block in one piece.
    pub fn plain(tree: &Tree, mut bp: BlkPtr, dvas: Vec<Dva>, stored: &Stored) -> Placed {
        for (index, dva) in dvas.iter().enumerate() {
            bp.set_dva(index, *dva);
        }
        let mut placed = Placed::new(bp, dvas.clone());
        placed.write_copies(tree, &dvas, &stored.payload, stored.psize);
        placed
    }

    /// Adds a piece: the same bytes at each of these places.
    pub fn write_copies(&mut self, tree: &Tree, dvas: &[Dva], payload: &Payload, psize: u64) {
        for dva in dvas {
            let ashift =
                check(tree, dva.vdev, dva.offset, psize).expect("space was allocated inside its vdev");
            let io = write_io(ashift, dva.offset, payload, psize, IoClass::AsyncWrite);
            self.writes.push((self.pieces, dva.vdev, io));
        }
        self.pieces += 1;
    }

    /// Takes over the writes and the space of a part.
    pub fn absorb(&mut self, part: Placed) {
        self.writes.extend(part.writes.into_iter().map(|(piece, vdev, io)| (piece + self.pieces, vdev, io)));
        self.pieces += part.pieces;
        self.dvas.extend(part.dvas);
    }

    /// Returns the space.
    pub fn give_back(&self, storage: &Storage) {
        for dva in &self.dvas {
            storage.classes().unallocate(dva, self.bp.physical_birth());
        }
    }
}

/// Space for so many copies in the normal class.
pub(crate) fn allocate(
    storage: &Storage,
    psize: u64,
    copies: usize,
    txg: u64,
) -> Result<Vec<Dva>, WriteError> {
    storage.classes().normal.allocate(psize, copies, txg).map_err(why)
}

pub(crate) fn why(error: AllocError) -> WriteError {
    match error {
        AllocError::NoSpace => WriteError::NoSpace,
        AllocError::Read(error) => {
            tracing::error!(%error, "a space map cannot be read");
            WriteError::Io
        }
    }
}

/// Items of a batch whose writes are under way.
struct Chunk<'t> {
    /// [`Storage::losses`] before it took off.
    losses: u64,
    flight: Flight<'t>,
    /// Index in the batch, what it will be, and how many writes it has in the flight.
    blocks: Vec<(usize, Placed, Stored)>,
}

impl Storage {
    /// Writes blocks and says where they are, in the order given. Syncing context only. An all-zero
    /// block whose policy allows compression becomes [`BlkPtr::HOLE`], to which the caller gives a
    /// birth where that matters.
    ///
    /// `landed` is told how many of the items' bytes are done with, as it goes on. Nothing is
    /// durable before [`Storage::flush_all`]. Where no copy of a block can be written, the pool is
    /// suspended, and this waits with it ([`crate::suspend`]).
    pub fn write_batch(&self, items: Vec<WriteItem>, txg: u64, landed: &mut dyn FnMut(u64)) -> Vec<Written> {
        if self.is_suspended() && self.park(WriteError::Suspended).is_err() {
            return items.iter().map(|_| Err(WriteError::Suspended)).collect();
        }
        let mut answers = self.write_once(&items, txg, landed);
        loop {
            let failed: Vec<usize> =
                (0..answers.len()).filter(|&n| answers[n] == Err(WriteError::Io)).collect();
            if failed.is_empty() || self.park(WriteError::Io).is_err() {
                return answers;
            }
            let again: Vec<WriteItem> = failed.iter().map(|&n| items[n].clone()).collect();
            // Their bytes have been counted.
            for (n, written) in failed.into_iter().zip(self.write_once(&again, txg, &mut |_| {})) {
                answers[n] = written;
            }
        }
    }

    fn write_once(&self, items: &[WriteItem], txg: u64, landed: &mut dyn FnMut(u64)) -> Vec<Written> {
        let tree = self.tree();
        let mut answers: Vec<Option<Written>> = items.iter().map(|_| None).collect();
        let mut flying: VecDeque<Chunk<'_>> = VecDeque::new();
        let mut dedup = Batch::new();
        let (mut at, mut end) = (0, chunk_end(items, 0));
        let mut ready = self.transform_beside(&tree, &items[..end], txg, &mut || {});
        while at < end {
            let next = chunk_end(items, end);
            let mut transformed = std::mem::take(&mut ready);
            ready = self.transform_beside(&tree, &items[end..next], txg, &mut || {
                let judged = dedup.judge(self, items, at, &mut transformed, txg);
                let all = (at..end).zip(std::mem::take(&mut transformed)).zip(judged);
                flying.push_back(self.launch(&tree, items, all, &mut answers, txg));
                if flying.len() > CHUNKS_IN_FLIGHT {
                    let chunk = flying.pop_front().expect("there are several");
                    landed(self.land_chunk(&tree, chunk, items, &mut answers, txg));
                }
            });
            (at, end) = (end, next);
        }
        for chunk in flying {
            landed(self.land_chunk(&tree, chunk, items, &mut answers, txg));
        }
        dedup.settle(self, &mut answers);
        answers.into_iter().map(|answer| answer.expect("all are answered")).collect()
    }

    /// Does the caller's `own` work, too.
    fn transform_beside(
        &self,
        tree: &Tree,
        items: &[WriteItem],
        txg: u64,
        own: &mut dyn FnMut(),
    ) -> Vec<Transformed> {
        let salt = self.salt();
        let shape =
            Shape { salt: salt.as_ref(), min_ashift: tree.min_ashift(), max_ashift: tree.max_ashift() };
        let cells: Vec<Mutex<Option<Transformed>>> = items.iter().map(|_| Mutex::new(None)).collect();
        let one = |n: usize| {
            *lock(&cells[n]) = Some(transform(&shape, &items[n].data, &items[n].policy, txg));
        };
        if items.iter().map(|item| item.data.len()).sum::<usize>() < ALONE_BELOW {
            own();
            (0..items.len()).for_each(one);
        } else {
            self.env().driver.par_map_beside(items.len(), &one, own);
        }
        let taken = |cell: Mutex<Option<Transformed>>| cell.into_inner().ok().flatten();
        cells.into_iter().map(|cell| taken(cell).expect("all were transformed")).collect()
    }

    /// Places what is to be written, and puts it on its way; the rest is answered.
    fn launch<'t>(
        &'t self,
        tree: &'t Tree,
        items: &[WriteItem],
        all: impl Iterator<Item = ((usize, Transformed), Judged)>,
        answers: &mut [Option<Written>],
        txg: u64,
    ) -> Chunk<'t> {
        let mut blocks = Vec::new();
        for ((n, transformed), judged) in all {
            match judged {
                Judged::Write => {}
                Judged::Same => continue,
                Judged::There(bp) => {
                    self.remember(&bp, items[n].data.clone(), items[n].policy.keep);
                    answers[n] = Some(Ok(bp));
                    continue;
                }
            }
            if let Transformed::Stored(stored) = &transformed
                && let Some(there) = unchanged(tree, &items[n], stored)
            {
                self.remember(&there, items[n].data.clone(), items[n].policy.keep);
                answers[n] = Some(Ok(there));
                continue;
            }
            match self.place(tree, &items[n], transformed, txg) {
                Ok((placed, Some(stored))) => blocks.push((n, placed, stored)),
                Ok((placed, None)) => answers[n] = Some(Ok(placed.bp)),
                Err(error) => answers[n] = Some(Err(error)),
            }
        }
        let ios = blocks.iter_mut().flat_map(|(_, placed, _)| ios_of(placed)).collect();
        let losses = self.losses();
        Chunk { losses, flight: Flight::take_off(self.env(), tree, IoClass::AsyncWrite, ios), blocks }
    }

    /// A pointer and the writes for it; without bytes for the disk the pointer is all.
    fn place(
        &self,
        tree: &Tree,
        item: &WriteItem,
        transformed: Transformed,
        txg: u64,
    ) -> Result<(Placed, Option<Stored>), WriteError> {
        let gang = self.wants_gang(tree, &transformed);
        let stored = match transformed {
            Transformed::Hole => return Ok((Placed::new(BlkPtr::HOLE, Vec::new()), None)),
            Transformed::Embedded(bp) => return Ok((Placed::new(bp, Vec::new()), None)),
            Transformed::Stored(stored) => stored,
        };
        let bp = stored.pointer(item.data.len() as u64, &item.policy, txg);
        if let Some(placed) =
            item.rewrite.as_ref().and_then(|old| self.in_place(tree, item, &stored, old, bp))
        {
            return Ok((placed, Some(stored)));
        }
        let placed = if gang {
            self.place_gang(tree, &stored, bp, &item.policy, txg, 0)?
        } else {
            self.place_anew(tree, item, &stored, bp, txg)?
        };
        Ok((placed, Some(stored)))
    }

    fn place_anew(
        &self,
        tree: &Tree,
        item: &WriteItem,
        stored: &Stored,
        bp: BlkPtr,
        txg: u64,
    ) -> Result<Placed, WriteError> {
        let copies = usize::from(item.policy.copies);
        let preferred = self.classes().preferred(&item.policy, stored.psize);
        // One that is full, or has a space map that cannot be read, is passed over.
        let apart = preferred.and_then(|class| class.allocate(stored.psize, copies, txg).ok());
        match apart.map_or_else(|| allocate(self, stored.psize, copies, txg), Ok) {
            Ok(dvas) => Ok(Placed::plain(tree, bp, dvas, stored)),
            Err(WriteError::NoSpace) => self.place_gang(tree, stored, bp, &item.policy, txg, 0),
            Err(error) => Err(error),
        }
    }

    /// Over `old`, if it was born in this txg, has as many copies and exactly this size.
    fn in_place(
        &self,
        tree: &Tree,
        item: &WriteItem,
        stored: &Stored,
        old: &BlkPtr,
        mut bp: BlkPtr,
    ) -> Option<Placed> {
        let copies = usize::from(item.policy.copies) + usize::from(old.is_gang());
        let same = !old.is_hole()
            && !old.is_embedded()
            && old.physical_birth() == bp.physical_birth()
            && old.psize() == stored.psize
            && old.ndvas() == copies.min(ondisk::blkptr::DVAS);
        if !same {
            return None;
        }
        mark("block rewritten in a later pass");
        for (index, dva) in old.dvas().into_iter().enumerate() {
            bp.set_dva(index, dva);
        }
        if old.is_gang() {
            return self.rewrite_gang(tree, stored, old, bp, &item.policy, 0).ok();
        }
        let dvas: Vec<Dva> = old.dvas().into_iter().filter(Dva::is_valid).collect();
        let mut placed = Placed::new(bp, Vec::new());
        placed.write_copies(tree, &dvas, &stored.payload, stored.psize);
        Some(placed)
    }

    /// Gives the bytes of its items.
    fn land_chunk(
        &self,
        tree: &Tree,
        chunk: Chunk<'_>,
        items: &[WriteItem],
        answers: &mut [Option<Written>],
        txg: u64,
    ) -> u64 {
        let mut bytes = 0;
        // Where nobody can bring a disk back, nothing is written again.
        let keep_writes = self.suspension().is_patient();
        let mut done = chunk.flight.land(&|_, _| true).into_iter().map(|done| done.map(|_| ()));
        for (n, placed, stored) in chunk.blocks {
            let results: Vec<Result<(), IoError>> = done.by_ref().take(placed.writes.len()).collect();
            let written = if results.iter().all(Result::is_ok) {
                Ok(placed)
            } else {
                self.write_elsewhere(tree, &items[n], &stored, placed, &results, txg)
            };
            if let Ok(placed) = &written {
                self.remember(&placed.bp, items[n].data.clone(), items[n].policy.keep);
                if keep_writes {
                    let written = placed.writes.iter().map(|(_, vdev, io)| (*vdev, io));
                    self.unflushed.note(written, chunk.losses);
                }
            }
            bytes += items[n].data.len() as u64;
            answers[n] = Some(written.map(|placed| placed.bp));
        }
        bytes
    }

    /// The second and last try.
    fn write_elsewhere(
        &self,
        tree: &Tree,
        item: &WriteItem,
        stored: &Stored,
        first: Placed,
        results: &[Result<(), IoError>],
        txg: u64,
    ) -> Result<Placed, WriteError> {
        tracing::warn!(bp = ?first.bp, "write failed, trying another place");
        let bp = stored.pointer(item.data.len() as u64, &item.policy, txg);
        let good_enough = first.has_each_piece(results);
        let second = match self.place_anew(tree, item, stored, bp, txg) {
            Ok(second) => second,
            Err(_) if good_enough => return Ok(first),
            Err(error) => {
                first.give_back(self);
                return Err(error);
            }
        };
        let mut second = second;
        let ios = ios_of(&mut second).collect();
        let done = Flight::take_off(self.env(), tree, IoClass::AsyncWrite, ios).land(&|_, _| true);
        let done: Vec<_> = done.into_iter().map(|done| done.map(|_| ())).collect();
        let all = done.iter().all(Result::is_ok);
        if all || (!good_enough && second.has_each_piece(&done)) {
            first.give_back(self);
            return Ok(second);
        }
        second.give_back(self);
        if good_enough {
            return Ok(first);
        }
        first.give_back(self);
        Err(WriteError::Io)
    }
}

impl Placed {
    /// Whether at least one copy of every piece arrived.
    fn has_each_piece(&self, results: &[Result<(), IoError>]) -> bool {
        (0..self.pieces).all(|piece| {
            self.writes.iter().zip(results).any(|((number, ..), result)| *number == piece && result.is_ok())
        })
    }
}

fn ios_of(placed: &mut Placed) -> impl Iterator<Item = (u32, Io)> {
    placed.writes.iter().map(|(_, vdev, io)| (*vdev, io.clone()))
}

fn chunk_end(items: &[WriteItem], from: usize) -> usize {
    let mut bytes = 0;
    let fits = |item: &&WriteItem| {
        bytes += item.data.len();
        bytes <= CHUNK_BYTES
    };
    let count = items[from..].iter().take(CHUNK_ITEMS).take_while(fits).count();
    (from + count.max(1)).min(items.len())
}

#[cfg(test)]
mod tests;
