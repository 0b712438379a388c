//! What the oracle cannot say: sizes of blocks, cookies, the unlinked set, stable handles.

use engine::zpl::{AtCreation, Settings, XattrStore};
use engine_api::{
    CreateMode, Cred, DirLimit, Error, FileSystem, NewNode, RenameMode, Seek, SetAttr, SetTime, Stable, Time,
    XattrMode,
};
use ondisk::znode::{CASE_INSENSITIVE, CASE_MIXED, norm};

use crate::bench::Bench;

const ROOT: Cred = Cred::root();

fn plain() -> Bench {
    Bench::new(Settings::default(), AtCreation::default())
}

fn file(bench: &Bench, name: &[u8]) -> engine_api::NodeId {
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    bench.fs.create(&ROOT, bench.fs.root(), name, CreateMode::Guarded, &attr).unwrap().attr.node
}

fn write(bench: &Bench, node: engine_api::NodeId, offset: u64, data: &[u8]) {
    bench.fs.write(&ROOT, node, offset, data, Stable::Unstable).unwrap();
}

#[test]
fn a_file_survives_reopening() {
    let mut bench = plain();
    let node = file(&bench, b"greeting");
    write(&bench, node, 0, b"hello, ");
    write(&bench, node, 7, b"world");
    bench.reopen();
    let attr = bench.fs.lookup(&ROOT, bench.fs.root(), b"greeting").unwrap();
    assert_eq!((attr.node, attr.size, attr.mode, attr.nlink), (node, 12, 0o644, 1));
    let read = bench.fs.read(&ROOT, node, 0, 100).unwrap();
    assert_eq!((read.to_vec(), read.eof), (b"hello, world".to_vec(), true));
    assert_eq!(bench.fs.getattr(bench.fs.root()).unwrap().size, 3);
}

#[test]
fn small_files_have_small_blocks() {
    let bench = plain();
    let node = file(&bench, b"small");
    let block = || bench.objset().hold(node.object).unwrap().block_size();
    assert_eq!(block(), 512);
    write(&bench, node, 0, &[1; 700]);
    assert_eq!(block(), 1024);
    write(&bench, node, 700, &[2; 100_000]);
    assert_eq!(block(), 100_864);
    write(&bench, node, 200_000, b"x");
    assert_eq!(block(), 131_072);
    let data = bench.fs.read(&ROOT, node, 0, 300_000).unwrap().to_vec();
    assert_eq!(data.len(), 200_001);
    assert!(data[..700].iter().all(|b| *b == 1) && data[700..100_700].iter().all(|b| *b == 2));
    assert!(data[100_700..200_000].iter().all(|b| *b == 0) && data[200_000] == b'x');
}

#[test]
fn holes_are_found() {
    let mut bench = plain();
    let node = file(&bench, b"sparse");
    write(&bench, node, 1 << 40, b"far out");
    for _ in 0..2 {
        let seek = |at, what| bench.fs.seek(&ROOT, node, at, what);
        assert_eq!(seek(0, Seek::Hole), Ok(0));
        assert_eq!(seek(0, Seek::Data), Ok(1 << 40));
        assert_eq!(seek(1 << 40, Seek::Hole), Ok((1 << 40) + 7));
        assert_eq!(seek((1 << 40) + 7, Seek::Data), Err(Error::NotFound));
        assert_eq!(bench.fs.read(&ROOT, node, (1 << 40) - 3, 20).unwrap().to_vec(), b"\0\0\0far out");
        bench.reopen();
    }
    bench.fs.punch(&ROOT, node, 1 << 40, 3).unwrap();
    assert_eq!(bench.fs.read(&ROOT, node, 1 << 40, 20).unwrap().to_vec(), b"\0\0\0 out");
    bench.fs.setattr(&ROOT, node, &SetAttr { size: Some(2), ..SetAttr::default() }).unwrap();
    assert_eq!(bench.fs.seek(&ROOT, node, 0, Seek::Data), Err(Error::NotFound));
}

#[test]
fn what_was_cut_off_does_not_come_back() {
    let mut bench = plain();
    let node = file(&bench, b"cut");
    write(&bench, node, 0, &[7; 300_000]);
    bench.reopen();
    let size = |size| SetAttr { size: Some(size), ..SetAttr::default() };
    bench.fs.setattr(&ROOT, node, &size(1000)).unwrap();
    bench.fs.setattr(&ROOT, node, &size(300_000)).unwrap();
    for _ in 0..2 {
        let data = bench.fs.read(&ROOT, node, 0, 300_000).unwrap().to_vec();
        assert_eq!(data.len(), 300_000);
        assert!(data[..1000].iter().all(|b| *b == 7) && data[1000..].iter().all(|b| *b == 0));
        bench.reopen();
    }
}

