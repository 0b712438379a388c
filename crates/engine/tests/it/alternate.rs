//! OpenZFS's own stress test and this engine take turns with one pool, and zdb looks at it after
//! each turn.
//!
//! A turn of ztest writes, snapshots and clones in its datasets, replays its logs and imports the
//! pool under another name. A turn of ours imports, looks at what it wrote in turns before, writes
//! more, changes a disk where others can do without it, scrubs, and exports. Short runs keep ztest
//! from changing vdevs, for which it believes to know how the pool was laid out.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, DestroyQuery, Engine, Health, ImportOptions, NewDevice, NewVdevs, Pool, PoolSpec, PropertyChange,
    ScanCommand, ScanKind, ScanState, VdevSpec, VdevStatus,
};
use env::Env;
use model::{Tree, dump};
use stdx::prng::Prng;

use crate::disks::{Dir, populate, same, zdb_finds_no_leak};

const POOL: &str = "zt";
const DISK: u64 = 128 << 20;
/// How many datasets ztest has at a time.
const DATASETS: usize = 3;
/// `ztest -E` asks a kernel module whether it has the pool, and gives up where there is none to be
/// asked. In a mount namespace of its own it finds a file that has no answer, which will do.
const WITH_DEV_ZFS: &str = r#"
    dev="$1/dev"; shift; mkdir -p "$dev"
    mount -t tmpfs tmpfs "$dev"
    for name in null zero random urandom; do touch "$dev/$name"; mount --bind "/dev/$name" "$dev/$name"; done
    touch "$dev/zfs"
    mount --rbind "$dev" /dev
    exec "$@""#;
/// Looks at a pool until something is done, and how long one takes.
const LOOKS: u32 = 3000;
const LOOK: Duration = Duration::from_millis(10);

/// A pool that changes hands.
struct Turns {
    dir: Dir,
    /// What was in each of our file systems when we left it.
    trees: Vec<(String, Tree)>,
    random: Prng,
}

impl Turns {
    fn new(name: &str) -> Turns {
        Turns { dir: Dir::new(name), trees: Vec::new(), random: Prng::new(17) }
    }

    fn place(&self) -> &str {
        self.dir.0.to_str().unwrap()
    }

    fn disk(&self, name: &str) -> String {
        let path = self.dir.0.join(name);
        std::fs::File::create(&path).unwrap().set_len(DISK).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Makes the pool, or with `-E` takes the one that is there.
    fn ztest(&self, words: &[&str]) {
        let mut ztest = Command::new("unshare");
        ztest.args(["--mount", "sh", "-ec", WITH_DEV_ZFS, "sh", self.place(), "ztest", "-f", self.place()]);
        ztest.args(["-p", POOL, "-T", "3", "-P", "3", "-k", "0", "-F", "2", "-s", "128m"]);
        ztest.args(["-d", &DATASETS.to_string()]);
        ztest.args(["-t", "6", "-v", "0", "-K", "raidz", "-C", "special=off"]);
        // Also for the zdb that it runs: see tests/zdb.
        ztest.args(["-o", "zfs_arc_min_prescient_prefetch_ms=1"]).args(words);
        let ran = ztest.output().expect("util-linux and zfs-test are installed");
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "ztest {words:?}: {}\n{told}", ran.status);
        zdb_finds_no_leak(self.place(), POOL);
    }

    fn engine(&self) -> Arc<LocalEngine> {
        LocalEngine::new(Env::real(), Options::default())
    }

    fn import(&self, engine: &LocalEngine) -> Arc<dyn Pool> {
        // ztest never exports: it was another host's.
        let options =
            ImportOptions { search: vec![self.place().into()], force: true, ..ImportOptions::default() };
        let pool = engine.import(POOL, &options).unwrap();
        assert!(!pool.status().readonly, "it can be written");
        pool
    }

