//! Pools on files: what the engine wrote, OpenZFS's own debugger finds whole.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, Engine, FileSystem, Health, ImportCondition, ImportOptions, NewDevice, NewNode,
    Pool, PoolSpec, PropertyChange, RenameMode, SetAttr, Stable, VdevSpec, XattrMode,
};
use env::Env;
use model::{Compare, Tree, dump};
use stdx::prng::Prng;

use crate::manifest::Fixture;

const ROOT: Cred = Cred::root();

/// A folder that goes with this value.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("cistern-engine-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to clean.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn prop(name: &str, value: &str) -> PropertyChange {
    PropertyChange { name: name.into(), value: value.into() }
}

pub fn new_pool(engine: &LocalEngine, dir: &Path) -> Arc<dyn Pool> {
    let vdevs = (0..2).map(|i| {
        let path = dir.join(format!("disk{i}"));
        std::fs::File::create(&path).unwrap().set_len(256 << 20).unwrap();
        VdevSpec::Leaf(path.to_str().unwrap().into())
    });
    let spec = PoolSpec {
        name: "ours".into(),
        vdevs: vdevs.collect(),
        mountpoint: Some("none".into()),
        history: "zpool create ours disk0 disk1".into(),
        ..PoolSpec::default()
    };
    engine.create(&spec).unwrap()
}

fn import(engine: &LocalEngine, dir: &str, name: &str) -> Arc<dyn Pool> {
    engine.import(name, &ImportOptions { search: vec![dir.into()], ..ImportOptions::default() }).unwrap()
}

/// Every block referenced once, none leaked, all checksums right, and every object can be listed.
pub fn zdb_is_content(dir: &str, pool: &str) {
    zdb_finds_no_leak(dir, pool);
    zdb(dir, pool, "-dddd");
}

/// The first half of [`zdb_is_content`].
pub fn zdb_finds_no_leak(dir: &str, pool: &str) {
    let text = zdb(dir, pool, "-bcc");
    assert!(text.contains("No leaks"), "{}", tail(&text));
}

fn tail(text: &str) -> String {
    text.lines().rev().take(25).collect::<Vec<_>>().join("\n")
}

/// What zdb says, without a complaint.
pub fn zdb(dir: &str, pool: &str, flags: &str) -> String {
    let mut zdb = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/zdb"));
    let out = zdb.args(["-e", "-p", dir, flags, pool]).output().expect("zdb is installed");
    let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "zdb {flags}: {}\n{}", tail(&text), tail(&errors));
    let complaints =
        |line: &&str| ["zdb:", "failed", "ERROR", "cannot"].iter().any(|word| line.contains(word));
    let complaints: Vec<_> = text.lines().chain(errors.lines()).filter(complaints).collect();
    assert!(complaints.is_empty(), "zdb {flags} says: {complaints:#?}");
    text.into_owned()
}

/// Some of everything, under `top`.
pub fn populate(fs: &dyn FileSystem, top: &[u8], rng: &mut Prng) {
    let attr = SetAttr { mode: Some(0o755), uid: Some(1000), gid: Some(100), ..SetAttr::default() };
    let make = |dir, name: &[u8], what| fs.make(&ROOT, dir, name, &what, &attr).unwrap().attr.node;
    let top = make(fs.root(), top, NewNode::Dir);
    let deep = make(top, b"deep", NewNode::Dir);
    make(top, b"link", NewNode::Symlink { target: b"deep/../file 3".to_vec() });
    make(top, b"long link", NewNode::Symlink { target: vec![b'l'; 1500] });
    make(top, b"fifo", NewNode::Fifo);
    make(top, b"device", NewNode::BlockDev { major: 8, minor: 300 });
    for i in 0..400_u64 {
        let name = format!(
            "file {i}{}",
            if i % 50 == 0 { " with a name of more than fifty characters" } else { "" }
        );
        let file = fs.create(&ROOT, top, name.as_bytes(), CreateMode::Guarded, &attr).unwrap().attr.node;
        let mut data = vec![0; rng.below(1 << (5 + i % 14)) as usize];
        rng.fill(&mut data);
        let offset = if i % 7 == 0 { rng.below(1 << 36) } else { 0 };
        fs.write(&ROOT, file, offset, &data, Stable::Unstable).unwrap();
        match i % 9 {
            0 => drop(fs.remove(&ROOT, top, name.as_bytes()).unwrap()),
            1 => drop(fs.link(&ROOT, file, deep, name.as_bytes()).unwrap()),
            2 => {
                let _ =
                    fs.rename(&ROOT, (top, name.as_bytes()), (deep, b"moved"), RenameMode::Replace).unwrap();
            }
            3 => fs
                .setxattr(&ROOT, file, b"user.tag", &data[..data.len().min(9000)], XattrMode::Either)
                .unwrap(),
            4 => drop(fs.setattr(&ROOT, file, &SetAttr { size: Some(77), ..SetAttr::default() }).unwrap()),
            5 => fs.punch(&ROOT, file, offset + 10, 5000).unwrap(),
            _ => {}
        }
        if i % 100 == 99 {
            fs.sync().unwrap();
        }
    }
}

