use super::is_at_or_below;

#[test]
fn a_name_is_at_or_below_itself_and_those_above_it() {
    for below in ["tank/a", "tank/a/b", "tank/a/b/c"] {
        assert!(is_at_or_below(below, "tank/a") && is_at_or_below(below, "tank"), "{below}");
    }
    for other in ["tank", "tank/ab", "tank/b", "tank/a@s", "a", ""] {
        assert!(!is_at_or_below(other, "tank/a"), "{other}");
    }
    // Of a path's root the slash at its end is cut off before.
    assert!(is_at_or_below("/a", "") && is_at_or_below("", ""));
}
