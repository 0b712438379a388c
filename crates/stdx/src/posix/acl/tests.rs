use super::super::{EXEC, Kind, READ, WRITE, check, permitted};
use super::*;
use crate::prng::Prng;

fn acl(entries: &[(Tag, u32)]) -> Acl {
    let entries: Vec<Entry> = entries.iter().map(|&(tag, allowed)| Entry { tag, allowed }).collect();
    assert!(is_whole(&entries));
    Acl { entries }
}

fn who(uid: u32, groups: &[u32]) -> Who<'_> {
    Who { uid, gid: groups[0], groups: &groups[1..] }
}

/// A file of user 10 and group 20, with the mode that goes with the ACL.
fn node(acl: &Acl) -> Node<'_> {
    Node { uid: 10, gid: 20, mode: acl.mode().0, withheld: 0, acl: Some(acl), kind: Kind::File }
}

#[test]
fn the_first_of_owner_named_user_groups_and_others_decides() {
    use Tag::{Group, Mask, NamedGroup, Other, Owner, User};
    let acl = acl(&[
        (Owner, 6),
        (User(11), 0),
        (User(12), 7),
        (Group, 4),
        (NamedGroup(21), 2),
        (NamedGroup(22), 7),
        (Mask, 6),
        (Other, 1),
    ]);
    let node = node(&acl);
    let has = |uid, groups: &[u32]| permitted(&who(uid, groups), &node);
    assert_eq!(has(10, &[22]), 6);
    assert_eq!(has(11, &[22]), 0);
    assert_eq!(has(12, &[9]), 6);
    assert_eq!(has(13, &[20]), 4);
    assert_eq!(has(13, &[9, 22]), 6);
    assert_eq!(has(13, &[9]), 1);
    // Reading by one group and writing by another is not reading and writing at once.
    assert_eq!(has(13, &[20, 21]), READ | WRITE);
    assert!(check(&who(13, &[20, 21]), &node, READ).is_ok());
    assert!(check(&who(13, &[20, 21]), &node, WRITE).is_ok());
    assert!(check(&who(13, &[20, 21]), &node, READ | WRITE).is_err());
    assert!(check(&who(13, &[20, 22]), &node, READ | WRITE).is_ok());
    assert_eq!(has(0, &[0]), READ | WRITE | EXEC);
}

/// As Linux does: with an empty mask it does not look at the ACL.
#[test]
fn an_empty_mask_leaves_who_is_named_what_others_have() {
    use Tag::{Group, Mask, Other, Owner, User};
    let acl = acl(&[(Owner, 6), (User(11), 7), (Group, 4), (Mask, 0), (Other, 4)]);
    assert_eq!(permitted(&who(11, &[9]), &node(&acl)), READ);
    assert_eq!(permitted(&who(13, &[20]), &node(&acl)), 0);
}

#[test]
fn an_acl_and_its_mode_are_in_step() {
    use Tag::{Group, Mask, Other, Owner, User};
    let with_mask = acl(&[(Owner, 6), (User(9), 6), (Group, 4), (Mask, 6), (Other, 4)]);
    assert_eq!(with_mask.mode(), (0o664, false));
    let after = with_mask.clone().with_mode(0o4710);
    assert_eq!(after, acl(&[(Owner, 7), (User(9), 6), (Group, 4), (Mask, 1), (Other, 0)]));
    let plain = acl(&[(Owner, 6), (Group, 4), (Other, 4)]);
    assert_eq!(plain.mode(), (0o644, true));
    assert_eq!(plain.clone().with_mode(0o751), acl(&[(Owner, 7), (Group, 5), (Other, 1)]));
    // A new node allows what both its maker and its directory allow.
    let made = acl(&[(Owner, 6), (User(9), 6), (Group, 4), (Mask, 2), (Other, 0)]);
    assert_eq!(with_mask.inherited(0o2720), (made, 0o2620));
    assert_eq!(plain.inherited(0o777), (acl(&[(Owner, 6), (Group, 4), (Other, 4)]), 0o644));
}

