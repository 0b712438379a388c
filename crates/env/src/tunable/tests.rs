use super::*;

#[test]
fn rows_are_in_the_order_of_the_list_and_keep_their_own_ranges() {
    let all = Tunables::default();
    for (index, info) in TUNABLES.iter().enumerate() {
        assert_eq!(info.tunable as usize, index, "{}", info.name);
        assert_eq!(Tunable::named(info.name), Some(info.tunable));
        assert!(
            all.get(info.tunable) == info.default && all.set(info.tunable, info.default),
            "{}",
            info.name
        );
    }
}

#[test]
fn what_is_set_is_seen_by_all_clones_and_what_is_out_of_range_changes_nothing() {
    let one = Tunables::default();
    let other = one.clone();
    assert!(one.set(Tunable::TxgTimeout, 60));
    assert_eq!(other.get(Tunable::TxgTimeout), 60);
    assert!(!other.set(Tunable::TxgTimeout, 0));
    assert_eq!(one.get(Tunable::TxgTimeout), 60);
    assert_eq!(Tunable::named("zfs_no_such_thing"), None);
}