#[test]
fn an_open_file_lives_without_a_name() {
    let mut bench = plain();
    let before = bench.objects();
    let node = file(&bench, b"doomed");
    write(&bench, node, 0, b"still here");
    bench.fs.open(node).unwrap();
    bench.fs.remove(&ROOT, bench.fs.root(), b"doomed").unwrap();
    assert_eq!(bench.fs.read(&ROOT, node, 0, 20).unwrap().to_vec(), b"still here");
    assert_eq!(bench.fs.getattr(node).unwrap().nlink, 0);
    bench.fs.close(node);
    assert_eq!(bench.fs.getattr(node), Err(Error::Stale));
    bench.sync();
    assert_eq!(bench.objects(), before);

    let node = file(&bench, b"crash");
    bench.fs.open(node).unwrap();
    bench.fs.remove(&ROOT, bench.fs.root(), b"crash").unwrap();
    let objects = bench.objects();
    bench.reopen();
    assert_eq!(bench.fs.getattr(node), Err(Error::Stale));
    bench.fs.drain_unlinked().unwrap();
    bench.sync();
    assert_eq!(bench.objects(), objects - 1);
}

#[test]
fn a_file_is_removed_only_where_it_is_what_was_seen() {
    let bench = plain();
    let (node, root) = (file(&bench, b"a"), bench.fs.root());
    let seen = || bench.fs.getattr(node).unwrap();
    let remove = |seen: &engine_api::Attr| bench.fs.remove_unchanged(&ROOT, root, b"a", seen).map(drop);
    let before = seen();
    write(&bench, node, 0, b"more");
    assert_eq!(remove(&before), Err(Error::Stale));
    // Of the same size, and with the same time of its last modification.
    let before = seen();
    write(&bench, node, 0, b"MORE");
    let mtime = Some(SetTime::To(before.mtime));
    bench.fs.setattr(&ROOT, node, &SetAttr { mtime, ..SetAttr::default() }).unwrap();
    assert_eq!((seen().size, seen().mtime), (before.size, before.mtime));
    assert_eq!(remove(&before), Err(Error::Stale));
    // Another file by its name.
    let before = seen();
    bench.fs.rename(&ROOT, (root, b"a"), (root, b"b"), RenameMode::Replace).unwrap();
    assert_eq!(remove(&before), Err(Error::NotFound));
    file(&bench, b"a");
    assert_eq!(remove(&before), Err(Error::Stale));
    let other = bench.fs.lookup(&ROOT, root, b"a").unwrap();
    assert_eq!(remove(&other), Ok(()));
    assert_eq!(bench.fs.lookup(&ROOT, root, b"a"), Err(Error::NotFound));
}

#[test]
fn handles_do_not_outlive_their_node() {
    let bench = plain();
    let old = file(&bench, b"one");
    bench.fs.remove(&ROOT, bench.fs.root(), b"one").unwrap();
    for _ in 0..4 {
        bench.sync();
    }
    for i in 0..50 {
        let new = file(&bench, format!("new{i}").as_bytes());
        assert_ne!(new, old);
    }
    assert_eq!(bench.fs.getattr(old), Err(Error::Stale));
    // Nor in one transaction group, where the generation is the same.
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..40 {
        assert!(seen.insert(file(&bench, b"again")));
        bench.fs.remove(&ROOT, bench.fs.root(), b"again").unwrap();
    }
}

#[test]
fn a_large_directory_is_listed_page_by_page() {
    let mut bench = plain();
    for i in 0..3000 {
        file(&bench, format!("entry number {i}").as_bytes());
        if i % 500 == 0 {
            bench.sync();
        }
    }
    bench.reopen();
    let mut names = std::collections::BTreeSet::new();
    let mut cookie = 0;
    loop {
        let limit = DirLimit { entries: 70, name_bytes: 4000, with_attr: cookie % 2 == 0 };
        let page = bench.fs.readdir(&ROOT, bench.fs.root(), cookie, limit).unwrap();
        for entry in page.entries {
            assert!(entry.cookie > 2 && names.insert(entry.name));
            cookie = entry.cookie;
        }
        if page.eof {
            break;
        }
    }
    assert_eq!(names.len(), 3000);
    for i in (0..3000).step_by(2) {
        bench.fs.remove(&ROOT, bench.fs.root(), format!("entry number {i}").as_bytes()).unwrap();
    }
    bench.reopen();
    assert_eq!(bench.fs.getattr(bench.fs.root()).unwrap().size, 1502);
    assert!(bench.fs.lookup(&ROOT, bench.fs.root(), b"entry number 2").is_err());
    assert!(bench.fs.lookup(&ROOT, bench.fs.root(), b"entry number 3").is_ok());
}

