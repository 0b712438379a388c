use ondisk::ChecksumKind;

use super::*;

fn block(sequence: u64, size: u64) -> BlkPtr {
    let mut bp = BlkPtr::new(ondisk::object_type::ObjectType::INTENT_LOG, 0, size, size);
    bp.set_dva(0, ondisk::Dva::new(0, sequence << 20, size));
    bp.set_checksum(ChecksumKind::Zilog2, [1, 2, 3, sequence]);
    bp
}

fn settle(chain: &mut Chain, txg: u64, idle: bool) -> (u64, Vec<u64>) {
    let mut freed = Vec::new();
    let header = chain.settle(txg, idle, |bp| freed.push(bp.checksum()[3]));
    (header.log.checksum()[3], freed)
}

#[test]
fn blocks_go_when_their_groups_are_durable_and_the_open_one_stays() {
    let mut chain = Chain::new(block(1, 4096), 10);
    assert!(!chain.is_usable(9) && chain.is_usable(10) && !chain.exists_in(9));
    chain.advance(11, Some((block(2, 4096), 11)));
    chain.advance(12, Some((block(3, 4096), 12)));
    assert_eq!(settle(&mut chain, 11, false), (1, vec![]), "not landed");
    chain.landed(&block(1, 4096), true);
    chain.landed(&block(2, 4096), true);
    assert_eq!(settle(&mut chain, 10, true), (1, vec![]), "its records are of group 11");
    assert_eq!(settle(&mut chain, 11, true), (2, vec![1]));
    assert_eq!(settle(&mut chain, 20, true), (3, vec![2]), "the open block is not given back");
}

#[test]
fn a_failed_block_ends_the_chain_when_all_of_it_is_durable() {
    let mut chain = Chain::new(block(1, 4096), 10);
    chain.advance(11, Some((block(2, 4096), 12)));
    chain.landed(&block(1, 4096), false);
    assert!(!chain.is_usable(10));
    assert_eq!(settle(&mut chain, 11, true), (2, vec![1]), "the open block is of group 12");
    assert_eq!(settle(&mut chain, 12, false), (2, vec![]), "something is under way");
    assert_eq!(settle(&mut chain, 12, true), (0, vec![2]));
}

#[test]
fn want_of_space_ends_the_chain_but_not_the_last_block() {
    let mut chain = Chain::new(block(1, 4096), 10);
    chain.advance(11, None);
    assert!(chain.retiring && !chain.broken);
    chain.landed(&block(1, 4096), true);
    assert_eq!(chain.room(), 0);
    assert_eq!(settle(&mut chain, 11, true), (0, vec![1]));
}

#[test]
fn blocks_are_as_large_as_the_largest_of_the_last_wishes() {
    let mut chain = Chain::new(block(1, 8192), 10);
    assert_eq!(chain.room(), 8192 - CHAIN_SIZE);
    assert_eq!(chain.next_size(0), 4096);
    assert_eq!(chain.next_size(4096), 8192);
    assert_eq!(chain.next_size(1 << 20), 128 << 10);
    let sizes: Vec<usize> = (0..MEMORY).map(|_| chain.next_size(100)).collect();
    assert_eq!((sizes[0], sizes[MEMORY - 1]), (128 << 10, 4096));
}
