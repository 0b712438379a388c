use super::attrs::xat;
use super::*;
use crate::zil::{Records, TX_CI};

fn samples() -> Vec<Record<'static>> {
    let node = LoggedNode {
        object: 0x1234_5678_9abc,
        slots: 3,
        mode: 0o100_644,
        uid: 1000,
        gid: 100,
        generation: 77,
        crtime: [1_700_000_000, 999_999_999],
        rdev: 5,
    };
    let create = LrCreate { dir: 34, node, name: b"name of it", ..LrCreate::default() };
    let mut map = vec![0; attrs::MAP_WORDS];
    map[0] = xat::IMMUTABLE | xat::PROJID;
    let mut stamp = [0; 32];
    stamp[0] = 9;
    let xvattr = Some(Xvattr { map, flags: xat::IMMUTABLE.into(), crtime: [1, 2], stamp });
    let entry = LoggedAce { who: 1000, mask: 7, flags: 0, kind: 0 };
    let acl = LoggedAcl {
        flags: 2,
        entries: vec![entry, LoggedAce { kind: 5, ..entry }, entry],
        fuids: vec![1 << 32 | 5],
    };
    let domains = Domains::new(b"S-1-5\0");
    let fuid = 1 << 32 | 500;
    let rename = LrRename { from_dir: 34, to_dir: 35, from: b"a", to: b"bb", ..LrRename::default() };
    let whiteout =
        LoggedNode { object: 9, slots: 1, mode: 0o020_000, generation: 4, ..LoggedNode::default() };
    let write = LrWrite { object: 2, offset: 5, length: 3 };
    let mut all: Vec<_> = [
        create.clone(),
        LrCreate { what: Created::Dir, ..create.clone() },
        LrCreate { what: Created::XattrDir, name: b"", ..create.clone() },
        LrCreate { what: Created::Symlink, target: b"where/to", ..create.clone() },
        LrCreate { node: LoggedNode { uid: fuid, gid: fuid, ..node }, domains, ..create.clone() },
        LrCreate { what: Created::Dir, xvattr: xvattr.clone(), ..create.clone() },
        LrCreate { xvattr: xvattr.clone(), ..create.clone() },
        LrCreate { acl: Some(acl.clone()), domains, ..create.clone() },
        LrCreate { what: Created::Dir, acl: Some(acl.clone()), domains, ..create.clone() },
        LrCreate { what: Created::Dir, acl: Some(acl.clone()), xvattr: xvattr.clone(), ..create.clone() },
        LrCreate { acl: Some(acl.clone()), xvattr: xvattr.clone(), ..create },
    ]
    .map(Record::Create)
    .into();
    all.extend([
        Record::Remove(LrRemove { is_dir: false, dir: 34, name: b"gone" }),
        Record::Remove(LrRemove { is_dir: true, dir: 34, name: b"gone too" }),
        Record::Link(LrLink { dir: 34, object: 5, name: b"another" }),
        Record::Rename(rename.clone()),
        Record::Rename(LrRename { kind: RenameKind::Exchange, ..rename.clone() }),
        Record::Rename(LrRename { kind: RenameKind::Whiteout(whiteout), ..rename }),
        Record::Write(write, Written::Here(b"abc")),
        Record::Write(write, Written::Block { blkoff: 0, bp: Box::default() }),
        Record::Write(write, Written::Elsewhere),
        Record::Truncate(LrTruncate { object: 2, offset: 10, length: 0 }),
        Record::SetAttr(LrSetAttr {
            object: 7,
            mask: attr::MODE | attr::MTIME | attr::XVATTR,
            mode: 0o100_600,
            uid: 1,
            gid: fuid,
            size: 12,
            atime: [1, 2],
            mtime: [3, 4],
            xvattr,
            domains,
        }),
        Record::SetSaXattr(LrSetSaXattr { object: 7, name: b"user.a", value: b"\0value" }),
        Record::SetSaXattr(LrSetSaXattr { object: 7, name: b"user.a", value: b"" }),
        Record::AclV0(LrAclV0 { object: 7, entries: vec![entry, entry] }),
        Record::Acl(LrAcl { object: 7, acl, domains }),
        Record::CloneRange(LrCloneRange {
            object: 7,
            offset: 0,
            length: 1 << 17,
            block_size: 1 << 16,
            blocks: vec![BlkPtr::default(); 2],
        }),
    ]);
    all
}

fn head_of(bytes: &[u8], endian: Endian) -> RecordHead {
    Records::new(bytes, endian).next().expect("one record").expect("well formed").0
}

#[test]
fn every_record_round_trips_in_both_byte_orders() {
    for record in samples() {
        for endian in [Endian::Little, Endian::Big] {
            let bytes = record.encode_as(endian);
            let head = head_of(&bytes, endian);
            assert_eq!((head.txtype, head.reclen), (record.txtype(), bytes.len() as u64));
            assert_eq!(Record::decode(&head, &bytes, endian).as_ref(), Ok(&record));
        }
    }
}

#[test]
fn every_type_is_among_the_samples() {
    let mut types: Vec<_> = samples().iter().map(Record::txtype).collect();
    types.sort_unstable();
    types.dedup();
    assert_eq!(types, (TX_CREATE..=TX_CLONE_RANGE).collect::<Vec<_>>());
}

