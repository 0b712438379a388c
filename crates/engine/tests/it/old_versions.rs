//! Pools and file systems of old versions: equal to their manifests, written as what they are, and
//! upgraded; zdb finds them whole each time.

use std::path::Path;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, DatasetFilter, DestroyQuery, DirLimit, Engine, FileSystem, ImportOptions,
    NewNode, NodeKind, Pool, PoolSpec, ReceiveRequest, SendRequest, SetAttr, Source, Stable, VdevSpec,
    XattrMode,
};
use env::Env;
use model::{Tree, dump};
use stdx::prng::Prng;

use crate::disks::{Dir, prop, same, zdb_finds_no_leak, zdb_is_content};
use crate::manifest::Fixture;
use crate::streams::value as value_of;

const ROOT: Cred = Cred::root();

fn commit(pool: &dyn Pool, change: Change) {
    pool.commit(&change, "").unwrap_or_else(|error| panic!("{change:?}: {error}"));
}

fn snapshot(pool: &dyn Pool, name: &str) {
    commit(pool, Change::Snapshot { names: vec![name.into()], recursive: false, props: Vec::new() });
}

fn destroy(pool: &dyn Pool, name: &str) {
    let query = DestroyQuery { name: name.into(), recursive: true, clones: true, defer: false };
    let names = pool.plan_destroy(&query).unwrap().names;
    commit(pool, Change::Destroy { names, defer: false });
}

fn value(pool: &dyn Pool, dataset: &str, property: &str) -> String {
    let filter = DatasetFilter {
        roots: vec![dataset.into()],
        depth: Some(0),
        props: vec![property.into()],
        ..DatasetFilter::default()
    };
    pool.datasets(&filter).unwrap().remove(0).props.remove(0).value
}

/// New files of every kind, and some of the old ones changed or gone.
fn write(fs: &dyn FileSystem, top: &[u8], rng: &mut Prng) -> Tree {
    let attr = SetAttr { mode: Some(0o755), uid: Some(1000), gid: Some(100), ..SetAttr::default() };
    let dir = fs.make(&ROOT, fs.root(), top, &NewNode::Dir, &attr).unwrap().attr.node;
    for i in 0..24_u8 {
        let name = [top, &[b' ', b'a' + i]].concat();
        let parent = if i % 2 == 0 { dir } else { fs.root() };
        let file = fs.create(&ROOT, parent, &name, CreateMode::Guarded, &attr).unwrap().attr.node;
        let mut data = vec![0; rng.below(1 << (5 + i / 2)) as usize];
        rng.fill(&mut data);
        fs.write(&ROOT, file, 0, &data, Stable::Unstable).unwrap();
        if i % 3 == 0 {
            fs.setxattr(&ROOT, file, b"user.tag", &data[..data.len().min(900)], XattrMode::Either).unwrap();
        }
    }
    let link = |name: &[u8], target: usize| {
        let what = NewNode::Symlink { target: vec![b't'; target] };
        fs.make(&ROOT, fs.root(), &[top, name].concat(), &what, &SetAttr::default()).unwrap();
    };
    // Just inside of a znode's bonus, and just outside.
    link(b" short", 56);
    link(b" long", 57);
    let limit = DirLimit { entries: 10_000, name_bytes: 1 << 20, with_attr: false };
    let page = fs.readdir(&ROOT, fs.root(), 0, limit).unwrap();
    for entry in page.entries.into_iter().filter(|entry| entry.kind == NodeKind::File).take(12) {
        let mode = SetAttr { mode: Some(0o4000 | rng.below(0o1000) as u32), ..SetAttr::default() };
        match rng.below(3) {
            0 => drop(fs.remove(&ROOT, fs.root(), &entry.name).unwrap()),
            1 => drop(fs.setattr(&ROOT, entry.node, &mode).unwrap()),
            _ => {
                let other = [&entry.name[..], b" too, since ", top].concat();
                fs.link(&ROOT, entry.node, fs.root(), &other).unwrap();
            }
        }
    }
    dump(fs).unwrap()
}

