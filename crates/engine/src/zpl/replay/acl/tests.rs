use engine_api::Time;
use ondisk::zil::record::LoggedAce;

use super::*;
use crate::zpl::acl_limits::AclLimits;

fn node(mode: u64, uid: u64) -> Attrs {
    let time = Time { secs: 0, nanos: 0 };
    Attrs {
        mode,
        size: 0,
        generation: 1,
        uid,
        gid: 0,
        parent: 34,
        flags: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        links: 1,
        rdev: 0,
        acl: AclLimits::default(),
        posix_acl: None,
    }
}

#[test]
fn a_trivial_list_amounts_to_its_mode() {
    for mode in 0..0o1000 {
        let aces = trivial(mode, false);
        assert_eq!(mode_of(&aces, &node(0o100_000, 5)), 0o100_000 | u64::from(mode), "{mode:o}");
    }
}

#[test]
fn an_entry_for_the_owner_by_number_is_the_owners() {
    let list = LoggedAcl {
        entries: vec![
            LoggedAce { who: 5, mask: READ_DATA | EXECUTE, flags: 0, kind: ALLOW },
            LoggedAce { who: 6, mask: WRITE_DATA, flags: 0, kind: ALLOW },
            LoggedAce { who: 0, mask: READ_DATA, flags: EVERYONE, kind: ALLOW },
        ],
        ..LoggedAcl::default()
    };
    let change = store(Change::default(), &list, &node(0o100_777, 5));
    let mode = change
        .values()
        .iter()
        .find(|(attr, _)| attr.name == attr::MODE.name)
        .and_then(|(_, v)| v.map(<[u8]>::to_vec));
    assert_eq!(mode, Some(pack_words(&[0o100_544])));
}
