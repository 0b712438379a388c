use super::*;

const OWNER: Who<'static> = Who { uid: 10, gid: 20, groups: &[] };
const MEMBER: Who<'static> = Who { uid: 11, gid: 99, groups: &[7, 20] };
const STRANGER: Who<'static> = Who { uid: 12, gid: 21, groups: &[7] };
const ROOT: Who<'static> = Who { uid: 0, gid: 0, groups: &[] };

fn node(kind: Kind, mode: u32) -> Node<'static> {
    Node { uid: 10, gid: 20, mode, withheld: 0, acl: None, kind }
}

#[test]
fn the_first_class_that_fits_decides_for_every_mode() {
    for mode in 0..=MODE_MASK {
        for kind in [Kind::Dir, Kind::File, Kind::Other] {
            let node = node(kind, mode);
            assert_eq!(permitted(&OWNER, &node), mode >> 6 & 7);
            assert_eq!(permitted(&MEMBER, &node), mode >> 3 & 7);
            assert_eq!(permitted(&STRANGER, &node), mode & 7);
            let runs = kind == Kind::Dir || mode & 0o111 != 0;
            assert_eq!(permitted(&ROOT, &node), if runs { 7 } else { 6 });
            for want in 0..8 {
                assert_eq!(check(&MEMBER, &node, want).is_ok(), mode >> 3 & want == want);
            }
        }
    }
}

#[test]
fn a_sticky_directory_guards_other_peoples_names() {
    let mine = node(Kind::File, 0);
    let others = Node { uid: 77, ..mine };
    for mode in [0o777, 0o1777] {
        let sticky = mode & STICKY != 0;
        let dir = Node { uid: 88, gid: 88, mode, withheld: 0, acl: None, kind: Kind::Dir };
        assert_eq!(check_delete(&OWNER, &dir, &mine), Ok(()));
        assert_eq!(check_delete(&OWNER, &dir, &others).is_err(), sticky);
        assert_eq!(check_delete(&ROOT, &dir, &others), Ok(()));
        let own_dir = Node { uid: 10, ..dir };
        assert_eq!(check_delete(&OWNER, &own_dir, &others), Ok(()));
    }
    let dir = Node { uid: 88, gid: 88, mode: 0o1777, withheld: 0, acl: None, kind: Kind::Dir };
    assert_eq!(check_delete(&OWNER, &dir, &others), Err(Refusal::NotPermitted));
    // Without write permission it is EACCES, sticky or not.
    let closed = Node { mode: 0o1755, ..dir };
    assert_eq!(check_delete(&OWNER, &closed, &others), Err(Refusal::Denied));
    let no_search = Node { mode: 0o666, ..dir };
    assert_eq!(check_add(&OWNER, &no_search), Err(Refusal::Denied));
    assert_eq!(check_add(&ROOT, &no_search), Ok(()));
}

#[test]
fn chmod_is_the_owners_and_drops_a_foreign_setgid() {
    for mode in 0..=MODE_MASK {
        let node = node(Kind::File, 0o644);
        assert_eq!(chmod(&ROOT, &node, 20, mode), Ok(mode));
        assert_eq!(chmod(&OWNER, &node, 20, mode), Ok(mode));
        assert_eq!(chmod(&OWNER, &node, 5, mode), Ok(mode & !SETGID));
        assert_eq!(chmod(&MEMBER, &node, 20, mode), Err(Refusal::NotPermitted));
        assert_eq!(chmod(&STRANGER, &node, 20, mode), Err(Refusal::NotPermitted));
    }
    assert_eq!(chmod(&ROOT, &node(Kind::File, 0), 20, 0o100_644), Ok(0o644));
}

#[test]
fn only_root_gives_files_away() {
    let node = node(Kind::File, 0o644);
    let grouped = Who { uid: 10, gid: 20, groups: &[30] };
    assert_eq!(check_chown(&ROOT, &node, Some(5), Some(6)), Ok(()));
    assert_eq!(check_chown(&grouped, &node, Some(10), Some(30)), Ok(()));
    assert_eq!(check_chown(&grouped, &node, None, Some(20)), Ok(()));
    assert_eq!(check_chown(&grouped, &node, None, Some(31)), Err(Refusal::NotPermitted));
    assert_eq!(check_chown(&grouped, &node, Some(11), None), Err(Refusal::NotPermitted));
    assert_eq!(check_chown(&MEMBER, &node, None, Some(20)), Err(Refusal::NotPermitted));
    assert_eq!(check_chown(&MEMBER, &node, Some(10), None), Err(Refusal::NotPermitted));
    assert_eq!(check_chown(&STRANGER, &node, None, None), Ok(()));
}

#[test]
fn setuid_and_setgid_fall_with_writes_and_chowns() {
    for mode in 0..=MODE_MASK {
        let file = node(Kind::File, mode);
        let dir = node(Kind::Dir, mode);
        let kept_setgid = if mode & 0o010 == 0 { mode & SETGID } else { 0 };
        let cleared = mode & !SETUID & !SETGID;
        assert_eq!(mode_after_write(&ROOT, &file), mode);
        assert_eq!(mode_after_write(&MEMBER, &file), cleared | kept_setgid);
        assert_eq!(mode_after_write(&STRANGER, &file), cleared);
        assert_eq!(mode_after_chown(&ROOT, &file), cleared | kept_setgid);
        assert_eq!(mode_after_chown(&STRANGER, &file), cleared);
        assert_eq!(mode_after_chown(&STRANGER, &dir), mode);
        assert_eq!(mode_after_write(&STRANGER, &dir), mode);
    }
}