    /// A turn of ours; `change` does what is different in this one.
    fn ours(&mut self, change: impl FnOnce(&Turns, &dyn Pool)) {
        let engine = self.engine();
        let pool = self.import(&engine);
        for (name, tree) in &self.trees {
            same(tree, &*pool.open_fs(name).unwrap(), name);
        }
        let name = format!("{POOL}/ours{}", self.trees.len());
        let new = Change::CreateFilesystem { name: name.clone(), parents: false, props: Vec::new() };
        pool.commit(&new, "zfs create").unwrap();
        let fs = pool.open_fs(&name).unwrap();
        populate(&*fs, b"first", &mut self.random);
        change(self, &*pool);
        populate(&*fs, b"second", &mut self.random);
        fs.sync().unwrap();
        scrub(&*pool);
        self.trees.push((name, dump(&*fs).unwrap()));
        drop((fs, pool));
        engine.export(POOL, false).unwrap();
        zdb_finds_no_leak(self.place(), POOL);
    }

    /// The last look. Then what ztest wrote goes, with all its snapshots and clones: of its dead
    /// lists nothing is left.
    fn end(self) {
        let engine = self.engine();
        let pool = self.import(&engine);
        for (name, tree) in &self.trees {
            same(tree, &*pool.open_fs(name).unwrap(), name);
        }
        scrub(&*pool);
        for n in 0..DATASETS {
            let name = format!("{POOL}/ds_{n}");
            let query = DestroyQuery { name, recursive: true, clones: true, defer: false };
            // It may have been left between destroying one and making it anew.
            let Ok(plan) = pool.plan_destroy(&query) else { continue };
            let gone = Change::Destroy { names: plan.names, defer: false };
            pool.commit(&gone, "zfs destroy").unwrap();
        }
        let inner = engine.pool_below(POOL).unwrap();
        wait(&*pool, "destroying", |_| !inner.dsl.is_freeing() && inner.dsl.freeing() == 0);
        drop((inner, pool));
        engine.export(POOL, false).unwrap();
        zdb_finds_no_leak(self.place(), POOL);
    }

    /// Another disk in the place of the first that is not alone.
    fn replace_a_disk(&self, pool: &dyn Pool) {
        let root = pool.status().root;
        let top = root.children.iter().find(|top| !top.children.is_empty()).expect("one with redundancy");
        let old = &top.children[0];
        let path = self.disk(&format!("new-{}", old.guid));
        let new = NewDevice { path: Some(path), ashift: Some(u64::from(top.ashift)), ..NewDevice::default() };
        pool.commit(&Change::ReplaceVdev { guid: old.guid, new }, "zpool replace").unwrap();
        wait(pool, "a replacement", |pool| {
            let root = pool.status().root;
            find(&root, old.guid).is_none() && root.health == Health::Online
        });
        std::fs::remove_file(old.path.as_ref().unwrap()).unwrap();
    }
}

fn find(vdev: &VdevStatus, guid: u64) -> Option<&VdevStatus> {
    let below = || vdev.children.iter().find_map(|child| find(child, guid));
    if vdev.guid == guid { Some(vdev) } else { below() }
}

fn wait(pool: &dyn Pool, what: &str, done: impl Fn(&dyn Pool) -> bool) {
    for _ in 0..LOOKS {
        if done(pool) {
            return;
        }
        std::thread::sleep(LOOK);
    }
    panic!("{what} does not end: {:#?}", pool.status());
}

/// Nothing wrong is found.
fn scrub(pool: &dyn Pool) {
    let is_running =
        |pool: &dyn Pool| pool.status().scan.is_some_and(|scan| scan.state == ScanState::Running);
    wait(pool, "a scrub that ztest began", |pool| !is_running(pool));
    pool.commit(&Change::Scan(ScanCommand::Scrub), "zpool scrub").unwrap();
    let scan = |pool: &dyn Pool| pool.status().scan.expect("there was one");
    wait(pool, "a scrub", |pool| scan(pool).state != ScanState::Running);
    let scan = scan(pool);
    assert_eq!((scan.kind, scan.state, scan.errors), (ScanKind::Scrub, ScanState::Finished, 0));
    assert_eq!(scan.processed, 0, "nothing had to be repaired");
    assert_eq!(pool.status().data_errors, 0);
}

