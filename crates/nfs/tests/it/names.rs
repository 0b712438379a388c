//! Names, links and directories.

use std::collections::BTreeSet;

use nfs::procedure as p;
use sunrpc::xdr::{Decoder, Encoder};

use crate::calls::{created, place, post, sattr, wcc};
use crate::setup::Setup;

#[test]
fn every_kind_of_node_is_made_found_and_removed() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (dir, attr) = nfs.mkdir(&root, b"dir").expect("made");
    assert_eq!((attr.kind, attr.mode), (2, 0o755));
    let mut args = place(&dir, b"link");
    sattr(&mut args, None, None);
    args.opaque(b"../where/ever");
    let (status, rest) = nfs.call(p::SYMLINK, &args);
    let (link, attr) = created(status, &rest).expect("made");
    assert_eq!((attr.kind, attr.size), (5, 13));
    let mut args = Encoder::new();
    args.opaque(&link);
    let (status, rest) = nfs.call(p::READLINK, &args);
    let mut d = Decoder::new(&rest);
    post(&mut d).expect("attributes");
    assert_eq!((status, d.opaque(99)), (0, Ok(&b"../where/ever"[..])));
    for (kind, name) in [(3, "block"), (4, "char"), (6, "socket"), (7, "fifo")] {
        let mut args = place(&dir, name.as_bytes());
        args.u32(kind);
        sattr(&mut args, Some(0o640), None);
        if kind < 5 {
            args.u64(8 << 32 | 1);
        }
        let (status, rest) = nfs.call(p::MKNOD, &args);
        assert_eq!(created(status, &rest).expect(name).1.kind, kind);
    }
    let mut args = place(&dir, b"regular");
    args.u32(1);
    assert_eq!(nfs.call(p::MKNOD, &args).0, 10007);
    assert_eq!(nfs.remove(p::RMDIR, &root, b"dir"), 66);
    for name in ["link", "block", "char", "socket", "fifo"] {
        assert!(nfs.lookup(&dir, name.as_bytes()).is_ok());
        assert_eq!(nfs.remove(p::REMOVE, &dir, name.as_bytes()), 0);
        assert_eq!(nfs.lookup(&dir, name.as_bytes()), Err(2));
    }
    assert_eq!(nfs.remove(p::REMOVE, &root, b"dir"), 21);
    assert_eq!(nfs.remove(p::RMDIR, &root, b"dir"), 0);
    assert_eq!(nfs.getattr(&dir), Err(70));
    assert_eq!(nfs.create(&dir, b"x"), Err(70));
}

#[test]
fn links_and_renames() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, _) = nfs.create(&root, b"one").expect("created");
    let (dir, _) = nfs.mkdir(&root, b"dir").expect("made");
    let mut args = Encoder::new();
    args.opaque(&file);
    args.raw(place(&dir, b"two").bytes());
    let (status, rest) = nfs.call(p::LINK, &args);
    let mut d = Decoder::new(&rest);
    assert_eq!((status, post(&mut d).map(|attr| attr.nlink)), (0, Some(2)));
    assert!(wcc(&mut d).0.is_some());
    let mut rename = |from: (&[u8], &[u8]), to: (&[u8], &[u8])| {
        let mut args = place(from.0, from.1);
        args.raw(place(to.0, to.1).bytes());
        nfs.call(p::RENAME, &args).0
    };
    assert_eq!(rename((&root, b"one"), (&dir, b"three")), 0);
    assert_eq!(rename((&root, b"one"), (&dir, b"four")), 2);
    assert_eq!(rename((&root, b"dir"), (&dir, b"inside")), 22);
    assert_eq!(rename((&dir, b"three"), (&root, &[b'x'; 256])), 63);
    let mut names: Vec<String> = nfs.list(&dir, false, 4096).into_iter().map(|entry| entry.name).collect();
    names.sort();
    assert_eq!(names, [".", "..", "three", "two"]);
    assert_eq!(nfs.getattr(&file).map(|attr| attr.nlink), Ok(2));
}

#[test]
fn creation_knows_three_ways() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (file, _) = nfs.create_how(&root, b"f", 1).expect("guarded");
    assert_eq!(nfs.create_how(&root, b"f", 1), Err(17));
    assert_eq!(nfs.create_how(&root, b"f", 0).map(|(handle, _)| handle), Ok(file));
    let mut exclusive = |verifier: u64| {
        let mut args = place(&root, b"e");
        args.u32(2);
        args.u64(verifier);
        let (status, rest) = nfs.call(p::CREATE, &args);
        created(status, &rest).map(|(handle, _)| handle)
    };
    let first = exclusive(9).expect("created");
    assert_eq!(exclusive(9), Ok(first));
    assert_eq!(exclusive(8), Err(17));
}

#[test]
fn bad_names_are_refused() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    for (name, status) in
        [(&b"a/b"[..], 22), (b"a\0b", 22), (b"", 22), (&[b'n'; 256], 63), (&[b'n'; 70_000], 63)]
    {
        assert_eq!(nfs.create(&root, name), Err(status));
        assert_eq!(nfs.mkdir(&root, name), Err(status));
        assert_eq!(nfs.lookup(&root, name), Err(status));
        assert_eq!(nfs.remove(p::REMOVE, &root, name), status);
    }
    assert!(nfs.create(&root, b".").is_err() && nfs.mkdir(&root, b"..").is_err());
    assert!(nfs.create(&root, &[b'n'; 255]).is_ok());
    let mut args = place(&root, b"empty");
    sattr(&mut args, None, None);
    args.opaque(b"");
    assert_eq!(nfs.call(p::SYMLINK, &args).0, 22);
    assert_eq!(nfs.lookup(&root, b".").map(|(handle, _)| handle), Ok(root.clone()));
}

#[test]
fn directories_of_any_size_come_whole_in_pages_of_any_size() {
    let setup = Setup::new("rw,no_root_squash");
    let mut nfs = setup.client(0, 0);
    let root = nfs.root.clone();
    let (dir, dir_attr) = nfs.mkdir(&root, b"dir").expect("made");
    let expect: BTreeSet<String> = (0..700).map(|i| format!("{i}{}", "n".repeat(i % 200))).collect();
    for name in &expect {
        nfs.create(&dir, name.as_bytes()).expect("created");
    }
    for (plus, room) in [(false, 512), (false, 65_536), (true, 1024), (true, 32_768), (true, 1 << 20)] {
        let all = nfs.list(&dir, plus, room);
        assert_eq!((&*all[0].name, &*all[1].name), (".", ".."));
        assert_eq!(all[0].fileid, dir_attr.fileid);
        let names: BTreeSet<String> = all[2..].iter().map(|entry| entry.name.clone()).collect();
        assert_eq!((all.len(), &names), (702, &expect), "plus {plus}, {room} bytes");
        for entry in all[2..].iter().filter(|_| plus).step_by(97) {
            let (handle, attr) = nfs.lookup(&dir, entry.name.as_bytes()).expect("found");
            assert_eq!((entry.handle.as_ref(), entry.attr), (Some(&handle), Some(attr)));
        }
    }
    assert_eq!(nfs.page(&dir, 0, true, 64), Err(10005));
    assert_eq!(nfs.page(&dir, 0, false, 0), Err(10005));
    let (file, _) = nfs.lookup(&dir, b"0").expect("found");
    assert_eq!(nfs.page(&file, 0, false, 4096), Err(20));
}