#[test]
fn times_are_the_owners_but_now_is_any_writers() {
    for (who, mode, explicit, expect) in [
        (OWNER, 0o000, true, Ok(())),
        (OWNER, 0o000, false, Ok(())),
        (ROOT, 0o000, true, Ok(())),
        (MEMBER, 0o020, false, Ok(())),
        (MEMBER, 0o020, true, Err(Refusal::NotPermitted)),
        (MEMBER, 0o702, false, Err(Refusal::Denied)),
        (STRANGER, 0o002, false, Ok(())),
        (STRANGER, 0o770, false, Err(Refusal::Denied)),
    ] {
        assert_eq!(
            check_utimes(&who, &node(Kind::File, mode), explicit),
            expect,
            "{who:?} {mode:o} {explicit}"
        );
    }
}

#[test]
fn new_nodes_inherit_from_a_setgid_directory() {
    let plain = node(Kind::Dir, 0o777);
    let setgid = node(Kind::Dir, 0o2777);
    assert_eq!(new_gid(&STRANGER, &plain), 21);
    assert_eq!(new_gid(&STRANGER, &setgid), 20);
    for mode in 0..=MODE_MASK {
        assert_eq!(new_mode(&STRANGER, &plain, Kind::File, mode), mode);
        assert_eq!(new_mode(&STRANGER, &plain, Kind::Dir, mode), mode);
        assert_eq!(new_mode(&STRANGER, &setgid, Kind::Dir, mode), mode | SETGID);
        let program = mode & 0o2010 == 0o2010;
        assert_eq!(
            new_mode(&STRANGER, &setgid, Kind::File, mode),
            if program { mode & !SETGID } else { mode }
        );
        assert_eq!(new_mode(&MEMBER, &setgid, Kind::File, mode), mode);
        assert_eq!(new_mode(&ROOT, &setgid, Kind::File, mode), mode);
    }
    assert_eq!(check_new_owner(&STRANGER, 20, Some(12), Some(20)), Ok(()));
    assert_eq!(check_new_owner(&STRANGER, 20, None, Some(7)), Ok(()));
    assert_eq!(check_new_owner(&STRANGER, 21, Some(13), None), Err(Refusal::NotPermitted));
    assert_eq!(check_new_owner(&STRANGER, 21, None, Some(22)), Err(Refusal::NotPermitted));
    assert_eq!(check_new_owner(&ROOT, 0, Some(13), Some(22)), Ok(()));
}

#[test]
fn a_directory_must_be_writable_to_change_parents() {
    assert_eq!(check_reparent(&OWNER, &node(Kind::Dir, 0o500)), Err(Refusal::Denied));
    assert_eq!(check_reparent(&OWNER, &node(Kind::Dir, 0o200)), Ok(()));
    assert_eq!(check_reparent(&OWNER, &node(Kind::File, 0)), Ok(()));
    assert_eq!(check_reparent(&ROOT, &node(Kind::Dir, 0)), Ok(()));
}

#[test]
fn extended_attributes_follow_their_namespace() {
    let file = node(Kind::File, 0o640);
    let link = node(Kind::Other, 0o777);
    let sticky = node(Kind::Dir, 0o1777);
    let denied = Err(Refusal::Denied);
    let not_permitted = Err(Refusal::NotPermitted);
    let hidden = Err(Refusal::Hidden);
    for (who, node, name, read, write) in [
        (OWNER, file, "user.a", Ok(()), Ok(())),
        (MEMBER, file, "user.a", Ok(()), denied),
        (STRANGER, file, "user.a", denied, denied),
        (ROOT, file, "user.a", Ok(()), Ok(())),
        (ROOT, link, "user.a", hidden, not_permitted),
        (STRANGER, sticky, "user.a", Ok(()), not_permitted),
        (OWNER, sticky, "user.a", Ok(()), Ok(())),
        (OWNER, file, "trusted.a", hidden, not_permitted),
        (ROOT, link, "trusted.a", Ok(()), Ok(())),
        (STRANGER, file, "security.a", Ok(()), not_permitted),
        (ROOT, file, "security.a", Ok(()), Ok(())),
        (OWNER, file, "system.a", Ok(()), Ok(())),
        (MEMBER, file, "system.a", Ok(()), not_permitted),
        (ROOT, file, "user.", Err(Refusal::NoNamespace), Err(Refusal::NoNamespace)),
        (ROOT, file, "plain", Err(Refusal::NoNamespace), Err(Refusal::NoNamespace)),
    ] {
        assert_eq!(check_xattr_read(&who, &node, name.as_bytes()), read, "read {name} by {who:?}");
        assert_eq!(check_xattr_write(&who, &node, name.as_bytes()), write, "write {name} by {who:?}");
    }
    assert!(xattr_is_listed(&OWNER, b"user.a") && xattr_is_listed(&ROOT, b"trusted.a"));
    assert!(!xattr_is_listed(&OWNER, b"trusted.a"));
}

#[test]
fn what_an_acl_withholds_nobody_but_the_owner_has() {
    let node = Node { uid: 10, gid: 20, mode: 0o754, withheld: 0o044, acl: None, kind: Kind::File };
    let bits = |uid, gid| permitted(&Who { uid, gid, groups: &[] }, &node);
    assert_eq!((bits(10, 1), bits(11, 20), bits(11, 1), bits(0, 0)), (7, 1, 0, 7));
}
