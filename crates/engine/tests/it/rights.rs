//! What users who are no administrators may do by the engine's interface, beside what the
//! end-to-end tests ask of its routes.

use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, Cred, DatasetFilter, DirLimit, Engine, Error, FileSystem, Grant, Grantee, NewNode, NodeId, Pool,
    PropertyChange, ReceiveRequest, Received, RenameMode, SendRequest, SetAttr, Spender,
};
use env::Env;
use stdx::behalf::{Actor, Rank, Way, on_behalf_of};

use crate::disks::{Dir, new_pool, zdb_finds_no_leak};

pub const JOE: u32 = 1001;

pub fn as_joe<T>(work: impl FnOnce() -> T) -> T {
    let (groups, way) = (vec![JOE], Way::Management);
    on_behalf_of(Arc::new(Actor { user: JOE, groups, rank: Rank::Guest, within: None, way }), work)
}

fn prop(name: &str, value: &str) -> PropertyChange {
    PropertyChange { name: name.into(), value: value.into() }
}

pub fn create(pool: &dyn Pool, name: &str, props: &[(&str, &str)]) {
    let props = props.iter().map(|(name, value)| prop(name, value)).collect();
    pool.commit(&Change::CreateFilesystem { name: name.into(), parents: false, props }, "").unwrap();
}

pub fn snapshot(name: &str) -> Change {
    Change::Snapshot { names: vec![name.into()], recursive: false, props: Vec::new() }
}

pub fn allow(pool: &dyn Pool, name: &str, permissions: &str) {
    let permissions = Some(permissions.split(',').map(str::to_owned).collect());
    let grant = Grant { who: Grantee::User(JOE.into()), local: true, descendent: true, permissions };
    pool.commit(&Change::Allow { name: name.into(), grants: vec![grant] }, "").unwrap();
}

fn value(pool: &dyn Pool, name: &str, property: &str) -> Option<String> {
    let filter = DatasetFilter {
        roots: vec![name.into()],
        depth: Some(0),
        alone: false,
        kinds: Vec::new(),
        props: vec![property.into()],
    };
    let found = pool.datasets(&filter).unwrap().remove(0);
    found.props.into_iter().next().map(|prop| prop.value)
}

fn receive(pool: &dyn Pool, target: &str, props: &[(&str, &str)], stream: &[u8]) -> Result<Received, Error> {
    let props = props.iter().map(|(name, value)| prop(name, value)).collect();
    let request = ReceiveRequest { target: target.into(), props, ..ReceiveRequest::default() };
    as_joe(|| pool.receive(&request, &mut &stream[..], &mut |_| {}))
}

#[test]
fn who_receives_sets_only_what_he_may() {
    let dir = Dir::new("rights-receive");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let pool = &*pool;
    create(pool, "ours/from", &[("compression", "off"), ("mountpoint", "/etc"), ("com.example:who", "me")]);
    create(pool, "ours/to", &[]);
    pool.commit(&snapshot("ours/from@s"), "").unwrap();
    let request = SendRequest { snapshot: "ours/from@s".into(), props: true, ..SendRequest::default() };
    let mut stream = Vec::new();
    assert_eq!(as_joe(|| pool.send(&request, &mut Vec::new(), &mut |_| {})), Err(Error::Denied));
    pool.send(&request, &mut stream, &mut |_| {}).unwrap();
    for some in ["receive", "create", "mount"] {
        assert_eq!(receive(pool, "ours/to/a", &[], &stream).unwrap_err(), Error::Denied, "before {some}");
        allow(pool, "ours/to", some);
    }
    allow(pool, "ours/to", "compression");
    let received = receive(pool, "ours/to/a", &[], &stream).unwrap();
    assert_eq!(value(pool, "ours/to/a", "compression").as_deref(), Some("off"));
    assert_ne!(value(pool, "ours/to/a", "mountpoint").as_deref(), Some("/etc"));
    assert_ne!(value(pool, "ours/to/a", "com.example:who").as_deref(), Some("me"));
    let mut warnings = received.warnings;
    warnings.sort();
    let expected = ["com.example:who", "mountpoint"]
        .map(|name| format!("cannot receive {name} property on ours/to/a: permission denied"));
    assert_eq!(warnings, expected);
    assert_eq!(receive(pool, "ours/to/b", &[("quota", "1G")], &stream).unwrap_err(), Error::Denied);
    allow(pool, "ours/to", "quota");
    receive(pool, "ours/to/b", &[("quota", "1G")], &stream).unwrap();
    // To give up what the target has takes all of it, to add to it a part.
    let forced = ReceiveRequest { target: "ours/x".into(), force: true, ..ReceiveRequest::default() };
    allow(pool, "ours", "receive:append,create,mount");
    let denied = as_joe(|| pool.receive(&forced, &mut &stream[..], &mut |_| {}));
    assert_eq!(denied.unwrap_err(), Error::Denied);
    receive(pool, "ours/x", &[], &stream).unwrap();
    engine.export("ours", false).unwrap();
    zdb_finds_no_leak(dir.0.to_str().unwrap(), "ours");
}