/// A pool of version 28 with file systems of versions 1 to 5, as OpenZFS made it.
#[test]
fn an_old_pool_is_written_as_what_it_is_and_upgraded() {
    let Some(fixture) = Fixture::unpack_shared("pool-legacy-v28") else { return };
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options = ImportOptions { search: vec![fixture.images()], force: true, ..ImportOptions::default() };
    let name = |version: u64| format!("g_v28/fsv{version}");
    let mut rng = Prng::new(28);
    let mut trees: Vec<Tree> = Vec::new();
    for turn in 0..3 {
        let pool = engine.import("g_v28", &options).unwrap();
        assert!(!pool.status().readonly);
        assert_eq!(pool.properties(&["version".into()]).unwrap()[0].value, if turn < 2 { "28" } else { "" });
        for version in 1..=5 {
            let dataset = name(version);
            let fs = pool.open_fs(&dataset).unwrap();
            if turn == 0 {
                for name in [dataset.clone(), format!("{dataset}@snap1"), format!("{dataset}@snap2")] {
                    let wrong = fixture.check_one(&name, &*pool.open_fs(&name).unwrap());
                    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
                }
                assert_eq!(value(&*pool, &dataset, "version"), version.to_string());
                trees.push(write(&*fs, b"our first", &mut rng));
                snapshot(&*pool, &format!("{dataset}@ours"));
            } else {
                same(&trees[version as usize - 1], &*fs, &format!("{dataset}, turn {turn}"));
            }
            if turn == 1 {
                destroy(&*pool, &format!("{dataset}@snap1"));
                let props = vec![prop("version", "5")];
                commit(&*pool, Change::SetProperties { name: dataset.clone(), props });
                assert_eq!(value(&*pool, &dataset, "version"), "5");
                trees[version as usize - 1] = write(&*fs, b"our second", &mut rng);
            }
        }
        if turn == 1 {
            let props = vec![prop("version", "5000"), prop("feature@async_destroy", "enabled")];
            commit(&*pool, Change::SetPoolProperties { props });
            destroy(&*pool, "g_v28/c_off");
        }
        drop(pool);
        engine.export("g_v28", false).unwrap();
        let partitions = fixture.partitions();
        zdb_finds_no_leak(partitions.to_str().unwrap(), "g_v28");
    }
    zdb_is_content(fixture.partitions().to_str().unwrap(), "g_v28");
}

fn new_pool(engine: &LocalEngine, dir: &Path, version: u64) -> Arc<dyn Pool> {
    let disk = |name: &str| {
        let path = dir.join(name);
        std::fs::File::create(&path).unwrap().set_len(128 << 20).unwrap();
        VdevSpec::Leaf(path.to_str().unwrap().into())
    };
    let vdev = match version {
        2 => VdevSpec::Raidz { parity: 1, children: ["a", "b", "c"].map(disk).to_vec() },
        _ => disk("disk"),
    };
    let spec = PoolSpec {
        name: "old".into(),
        vdevs: vec![vdev],
        mountpoint: Some("none".into()),
        props: vec![prop("version", &version.to_string())],
        history: format!("zpool create -o version={version} old disk"),
        force: true,
        ..PoolSpec::default()
    };
    engine.create(&spec).unwrap()
}

