use super::*;

#[test]
fn one_group_behind_is_a_crash_and_two_are_a_side_that_was_left_out() {
    let sides = |a: &[u64], b: &[u64]| [(1, a.to_vec()), (2, b.to_vec())];
    for (a, b, old) in [
        (&[7u64, 8, 9][..], &[7u64, 8, 9][..], false),
        (&[7, 8], &[7, 8, 9], false),
        (&[7], &[7, 8, 9], true),
        (&[2], &[9], false), // The rings have gone round, or the other never had more.
        (&[], &[8, 9], true),
    ] {
        assert_eq!(is_old(1, &sides(a, b)), old, "{a:?} beside {b:?}");
        assert!(!is_old(2, &sides(a, b)));
    }
}