#[test]
fn what_others_use_is_not_told() {
    let dir = Dir::new("rights-users");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let pool = &*pool;
    create(pool, "ours/a", &[]);
    let (own, other) = (format!("userquota@{JOE}"), format!("userquota@{}", JOE + 1));
    let limits = vec![prop(&own, "1G"), prop(&other, "2G")];
    pool.commit(&Change::SetProperties { name: "ours/a".into(), props: limits }, "").unwrap();
    let seen = |property: &str| as_joe(|| value(pool, "ours/a", property));
    assert_eq!(seen(&own).as_deref(), Some("1073741824"));
    assert_eq!(seen(&other), None);
    let all = || as_joe(|| pool.space_use("ours/a", Spender::User));
    assert_eq!(all(), Err(Error::Denied));
    allow(pool, "ours/a", "userquota");
    assert_eq!(seen(&other).as_deref(), Some("2147483648"));
    let set = Change::SetProperties { name: "ours/a".into(), props: vec![prop(&other, "none")] };
    as_joe(|| pool.commit(&set, "")).unwrap();
    assert_eq!(all(), Err(Error::Denied));
    allow(pool, "ours/a", "userused,userobjused,userobjquota");
    assert!(all().is_ok());
}

/// As with OpenZFS (`zfs_create_fs`, `crgetuid(cr)`), also in an appliance that somebody runs as
/// himself.
#[test]
fn a_new_file_system_belongs_to_who_has_it_made() {
    let dir = Dir::new("rights-owner");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let user = Arc::new(Actor::administrator(1000, 100));
    let pool = on_behalf_of(user, || new_pool(&engine, &dir.0));
    create(&*pool, "ours/a", &[]);
    allow(&*pool, "ours/a", "create,mount");
    as_joe(|| create(&*pool, "ours/a/b", &[]));
    for (name, owner) in [("ours", (1000, 100)), ("ours/a", (0, 0)), ("ours/a/b", (JOE, JOE))] {
        let fs = pool.open_fs(name).unwrap();
        let root = fs.getattr(fs.root()).unwrap();
        assert_eq!((root.uid, root.gid), owner, "{name}");
    }
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_finds_no_leak(dir.0.to_str().unwrap(), "ours");
}