pub fn same(expected: &Tree, fs: &dyn FileSystem, when: &str) {
    let differences = expected.differences(&dump(fs).unwrap(), Compare { times: true });
    assert!(differences.is_empty(), "{when}: {differences:#?}");
}

#[test]
fn a_pool_of_ours_passes_zdb() {
    let dir = Dir::new("disks");
    let place = dir.0.to_str().unwrap();
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let datasets = [
        ("ours/plain", vec![]),
        ("ours/sa", vec![prop("xattr", "sa"), prop("recordsize", "8K"), prop("dnodesize", "1k")]),
        ("ours/fold", vec![prop("casesensitivity", "insensitive"), prop("normalization", "formD")]),
        ("ours/raw", vec![prop("compression", "off"), prop("recordsize", "1M"), prop("checksum", "sha256")]),
        ("ours/sha512", vec![prop("checksum", "sha512"), prop("redundant_metadata", "none")]),
        ("ours/skein", vec![prop("checksum", "skein"), prop("copies", "2")]),
        ("ours/edonr", vec![prop("checksum", "edonr"), prop("compression", "zstd-fast-10")]),
    ];
    for (name, props) in &datasets {
        let change = Change::CreateFilesystem { name: (*name).into(), parents: false, props: props.clone() };
        pool.commit(&change, "zfs create").unwrap();
    }
    let mut rng = Prng::new(5);
    let mut trees = Vec::new();
    for (name, _) in &datasets {
        let fs = pool.open_fs(name).unwrap();
        populate(&*fs, b"first", &mut rng);
        fs.sync().unwrap();
        trees.push(dump(&*fs).unwrap());
    }
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_is_content(place, "ours");
    let pool = import(&engine, place, "ours");
    for ((name, _), tree) in datasets.iter().zip(&trees) {
        let fs = pool.open_fs(name).unwrap();
        same(tree, &*fs, name);
        populate(&*fs, b"second", &mut rng);
    }
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_is_content(place, "ours");
}

#[test]
fn a_real_pool_is_written_on() {
    let fixture = Fixture::unpack("mirror2");
    let place = fixture.images();
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = import(&engine, &place, "g_mirror2");
    let mut rng = Prng::new(9);
    for name in ["g_mirror2", "g_mirror2/tree", "g_mirror2/rs_512"] {
        let fs = pool.open_fs(name).unwrap();
        let before = dump(&*fs).unwrap();
        populate(&*fs, b"guest", &mut rng);
        fs.sync().unwrap();
        let now = dump(&*fs).unwrap();
        let lost = before.nodes.keys().find(|path| !now.nodes.contains_key(*path));
        assert_eq!(lost, None, "{name}");
    }
    drop(pool);
    engine.export("g_mirror2", false).unwrap();
    // What was there before is as it was, but for the roots, which have one directory more.
    let pool = import(&engine, &place, "g_mirror2");
    let wrong: Vec<_> = fixture.check(&*pool).into_iter().filter(|line| !line.contains(": .: ")).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    drop(pool);
    engine.export("g_mirror2", false).unwrap();
    zdb_is_content(fixture.partitions().to_str().unwrap(), "g_mirror2");
}

/// Destroying is a word in the labels: `-D` takes it back, and nothing is lost.
#[test]
fn a_destroyed_pool_comes_back() {
    let dir = Dir::new("destroyed");
    let options = Options { hostid: 7, ..Options::default() };
    let engine = LocalEngine::new(Env::real(), options.clone());
    let pool = new_pool(&engine, &dir.0);
    let fs = pool.open_fs("ours").unwrap();
    let attr = SetAttr { mode: Some(0o600), ..SetAttr::default() };
    fs.create(&ROOT, fs.root(), b"kept", CreateMode::Guarded, &attr).unwrap();
    drop((fs, pool));
    engine.destroy("ours", false).unwrap();
    let search = vec![dir.0.to_str().unwrap().to_owned()];
    let plain = ImportOptions { search: search.clone(), ..ImportOptions::default() };
    let destroyed = ImportOptions { destroyed: true, ..plain.clone() };
    let seen = || {
        let found = engine.importable(&search, None).unwrap();
        (found[0].destroyed, found[0].exported)
    };
    assert_eq!(seen(), (true, false));
    let refusal = |engine: &LocalEngine, options: &ImportOptions| {
        engine.import("ours", options).map(|_| ()).unwrap_err().to_string()
    };
    let none = "cannot import 'ours': no such pool available";
    assert_eq!(refusal(&engine, &plain), none);
    // Another host must say that it means it.
    let other = LocalEngine::new(Env::real(), Options { hostid: 8, ..options });
    let said = refusal(&other, &destroyed);
    assert!(said.contains("pool was previously in use from another system"), "{said}");
    let pool = engine.import("ours", &destroyed).unwrap();
    let fs = pool.open_fs("ours").unwrap();
    fs.lookup(&ROOT, fs.root(), b"kept").unwrap();
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    assert_eq!(seen(), (false, true));
    assert_eq!(refusal(&engine, &destroyed), none);
    engine.import("ours", &plain).unwrap();
    engine.export("ours", false).unwrap();
}

