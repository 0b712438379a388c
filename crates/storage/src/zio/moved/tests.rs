use std::sync::Arc;

use ondisk::{BlkPtr, Dva};

use crate::flight::write_io;
use crate::range_tree::RangeTree;
use crate::testing::{DISK, Rig, noise, plain, rig};
use crate::vdev::config::{VdevConfig, VdevKind};
use crate::{Block, IoClass, MovedSource, OpenIntent, Patient, Payload, ReadError, Segment, VdevState};

/// The first removed vdev lies half on the second, which was removed after it, and half on the
/// mirror; the second lies on the mirror alone.
struct Halves {
    second: u32,
    half: u64,
}

impl MovedSource for Halves {
    fn moved(&self, vdev: u32, offset: u64, len: u64) -> Result<Vec<Dva>, ReadError> {
        if offset + len > 2 * self.half {
            return Err(ReadError::Corrupt);
        }
        if vdev == self.second {
            return Ok(vec![Dva::new(0, offset + (8 << 20), len)]);
        }
        let before = self.half.saturating_sub(offset).min(len);
        let mut places = vec![];
        if before > 0 {
            places.push(Dva::new(self.second, offset, before));
        }
        if len > before {
            places.push(Dva::new(0, offset + before + (12 << 20), len - before));
        }
        Ok(places)
    }
}

/// A mirror and two removed vdevs, and a block of 128 KiB that lies across the middle of the first
/// of them.
fn split_block() -> (Rig, BlkPtr, Vec<u8>, [Dva; 2]) {
    let rig = rig(&[2]);
    let mut root = rig.storage.config();
    for id in 1..=2 {
        let mut top = VdevConfig::new(VdevKind::Indirect, id, 1000 + id);
        (top.ashift, top.asize) = (Some(9), Some(DISK));
        root.children.push(top);
    }
    rig.storage.open_tree(&root, OpenIntent::Create).unwrap();
    let half = 1 << 20;
    rig.storage.attach_moved(Arc::new(Halves { second: 2, half }));
    let (data, len) = (noise(128 << 10, 1), 128 << 10);
    let mut bp = rig.write_one(&data, plain());
    // Where its pieces would have been put when the vdevs were removed.
    let start = half - (32 << 10);
    let pieces = [Dva::new(0, start + (8 << 20), 32 << 10), Dva::new(0, half + (12 << 20), 96 << 10)];
    let tree = rig.storage.tree();
    let mut at = 0;
    for piece in &pieces {
        rig.storage.classes().claim(piece, 4).unwrap();
        let part = Payload::padded(&data[at..at + piece.asize as usize], 512);
        let io = write_io(9, piece.offset, &part, piece.asize, IoClass::AsyncWrite);
        super::Flight::take_off(rig.storage.env(), &tree, IoClass::AsyncWrite, vec![(0, io)])
            .land(&|_, _| true)
            .remove(0)
            .unwrap();
        at += piece.asize as usize;
    }
    rig.settle(4);
    bp.set_dva(0, Dva::new(1, start, len));
    (rig, bp, data.to_vec(), pieces)
}

#[test]
fn a_block_in_pieces_is_put_together_from_the_good_ones() {
    let (rig, bp, data, pieces) = split_block();
    assert!(rig.read(&bp).unwrap()[..] == data[..]);
    // One piece is bad on one side, the other on the other: neither side has a whole block.
    let front = 4 << 20;
    for (path, piece) in [("a", &pieces[0]), ("b", &pieces[1])] {
        let at = (front + piece.offset) as usize;
        rig.disks.edit(path, |bytes| bytes[at..at + 512].fill(0x5a));
    }
    let survey = rig.storage.survey(&[bp], IoClass::Scrub).remove(0);
    assert_eq!((survey.good, survey.error), (1, None));
    assert!(rig.leaf("a").checksum_errors + rig.leaf("b").checksum_errors >= 1);
    // Both were repaired: each side does alone.
    for lost in ["a", "b"] {
        let whole: Vec<u8> = pieces
            .iter()
            .flat_map(|piece| {
                let from = (front + piece.offset) as usize;
                let mut bytes = Vec::new();
                rig.disks.edit(lost, |disk| bytes = disk[from..from + piece.asize as usize].to_vec());
                bytes
            })
            .collect();
        assert!(whole == data, "{lost}");
    }
    for path in ["a", "b"] {
        let at = (front + pieces[0].offset) as usize;
        rig.disks.edit(path, |bytes| bytes[at..at + 512].fill(0x5a));
    }
    assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Checksum);
}

