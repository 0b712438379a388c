use super::super::acl::trivial;
use super::*;

#[test]
fn entries_allow_what_no_earlier_one_denies_to_anybody() {
    for mode in 0..0o1000 {
        for is_dir in [false, true] {
            assert_eq!(of_aces(&trivial(mode, is_dir)), mode & 0o77, "{mode:o}");
        }
    }
    let named = |kind, mask, flags| Ace { kind, flags, mask, who: Some(1001) };
    let with = |first: Ace| of_aces(&[&[first][..], &trivial(0o755, false)].concat());
    assert_eq!(with(named(DENY, READ_DATA, 0)), 0o11);
    assert_eq!(with(named(ALLOW, WRITE_DATA | APPEND_DATA, 0)), 0o55);
    assert_eq!(with(named(DENY, READ_DATA, INHERIT_ONLY | INHERIT)), 0o55);
    // Who was allowed before is not denied after.
    assert_eq!(of_aces(&[&trivial(0o755, false)[..], &[named(DENY, READ_DATA, 0)]].concat()), 0o55);
    assert_eq!(inherited(&[named(DENY, READ_DATA, INHERIT)]), 0o733);
    assert_eq!(inherited(&[named(DENY, READ_DATA, 0), named(ALLOW, READ_DATA, INHERIT)]), 0o777);
}
