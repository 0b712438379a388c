use super::super::acl::trivial;
use super::*;

fn posix(entries: &[Entry]) -> Vec<u8> {
    let mut value = VERSION.to_le_bytes().to_vec();
    for (tag, allowed, id) in entries {
        value.extend(tag.to_le_bytes());
        value.extend(allowed.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}

const NONE: u32 = u32::MAX;

#[test]
fn a_posix_acl_allows_a_class_what_each_of_its_members_has() {
    let plain = |entries: &[Entry]| of_posix(&posix(entries)).expect("an ACL");
    let three = [(USER_OBJ, 7, NONE), (GROUP_OBJ, 5, NONE), (OTHER, 4, NONE)];
    assert_eq!(plain(&three), 0o754);
    let with = |more: &[Entry]| plain(&[&three, more].concat());
    assert_eq!(with(&[(USER, 0, 1001), (MASK, 7, NONE)]), 0o700);
    assert_eq!(with(&[(USER, 7, 1001), (MASK, 5, NONE)]), 0o754);
    assert_eq!(with(&[(NAMED_GROUP, 4, 50), (MASK, 7, NONE)]), 0o744);
    assert_eq!(with(&[(USER, 7, 1001), (MASK, 1, NONE)]), 0o710);
}

#[test]
fn chmod_sets_the_mask_where_there_is_one() {
    let acl =
        posix(&[(USER_OBJ, 6, NONE), (USER, 6, 9), (GROUP_OBJ, 4, NONE), (MASK, 6, NONE), (OTHER, 4, NONE)]);
    let after = decode_posix(&posix_with_mode(&acl, 0o600).expect("an ACL")).expect("an ACL");
    assert_eq!(after.iter().map(|entry| entry.1).collect::<Vec<_>>(), [6, 6, 4, 0, 0]);
    let acl = posix(&[(USER_OBJ, 6, NONE), (GROUP_OBJ, 4, NONE), (OTHER, 4, NONE)]);
    let after = decode_posix(&posix_with_mode(&acl, 0o751).expect("an ACL")).expect("an ACL");
    assert_eq!(after.iter().map(|entry| entry.1).collect::<Vec<_>>(), [7, 5, 1]);
}

#[test]
fn what_is_no_posix_acl_is_an_error() {
    for value in [&b""[..], &[2, 0, 0, 0], &[1, 0, 0, 0], &posix(&[(USER_OBJ, 7, NONE)]), &[2, 0, 0, 0, 1]] {
        assert!(of_posix(value).is_err(), "{value:?}");
    }
}

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
