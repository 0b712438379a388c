use super::acl::{self, Ace};
use super::*;
use crate::malformed::{Endian, Writer};
use crate::sa;

#[test]
fn directory_entries_round_trip() {
    let entry = Dirent { object: 0x1234_5678_9abc, kind: kind::DIR };
    assert_eq!(entry.encode(), 0x4000_1234_5678_9abc);
    assert_eq!(Dirent::decode(entry.encode()), entry);
    // The twelve bits between are nobody's.
    assert_eq!(Dirent::decode(entry.encode() | 0xfff << 48), entry);
}

#[test]
fn device_numbers_round_trip() {
    for (major, minor) in [(0, 0), (8, 1), (0xfff, 0xf_ffff), (259, 70_000)] {
        assert_eq!(decode_rdev(encode_rdev(major, minor)), (major, minor));
    }
    assert_eq!(decode_rdev(0x20_0000_0007), (0x20, 7));
}

#[test]
fn attribute_numbers_follow_the_table() {
    for (i, attr) in attr::ALL.iter().enumerate() {
        assert_eq!(usize::from(attr.info.number), i, "{}", attr.name);
    }
    assert_eq!(attr::ALL[attr::LEGACY_COUNT - 1], attr::ZNODE_ACL);
}

#[test]
fn an_ordinary_mode_needs_three_entries() {
    let aces = acl::trivial(0o644, false);
    assert_eq!(aces.len(), 3);
    let bytes = acl::encode(&aces);
    assert_eq!(bytes.len(), 24);
    // owner@: what OpenZFS on Linux writes for mode 0644.
    assert_eq!(bytes[..8], [0, 0, 0x00, 0x10, 0x9f, 0x01, 0x1e, 0x00]);
    assert_eq!(acl::decode(&bytes, Endian::Little), Ok(aces));
}

#[test]
fn a_mode_that_gives_others_more_needs_denials() {
    let kinds = |mode| acl::trivial(mode, false).iter().map(|a| (a.kind, a.flags)).collect::<Vec<_>>();
    let group = acl::GROUP | acl::IDENTIFIER_GROUP;
    let rules = [(acl::ALLOW, acl::OWNER), (acl::ALLOW, group), (acl::ALLOW, acl::EVERYONE)];
    let with = |first: &[(u16, u16)]| [first, &rules].concat();
    assert_eq!(kinds(0o077), with(&[(acl::DENY, acl::OWNER)]));
    assert_eq!(kinds(0o604), with(&[(acl::ALLOW, acl::OWNER), (acl::DENY, group)]));
    assert_eq!(kinds(0o000), with(&[]));
}

#[test]
fn entries_swap_from_big_endian() {
    let aces = [
        Ace { kind: acl::ALLOW, flags: acl::OWNER, mask: 0x1e_019f, who: None },
        Ace { kind: acl::DENY, flags: 0, mask: acl::WRITE_DATA, who: Some(0x1_0000_0007) },
        Ace { kind: acl::ALLOW, flags: acl::IDENTIFIER_GROUP, mask: 1, who: Some(500) },
    ];
    let mut big = vec![0; 40];
    let mut to = Writer::new(&mut big, Endian::Big);
    for ace in aces {
        to.u16(ace.kind);
        to.u16(ace.flags);
        to.u32(ace.mask);
        if let Some(who) = ace.who {
            to.u64(who);
        }
    }
    assert_eq!(acl::decode(&big, Endian::Big).unwrap(), aces);
    acl::swap_aces(&mut big);
    assert_eq!(big, acl::encode(&aces));
    assert!(acl::decode(&big[..20], Endian::Little).is_err());
}

#[test]
fn owners_are_read_from_either_bonus() {
    let mut znode = vec![0; phys::SIZE];
    let mut to = Writer::new(&mut znode, Endian::Little);
    (0..18).for_each(|word| to.u64(word));
    let owner = owner_of_znode(&znode).unwrap();
    assert_eq!((owner.uid, owner.gid), (16, 17));
    assert!(owner_of_znode(&znode[..263]).is_err());
    let decoded = ZnodePhys::decode(&znode).unwrap();
    assert_eq!((decoded.generation, decoded.size, decoded.flags), (8, 10, 15));

    let order = [
        attr::MODE,
        attr::SIZE,
        attr::GEN,
        attr::UID,
        attr::GID,
        attr::PARENT,
        attr::FLAGS,
        attr::ATIME,
        attr::MTIME,
        attr::CTIME,
        attr::CRTIME,
        attr::LINKS,
        attr::PROJID,
    ];
    let mut next = 0_u64;
    let values: Vec<Vec<u8>> = order
        .iter()
        .map(|attr| {
            let words = usize::from(attr.info.length) / 8;
            (0..words)
                .flat_map(|_| {
                    next += 1;
                    if attr.name == "ZPL_FLAGS" { flags::PROJID } else { next }.to_le_bytes()
                })
                .collect()
        })
        .collect();
    let pairs: Vec<_> = order.iter().zip(&values).map(|(attr, value)| (attr.info, &value[..])).collect();
    let bonus = sa::encode(2, &pairs);
    assert_eq!(owner_of_sa(&bonus), Ok(NodeOwner { uid: 4, gid: 5, project: 17 }));
    assert_eq!(owner_of_sa(&[0; 64]), Ok(NodeOwner::default()));
    assert!(owner_of_sa(&bonus[..100]).is_err());
}

#[test]
fn acls_lie_in_znodes() {
    let aces = acl::trivial(0o604, false);
    let new = acl::in_znode(&aces, false);
    assert_eq!((new.len(), &new[8..16]), (88, &[40, 0, 0, 0, 1, 0, 5, 0][..]));
    assert_eq!(acl::decode(&new[16..56], Endian::Little).as_ref(), Ok(&aces));
    let old = acl::in_znode(&aces, true);
    assert_eq!(&old[8..16], &[5, 0, 0, 0, 0, 0, 60, 0]);
    // owner@ may read: nobody by number, the mask, flags, type.
    assert_eq!(old[16..28], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0x10, 0, 0]);
    assert_eq!(acl::further_entries(&old), 0);
    assert_eq!(acl::further_entries(&7u64.to_le_bytes()), 7);
}
