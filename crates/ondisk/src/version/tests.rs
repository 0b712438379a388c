use super::*;

#[test]
fn versions_there_never_were_are_not_known() {
    assert!(is_known(1) && is_known(28) && is_known(5000));
    assert!(!is_known(0) && !is_known(29) && !is_known(4999) && !is_known(5001));
}

#[test]
fn a_pool_holds_the_file_systems_of_its_time() {
    let newest = [1, 8, 9, 14, 15, 23, 24, 28, FEATURES].map(newest_file_system);
    assert_eq!(newest, [2, 2, 3, 3, 4, 4, 5, 5, 5]);
}