/// Of a pool on two disks, without redundancy: what `zpool import` lists.
#[test]
fn what_is_said_of_pools_that_are_not_well() {
    let dir = Dir::new("listing");
    let engine = LocalEngine::new(Env::real(), Options::default());
    new_pool(&engine, &dir.0);
    engine.export("ours", false).unwrap();
    let place = [dir.0.to_str().unwrap().to_owned()];
    let listed = || engine.importable(&place, None).unwrap().remove(0);
    let well = listed();
    assert_eq!(
        (well.health, well.condition, well.vdevs.note),
        (Health::Online, ImportCondition::Ready, None)
    );
    // One disk is gone: the other still knows its name.
    let (disk, away) = (dir.0.join("disk1"), dir.0.join("away"));
    let whole = std::fs::read(&disk).unwrap();
    std::fs::rename(&disk, &away).unwrap();
    std::fs::write(&away, b"nothing").unwrap();
    let missing = listed();
    assert_eq!((missing.health, missing.condition), (Health::Unavail, ImportCondition::Unavailable));
    assert_eq!(missing.vdevs.note.as_deref(), Some("insufficient replicas"));
    let seen: Vec<_> = missing
        .vdevs
        .children
        .iter()
        .map(|vdev| (vdev.path.clone(), vdev.health, vdev.note.clone()))
        .collect();
    let path = |disk: &str| Some(dir.0.join(disk).to_str().unwrap().to_owned());
    let gone = (path("disk1"), Health::Unavail, Some("cannot open".to_owned()));
    assert_eq!(seen, [(path("disk0"), Health::Online, None), gone]);
    // Both are there, and nothing on them but their labels.
    std::fs::write(&disk, whole).unwrap();
    for name in ["disk0", "disk1"] {
        let path = dir.0.join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        let end = bytes.len() - (1 << 20);
        bytes[4 << 20..end].fill(0x11);
        std::fs::write(&path, bytes).unwrap();
    }
    // An engine that has read nothing of it yet.
    let engine = LocalEngine::new(Env::real(), Options::default());
    let damaged = engine.importable(&place, None).unwrap().remove(0);
    assert_eq!((damaged.health, damaged.vdevs.note.as_deref()), (Health::Faulted, Some("corrupted data")));
    assert_eq!(damaged.condition, ImportCondition::Damaged);
    assert!(damaged.vdevs.children.iter().all(|vdev| vdev.health == Health::Online));
    let refused =
        engine.import("ours", &ImportOptions { search: place.to_vec(), ..ImportOptions::default() });
    assert_eq!(refused.map(|_| ()).unwrap_err().to_string(), "cannot import 'ours': I/O error");
}

#[test]
fn a_removed_vdev_is_not_listed() {
    let fixture = Fixture::unpack("removed");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let listed = engine.importable(&[fixture.images()], None).unwrap().remove(0);
    assert_eq!((listed.health, listed.vdevs.children.len()), (Health::Online, 1));
    let fixture = Fixture::unpack("special");
    let listed = engine.importable(&[fixture.images()], None).unwrap().remove(0);
    let classes: Vec<_> = listed.vdevs.children.iter().map(|top| top.class.as_deref()).collect();
    assert_eq!(classes, [None, Some("special"), Some("dedup")]);
}

/// `zgenhostid` may come and go while the program runs; what it says counts at once.
#[test]
fn the_hostid_is_looked_at_each_time() {
    let dir = Dir::new("hostid");
    let given = dir.0.join("hostid");
    let options = Options { hostid: 7, hostid_file: Some(given.clone()), ..Options::default() };
    let engine = LocalEngine::new(Env::real(), options.clone());
    std::fs::write(&given, 0x11u32.to_le_bytes()).unwrap();
    new_pool(&engine, &dir.0);
    let place = [dir.0.to_str().unwrap().to_owned()];
    // The pool is in use: another engine looks at it.
    let other = LocalEngine::new(Env::real(), options);
    let foreign = || {
        let listed = other.importable(&place, None).unwrap().remove(0);
        listed.condition == ImportCondition::Foreign
    };
    assert!(!foreign());
    std::fs::write(&given, "22\n").unwrap();
    assert!(foreign());
    std::fs::remove_file(&given).unwrap();
    assert!(foreign());
    std::fs::write(&given, "0x00000011").unwrap();
    assert!(!foreign());
    engine.export("ours", false).unwrap();
}

