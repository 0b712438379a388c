use std::sync::Arc;

use env::{DiskError, FaultKind, FaultOp, FaultRule};
use ondisk::{BlkPtr, ChecksumKind, CompressKind};

use super::Shelf;
use crate::testing::{rig, text, with};
use crate::{Block, ReadError};

/// In whatever order and however often blocks are taken, ordered or not: these are their stored
/// bytes.
#[test]
fn what_is_taken_is_what_is_stored() {
    let rig = rig(&[2]);
    // More than may wait to be read ahead.
    let blocks: Vec<Arc<Block>> = (0..2500).map(|n| text(4096, n)).collect();
    let policy = with(ChecksumKind::Fletcher4, CompressKind::Lz4);
    let bps: Vec<BlkPtr> = rig.write(&blocks, policy, 4).into_iter().map(Result::unwrap).collect();
    let shelf = Shelf::new(&rig.storage);
    shelf.order(&bps);
    shelf.order(&bps[..10]);
    let mut asked: Vec<usize> = (0..bps.len()).collect();
    asked.reverse();
    for some in asked.chunks(100) {
        let taken = shelf.take(&some.iter().map(|&n| bps[n]).collect::<Vec<_>>());
        for (&n, bytes) in some.iter().zip(taken) {
            let bytes = bytes.unwrap();
            assert_eq!(bytes.len() as u64, bps[n].psize());
            let mut block = vec![0; 4096];
            codec::decompress(CompressKind::Lz4 as u8, &bytes, &mut block).unwrap();
            assert!(block[..] == blocks[n][..]);
        }
    }
    let twice = shelf.take(&[bps[3], bps[3]]);
    assert!(twice[0].is_ok() && twice[0] == twice[1]);

    rig.faults.inject(FaultRule::new(FaultOp::Read, FaultKind::Fail(DiskError::Io(5))));
    shelf.order(&bps[..20]);
    assert!(shelf.take(&bps[..20]).iter().all(|taken| *taken == Err(ReadError::Io)));
}