#[test]
fn a_volume_is_made_with_all_that_it_takes() {
    let dir = Dir::new("rights-volume");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let pool = &*pool;
    create(pool, "ours/a", &[]);
    let make = |name: &str, sparse| {
        let props = vec![prop("volsize", "1M")];
        let change = Change::CreateVolume { name: name.into(), parents: false, sparse, props };
        as_joe(|| pool.commit(&change, "").map(drop))
    };
    allow(pool, "ours/a", "create,mount");
    assert_eq!(make("ours/a/thin", true), Ok(()));
    assert_eq!(make("ours/a/thick", false), Err(Error::Denied));
    allow(pool, "ours/a", "refreservation");
    assert_eq!(make("ours/a/thick", false), Ok(()));
    // Growing keeps more space for it, where all is kept.
    let grow = |name: &str| {
        let change = Change::SetProperties { name: name.into(), props: vec![prop("volsize", "2M")] };
        as_joe(|| pool.commit(&change, "").map(drop))
    };
    assert_eq!(grow("ours/a/thin"), Err(Error::Denied));
    allow(pool, "ours/a/thin", "volsize");
    assert_eq!(grow("ours/a/thin"), Ok(()));
    create(pool, "ours/b", &[]);
    let parents = Change::CreateFilesystem { name: "ours/b/x/y".into(), parents: true, props: Vec::new() };
    assert_eq!(as_joe(|| pool.commit(&parents, "").map(drop)), Err(Error::Denied));
    let local = Grant {
        who: Grantee::User(JOE.into()),
        local: true,
        descendent: false,
        permissions: Some(vec!["create".into(), "mount".into()]),
    };
    pool.commit(&Change::Allow { name: "ours/b".into(), grants: vec![local] }, "").unwrap();
    assert_eq!(as_joe(|| pool.commit(&parents, "").map(drop)), Err(Error::Denied));
    allow(pool, "ours/b", "create,mount");
    assert_eq!(as_joe(|| pool.commit(&parents, "").map(drop)), Ok(()));
}

/// Names in `.zfs/snapshot`.
fn listed(fs: &dyn FileSystem, dir: NodeId) -> Vec<String> {
    let limit = DirLimit { entries: 100, name_bytes: 10_000, with_attr: false };
    let page = fs.readdir(&Cred::root(), dir, 0, limit).unwrap();
    let name = |name: Vec<u8>| String::from_utf8(name).unwrap();
    let mut names: Vec<String> = page.entries.into_iter().map(|entry| name(entry.name)).collect();
    names.sort();
    names
}