#[test]
fn no_record_decodes_when_cut_short() {
    for record in samples() {
        let bytes = record.encode();
        let head = head_of(&bytes, Endian::Little);
        for len in 0..bytes.len() - 8 {
            let cut = Record::decode(&head, &bytes[..len], Endian::Little);
            // A write cut to its head is a write whose data is elsewhere.
            let indirect = len == WRITE_HEAD && head.txtype == TX_WRITE;
            assert!(cut.is_err() || indirect, "{record:?} at {len}");
        }
    }
}

#[test]
fn stamps_go_where_the_head_has_them() {
    let mut bytes = Record::Link(LrLink { dir: 1, object: 2, name: b"x" }).encode();
    stamp(&mut bytes, 55, 66);
    bytes[..8].copy_from_slice(&(TX_LINK | TX_CI).to_le_bytes());
    let head = head_of(&bytes, Endian::Little);
    let wanted = RecordHead { txtype: TX_LINK, ignores_case: true, reclen: 56, txg: 55, seq: 66 };
    assert_eq!(head, wanted);
}

#[test]
fn numbers_of_objects_above_48_bits_are_refused() {
    let node = LoggedNode { slots: 1, ..LoggedNode::default() };
    let mut bytes = Record::Create(LrCreate { node, name: b"x", ..LrCreate::default() }).encode();
    bytes[40 + 6] = 1;
    let head = head_of(&bytes, Endian::Little);
    assert_eq!(
        Record::decode(&head, &bytes, Endian::Little),
        Err(Malformed::at("number of a logged object", 0))
    );
}

#[test]
fn records_of_one_object_name_it_where_all_of_them_have_it() {
    for record in samples() {
        let bytes = record.encode();
        let head = head_of(&bytes, Endian::Little);
        let object = match record {
            Record::Write(LrWrite { object, .. }, _) | Record::Truncate(LrTruncate { object, .. }) => {
                Some(object)
            }
            Record::SetAttr(_) | Record::SetSaXattr(_) | Record::AclV0(_) => Some(7),
            Record::Acl(_) | Record::CloneRange(_) => Some(7),
            _ => None,
        };
        assert_eq!(object_of(&head, &bytes, Endian::Little), object);
    }
}

/// What OpenZFS wrote: type and bytes.
fn golden() -> Vec<(u64, Vec<u8>)> {
    let lines = include_str!("golden.txt").lines().filter(|line| !line.starts_with('#'));
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..][..2], 16).expect("hex")).collect()
    };
    let parse = |line: &str| {
        let (txtype, bytes) = line.split_once(' ').expect("two columns");
        (txtype.parse().expect("a number"), hex(bytes))
    };
    lines.map(parse).collect()
}

#[test]
fn records_of_openzfs_decode_and_encode_to_the_same_bytes() {
    let golden = golden();
    assert_eq!(golden.len(), 11);
    for (txtype, bytes) in &golden {
        let head = head_of(bytes, Endian::Little);
        assert_eq!((head.txtype, head.reclen), (*txtype, bytes.len() as u64));
        let record = Record::decode(&head, bytes, Endian::Little).expect("well formed");
        let mut again = record.encode();
        stamp(&mut again, head.txg, head.seq);
        assert_eq!(&again, bytes, "{record:?}");
    }
}

#[test]
fn records_of_openzfs_say_what_zdb_says_of_them() {
    let golden = golden();
    let all: Vec<_> = golden
        .iter()
        .map(|(_, bytes)| {
            Record::decode(&head_of(bytes, Endian::Little), bytes, Endian::Little).expect("well formed")
        })
        .collect();
    let mask = 0x2000 | attr::SIZE | attr::MTIME | attr::CTIME;
    let sets =
        |record: &Record<'_>| matches!(record, Record::SetAttr(set) if set.object == 9 && set.mask == mask);
    assert!(all.iter().any(sets));
    assert!(all.contains(&Record::Link(LrLink { dir: 34, object: 6, name: b"hl" })));
    assert!(all.contains(&Record::Remove(LrRemove { is_dir: true, dir: 34, name: b"gone" })));
    assert!(all.contains(&Record::Rename(LrRename {
        from_dir: 2,
        to_dir: 14,
        from: b"t400",
        to: b"t400-moved",
        ..LrRename::default()
    })));
    let created = |what, object, mode, name: &[u8]| {
        all.iter().any(|record| match record {
            Record::Create(create) => {
                let node = &create.node;
                (create.what, node.object, node.mode, create.name, node.slots)
                    == (what, object, mode, name, 1)
            }
            _ => false,
        })
    };
    assert!(created(Created::File, 10, 0o100_644, b"zr0"));
    assert!(created(Created::Dir, 14, 0o040_777, b"newdir"));
    assert!(created(Created::XattrDir, 21, 0o041_777, b""));
    assert!(all.iter().any(|record| matches!(
        record,
        Record::Create(LrCreate {
            name: b"sl",
            target: b"some/target",
            node: LoggedNode { generation: 33, .. },
            ..
        })
    )));
    let embedded = |record: &Record<'_>| match record {
        Record::Write(LrWrite { object: 9, offset: 0, length: 6 }, Written::Block { bp, .. }) => {
            bp.is_embedded()
        }
        _ => false,
    };
    assert!(all.iter().any(embedded));
}
