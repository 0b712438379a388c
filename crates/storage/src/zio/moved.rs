//! Blocks on top-level vdevs that were removed: their pointers stay as they are, their bytes are
//! elsewhere.
//!
//! A removed vdev is *indirect*: it has no disks but a mapping, of which a [`MovedSource`] knows.
//! Where a place is asked for, [`Storage::pieces`] follows the mapping, through further removed
//! vdevs if need be, to places that exist. One place may have become several: such a block is
//! *split*, and the pieces are judged together, for the pointer has one checksum. Where they lie on
//! mirrors and do not fit, all combinations of their versions are tried.
//!
//! What is freed there is free where it is now, and *obsolete* in every mapping on the way: that is
//! collected here, to be written down by the pool ([`Storage::take_obsolete`]). Nothing is ever
//! placed on a removed vdev.
//!
//! Sources: module/zfs/vdev_indirect.c (`vdev_indirect_remap`, reconstruction), metaslab.c
//! (`metaslab_free_impl`).

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::{AlignedBuf, IoClass};
use ondisk::Dva;

use super::sides::sides;
use crate::flight::{Flight, check};
use crate::range_tree::Segment;
use crate::storage::moved::MovedSource;
use crate::vdev::open::Tree;
use crate::vdev::{Io, Kind, Op};
use crate::{Payload, ReadError, Storage};

/// Combinations of versions tried before a split block is given up
/// (`zfs_reconstruct_indirect_combinations_max`).
const COMBINATIONS_MAX: usize = 4096;

/// Where a place leads.
#[derive(Default)]
pub(crate) struct Pieces {
    /// In order; each on a vdev that is there.
    pub now: Vec<Dva>,
    /// Places on removed vdevs, the one asked for included.
    pub passed: Vec<Dva>,
}

/// A copy of a block, to be tried.
pub(crate) enum Place {
    /// In one piece, with its vdev's ashift.
    Whole(Dva, u32),
    /// In pieces, whole sectors each, on a vdev of which this is the number.
    Split(u32, Vec<Dva>),
}

impl Storage {
    /// Who knows where removed vdevs' space is.
    pub fn attach_moved(&self, source: Arc<dyn MovedSource>) {
        self.moved().source.attach(source);
    }

    /// What became obsolete on removed vdevs since the last call.
    pub fn take_obsolete(&self) -> Vec<(u32, Vec<Segment>)> {
        let taken = self.moved().take_obsolete().into_iter();
        taken.map(|(vdev, ranges)| (vdev, ranges.iter().collect())).collect()
    }

    /// Where the space of a DVA is now, vdevs that were never removed included.
    pub(crate) fn pieces(&self, tree: &Tree, dva: &Dva) -> Result<Pieces, ReadError> {
        let mut pieces = Pieces::default();
        if !is_moved(tree, dva.vdev) {
            pieces.now.push(*dva);
            return Ok(pieces);
        }
        let source = self.moved().source.get().ok_or(ReadError::Io)?;
        let mut left = vec![(*dva, 0)];
        while let Some((dva, depth)) = left.pop() {
            check(tree, dva.vdev, dva.offset, dva.asize).ok_or(ReadError::Corrupt)?;
            if !is_moved(tree, dva.vdev) {
                pieces.now.push(dva);
                continue;
            }
            if depth > tree.tops.len() {
                return Err(ReadError::Corrupt);
            }
            pieces.passed.push(dva);
            let next = source.moved(dva.vdev, dva.offset, dva.asize)?;
            left.extend(next.into_iter().rev().map(|dva| (dva, depth + 1)));
        }
        Ok(pieces)
    }

    /// A copy of `len` bytes at a DVA, as it can be read.
    pub(crate) fn copy(&self, tree: &Tree, dva: &Dva, len: u64) -> Result<Place, ReadError> {
        let ashift = check(tree, dva.vdev, dva.offset, len).ok_or(ReadError::Corrupt)?;
        if !is_moved(tree, dva.vdev) {
            return Ok(Place::Whole(*dva, ashift));
        }
        let asked = Dva::new(dva.vdev, dva.offset, len.next_multiple_of(1 << ashift));
        let now = self.pieces(tree, &asked)?.now;
        match &now[..] {
            [one] => {
                let ashift = check(tree, one.vdev, one.offset, len).ok_or(ReadError::Corrupt)?;
                Ok(Place::Whole(*one, ashift))
            }
            _ => Ok(Place::Split(dva.vdev, now)),
        }
    }

