//! RAID-Z: a block and its parity over the disks, in stripes as wide as the block needs.
//!
//! Every block is a stripe of its own, so a write never has to read, and a stripe is never half
//! new. What a block is worth is known by its checksum alone: no disk needs to say that it gave
//! wrong bytes.
//!
//! Sectors of the vdev are counted across the disks, row by row; a block takes its sectors in this
//! order, and its columns are what it has on each disk ([`map`]). The first columns are the
//! parities ([`codec::raidz`]); the data columns follow, the block cut into pieces, the longer ones
//! first. Space is taken in multiples of one sector more than the parities, so that no gap remains
//! which is too small for any block; the sectors that fill this up are neither written nor read.
//!
//! Facts: module/zfs/vdev_raidz.c.

mod map;
mod read;
mod write;

use std::sync::Arc;

use codec::raidz::Method;
use env::AlignedBuf;

use super::leaf::Leaf;
use super::{Cursor, Io, Op, Vdev};
use crate::{Payload, Segment};
use map::Place;

/// The geometry of a RAID-Z vdev.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raidz {
    /// Parities of each block, 1 to 3; as many disks can go.
    pub parity: usize,
    /// Disks.
    pub width: usize,
    /// log2 of a sector.
    pub ashift: u32,
    /// How parity is computed.
    pub method: Method,
}

impl Raidz {
    /// Bytes that a block of `psize` bytes takes with its parity and what fills it up
    /// (`vdev_raidz_psize_to_asize`).
    pub fn asize(self, psize: u64) -> u64 {
        let (width, parity) = (self.width as u64, self.parity as u64);
        let data = psize.max(1).div_ceil(1 << self.ashift);
        let sectors = data + parity * data.div_ceil(width - parity);
        sectors.next_multiple_of(parity + 1) << self.ashift
    }

    /// What a child has of a stretch of whole sectors (`vdev_raidz_xlate`).
    pub fn part(self, child: usize, stretch: Segment) -> Segment {
        let (width, child) = (self.width as u64, child as u64);
        // Rows whose sector of this child lies before a sector of the vdev.
        let rows = |offset: u64| ((offset >> self.ashift) + width - 1 - child) / width;
        let (first, end) = (rows(stretch.start), rows(stretch.end()));
        Segment { start: first << self.ashift, len: (end - first) << self.ashift }
    }

    /// The state machine for an I/O.
    pub(super) fn cursor(self, vdev: &Vdev, io: Io, leaves: &[Arc<Leaf>]) -> Box<dyn Cursor> {
        let trust = |child: &Arc<Vdev>| {
            if !child.is_readable(leaves, None) {
                Trust::None
            } else if child.is_whole(leaves, None) {
                Trust::Whole
            } else {
                Trust::Behind
            }
        };
        let trust: Vec<Trust> = vdev.children.iter().map(trust).collect();
        let sides = |child: usize| {
            let below = vdev.children[child].children.iter().enumerate();
            below.filter(|(_, side)| side.is_readable(leaves, None)).map(|(n, _)| n).collect()
        };
        match io.op {
            Op::Read(len) => Box::new(read::Read::new(self, io, len, &trust, &sides, &|_| Due::Nothing)),
            Op::Heal { len, birth } => {
                let due = |place: &Place| Due::of(&vdev.children[place.child], leaves, place, birth);
                Box::new(read::Read::new(self, io, len, &trust, &sides, &due))
            }
            Op::Write(_) | Op::Repair { .. } | Op::Supply { .. } => {
                Box::new(write::Write::new(self, io, &trust))
            }
        }
    }

    /// Whether a disk that can be written lacks its column of a block at `place` (offset, whole
    /// sectors).
    pub(super) fn needs_resilver(
        self,
        vdev: &Vdev,
        leaves: &[Arc<Leaf>],
        (offset, len): (u64, usize),
        birth: u64,
    ) -> bool {
        let lacks =
            |place: &Place| vdev.children[place.child].needs_resilver(leaves, place.offset, place.len, birth);
        map::places(self, offset, len).iter().any(lacks)
    }

    /// What a read costs: that of the disk that answers last.
    pub(super) fn load(self, vdev: &Vdev, leaves: &[Arc<Leaf>], offset: u64) -> Option<u64> {
        let row = offset / self.width as u64;
        let slowest = vdev.children.iter().filter_map(|child| child.load(leaves, row)).max();
        slowest.filter(|_| vdev.is_readable(leaves, None))
    }

    /// Where the columns of a block of `len` bytes (whole sectors) lie: child, offset there, bytes.
    pub fn columns(self, offset: u64, len: usize) -> Vec<(usize, u64, usize)> {
        let columns = map::places(self, offset, len).into_iter();
        columns.map(|place| (place.child, place.offset, place.len)).collect()
    }

    /// The columns of a block and what is written there, parities first.
    pub(super) fn split(self, offset: u64, payload: &Payload) -> Vec<(Place, Payload)> {
        let places = map::places(self, offset, payload.len());
        let mut at = 0;
        let data: Vec<Payload> = places[self.parity..]
            .iter()
            .map(|place| {
                let part = payload.part(at, place.len);
                at += place.len;
                part
            })
            .collect();
        let parities = if let [only] = &data[..] {
            // A sum over one column is that column.
            vec![only.clone(); self.parity]
        } else {
            let columns: Vec<&[u8]> = data.iter().map(Payload::bytes).collect();
            self.parities(&columns).into_iter().map(Payload::from_buf).collect()
        };
        places.into_iter().zip(parities.into_iter().chain(data)).collect()
    }

    /// All parities of these data columns.
    fn parities(self, data: &[&[u8]]) -> Vec<AlignedBuf> {
        let mut parities: Vec<AlignedBuf> =
            (0..self.parity).map(|_| AlignedBuf::scratch(data[0].len())).collect();
        let mut into: Vec<&mut [u8]> = parities.iter_mut().map(|parity| &mut parity[..]).collect();
        self.method.generate(&mut into, data);
        parities
    }
}

/// What a child's bytes are worth before they are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trust {
    /// It can do nothing.
    None,
    /// It works, but has missed writes: asked only when the others are not enough.
    Behind,
    Whole,
}

/// What a child that is being healed is to be given though the bytes it gave were right: where
/// several disks share a place, one has spoken for all, and only here it is known what is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    Nothing,
    /// Those disks lack the block that did not speak.
    Supply,
    /// Several should have it, and may have something else.
    Repair,
}

impl Due {
    fn of(child: &Vdev, leaves: &[Arc<Leaf>], place: &Place, birth: u64) -> Due {
        let here = child.children.iter().filter(|side| side.is_readable(leaves, None));
        let lacks = |side: &&Arc<Vdev>| side.needs_resilver(leaves, place.offset, place.len, birth);
        let (lacking, fresh): (Vec<_>, Vec<_>) = here.partition(lacks);
        match (fresh.len(), lacking.len()) {
            (0, 0..=1) | (1, 0) => Due::Nothing,
            (0..=1, _) => Due::Supply,
            _ => Due::Repair,
        }
    }
}

#[cfg(test)]
mod tests;