#[test]
fn a_block_in_pieces_is_healed_on_every_side() {
    let (rig, bp, data, pieces) = split_block();
    let front = 4 << 20;
    let places = || pieces.iter().map(|piece| (front + piece.offset as usize, piece.asize as usize));
    let lose = |path: &str| {
        places().for_each(|(at, len)| rig.disks.edit(path, |disk| disk[at..at + len].fill(0x5a)));
    };
    let on = |path: &str| {
        let mut all = Vec::new();
        places()
            .for_each(|(at, len)| rig.disks.edit(path, |disk| all.extend_from_slice(&disk[at..at + len])));
        all
    };
    let heal = || rig.storage.healer().heal(vec![Patient { bp, copy: 0 }]).land();
    // One side lacks everything, and says so.
    lose("b");
    let guid = rig.leaf("b").guid;
    rig.storage.set_missing(guid, &RangeTree::whole(0, 100));
    assert!(rig.storage.mark_behind(guid));
    assert_eq!(heal(), [Ok(())]);
    assert!(on("b") == data);
    assert_eq!((rig.leaf("b").checksum_errors, rig.leaf("b").scan_processed), (0, data.len() as u64));
    assert!(rig.storage.set_leaf_state(guid, VdevState::Online));
    // Another has lost it without knowing.
    lose("a");
    assert_eq!(heal(), [Ok(())]);
    assert!(on("a") == data);
    assert_eq!((rig.leaf("a").checksum_errors, rig.leaf("b").checksum_errors), (2, 0));
    // Nobody has it, but for another copy of the block.
    ["a", "b"].iter().for_each(|path| lose(path));
    assert_eq!(heal(), [Err(ReadError::Checksum)]);
    let whole = rig.write_one(&Arc::new(Block::from_slice(&data)), plain());
    let mut twice = bp;
    twice.set_dva(1, whole.dva(0));
    assert_eq!(rig.storage.healer().heal(vec![Patient { bp: twice, copy: 0 }]).land(), [Ok(())]);
    assert!(on("a") == data && on("b") == data);
}

#[test]
fn freeing_gives_back_the_pieces_and_leaves_every_mapping_obsolete() {
    let (rig, bp, _, pieces) = split_block();
    rig.storage.free(&bp, 5);
    assert!(!rig.storage.is_suspended());
    let (start, len) = (bp.first_dva().offset, 128 << 10);
    let obsolete = rig.storage.take_obsolete();
    assert_eq!(obsolete, [(1, vec![Segment { start, len }]), (2, vec![Segment { start, len: 32 << 10 }]),]);
    let mut freed: Vec<Segment> =
        rig.storage.take_changes(5).into_iter().flat_map(|change| change.frees).collect();
    freed.sort_by_key(|segment| segment.start);
    let expected = pieces.map(|piece| Segment { start: piece.offset, len: piece.asize });
    assert_eq!(freed, expected);
    assert_eq!(rig.storage.take_obsolete(), []);
    rig.storage.free(&bp, 6);
    assert!(rig.storage.is_suspended(), "it was free already");
}

#[test]
fn space_that_is_not_mapped_is_corrupt() {
    let (rig, mut bp, ..) = split_block();
    bp.set_dva(0, Dva::new(1, 2 << 20, 128 << 10));
    assert_eq!(rig.read(&bp).unwrap_err(), ReadError::Corrupt);
    assert_eq!(rig.storage.all_dvas(&bp), Err(ReadError::Corrupt));
    rig.storage.free(&bp, 5);
    assert_eq!((rig.storage.take_changes(5), rig.storage.take_obsolete()), (vec![], vec![]));
    assert!(!rig.storage.is_suspended());
}