#[test]
fn extended_attributes_move_between_their_places() {
    for store in [XattrStore::Directory, XattrStore::System] {
        let mut bench = Bench::new(Settings { xattr: store, ..Settings::default() }, AtCreation::default());
        let node = file(&bench, b"tagged");
        let set = |bench: &Bench, name: &[u8], value: &[u8]| {
            bench.fs.setxattr(&ROOT, node, name, value, XattrMode::Either).unwrap();
        };
        set(&bench, b"user.small", b"1");
        set(&bench, b"user.large", &[9; 60_000]);
        set(&bench, b"security.middle", &[3; 3000]);
        set(&bench, b"user.\xff\xfe", b"not text");
        set(&bench, b"user.small", b"another value");
        bench.reopen();
        let get = |bench: &Bench, name: &[u8]| bench.fs.getxattr(&ROOT, node, name);
        assert_eq!(get(&bench, b"user.small").unwrap(), b"another value");
        assert_eq!(get(&bench, b"user.large").unwrap(), [9; 60_000]);
        assert_eq!(get(&bench, b"security.middle").unwrap(), [3; 3000]);
        assert_eq!(get(&bench, b"user.\xff\xfe").unwrap(), b"not text");
        assert_eq!(bench.fs.listxattr(&ROOT, node).unwrap().len(), 4);
        // Under the other setting old ones are found, and move when they are set.
        let other = if store == XattrStore::System { XattrStore::Directory } else { XattrStore::System };
        bench.settings.xattr = other;
        bench.fs.set_settings(bench.settings.clone());
        set(&bench, b"user.small", b"moved");
        bench.reopen();
        assert_eq!(get(&bench, b"user.small").unwrap(), b"moved");
        assert_eq!(bench.fs.listxattr(&ROOT, node).unwrap().len(), 4);
        for name in [&b"user.small"[..], b"user.large", b"security.middle", b"user.\xff\xfe"] {
            bench.fs.removexattr(&ROOT, node, name).unwrap();
            assert_eq!(get(&bench, name), Err(Error::NotFound));
        }
        let objects = bench.objects();
        bench.fs.remove(&ROOT, bench.fs.root(), b"tagged").unwrap();
        bench.sync();
        assert_eq!(bench.objects(), objects - 2, "the file and its directory of attributes");
    }
}

#[test]
fn names_that_differ_in_case_are_one_where_asked() {
    let props = AtCreation { casesensitivity: CASE_INSENSITIVE, ..AtCreation::default() };
    let mut bench = Bench::new(Settings::default(), props);
    let root = bench.fs.root();
    let node = file(&bench, b"ReadMe");
    bench.reopen();
    assert_eq!(bench.fs.lookup(&ROOT, root, b"README").unwrap().node, node);
    let again = bench.fs.create(&ROOT, root, b"readme", CreateMode::Guarded, &SetAttr::default());
    assert_eq!(again, Err(Error::Exists));
    bench.fs.rename(&ROOT, (root, b"readme"), (root, b"README"), RenameMode::Replace).unwrap();
    let limit = DirLimit { entries: 10, name_bytes: 1000, with_attr: true };
    let page = bench.fs.readdir(&ROOT, root, 0, limit).unwrap();
    assert_eq!(page.entries.len(), 1);
    assert_eq!(page.entries[0].name, b"README");
    bench.fs.remove(&ROOT, root, b"readME").unwrap();
    assert_eq!(bench.fs.lookup(&ROOT, root, b"README"), Err(Error::NotFound));

    let props = AtCreation { casesensitivity: CASE_MIXED, ..AtCreation::default() };
    let bench = Bench::new(Settings::default(), props);
    assert_ne!(file(&bench, b"Foo"), file(&bench, b"foo"));

    let props = AtCreation { normalization: norm::NFD, utf8only: true, ..AtCreation::default() };
    let bench = Bench::new(Settings::default(), props);
    let node = file(&bench, "caf\u{e9}".as_bytes());
    assert_eq!(bench.fs.lookup(&ROOT, bench.fs.root(), "cafe\u{301}".as_bytes()).unwrap().node, node);
}

