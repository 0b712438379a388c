//! ACLs from other systems: nobody gets what they deny him.

use engine::facade::{LocalEngine, Options};
use engine::zpl::{AtCreation, Settings, XattrStore};
use engine_api::{
    CreateMode, Cred, Engine, Error, FileSystem, ImportOptions, NewNode, NodeId, SetAttr, Stable, XattrMode,
};
use env::Env;

use crate::bench::Bench;
use crate::manifest::Fixture;

const ROOT: Cred = Cred::root();
const ACCESS: &[u8] = b"system.posix_acl_access";
const DEFAULT: &[u8] = b"system.posix_acl_default";

fn user(uid: u32) -> Cred {
    Cred { uid, gid: uid, groups: Vec::new(), owner_override: false }
}

/// Tags, permissions and ids.
fn acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut value = 2_u32.to_le_bytes().to_vec();
    for (tag, allowed, id) in entries {
        value.extend([tag.to_le_bytes(), allowed.to_le_bytes()].concat());
        value.extend(id.to_le_bytes());
    }
    value
}

/// user::rw-, user:1001:---, group::r--, mask::r--, other::r--
fn denies_1001() -> Vec<u8> {
    let none = u32::MAX;
    acl(&[(1, 6, none), (2, 0, 1001), (4, 4, none), (16, 4, none), (32, 4, none)])
}

fn named(bench: &Bench, name: &[u8]) -> NodeId {
    bench.fs.lookup(&ROOT, bench.fs.root(), name).unwrap().node
}

/// A file of user 1000 that says mode 0644 and has an ACL.
fn file_with(bench: &Bench, name: &[u8], value: &[u8]) -> NodeId {
    let attr = SetAttr { mode: Some(0o644), uid: Some(1000), ..SetAttr::default() };
    let node = bench.fs.create(&ROOT, bench.fs.root(), name, CreateMode::Guarded, &attr).unwrap().attr.node;
    bench.fs.write(&ROOT, node, 0, b"secret", Stable::Unstable).unwrap();
    bench.fs.setxattr(&ROOT, node, ACCESS, value, XattrMode::Create).unwrap();
    node
}

#[test]
fn nobody_reads_what_a_posix_acl_denies_him() {
    for store in [XattrStore::System, XattrStore::Directory] {
        let settings = Settings { xattr: store, posix_acls: true, ..Settings::default() };
        let mut bench = Bench::new(settings, AtCreation::default());
        file_with(&bench, b"f", &denies_1001());
        bench.reopen();
        let (fs, node) = (bench.fs.clone(), named(&bench, b"f"));
        let read = |cred: &Cred| fs.read(cred, node, 0, 10).map(|read| read.to_vec());
        assert_eq!(read(&user(1001)), Err(Error::Denied));
        assert!(!fs.access(&user(1001), node).unwrap().read);
        assert_eq!(read(&user(1000)), Ok(b"secret".to_vec()));
        assert_eq!(read(&ROOT), Ok(b"secret".to_vec()));
        let attr = fs.getattr(node).unwrap();
        assert_eq!((attr.mode, attr.withheld), (0o644, 0o044));
    }
    // Under acltype=off it is an extended attribute and nothing else.
    let bench = Bench::new(Settings::default(), AtCreation::default());
    let node = file_with(&bench, b"f", &denies_1001());
    assert!(bench.fs.read(&user(1001), node, 0, 10).is_ok());
}

#[test]
fn an_acl_that_cannot_be_read_allows_the_owner_only() {
    let settings = Settings { xattr: XattrStore::System, posix_acls: true, ..Settings::default() };
    let bench = Bench::new(settings, AtCreation::default());
    let node = file_with(&bench, b"f", b"garbage");
    assert!(bench.fs.read(&user(1000), node, 0, 10).is_ok());
    assert_eq!(bench.fs.read(&user(1001), node, 0, 10).map(drop), Err(Error::Denied));
}

#[test]
fn chmod_changes_the_acl_with_the_mode() {
    for store in [XattrStore::System, XattrStore::Directory] {
        let settings = Settings { xattr: store, posix_acls: true, ..Settings::default() };
        let mut bench = Bench::new(settings, AtCreation::default());
        let node = file_with(&bench, b"f", &denies_1001());
        bench.fs.setattr(&user(1000), node, &SetAttr { mode: Some(0o700), ..SetAttr::default() }).unwrap();
        bench.reopen();
        let none = u32::MAX;
        let after = acl(&[(1, 7, none), (2, 0, 1001), (4, 4, none), (16, 0, none), (32, 0, none)]);
        assert_eq!(bench.fs.getxattr(&ROOT, named(&bench, b"f"), ACCESS), Ok(after));
    }
}

