use super::*;

#[test]
fn a_small_pool_keeps_half_of_itself_a_large_one_a_32nd() {
    let slop = |dspace: u64| PoolSpace { dspace, ..PoolSpace::default() }.slop();
    assert_eq!(slop(200 << 20), 100 << 20);
    assert_eq!(slop(1 << 30), 128 << 20);
    assert_eq!(slop(64 << 30), 2 << 30);
    assert_eq!(slop(1 << 50), 128 << 30);
}

#[test]
fn what_waits_to_be_freed_is_not_available() {
    let space = PoolSpace { dspace: 1 << 30, deferred_frees: 1 << 20, ..PoolSpace::default() };
    assert_eq!(space.adjusted(0), (1 << 30) - (1 << 20) - (128 << 20));
    assert_eq!(space.adjusted(1), (1 << 30) - (1 << 20) - (64 << 20));
}
