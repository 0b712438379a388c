//! What `zfs diff` says of a file system's changes, between snapshots, until now, and since a
//! clone's origin.

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, DiffEntry, DiffKind, FileSystem, NewNode, NodeId, Pool, RenameMode, SetAttr,
    Stable,
};
use env::Env;

use crate::disks::{Dir, new_pool};

const ROOT: Cred = Cred::root();

fn create(fs: &dyn FileSystem, dir: NodeId, name: &str) -> NodeId {
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    fs.create(&ROOT, dir, name.as_bytes(), CreateMode::Guarded, &attr).unwrap().attr.node
}

fn snapshot(pool: &dyn Pool, name: &str) {
    let change = Change::Snapshot { names: vec![name.into()], recursive: false, props: vec![] };
    pool.commit(&change, "").unwrap();
}

/// One line a node, in the order of names.
fn diff(pool: &dyn Pool, from: &str, to: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
    pool.diff(from, to, &mut |DiffEntry { kind, path, to, .. }| {
        let (path, to) = (text(&path), to.map(|to| text(&to)));
        lines.push(match kind {
            DiffKind::Added => format!("{path} +"),
            DiffKind::Removed => format!("{path} -"),
            DiffKind::Modified => format!("{path} M"),
            DiffKind::Renamed => format!("{path} -> {}", to.unwrap()),
            DiffKind::Links(more) => format!("{path} ({more:+})"),
        });
    })
    .unwrap();
    lines.sort();
    lines
}

#[test]
fn changes_are_told_by_name() {
    let dir = Dir::new("diff");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let change = Change::CreateFilesystem { name: "ours/a".into(), parents: false, props: vec![] };
    pool.commit(&change, "").unwrap();
    let fs = pool.open_fs("ours/a").unwrap();
    let top = fs.root();
    let attr = SetAttr { mode: Some(0o755), ..SetAttr::default() };
    let sub = fs.make(&ROOT, top, b"sub", &NewNode::Dir, &attr).unwrap().attr.node;
    // So many that most blocks of dnodes have nothing that changes.
    for i in 0..300 {
        create(&*fs, sub, &format!("same {i}"));
    }
    let [one, _gone, moved, linked] = ["one", "gone", "moved", "linked"].map(|name| create(&*fs, top, name));
    snapshot(&*pool, "ours/a@x");
    assert_eq!(diff(&*pool, "ours/a@x", "ours/a"), [""; 0]);

    fs.write(&ROOT, one, 0, b"more", Stable::Unstable).unwrap();
    fs.remove(&ROOT, top, b"gone").unwrap();
    fs.rename(&ROOT, (top, b"moved"), (sub, b"elsewhere"), RenameMode::Replace).unwrap();
    fs.link(&ROOT, linked, sub, b"again").unwrap();
    create(&*fs, sub, "new");
    let open = create(&*fs, top, "open");
    fs.open(open).unwrap();
    fs.remove(&ROOT, top, b"open").unwrap();
    snapshot(&*pool, "ours/a@y");
    let expected = [
        "(on_delete_queue) +",
        "/ M",
        "/gone -",
        "/linked (+1)",
        "/moved -> /sub/elsewhere",
        "/one M",
        "/sub M",
        "/sub/new +",
    ];
    assert_eq!(diff(&*pool, "ours/a@x", "ours/a@y"), expected);
    fs.close(open);
    fs.rename(&ROOT, (top, b"sub"), (top, b"dir"), RenameMode::Replace).unwrap();
    fs.setattr(&ROOT, moved, &SetAttr { mode: Some(0o600), ..SetAttr::default() }).unwrap();
    assert_eq!(
        diff(&*pool, "ours/a@y", "ours/a"),
        ["/ M", "/sub -> /dir", "/sub/elsewhere -> /dir/elsewhere"]
    );

    let change =
        Change::Clone { snapshot: "ours/a@x".into(), name: "ours/c".into(), parents: false, props: vec![] };
    pool.commit(&change, "").unwrap();
    let clone = pool.open_fs("ours/c").unwrap();
    create(&*clone, clone.root(), "mine");
    assert_eq!(diff(&*pool, "ours/a@x", "ours/c"), ["/ M", "/mine +"]);
    let refused = pool.diff("ours/a@y", "ours/a@x", &mut |_| ()).unwrap_err().to_string();
    assert!(refused.contains("Not an earlier snapshot from the same fs"), "{refused}");
}