/// A pool that showed that it is in use every few minutes does so at once when it is to do it more
/// often, and says so.
#[test]
fn a_pace_that_changes_is_told_at_once() {
    let dir = Dir::new("pace");
    let engine = LocalEngine::new(Env::real(), Options { hostid: 7, ..Options::default() });
    let set = |name: &str, value| engine.diagnostics().set_tunable(name, value).unwrap();
    set("zfs_multihost_interval", 1_000_000);
    let pool = new_pool(&engine, &dir.0);
    let on = Change::SetPoolProperties { props: vec![prop("multihost", "on")] };
    pool.commit(&on, "").unwrap();
    let disk = dir.0.join("disk0");
    let newest = || {
        let told = Command::new("zdb").arg("-luuuu").arg(&disk).output().expect("zdb is installed").stdout;
        String::from_utf8_lossy(&told).into_owned()
    };
    set("zfs_multihost_fail_intervals", 3);
    set("zfs_multihost_interval", 500);
    let begun = std::time::Instant::now();
    while !(newest().contains("mmp_fail = 3") && newest().contains("mmp_write = 500")) {
        assert!(begun.elapsed().as_secs() < 20, "{}", newest());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(pool);
    engine.export("ours", false).unwrap();
}

#[test]
fn a_temporary_name_is_not_kept() {
    let dir = Dir::new("temporary");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let place = dir.0.to_str().unwrap().to_owned();
    let disk = dir.0.join("disk0");
    std::fs::File::create(&disk).unwrap().set_len(256 << 20).unwrap();
    let spec = PoolSpec {
        name: "ours".into(),
        temporary_name: Some("guest".into()),
        vdevs: vec![VdevSpec::Leaf(disk.to_str().unwrap().into())],
        mountpoint: Some("none".into()),
        ..PoolSpec::default()
    };
    let value = |pool: &Arc<dyn Pool>| pool.properties(&["cachefile".into()]).unwrap().remove(0).value;
    let pool = engine.create(&spec).unwrap();
    assert_eq!((pool.name(), value(&pool)), ("guest".into(), "none".into()));
    assert!(engine.pool("ours").is_err());
    drop(pool);
    engine.export("guest", false).unwrap();
    let pool = import(&engine, &place, "ours");
    assert_eq!(value(&pool), "");
    drop(pool);
    engine.export("ours", false).unwrap();
    let search = vec![place.clone()];
    let mut options = ImportOptions { search, new_name: Some("guest".into()), ..ImportOptions::default() };
    options.temporary = true;
    let pool = engine.import("ours", &options).unwrap();
    let dataset = Change::CreateFilesystem { name: "guest/fs".into(), parents: false, props: Vec::new() };
    pool.commit(&dataset, "zfs create guest/fs").unwrap();
    drop(pool);
    engine.export("guest", false).unwrap();
    zdb_finds_no_leak(&place, "ours");
    import(&engine, &place, "ours").open_fs("ours/fs").unwrap();
    engine.export("ours", false).unwrap();
}

#[test]
fn a_pool_that_uses_a_shared_spare_is_exported_by_force_only() {
    let dir = Dir::new("shared-spare");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let image = |name: &str| {
        let path = dir.0.join(name);
        std::fs::File::create(&path).unwrap().set_len(256 << 20).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let spare = image("spare");
    let make = |name: &str| {
        let sides = ["a", "b"].map(|side| VdevSpec::Leaf(image(&format!("{name}-{side}"))));
        let spec = PoolSpec {
            name: name.into(),
            vdevs: vec![VdevSpec::Mirror(sides.to_vec())],
            spares: vec![spare.clone()],
            mountpoint: Some("none".into()),
            ..PoolSpec::default()
        };
        engine.create(&spec).unwrap()
    };
    let (one, two) = (make("one"), make("two"));
    engine.export("one", false).unwrap();
    drop(one);
    let one = import(&engine, dir.0.to_str().unwrap(), "one");
    let guid = one.status().root.children[0].children[0].guid;
    let new = NewDevice { path: Some(spare.clone()), ..NewDevice::default() };
    one.commit(&Change::ReplaceVdev { guid, new }, "zpool replace").unwrap();
    let refused = engine.export("one", false).unwrap_err().to_string();
    assert!(
        refused.contains("'one' has an active shared spare which could be used by other pools"),
        "{refused}"
    );
    drop((one, two));
    engine.export("two", false).unwrap();
    engine.export("one", true).unwrap();
}
