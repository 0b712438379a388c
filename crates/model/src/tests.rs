use super::*;
use engine_api::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A clock that ticks a second at every look.
fn fresh() -> Arc<MemFs> {
    let seconds = AtomicI64::new(1000);
    MemFs::new(Box::new(move || Time { secs: seconds.fetch_add(1, Ordering::Relaxed), nanos: 0 }))
}

fn file(fs: &MemFs, name: &[u8]) -> NodeId {
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    fs.create(&Cred::root(), fs.root(), name, CreateMode::Guarded, &attr).unwrap().attr.node
}

fn dir(fs: &MemFs, parent: NodeId, name: &[u8]) -> NodeId {
    let attr = SetAttr { mode: Some(0o755), ..SetAttr::default() };
    fs.make(&Cred::root(), parent, name, &NewNode::Dir, &attr).unwrap().attr.node
}

#[test]
fn a_handle_never_names_a_reused_object() {
    let fs = fresh();
    let old = file(&fs, b"a");
    fs.remove(&Cred::root(), fs.root(), b"a").unwrap();
    let new = file(&fs, b"b");
    assert_eq!(old.object, new.object, "numbers come back, to make this test bite");
    assert_eq!(fs.getattr(old), Err(Error::Stale));
    assert!(fs.getattr(new).is_ok());
}

#[test]
fn open_nodes_outlive_their_names() {
    let fs = fresh();
    let node = file(&fs, b"a");
    fs.open(node).unwrap();
    fs.remove(&Cred::root(), fs.root(), b"a").unwrap();
    assert_eq!(fs.getattr(node).unwrap().nlink, 0);
    assert_eq!(fs.link(&Cred::root(), node, fs.root(), b"b").unwrap_err(), Error::NotFound);
    fs.close(node);
    assert_eq!((fs.getattr(node), fs.node_count()), (Err(Error::Stale), 1));
}

#[test]
fn content_has_holes_and_ends() {
    let (fs, root) = (fresh(), Cred::root());
    let node = file(&fs, b"a");
    let last = MAX_FILE_SIZE - 1;
    fs.write(&root, node, last, b"x", Stable::Unstable).unwrap();
    assert_eq!(fs.write(&root, node, last, b"xy", Stable::Unstable).unwrap_err(), Error::FileTooLarge);
    assert_eq!(fs.getattr(node).unwrap().size, MAX_FILE_SIZE);
    assert_eq!(fs.seek(&root, node, 0, Seek::Data).unwrap(), last / 4096 * 4096);
    assert_eq!(fs.seek(&root, node, 0, Seek::Hole), Ok(0));
    let tail = fs.read(&root, node, last - 1, 10).unwrap();
    assert_eq!((tail.to_vec(), tail.eof), (vec![0, b'x'], true));
    let shrink = SetAttr { size: Some(3), ..SetAttr::default() };
    fs.setattr(&root, node, &shrink).unwrap();
    fs.write(&root, node, 0, b"abc", Stable::Unstable).unwrap();
    fs.setattr(&root, node, &SetAttr { size: Some(1), ..SetAttr::default() }).unwrap();
    fs.setattr(&root, node, &shrink).unwrap();
    assert_eq!(fs.read(&root, node, 0, 10).unwrap().to_vec(), b"a\0\0", "what was cut off stays off");
    fs.punch(&root, node, 0, 3).unwrap();
    assert_eq!(
        (fs.seek(&root, node, 0, Seek::Data), fs.getattr(node).unwrap().size),
        (Err(Error::NotFound), 3)
    );
}

#[test]
fn directories_do_not_move_into_themselves() {
    let (fs, root) = (fresh(), Cred::root());
    let top = fs.root();
    let a = dir(&fs, top, b"a");
    let b = dir(&fs, a, b"b");
    let rename = |from, to, mode| fs.rename(&root, from, to, mode).map(drop);
    assert!(matches!(rename((top, b"a"), (b, b"c"), RenameMode::Replace), Err(Error::Invalid(_))));
    assert_eq!(rename((a, b"b"), (top, b"a"), RenameMode::Replace), Err(Error::NotEmpty));
    file(&fs, b"f");
    assert_eq!(rename((top, b"f"), (top, b"a"), RenameMode::Replace), Err(Error::IsDir));
    assert_eq!(rename((top, b"a"), (top, b"f"), RenameMode::Replace), Err(Error::NotDir));
    assert_eq!(rename((top, b"f"), (a, b"b"), RenameMode::Exchange), Ok(()));
    assert_eq!((fs.getattr(top).unwrap().nlink, fs.getattr(a).unwrap().nlink), (4, 2));
    assert_eq!(fs.lookup(&root, b, b"..").unwrap().node, top);
    assert_eq!(fs.link(&root, b, a, b"hard").unwrap_err(), Error::NotPermitted);
    assert_eq!(fs.rmdir(&root, top, b"a").unwrap_err(), Error::NotEmpty);
}