/// Pools that count parity as used, and such with one dead list a snapshot, from the beginning to
/// their end.
#[test]
fn new_pools_can_be_of_old_versions() {
    for version in [2, 25] {
        let dir = Dir::new(&format!("old-{version}"));
        let engine = LocalEngine::new(Env::real(), Options::default());
        let pool = new_pool(&engine, &dir.0, version);
        let mut rng = Prng::new(version);
        let newest: u64 = value(&*pool, "old", "version").parse().unwrap();
        for fs_version in 1..=newest {
            let name = format!("old/v{fs_version}");
            let props = vec![prop("version", &fs_version.to_string())];
            commit(&*pool, Change::CreateFilesystem { name: name.clone(), parents: false, props });
            let fs = pool.open_fs(&name).unwrap();
            for snap in ["a", "b", "c"] {
                write(&*fs, snap.as_bytes(), &mut rng);
                snapshot(&*pool, &format!("{name}@{snap}"));
            }
            let clone = format!("old/clone{fs_version}");
            let (snap, props) = (format!("{name}@b"), Vec::new());
            commit(&*pool, Change::Clone { snapshot: snap, name: clone.clone(), parents: false, props });
            write(&*pool.open_fs(&clone).unwrap(), b"clone", &mut rng);
            snapshot(&*pool, &format!("{clone}@own"));
        }
        let too_new = vec![prop("version", "6")];
        let change = Change::CreateFilesystem { name: "old/new".into(), parents: false, props: too_new };
        assert!(pool.commit(&change, "").is_err());
        let place = dir.0.to_str().unwrap();
        let again = |pool: Arc<dyn Pool>| {
            drop(pool);
            engine.export("old", false).unwrap();
            zdb_finds_no_leak(place, "old");
            let options = ImportOptions { search: vec![place.into()], ..ImportOptions::default() };
            engine.import("old", &options).unwrap()
        };
        let pool = again(pool);
        assert_eq!(pool.properties(&["version".into()]).unwrap()[0].value, version.to_string());
        for fs_version in 1..=newest {
            let name = format!("old/v{fs_version}");
            destroy(&*pool, &format!("{name}@a"));
            if fs_version % 2 == 0 {
                commit(&*pool, Change::Promote { name: format!("old/clone{fs_version}") });
            } else {
                commit(&*pool, Change::Rollback { snapshot: format!("{name}@c") });
            }
        }
        let pool = again(pool);
        destroy(&*pool, "old/v1");
        commit(&*pool, Change::SetPoolProperties { props: vec![prop("version", "28")] });
        commit(&*pool, Change::SetPoolProperties { props: vec![prop("feature@lz4_compress", "enabled")] });
        destroy(&*pool, "old/clone2");
        let pool = again(pool);
        for fs_version in 3..=newest {
            destroy(&*pool, &format!("old/v{fs_version}"));
        }
        drop(again(pool));
        engine.export("old", false).unwrap();
        zdb_is_content(place, "old");
    }
}

/// What old pools receive: properties that they cannot tell from others below version 22, no file
/// systems with system attributes below 24, and none of a version that they can only keep.
#[test]
fn old_pools_receive_what_they_understand() {
    let engine = LocalEngine::new(Env::real(), Options::default());
    let dir = Dir::new("old-sender");
    let pool = new_pool(&engine, &dir.0, 28);
    let mut rng = Prng::new(22);
    let mut streams = Vec::new();
    for version in [1, 4, 5] {
        let name = format!("old/v{version}");
        let props = [("version", version.to_string().as_str()), ("compression", "lzjb"), ("test:one", "1")]
            .map(|(name, value)| prop(name, value));
        commit(
            &*pool,
            Change::CreateFilesystem { name: name.clone(), parents: false, props: props.to_vec() },
        );
        let mut from = None;
        for snap in ["a", "b"] {
            let tree = write(&*pool.open_fs(&name).unwrap(), snap.as_bytes(), &mut rng);
            snapshot(&*pool, &format!("{name}@{snap}"));
            let request = SendRequest {
                snapshot: format!("{name}@{snap}"),
                from: from.replace(format!("{name}@{snap}")),
                props: true,
                ..SendRequest::default()
            };
            let mut stream = Vec::new();
            pool.send(&request, &mut stream, &mut |_| {}).unwrap();
            streams.push((stream, tree));
        }
    }
    drop(pool);
    engine.export("old", false).unwrap();
    for version in [8, 21, 22, 28] {
        let dir = Dir::new(&format!("old-receiver-{version}"));
        let pool = new_pool(&engine, &dir.0, version);
        commit(&*pool, Change::SetProperties { name: "old".into(), props: vec![prop("atime", "off")] });
        let receive = |dataset: &str, n: usize| {
            let request = ReceiveRequest { target: dataset.into(), ..ReceiveRequest::default() };
            pool.receive(&request, &mut &streams[n].0[..], &mut |_| {}).map(drop)
        };
        let tells = version >= 22;
        let came = if tells { Source::Received } else { Source::Local };
        receive("old/v1", 0).unwrap();
        assert_eq!(value_of(&*pool, "old/v1", "compression"), ("lzjb".into(), came.clone()));
        same(&streams[0].1, &*pool.open_fs("old/v1").unwrap(), "v1@a");
        assert_eq!(value(&*pool, "old/v1", "version"), "1");
        let own = vec![prop("test:one", "2"), prop("test:mine", "yes")];
        commit(&*pool, Change::SetProperties { name: "old/v1".into(), props: own });
        receive("old/v1", 1).unwrap();
        same(&streams[1].1, &*pool.open_fs("old/v1").unwrap(), "v1@b");
        let shown = |name: &str| value_of(&*pool, "old/v1", name);
        assert_eq!(shown("test:one"), (if tells { "2" } else { "1" }.into(), Source::Local));
        assert_eq!(shown("test:mine").0, if tells { "yes" } else { "" });

        receive("old/v4", 2).unwrap();
        match pool.open_fs("old/v4") {
            Ok(fs) => same(&streams[2].1, &*fs, "v4@a"),
            Err(error) => {
                let why = "Can't mount a version 4 file system on a version 8 pool. Pool must be upgraded to mount \
                           this file system.";
                assert_eq!((version, error.to_string().as_str()), (8, why));
            }
        }
        match receive("old/v5", 4) {
            Ok(()) => same(&streams[4].1, &*pool.open_fs("old/v5").unwrap(), "v5@a"),
            Err(error) => {
                const WHY: &str =
                    "cannot receive new filesystem stream: pool must be upgraded to receive this stream.";
                assert_eq!((version < 24, error.to_string().as_str()), (true, WHY));
            }
        }
        // There is nothing to go on with in pools without features.
        let resumable =
            ReceiveRequest { target: "old/r".into(), resumable: true, ..ReceiveRequest::default() };
        let said = pool.receive(&resumable, &mut &streams[0].0[..], &mut |_| {}).unwrap_err().to_string();
        assert!(said.ends_with("pool must be upgraded to receive this stream."), "{said}");
        drop(pool);
        engine.export("old", false).unwrap();
        zdb_is_content(dir.0.to_str().unwrap(), "old");
    }
}

