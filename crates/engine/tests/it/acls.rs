//! POSIX ACLs: who may by them, and what keeps them in step with modes.

use std::sync::atomic::Ordering;

use engine::facade::{LocalEngine, Options};
use engine::zpl::{AtCreation, Settings, XattrStore};
use engine_api::{
    Attr, CreateMode, Cred, Engine, Error, FileSystem, ImportOptions, NewNode, NodeId, SetAttr, Stable,
    XattrMode,
};
use env::Env;
use ondisk::Endian;
use ondisk::zil::Records;
use ondisk::zil::record::{LrSetSaXattr, Record};
use stdx::posix::acl::Acl;

use crate::bench::Bench;
use crate::manifest::Fixture;

const ROOT: Cred = Cred::root();
const ACCESS: &[u8] = b"system.posix_acl_access";
const DEFAULT: &[u8] = b"system.posix_acl_default";

const NONE: u32 = u32::MAX;
const STORES: [XattrStore; 2] = [XattrStore::System, XattrStore::Directory];

fn user(uid: u32) -> Cred {
    Cred::user(uid, uid)
}

fn member(uid: u32, groups: &[u32]) -> Cred {
    Cred { groups: groups.to_vec(), ..user(uid) }
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

/// user::rw-, user:1001:---, group::r--, group:50:rw-, mask::rw-, other::r--
fn rich() -> Vec<u8> {
    acl(&[(1, 6, NONE), (2, 0, 1001), (4, 4, NONE), (8, 6, 50), (16, 6, NONE), (32, 4, NONE)])
}

fn bench(store: XattrStore) -> Bench {
    Bench::new(Settings { xattr: store, posix_acls: true, ..Settings::default() }, AtCreation::default())
}

fn named(bench: &Bench, name: &[u8]) -> NodeId {
    bench.fs.lookup(&ROOT, bench.fs.root(), name).unwrap().node
}

fn set(bench: &Bench, node: NodeId, name: &[u8], value: &[u8]) -> Result<(), Error> {
    bench.fs.setxattr(&ROOT, node, name, value, XattrMode::Either)
}

fn mode(mode: u32) -> SetAttr {
    SetAttr { mode: Some(mode), ..SetAttr::default() }
}

/// A file of user 1000 that says mode 0644.
fn file(bench: &Bench, name: &[u8]) -> NodeId {
    let attr = SetAttr { uid: Some(1000), ..mode(0o644) };
    let node = bench.fs.create(&ROOT, bench.fs.root(), name, CreateMode::Guarded, &attr).unwrap().attr.node;
    bench.fs.write(&ROOT, node, 0, b"secret", Stable::Unstable).unwrap();
    node
}

fn file_with(bench: &Bench, name: &[u8], value: &[u8]) -> NodeId {
    let node = file(bench, name);
    set(bench, node, ACCESS, value).unwrap();
    node
}

#[test]
fn everybody_has_what_the_acl_gives_him() {
    for store in STORES {
        let mut bench = bench(store);
        file_with(&bench, b"f", &rich());
        bench.reopen();
        let (fs, node) = (bench.fs.clone(), named(&bench, b"f"));
        let may = |cred: &Cred| {
            let access = fs.access(cred, node).unwrap();
            let read = fs.read(cred, node, 0, 10).map(|read| read.to_vec());
            assert_eq!(read, if access.read { Ok(b"secret".to_vec()) } else { Err(Error::Denied) });
            let written = fs.write(cred, node, 0, b"secret", Stable::Unstable).map(drop);
            assert_eq!(written, if access.modify { Ok(()) } else { Err(Error::Denied) });
            (access.read, access.modify)
        };
        assert_eq!(may(&user(1000)), (true, true));
        assert_eq!(may(&member(1001, &[50])), (false, false));
        assert_eq!(may(&user(1002)), (true, false));
        assert_eq!(may(&member(1002, &[0])), (true, false));
        assert_eq!(may(&member(1002, &[0, 50])), (true, true));
        assert_eq!(may(&ROOT), (true, true));
        let attr = fs.getattr(node).unwrap();
        assert_eq!((attr.mode, attr.withheld), (0o664, 0));
        assert_eq!(fs.getxattr(&user(1001), node, ACCESS), Ok(rich()));
        assert_eq!(fs.listxattr(&ROOT, node), Ok(vec![ACCESS.to_vec()]));
    }
}

#[test]
fn under_another_acltype_there_are_no_acls() {
    let bench = bench(XattrStore::System);
    let (rich_one, plain) = (file_with(&bench, b"f", &rich()), file(&bench, b"g"));
    bench.fs.set_settings(Settings { xattr: XattrStore::System, ..Settings::default() });
    let refused = |answer: Result<(), Error>| matches!(answer, Err(Error::Unsupported(_)));
    for node in [rich_one, plain] {
        assert!(refused(set(&bench, node, ACCESS, &rich())));
        assert!(refused(bench.fs.removexattr(&ROOT, node, ACCESS)));
        assert!(refused(bench.fs.getxattr(&ROOT, node, ACCESS).map(drop)));
        assert_eq!(bench.fs.listxattr(&ROOT, node), Ok(Vec::new()));
    }
    assert!(bench.fs.access(&user(1001), rich_one).unwrap().read);
    // What is stored comes back with the property.
    bench.fs.set_settings(bench.settings.clone());
    assert!(!bench.fs.access(&user(1001), rich_one).unwrap().read);
}

#[test]
fn an_acl_that_says_no_more_than_a_mode_is_the_mode() {
    for store in STORES {
        let bench = bench(store);
        let node = file_with(&bench, b"f", &rich());
        let minimal = acl(&[(1, 7, NONE), (4, 5, NONE), (32, 1, NONE)]);
        set(&bench, node, ACCESS, &minimal).unwrap();
        assert_eq!(bench.fs.getattr(node).unwrap().mode, 0o751);
        assert_eq!(bench.fs.getxattr(&ROOT, node, ACCESS), Err(Error::NotFound));
        // Nor is one without entries kept; the mode stays.
        set(&bench, node, ACCESS, &rich()).unwrap();
        set(&bench, node, ACCESS, &acl(&[])).unwrap();
        assert_eq!(bench.fs.getattr(node).unwrap().mode, 0o664);
        assert_eq!(bench.fs.listxattr(&ROOT, node), Ok(Vec::new()));
    }
}

#[test]
fn what_cannot_be_an_acl_is_refused() {
    let bench = bench(XattrStore::System);
    let node = file(&bench, b"f");
    assert!(matches!(set(&bench, node, ACCESS, b"garbage"), Err(Error::Unsupported(_))));
    assert!(matches!(set(&bench, node, ACCESS, &[2, 0, 0, 0, 1]), Err(Error::Invalid(_))));
    // A file hands nothing down, a link has no ACL, and only the owner sets one.
    assert_eq!(set(&bench, node, DEFAULT, &rich()), Err(Error::Denied));
    let what = NewNode::Symlink { target: b"f".to_vec() };
    let link = bench.fs.make(&ROOT, bench.fs.root(), b"l", &what, &mode(0o777)).unwrap().attr.node;
    assert!(matches!(set(&bench, link, ACCESS, &rich()), Err(Error::Unsupported(_))));
    let by = |cred: &Cred| bench.fs.setxattr(cred, node, ACCESS, &rich(), XattrMode::Either);
    assert_eq!(by(&user(1001)), Err(Error::NotPermitted));
    assert_eq!(by(&user(1000)), Ok(()));
    // Who is not in the file's group leaves no setgid.
    bench.fs.setattr(&ROOT, node, &mode(0o2775)).unwrap();
    by(&user(1000)).unwrap();
    assert_eq!(bench.fs.getattr(node).unwrap().mode, 0o664);
}

/// No client can store such a value; a pool can come with one.
#[test]
fn an_acl_that_cannot_be_read_allows_the_owner_only() {
    let bench = bench(XattrStore::System);
    let node = file(&bench, b"f");
    let set = LrSetSaXattr { object: node.object, name: ACCESS, value: b"garbage" };
    let bytes = Record::SetSaXattr(set).encode();
    let head = Records::new(&bytes, Endian::Little).next().unwrap().unwrap().0;
    bench.fs.while_replaying(|| bench.fs.replay_record(&head, &bytes, Endian::Little, None)).unwrap();
    assert!(bench.fs.read(&user(1000), node, 0, 10).is_ok());
    assert_eq!(bench.fs.read(&user(1001), node, 0, 10).map(drop), Err(Error::Denied));
    bench.fs.setattr(&user(1000), node, &mode(0o640)).unwrap();
    bench.fs.removexattr(&user(1000), node, ACCESS).unwrap();
    assert!(bench.fs.read(&member(1001, &[0]), node, 0, 10).is_ok());
}

#[test]
fn chmod_changes_the_acl_with_the_mode() {
    for store in STORES {
        let mut bench = bench(store);
        let node = file_with(&bench, b"f", &rich());
        bench.fs.setattr(&user(1000), node, &mode(0o700)).unwrap();
        bench.reopen();
        let after =
            acl(&[(1, 7, NONE), (2, 0, 1001), (4, 4, NONE), (8, 6, 50), (16, 0, NONE), (32, 0, NONE)]);
        assert_eq!(bench.fs.getxattr(&ROOT, named(&bench, b"f"), ACCESS), Ok(after));
    }
}

#[test]
fn what_is_made_below_a_default_acl_has_it() {
    for store in STORES {
        let bench = bench(store);
        let dir = bench.fs.make(&ROOT, bench.fs.root(), b"d", &NewNode::Dir, &mode(0o777)).unwrap().attr.node;
        let handed_down = acl(&[(1, 7, NONE), (2, 7, 1001), (4, 5, NONE), (16, 7, NONE), (32, 0, NONE)]);
        set(&bench, dir, DEFAULT, &handed_down).unwrap();
        // The directory's own permissions are what they were.
        assert_eq!(bench.fs.getattr(dir).unwrap().mode, 0o777);
        let maker = Cred { umask: 0o077, ..user(1000) };
        let made = bench.fs.create(&maker, dir, b"f", CreateMode::Guarded, &mode(0o664)).unwrap().attr;
        assert_eq!(made.mode, 0o660);
        let bounded = acl(&[(1, 6, NONE), (2, 7, 1001), (4, 5, NONE), (16, 6, NONE), (32, 0, NONE)]);
        assert_eq!(bench.fs.getxattr(&ROOT, made.node, ACCESS), Ok(bounded));
        assert_eq!(bench.fs.getxattr(&ROOT, made.node, DEFAULT), Err(Error::NotFound));
        assert!(bench.fs.access(&user(1001), made.node).unwrap().modify);
        assert!(!bench.fs.access(&user(1002), made.node).unwrap().read);
        let made = bench.fs.make(&maker, dir, b"sub", &NewNode::Dir, &mode(0o755)).unwrap().attr;
        assert_eq!(made.mode, 0o750);
        assert_eq!(bench.fs.getxattr(&ROOT, made.node, DEFAULT), Ok(handed_down.clone()));
        let what = NewNode::Symlink { target: b"f".to_vec() };
        let made = bench.fs.make(&maker, dir, b"link", &what, &mode(0o777)).unwrap().attr;
        assert_eq!((made.mode, bench.fs.listxattr(&ROOT, made.node)), (0o777, Ok(Vec::new())));
        // One that says no more than a mode is in the mode; without one, the umask counts.
        set(&bench, dir, DEFAULT, &acl(&[(1, 7, NONE), (4, 5, NONE), (32, 0, NONE)])).unwrap();
        let made = bench.fs.create(&maker, dir, b"g", CreateMode::Guarded, &mode(0o666)).unwrap().attr;
        assert_eq!((made.mode, bench.fs.listxattr(&ROOT, made.node)), (0o640, Ok(Vec::new())));
        bench.fs.removexattr(&ROOT, dir, DEFAULT).unwrap();
        let made = bench.fs.create(&maker, dir, b"h", CreateMode::Guarded, &mode(0o666)).unwrap().attr;
        assert_eq!(made.mode, 0o600);
    }
}

/// What the log says is done again: with every number of records, and the ACL never without the
/// mode that goes with it.
#[test]
fn acls_are_in_the_intent_log() {
    for store in STORES {
        let mut bench = bench(store);
        bench.journal().saxattr.store(true, Ordering::SeqCst);
        let dir = bench.fs.make(&ROOT, bench.fs.root(), b"d", &NewNode::Dir, &mode(0o777)).unwrap().attr.node;
        set(&bench, dir, DEFAULT, &rich()).unwrap();
        bench.sync();
        bench.fs.make(&user(1000), dir, b"sub", &NewNode::Dir, &mode(0o755)).unwrap();
        let made =
            bench.fs.create(&user(1000), dir, b"f", CreateMode::Guarded, &mode(0o640)).unwrap().attr.node;
        bench.fs.setattr(&user(1000), made, &mode(0o600)).unwrap();
        let made =
            bench.fs.create(&user(1000), dir, b"g", CreateMode::Guarded, &mode(0o644)).unwrap().attr.node;
        set(&bench, made, ACCESS, &rich()).unwrap();
        // Another node's commit takes along what was done to ACLs, and the modes.
        bench.fs.commit(dir).unwrap();
        bench.crash();
        bench.fs.while_replaying(|| bench.journal().replay(&bench.fs, usize::MAX));
        bench.reopen();
        let found = |name: &[u8]| bench.fs.lookup(&ROOT, dir, name).unwrap();
        let value = |attr: &Attr, name: &[u8]| bench.fs.getxattr(&ROOT, attr.node, name);
        let sub = found(b"sub");
        assert_eq!((sub.mode, value(&sub, DEFAULT)), (0o644, Ok(rich())));
        let masked = |owner, mask, other| {
            let ends = [(16, mask, NONE), (32, other, NONE)];
            acl(&[&[(1, owner, NONE), (2, 0, 1001), (4, 4, NONE), (8, 6, 50)], &ends[..]].concat())
        };
        assert_eq!(value(&sub, ACCESS), Ok(masked(6, 4, 4)));
        let f = found(b"f");
        assert_eq!((f.mode, value(&f, ACCESS)), (0o600, Ok(masked(6, 0, 0))));
        let g = found(b"g");
        assert_eq!((g.mode, value(&g, ACCESS)), (0o664, Ok(rich())));
    }
}

/// `tree/acl/g` says 0654 and denies user 1001 everything: setfacl on Linux wrote it.
#[test]
fn the_acls_of_a_linux_pool_are_obeyed() {
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
        assert!(fs.read(&user(1002), node, 0, 10).is_ok());
        // Every byte is as Linux has it.
        let stored = fs.getxattr(&ROOT, node, ACCESS).unwrap();
        assert_eq!(Acl::decode(&stored).unwrap().unwrap().encode(), stored);
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