#[test]
fn cookies_survive_changes() {
    let (fs, root) = (fresh(), Cred::root());
    for name in [b"a", b"b", b"c", b"d"] {
        file(&fs, name);
    }
    let limit = DirLimit { entries: 2, name_bytes: 100, with_attr: true };
    let page = fs.readdir(&root, fs.root(), 0, limit).unwrap();
    assert!(!page.eof && page.entries.iter().all(|entry| entry.cookie > 2 && entry.attr.is_some()));
    fs.remove(&root, fs.root(), b"a").unwrap();
    fs.remove(&root, fs.root(), b"b").unwrap();
    let rest = fs.readdir(&root, fs.root(), page.entries[1].cookie, limit).unwrap();
    let names: Vec<&[u8]> = rest.entries.iter().map(|entry| &entry.name[..]).collect();
    assert_eq!((names, rest.eof), (vec![&b"c"[..], b"d"], true));
    let tiny = DirLimit { entries: 9, name_bytes: 0, with_attr: false };
    assert_eq!(fs.readdir(&root, fs.root(), 0, tiny).unwrap().entries.len(), 1, "one is always given");
}

#[test]
fn an_exclusive_create_may_be_repeated() {
    let (fs, root) = (fresh(), Cred::root());
    let create = |verifier| {
        fs.create(&root, fs.root(), b"a", CreateMode::Exclusive { verifier }, &SetAttr::default())
            .map(|made| made.new)
    };
    assert_eq!((create(0x1234_5678_9abc_def0), create(0x1234_5678_9abc_def0)), (Ok(true), Ok(false)));
    assert_eq!(create(1), Err(Error::Exists));
}

#[test]
fn a_refused_call_changes_nothing() {
    let fs = fresh();
    let stranger = Cred { owner_override: true, ..Cred::user(9, 9) };
    let node = file(&fs, b"a");
    let before = dump(&*fs).unwrap();
    let both = SetAttr { size: Some(9), mode: Some(0o777), ..SetAttr::default() };
    assert_eq!(fs.setattr(&stranger, node, &both).unwrap_err(), Error::Denied);
    assert_eq!(fs.write(&stranger, node, 0, b"x", Stable::Unstable).unwrap_err(), Error::Denied);
    assert_eq!(fs.remove(&stranger, fs.root(), b"a").unwrap_err(), Error::Denied);
    let guard = SetAttr { guard_ctime: Some(Time::default()), mode: Some(0), ..SetAttr::default() };
    assert_eq!(fs.setattr(&Cred::root(), node, &guard).unwrap_err(), Error::Busy);
    assert_eq!(before, dump(&*fs).unwrap());
}

#[test]
fn differences_are_told_in_words() {
    let (a, b) = (fresh(), fresh());
    let in_a = file(&a, b"same");
    let in_b = file(&b, b"same");
    let root = Cred::root();
    a.write(&root, in_a, 0, &[1; 9000], Stable::Unstable).unwrap();
    b.write(&root, in_b, 0, &[1; 9000], Stable::Unstable).unwrap();
    let told = || dump(&*a).unwrap().differences(&dump(&*b).unwrap(), Compare { times: false });
    assert_eq!(told(), Vec::<String>::new());
    b.write(&root, in_b, 8999, &[2], Stable::Unstable).unwrap();
    b.setxattr(&root, in_b, b"user.x", b"y", XattrMode::Either).unwrap();
    a.link(&root, in_a, a.root(), b"zz").unwrap();
    assert_eq!(
        told(),
        [
            "/: size is 3, expected 4",
            "/same: link count is 1, expected 2",
            "/same: attribute user.x is Some(\"y\"), expected None",
            "/same: content differs in the 4 KiB at 8192",
            "/zz: missing (File)",
        ]
    );
}