    /// A block in pieces: as each vdev reads it best, else the first combination of all sides'
    /// versions that `verify` likes. Sides that gave other bytes are blamed, unless they lack
    /// something anyway, and repaired. To heal a block, `healed` is its birth: then every side is
    /// looked at.
    pub(crate) fn fetch_split(
        &self,
        tree: &Tree,
        pieces: &[Dva],
        (class, healed): (IoClass, Option<u64>),
        verify: &dyn Fn(&[u8]) -> bool,
    ) -> Result<AlignedBuf, ReadError> {
        let read =
            |dva: &Dva| Io { op: Op::Read(dva.asize as usize), offset: dva.offset, class, repair: false };
        if healed.is_none() {
            let ios = pieces.iter().map(|dva| (dva.vdev, read(dva))).collect();
            let parts = Flight::take_off(self.env(), tree, class, ios).land(&|_, _| true);
            if let Ok(parts) = parts.into_iter().collect::<Result<Vec<_>, _>>() {
                let whole = join(parts.iter().flatten().map(|part| &part[..]));
                if verify(&whole) {
                    return Ok(whole);
                }
            }
        }
        let mut owners = Vec::new();
        let mut ios = Vec::new();
        for (n, dva) in pieces.iter().enumerate() {
            for leaf in sides(tree, dva.vdev) {
                owners.push((n, leaf));
                ios.push((leaf, read(dva)));
            }
        }
        let done = Flight::take_off_at(self.env(), tree, class, ios).land(&|_, _| true);
        let mut versions: Vec<Vec<AlignedBuf>> = pieces.iter().map(|_| Vec::new()).collect();
        let mut given = Vec::new();
        for ((n, leaf), done) in owners.into_iter().zip(done) {
            let Ok(Some(bytes)) = done else { continue };
            let known = versions[n].iter().position(|version| version[..] == bytes[..]);
            given.push((n, leaf, known.unwrap_or(versions[n].len())));
            if known.is_none() {
                versions[n].push(bytes);
            }
        }
        if versions.iter().any(Vec::is_empty) {
            return Err(ReadError::Io);
        }
        let mut choice = vec![0; pieces.len()];
        for _ in 0..COMBINATIONS_MAX {
            let whole = join(choice.iter().zip(&versions).map(|(&at, versions)| &versions[at][..]));
            if verify(&whole) {
                let wrong = given.iter().filter(|(n, _, version)| choice[*n] != *version);
                let mut repairs = Vec::new();
                for (n, leaf, _) in wrong {
                    if let Kind::Leaf(index) = leaf.kind
                        && tree.leaves[index].is_whole()
                    {
                        tree.leaves[index].counters.checksum_errors.fetch_add(1, Relaxed);
                    }
                    let payload = Payload::padded(&versions[*n][choice[*n]], 1);
                    let op = match healed {
                        Some(birth) => Op::Repair { payload, birth },
                        None => Op::Write(payload),
                    };
                    repairs.push((*leaf, Io { op, offset: pieces[*n].offset, class, repair: false }));
                }
                if !repairs.is_empty() && self.is_writable() {
                    let class = if healed.is_some() { class } else { IoClass::AsyncWrite };
                    Flight::take_off_at(self.env(), tree, class, repairs).land(&|_, _| true);
                }
                return Ok(whole);
            }
            if !next_choice(&mut choice, &versions) {
                break;
            }
        }
        Err(ReadError::Checksum)
    }
}

/// Whether a top-level vdev was removed.
pub(crate) fn is_moved(tree: &Tree, vdev: u32) -> bool {
    tree.top(vdev).is_some_and(|top| top.vdev.kind == Kind::Indirect)
}

fn join<'a>(parts: impl Iterator<Item = &'a [u8]>) -> AlignedBuf {
    AlignedBuf::concat(&parts.collect::<Vec<_>>())
}

/// Counts up; `false` after the last.
fn next_choice(choice: &mut [usize], versions: &[Vec<AlignedBuf>]) -> bool {
    for (digit, versions) in choice.iter_mut().zip(versions) {
        *digit += 1;
        if *digit < versions.len() {
            return true;
        }
        *digit = 0;
    }
    false
}

#[cfg(test)]
mod tests;