#[test]
fn what_is_made_below_a_default_acl_allows_no_more_than_that() {
    let settings = Settings { xattr: XattrStore::System, posix_acls: true, ..Settings::default() };
    let bench = Bench::new(settings, AtCreation::default());
    let open = SetAttr { mode: Some(0o777), ..SetAttr::default() };
    let dir = bench.fs.make(&ROOT, bench.fs.root(), b"d", &NewNode::Dir, &open).unwrap().attr.node;
    let none = u32::MAX;
    let inherited = acl(&[(1, 7, none), (2, 7, 1001), (4, 5, none), (16, 7, none), (32, 0, none)]);
    bench.fs.setxattr(&ROOT, dir, DEFAULT, &inherited, XattrMode::Create).unwrap();
    let attr = SetAttr { mode: Some(0o666), ..SetAttr::default() };
    let made = bench.fs.create(&user(1000), dir, b"f", CreateMode::Guarded, &attr).unwrap().attr;
    assert_eq!(made.mode, 0o640);
    // The directory's own permissions are what they were.
    assert_eq!(bench.fs.getattr(dir).unwrap().withheld, 0);
}

/// `tree/acl/g` says 0654 and denies user 1001 everything: setfacl on Linux wrote it.
#[test]
fn nobody_reads_what_the_acl_of_a_linux_pool_denies_him() {
    let fixture = Fixture::unpack("single-default");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options =
        ImportOptions { search: vec![fixture.images()], readonly: true, ..ImportOptions::default() };
    let pool = engine.import("g_single", &options).unwrap();
    for dataset in ["g_single/dir", "g_single/sa"] {
        let fs = pool.open_fs(dataset).unwrap();
        let down = |dir, name: &[u8]| fs.lookup(&ROOT, dir, name).unwrap().node;
        let dir = down(down(fs.root(), b"tree"), b"acl");
        let node = down(dir, b"g");
        assert_eq!(fs.getattr(node).unwrap().mode, 0o654);
        assert_eq!(fs.read(&user(1001), node, 0, 10).map(drop), Err(Error::Denied), "{dataset}");
        assert!(fs.read(&user(0), node, 0, 10).is_ok());
        // One whose entries all allow reading stays readable.
        assert!(fs.read(&user(1001), down(dir, b"u"), 0, 10).is_ok());
    }
    drop(pool);
    engine.export("g_single", false).unwrap();
}

/// `.zfs` leads to the snapshots, and no entry of the root may stand there instead.
#[test]
fn nothing_in_the_root_is_called_as_the_directory_of_snapshots() {
    let fixture = Fixture::unpack("single-default");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options = ImportOptions { search: vec![fixture.images()], ..ImportOptions::default() };
    let pool = engine.import("g_single", &options).unwrap();
    let fs = pool.open_fs("g_single/dir").unwrap();
    let (root, name) = (fs.root(), &b".zfs"[..]);
    let set = SetAttr { mode: Some(0o755), ..SetAttr::default() };
    let made = |dir: NodeId, name: &[u8]| fs.make(&ROOT, dir, name, &NewNode::Dir, &set);
    assert_eq!(made(root, name).map(drop), Err(Error::Exists));
    let guarded = CreateMode::Guarded;
    assert_eq!(fs.create(&ROOT, root, name, guarded, &set).map(drop), Err(Error::Exists));
    let dir = made(root, b"other").unwrap().attr.node;
    let renamed = fs.rename(&ROOT, (root, b"other"), (root, name), engine_api::RenameMode::Replace);
    assert_eq!(renamed.map(drop), Err(Error::Exists));
    let file = fs.create(&ROOT, root, b"file", guarded, &set).unwrap().attr.node;
    assert_eq!(fs.link(&ROOT, file, root, name).map(drop), Err(Error::Exists));
    // Elsewhere it is a name like others.
    made(dir, name).unwrap();
    drop((fs, pool));
    engine.export("g_single", false).unwrap();
}
