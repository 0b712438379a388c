use std::sync::Arc;

use super::*;
use crate::Block;
use crate::suspend::Cause;
use crate::testing::{noise, plain, rig};

#[test]
fn chunks_hold_at_least_one_block_and_not_too_many_bytes() {
    let items: Vec<WriteItem> = [3 << 20, 1 << 20, 1 << 20, 16 << 20, 512]
        .into_iter()
        .map(|len| WriteItem {
            data: Arc::new(Block::zeroed(len)),
            policy: plain(),
            rewrite: None,
            unless: None,
        })
        .collect();
    let mut ends = Vec::new();
    let mut at = 0;
    while at < items.len() {
        at = chunk_end(&items, at);
        ends.push(at);
    }
    assert_eq!(ends, [2, 3, 4, 5]);
}

#[test]
fn neighbours_in_a_batch_are_neighbours_on_disk() {
    let rig = rig(&[1]);
    let blocks: Vec<_> = (0..64).map(|n| noise(32768, n)).collect();
    let bps: Vec<BlkPtr> = rig.write(&blocks, plain(), 4).into_iter().map(Result::unwrap).collect();
    let next = |pair: &[BlkPtr]| pair[0].first_dva().offset + 32768 == pair[1].first_dva().offset;
    assert!(bps.windows(2).filter(|pair| next(pair)).count() >= 62);
    assert!(rig.disks.counts("a").writes <= 10, "{:?}", rig.disks.counts("a"));
}

#[test]
fn a_suspended_pool_writes_nothing() {
    let rig = rig(&[1]);
    rig.storage.suspension().suspend(Cause::Io);
    assert_eq!(rig.write(&[noise(512, 1)], plain(), 4), [Err(WriteError::Suspended)]);
    assert_eq!(rig.disks.counts("a").writes, 0);
}