#[test]
fn who_is_not_in_the_group_makes_no_setgid_program() {
    use Tag::{Group, Other, Owner};
    let acl = acl(&[(Owner, 7), (Group, 5), (Other, 5)]);
    let node = Node { mode: 0o6700, ..node(&acl) };
    assert_eq!(mode_after_set(&who(10, &[9]), &node, &acl), 0o4755);
    assert_eq!(mode_after_set(&who(10, &[9, 20]), &node, &acl), 0o6755);
    assert_eq!(mode_after_set(&who(0, &[0]), &node, &acl), 0o6755);
}

fn stored(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut value = VERSION.to_le_bytes().to_vec();
    for (tag, allowed, id) in entries {
        value.extend([tag.to_le_bytes(), allowed.to_le_bytes()].concat());
        value.extend(id.to_le_bytes());
    }
    value
}

#[test]
fn what_is_stored_is_read_again() {
    let whole = [(1, 7, NO_ID), (2, 5, 7), (4, 5, NO_ID), (8, 1, 9), (16, 7, NO_ID), (32, 0, NO_ID)];
    let value = stored(&whole);
    assert_eq!(Acl::decode(&value).expect("an ACL").expect("entries").encode(), value);
    // Numbers that mean nothing are stored as Linux stores them.
    let loose = stored(&[(1, 7, 0), (4, 5, 0), (32, 0, 3)]);
    let strict = stored(&[(1, 7, NO_ID), (4, 5, NO_ID), (32, 0, NO_ID)]);
    assert_eq!(Acl::decode(&loose).expect("an ACL").expect("entries").encode(), strict);
    assert_eq!(Acl::decode(&stored(&[])), Ok(None));
}

#[test]
fn what_is_no_acl_is_an_error() {
    let none = NO_ID;
    let bad: [&[(u16, u16, u32)]; 9] = [
        &[(1, 7, none)],
        &[(4, 7, none), (1, 7, none), (32, 7, none)],
        &[(1, 7, none), (2, 7, 5), (4, 7, none), (32, 7, none)],
        &[(1, 7, none), (2, 7, none), (4, 7, none), (16, 7, none), (32, 7, none)],
        &[(1, 8, none), (4, 7, none), (32, 7, none)],
        &[(1, 7, none), (4, 7, none), (32, 7, none), (32, 7, none)],
        &[(1, 7, none), (1, 7, none), (4, 7, none), (32, 7, none)],
        &[(1, 7, none), (4, 7, none), (16, 7, none), (8, 7, 3), (32, 7, none)],
        &[(1, 7, none), (64, 7, none), (4, 7, none), (32, 7, none)],
    ];
    for entries in bad {
        assert_eq!(Acl::decode(&stored(entries)), Err(Invalid::Entries), "{entries:?}");
    }
    assert_eq!(Acl::decode(&[1, 0, 0, 0]), Err(Invalid::Version));
    assert_eq!(Acl::decode(&[2, 0, 0]), Err(Invalid::Entries));
    assert_eq!(Acl::decode(&[2, 0, 0, 0, 1]), Err(Invalid::Entries));
    assert_eq!(Acl::decode(&vec![0; STORED_MAX + 1]), Err(Invalid::Entries));
}

#[test]
fn bytes_at_random_never_panic_and_whole_ones_come_back() {
    let mut prng = Prng::new(1);
    let mut whole = 0;
    for _ in 0..20_000 {
        let tags = [1_u16, 2, 2, 4, 8, 8, 16, 32];
        let mut entries = Vec::new();
        for tag in tags {
            if prng.below(4) > 0 {
                let most = if prng.below(50) == 0 { 16 } else { 8 };
                entries.push((tag, prng.below(most) as u16, prng.below(5) as u32));
            }
        }
        let mut value = stored(&entries);
        if prng.below(4) == 0 {
            let at = prng.below(value.len() as u64) as usize;
            value[at] ^= 1 << prng.below(8);
        }
        let Ok(Some(acl)) = Acl::decode(&value) else { continue };
        whole += 1;
        assert_eq!(Acl::decode(&acl.encode()), Ok(Some(acl.clone())));
        let mode = prng.below(0o1000) as u32;
        assert_eq!(acl.clone().with_mode(mode).mode().0, mode);
        let (made, left) = acl.clone().inherited(mode);
        assert_eq!((made.mode().0, left & !mode, left & !acl.mode().0), (left, 0, 0));
    }
    assert!(whole > 1000, "{whole}");
}