/// One vdev of each layout.
fn every_layout(leaf: &dyn Fn(&str) -> VdevSpec) -> Vec<VdevSpec> {
    let leaves = |prefix: &str, count: usize| -> Vec<VdevSpec> {
        (0..count).map(|n| leaf(&format!("{prefix}{n}"))).collect()
    };
    let raidz = |parity: u64| {
        let children = leaves(&format!("z{parity}-"), parity as usize + 2);
        VdevSpec::Raidz { parity, children }
    };
    vec![leaf("single"), VdevSpec::Mirror(leaves("m", 2)), raidz(1), raidz(2), raidz(3)]
}

#[test]
fn a_pool_of_ztest_grows_by_every_layout_and_goes_back_to_it() {
    let mut turns = Turns::new("turns");
    turns.ztest(&["-m", "0", "-r", "4", "-R", "2"]);
    turns.ours(|turns, pool| {
        let leaf = |name: &str| VdevSpec::Leaf(turns.disk(name));
        let vdevs = NewVdevs { data: every_layout(&leaf), logs: vec![leaf("log")], ..NewVdevs::default() };
        pool.commit(&Change::AddVdevs { vdevs, force: true }, "zpool add").unwrap();
        turns.replace_a_disk(pool);
    });
    turns.ztest(&["-m", "0", "-r", "1", "-E"]);
    turns.end();
}

/// What ztest calls a layout, and whether a disk of it can be replaced.
const LAYOUTS: [(&str, &[&str], bool); 5] = [
    ("single", &["-m", "0", "-r", "1"], false),
    ("mirror", &["-m", "2", "-r", "1"], true),
    ("raidz1", &["-m", "0", "-r", "3", "-R", "1"], true),
    ("raidz2", &["-m", "0", "-r", "4", "-R", "2"], true),
    ("raidz3", &["-m", "0", "-r", "5", "-R", "3"], true),
];

/// What takes minutes is done only with `TURNS=all`.
fn there_is_time() -> bool {
    std::env::var("TURNS").is_ok_and(|turns| turns == "all")
}

#[test]
fn each_layout_changes_hands_many_times() {
    if !there_is_time() {
        return;
    }
    for (name, layout, redundant) in LAYOUTS {
        let mut turns = Turns::new(&format!("turns-{name}"));
        turns.ztest(layout);
        for _ in 0..2 {
            turns.ours(|turns, pool| {
                if redundant {
                    turns.replace_a_disk(pool);
                }
            });
            turns.ztest(&[layout, &["-E"][..]].concat());
        }
        turns.end();
    }
}

#[test]
fn a_pool_made_here_goes_to_ztest_and_back() {
    if !there_is_time() {
        return;
    }
    let mut turns = Turns::new("turns-ours");
    let leaf = |name: &str| VdevSpec::Leaf(turns.disk(name));
    // ztest encrypts some of its datasets.
    let props = vec![PropertyChange { name: "feature@encryption".into(), value: "enabled".into() }];
    let spec = PoolSpec {
        name: POOL.into(),
        props,
        vdevs: every_layout(&leaf),
        logs: vec![leaf("log")],
        mountpoint: Some("none".into()),
        force: true,
        ..PoolSpec::default()
    };
    let engine = turns.engine();
    drop(engine.create(&spec).unwrap());
    engine.export(POOL, false).unwrap();
    turns.ours(|_, _| {});
    turns.ztest(&["-m", "0", "-r", "1", "-E"]);
    turns.ours(Turns::replace_a_disk);
    turns.end();
}