#[test]
fn every_kind_of_node_comes_back() {
    let mut bench = plain();
    let root = bench.fs.root();
    let target = vec![b't'; 3000];
    let kinds = [
        (&b"dir"[..], NewNode::Dir),
        (b"link", NewNode::Symlink { target: b"short".to_vec() }),
        (b"long", NewNode::Symlink { target: target.clone() }),
        (b"fifo", NewNode::Fifo),
        (b"socket", NewNode::Socket),
        (b"char", NewNode::CharDev { major: 10, minor: 70_000 }),
        (b"block", NewNode::BlockDev { major: 259, minor: 3 }),
    ];
    let mut made = Vec::new();
    for (name, what) in &kinds {
        let attr = SetAttr { mode: Some(0o640), uid: Some(12), gid: Some(34), ..SetAttr::default() };
        made.push(bench.fs.make(&ROOT, root, name, what, &attr).unwrap().attr);
    }
    bench.reopen();
    for ((name, _), attr) in kinds.iter().zip(&made) {
        let found = bench.fs.lookup(&ROOT, root, name).unwrap();
        assert_eq!(engine_api::Attr { used: attr.used, settled: attr.settled, ..found }, *attr);
    }
    let node = |i: usize| made[i].node;
    assert_eq!(bench.fs.readlink(&ROOT, node(1)).unwrap(), b"short");
    assert_eq!(bench.fs.readlink(&ROOT, node(2)).unwrap(), target);
    assert_eq!(made[5].rdev, (10, 70_000));
    assert_eq!(bench.fs.getattr(root).unwrap().nlink, 3);
}

/// What is read from a client's cache counts as a read here does, and what asks not to does not.
#[test]
fn access_times_are_noted_of_what_is_read_elsewhere() {
    let mut bench = plain();
    let (root, node) = (bench.fs.root(), file(&bench, b"empty"));
    let link = NewNode::Symlink { target: b"empty".to_vec() };
    let link = bench.fs.make(&ROOT, root, b"link", &link, &SetAttr::default()).unwrap().attr.node;
    let quiet = Cred { noatime: true, ..ROOT };
    let all = DirLimit { entries: 10, name_bytes: 1000, with_attr: false };
    let atimes = |bench: &Bench| [root, node, link].map(|node| bench.fs.getattr(node).unwrap().atime);
    for relatime in [true, false] {
        bench.settings.relatime = relatime;
        bench.fs.set_settings(bench.settings.clone());
        let before = atimes(&bench);
        bench.fs.read(&quiet, node, 0, 4).unwrap();
        bench.fs.readlink(&quiet, link).unwrap();
        bench.fs.readdir(&quiet, root, 0, all).unwrap();
        assert_eq!(bench.fs.accessed(&quiet, node), Ok(false));
        assert_eq!(atimes(&bench), before);
        for (at, node) in [root, node, link].into_iter().enumerate() {
            let change = bench.fs.getattr(node).unwrap().change;
            assert_eq!(bench.fs.accessed(&ROOT, node), Ok(true));
            assert!(atimes(&bench)[at] > before[at]);
            assert_eq!(bench.fs.accessed(&ROOT, node), Ok(!relatime));
            assert_eq!(bench.fs.getattr(node).unwrap().change, change, "reading is no change");
        }
    }
    bench.settings.atime = false;
    bench.fs.set_settings(bench.settings.clone());
    assert_eq!(bench.fs.accessed(&ROOT, node), Ok(false));
}

#[test]
fn access_times_follow_the_property() {
    let mut bench = plain();
    let node = file(&bench, b"read me");
    write(&bench, node, 0, b"data");
    let old = Time { secs: 5, nanos: 7 };
    let set = SetAttr { atime: Some(SetTime::To(old)), ..SetAttr::default() };
    bench.settings.atime = false;
    bench.fs.set_settings(bench.settings.clone());
    bench.fs.setattr(&ROOT, node, &set).unwrap();
    bench.fs.read(&ROOT, node, 0, 4).unwrap();
    assert_eq!(bench.fs.getattr(node).unwrap().atime, old);
    (bench.settings.atime, bench.settings.relatime) = (true, true);
    bench.fs.set_settings(bench.settings.clone());
    bench.fs.read(&ROOT, node, 0, 4).unwrap();
    let first = bench.fs.getattr(node).unwrap();
    assert!(first.atime > first.ctime);
    bench.fs.read(&ROOT, node, 0, 4).unwrap();
    assert_eq!(bench.fs.getattr(node).unwrap().atime, first.atime);
    bench.settings.relatime = false;
    bench.fs.set_settings(bench.settings.clone());
    bench.fs.read(&ROOT, node, 0, 4).unwrap();
    assert!(bench.fs.getattr(node).unwrap().atime > first.atime);
    bench.settings.readonly = true;
    bench.fs.set_settings(bench.settings.clone());
    assert_eq!(bench.fs.accessed(&ROOT, node), Ok(false));
    assert_eq!(bench.fs.write(&ROOT, node, 0, b"x", Stable::Unstable), Err(Error::ReadOnly));
}