#[test]
fn snapshots_are_made_as_directories_by_who_may_take_them() {
    let dir = Dir::new("rights-snapdir");
    let env = Env::real();
    let engine = LocalEngine::new(env.clone(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let pool = &*pool;
    create(pool, "ours/a", &[]);
    let fs = pool.open_fs("ours/a").unwrap();
    let fs = &*fs;
    let (root, joe) = (Cred::root(), Cred::user(JOE, JOE));
    let zfs = fs.lookup(&root, fs.root(), b".zfs").unwrap().node;
    let snapshots = fs.lookup(&root, zfs, b"snapshot").unwrap().node;
    let make = |cred: &Cred, name: &str| {
        let made = fs.make(cred, snapshots, name.as_bytes(), &NewNode::Dir, &SetAttr::default());
        made.map(|made| assert!(made.new && made.attr.node.object != 0))
    };
    assert_eq!(make(&root, "one"), Err(Error::Denied));
    assert_eq!(fs.getattr(snapshots).unwrap().mode, 0o555);
    engine.diagnostics().set_tunable("zfs_admin_snapshot", 1).unwrap();
    assert_eq!(fs.getattr(snapshots).unwrap().mode, 0o777);
    assert_eq!(make(&root, "one"), Ok(()));
    assert_eq!(make(&root, "one"), Err(Error::Exists));
    assert_eq!(make(&joe, "two"), Err(Error::Denied));
    allow(pool, "ours/a", "snapshot");
    assert_eq!(make(&joe, "two"), Ok(()));
    assert_eq!(listed(fs, snapshots), ["one", "two"]);
    for bad in ["a@b", "a/b", "a#b", "a%b", ""] {
        assert!(make(&root, bad).is_err(), "{bad}");
    }
    let rename = |cred: &Cred, from: &str, to: &str| {
        let (from, to) = ((snapshots, from.as_bytes()), (snapshots, to.as_bytes()));
        fs.rename(cred, from, to, RenameMode::Replace).map(drop)
    };
    assert_eq!(rename(&joe, "two", "three"), Err(Error::Denied));
    allow(pool, "ours/a", "rename,create,mount");
    assert_eq!(rename(&joe, "two", "one"), Err(Error::Exists));
    assert_eq!(rename(&joe, "none", "four"), Err(Error::NotFound));
    assert_eq!(rename(&joe, "two", "three"), Ok(()));
    let remove = |cred: &Cred, name: &str| fs.rmdir(cred, snapshots, name.as_bytes()).map(drop);
    assert_eq!(remove(&joe, "three"), Err(Error::Denied));
    allow(pool, "ours/a", "destroy");
    assert_eq!(remove(&joe, "three"), Ok(()));
    assert_eq!(remove(&root, "three"), Err(Error::NotFound));
    assert_eq!(listed(fs, snapshots), ["one"]);
    engine.export("ours", false).unwrap();
    zdb_finds_no_leak(dir.0.to_str().unwrap(), "ours");
}

#[test]
fn only_administrators_have_pools() {
    let dir = Dir::new("rights-pools");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let denied = Some(Error::Denied);
    as_joe(|| {
        assert_eq!(engine.export("ours", true).err(), denied);
        assert_eq!(engine.destroy("ours", true).err(), denied);
        assert_eq!(engine.create(&Default::default()).err().map(drop), Some(()));
        assert_eq!(engine.importable(&[], None).err(), denied);
        assert_eq!(engine.import("ours", &Default::default()).err().map(drop), Some(()));
        assert_eq!(engine.label_clear("/dev/null", true).err(), denied);
        assert_eq!(pool.history(false).err(), denied);
        assert_eq!(pool.errors().err(), denied);
        let props = vec![prop("comment", "x")];
        assert_eq!(pool.commit(&Change::SetPoolProperties { props }, "").err(), denied);
        assert_eq!(pool.commit(&Change::Reguid { guid: None }, "").err(), denied);
    });
    assert!(pool.history(false).is_ok());
}

/// A token that is held to `ours/a`.
fn as_token<T>(work: impl FnOnce() -> T) -> T {
    let (groups, within, way) = (Vec::new(), Some("ours/a".into()), Way::Management);
    on_behalf_of(Arc::new(Actor { user: JOE, groups, rank: Rank::Administrator, within, way }), work)
}

#[test]
fn who_is_held_to_a_dataset_reaches_neither_the_machine_nor_its_own_limits() {
    let dir = Dir::new("rights-token");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let pool = &*pool;
    create(pool, "ours/a", &[]);
    create(pool, "ours/a/b", &[("compression", "off"), ("mountpoint", "/etc"), ("sharenfs", "on")]);
    pool.commit(&snapshot("ours/a/b@s"), "").unwrap();
    let commit = |change: &Change| as_token(|| pool.commit(change, "").map(drop));
    let set = |name: &str, prop: &PropertyChange| {
        commit(&Change::SetProperties { name: name.into(), props: vec![prop.clone()] })
    };
    let make = |name: &str, prop: &PropertyChange| {
        let (name, props) = (name.to_owned(), vec![prop.clone()]);
        commit(&Change::CreateFilesystem { name, parents: false, props })
    };
    let clone = |name: &str, prop: &PropertyChange| {
        let (snapshot, name, props) = ("ours/a/b@s".to_owned(), name.to_owned(), vec![prop.clone()]);
        commit(&Change::Clone { snapshot, name, parents: false, props })
    };
    let request = SendRequest { snapshot: "ours/a/b@s".into(), props: true, ..SendRequest::default() };
    let mut stream = Vec::new();
    pool.send(&request, &mut stream, &mut |_| {}).unwrap();
    let receive = |target: &str, props: Vec<PropertyChange>| {
        let request = ReceiveRequest { target: target.into(), props, ..ReceiveRequest::default() };
        as_token(|| pool.receive(&request, &mut &stream[..], &mut |_| {}))
    };
    for (name, value) in [
        ("mountpoint", "/etc"),
        ("overlay", "on"),
        ("sharenfs", "on"),
        ("sharesmb", "off"),
        ("setuid", "on"),
        ("devices", "on"),
        ("cistern:iscsi", "on"),
    ] {
        let prop = prop(name, value);
        assert_eq!(set("ours/a/b", &prop), Err(Error::Denied), "{name}");
        assert_eq!(make("ours/a/c", &prop), Err(Error::Denied), "{name}");
        assert_eq!(clone("ours/a/c", &prop), Err(Error::Denied), "{name}");
        let inherit = Change::Inherit { name: "ours/a/b".into(), property: name.into(), received: false };
        assert_eq!(commit(&inherit), Err(Error::Denied), "{name}");
        assert_eq!(receive("ours/a/c", vec![prop]).unwrap_err(), Error::Denied, "{name}");
    }
    // Nor does he give others what he has not, nor what may come to be that.
    for permission in ["mountpoint", "@set"] {
        let permissions = Some(vec![permission.to_owned()]);
        let grant = Grant { who: Grantee::User(JOE.into()), local: true, descendent: true, permissions };
        let allow = Change::Allow { name: "ours/a/b".into(), grants: vec![grant] };
        assert_eq!(commit(&allow), Err(Error::Denied), "{permission}");
    }
    let quota = prop("quota", "1G");
    assert_eq!(set("ours/a", &quota), Err(Error::Denied));
    assert_eq!(set("ours/a/b", &quota), Ok(()));
    assert_eq!(make("ours/a/c", &quota), Ok(()));
    assert_eq!(set("ours/a", &prop("compression", "off")), Ok(()));
    // What a stream brings of it stays out.
    let mut warnings = receive("ours/a/d", Vec::new()).unwrap().warnings;
    warnings.sort();
    let expected = ["mountpoint", "sharenfs"]
        .map(|name| format!("cannot receive {name} property on ours/a/d: permission denied"));
    assert_eq!(warnings, expected);
    assert_eq!(value(pool, "ours/a/d", "compression").as_deref(), Some("off"));
    engine.export("ours", false).unwrap();
    zdb_finds_no_leak(dir.0.to_str().unwrap(), "ours");
}

#[test]
fn what_is_compared_is_asked_about_on_both_sides() {
    let dir = Dir::new("rights-diff");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let pool = &*pool;
    for name in ["ours/a", "ours/b"] {
        create(pool, name, &[]);
        pool.commit(&snapshot(&format!("{name}@s")), "").unwrap();
        pool.commit(&snapshot(&format!("{name}@t")), "").unwrap();
    }
    let diff = |from: &str, to: &str| pool.diff(from, to, &mut |_| {});
    allow(pool, "ours/a", "diff");
    as_joe(|| {
        assert_eq!(diff("ours/a@s", "ours/a@t"), Ok(()));
        assert_eq!(diff("ours/a@s", "ours/a"), Ok(()));
        assert_eq!(diff("ours/a@s", "ours/b@t"), Err(Error::Denied));
        assert_eq!(diff("ours/a@s", "ours/b"), Err(Error::Denied));
        assert_eq!(diff("ours/b@s", "ours/a"), Err(Error::Denied));
    });
    // A snapshot is taken of what a dataset holds now, which a reader may not.
    let ranked = |rank, within: Option<&str>| {
        let (groups, within) = (Vec::new(), within.map(str::to_owned));
        Arc::new(Actor { user: JOE + 1, groups, rank, within, way: Way::Management })
    };
    on_behalf_of(ranked(Rank::Reader, None), || {
        assert_eq!(diff("ours/b@s", "ours/b@t"), Ok(()));
        assert_eq!(diff("ours/b@s", "ours/b"), Err(Error::Denied));
    });
    on_behalf_of(ranked(Rank::Operator, None), || assert_eq!(diff("ours/b@s", "ours/b"), Ok(())));
    on_behalf_of(ranked(Rank::Operator, Some("ours/a")), || {
        assert_eq!(diff("ours/a@s", "ours/a"), Ok(()));
        assert_eq!(diff("ours/b@s", "ours/b@t"), Ok(()));
        assert_eq!(diff("ours/b@s", "ours/b"), Err(Error::Denied));
    });
}

/// An account has a number, but there is no such user on the machine.
#[test]
fn what_an_account_makes_is_roots() {
    let dir = Dir::new("rights-account");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    create(&*pool, "ours/a", &[]);
    as_token(|| create(&*pool, "ours/a/b", &[]));
    let fs = pool.open_fs("ours/a/b").unwrap();
    let root = fs.getattr(fs.root()).unwrap();
    assert_eq!((root.uid, root.gid), (0, 0));
}