/// A pool that has been through all versions has grown in each of them, and lost some of what it
/// had.
#[test]
fn an_old_pool_grows_version_by_version() {
    const LOOK_AT: [u64; 4] = [2, 10, 14, 25];
    let dir = Dir::new("old-steps");
    let place = dir.0.to_str().unwrap();
    let engine = LocalEngine::new(Env::real(), Options::default());
    let mut pool = new_pool(&engine, &dir.0, 1);
    let mut rng = Prng::new(128);
    let mut trees: Vec<(String, Tree)> = Vec::new();
    let options = ImportOptions { search: vec![place.into()], ..ImportOptions::default() };
    for version in 1..=28_u64 {
        if version > 1 {
            commit(&*pool, Change::SetPoolProperties { props: vec![prop("version", &version.to_string())] });
        }
        let name = format!("old/v{version}");
        commit(&*pool, Change::CreateFilesystem { name: name.clone(), parents: false, props: Vec::new() });
        for snap in ["a", "b"] {
            let top = format!("{version}{snap}");
            drop(write(&*pool.open_fs(&name).unwrap(), top.as_bytes(), &mut rng));
            snapshot(&*pool, &format!("{name}@{snap}"));
        }
        let clone = format!("old/clone{version}");
        let (snap, props) = (format!("{name}@a"), Vec::new());
        commit(&*pool, Change::Clone { snapshot: snap, name: clone.clone(), parents: false, props });
        trees.push((clone.clone(), write(&*pool.open_fs(&clone).unwrap(), b"clone", &mut rng)));
        // Some of what earlier versions made changes hands or goes.
        let older = version / 2;
        match version % 3 {
            _ if older == 0 || older * 2 != version => {}
            0 => commit(&*pool, Change::Promote { name: format!("old/clone{older}") }),
            1 => {
                snapshot(&*pool, &format!("old/v{older}@c"));
                destroy(&*pool, &format!("old/v{older}@b"));
            }
            _ => {
                trees.retain(|(name, _)| *name != format!("old/clone{older}"));
                destroy(&*pool, &format!("old/v{older}@a"));
            }
        }
        if LOOK_AT.contains(&version) {
            drop(pool);
            engine.export("old", false).unwrap();
            zdb_finds_no_leak(place, "old");
            pool = engine.import("old", &options).unwrap();
        }
    }
    for (name, tree) in &trees {
        same(tree, &*pool.open_fs(name).unwrap(), name);
    }
    commit(&*pool, Change::SetPoolProperties { props: vec![prop("feature@async_destroy", "enabled")] });
    for version in (2..=28).step_by(3) {
        destroy(&*pool, &format!("old/clone{version}"));
    }
    drop(pool);
    engine.export("old", false).unwrap();
    zdb_is_content(place, "old");
}
