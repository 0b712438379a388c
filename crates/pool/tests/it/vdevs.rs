//! Disks of data that come, go, change and grow while the pool runs. After every step the power may
//! fail, and zdb judges what it leaves.

use std::sync::Arc;

use api_types::{NewDevice, NewVdevs, ScanCommand, VdevSpec};
use dmu::Holds;
use dmu::ObjectSpec;
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule, OpenMode, Quirk};
use ondisk::label::config::PoolState;
use ondisk::object_type::ObjectType;
use pool::Pool;
use pool::spa::create::{Surroundings, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::spa::status::VdevReport;
use stdx::prng::Prng;
use storage::VdevState;
use storage::labels::Device;

use crate::create::spec;
use crate::support::{self, Dir, crash, zdb, zdb_accepts};

const SIZE: u64 = 128 << 20;

pub fn leaf(dir: &Dir, name: &str) -> VdevSpec {
    VdevSpec::Leaf(dir.image(name, SIZE))
}

/// Nothing is resilvered meanwhile: new disks stay behind.
fn around() -> Surroundings {
    let around = support::around();
    around.env.quirks.set(Quirk::NoResilver, true);
    around
}

/// A pool "tank" of one disk, or a mirror.
fn fresh(dir: &Dir, names: &[&str]) -> Arc<Pool> {
    fresh_in(&around(), dir, names)
}

pub fn fresh_in(around: &Surroundings, dir: &Dir, names: &[&str]) -> Arc<Pool> {
    let mut leaves: Vec<VdevSpec> = names.iter().map(|name| leaf(dir, name)).collect();
    let top = if leaves.len() == 1 { leaves.remove(0) } else { VdevSpec::Mirror(leaves) };
    create(around, &spec("tank", vec![top])).unwrap()
}

pub fn disk(dir: &Dir, name: &str) -> NewDevice {
    NewDevice::at(&dir.image(name, SIZE))
}

/// Files whose contents follow from their numbers, and a look at them.
#[derive(Default)]
pub struct Files(Vec<u64>);

const FILE: usize = 300 << 10;

fn content(object: u64) -> Vec<u8> {
    (0..FILE as u64).map(|n| (n.wrapping_mul(object.wrapping_mul(7_919) + 31) >> 7) as u8).collect()
}

impl Files {
    pub fn write(&mut self, pool: &Pool) {
        let dataset = pool.dsl.open_dataset("tank").unwrap();
        let objset = dataset.objset();
        let tx = objset.begin(Holds::new(FILE as u64, 4)).unwrap();
        let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(16 << 10);
        let dnode = objset.alloc(spec, &tx).unwrap();
        dnode.write(0, &content(dnode.object()), &tx).unwrap();
        self.0.push(dnode.object());
        drop(tx);
        pool.core().txgs.sync_empty().unwrap();
    }

    /// Frees the first ones. They stay on the list.
    pub fn remove(&self, pool: &Pool, count: usize) {
        let dataset = pool.dsl.open_dataset("tank").unwrap();
        let tx = dataset.objset().begin(Holds::new(0, 4 * count as u64)).unwrap();
        self.0.iter().take(count).for_each(|object| dataset.objset().free(*object, &tx).unwrap());
        drop(tx);
        pool.core().txgs.sync_empty().unwrap();
    }

    pub fn check(&self, pool: &Pool) {
        let dataset = pool.dsl.open_dataset("tank").unwrap();
        for object in &self.0 {
            let read = dataset.objset().hold(*object).unwrap().read_bytes(0, FILE).unwrap();
            assert!(read == content(*object), "file {object}");
        }
    }
}

fn import_from(dir: &Dir) -> Arc<Pool> {
    import_in(&around(), dir)
}

pub fn import_in(around: &Surroundings, dir: &Dir) -> Arc<Pool> {
    let found = search(&around.env, &[dir.path()]);
    let tank = found.iter().find(|pool| pool.config.name == "tank").unwrap();
    import(around, tank, &ImportSpec { force: true, ..ImportSpec::default() }).unwrap()
}

/// The power fails here: zdb is content, and the files are there. Gives the tree as it comes back.
fn after_a_crash(dir: &Dir, files: &Files) -> String {
    let name = std::thread::current().name().unwrap_or_default().replace(':', "-");
    let crashed = crash(dir, &name);
    zdb_accepts(&crashed, "tank");
    let pool = import_from(&crashed);
    files.check(&pool);
    let tree = shown(&pool);
    pool.export().unwrap();
    zdb_accepts(&crashed, "tank");
    tree
}

/// `mirror-0(a b-)`: a minus where a disk is not online, or lacks something.
pub fn shown(pool: &Pool) -> String {
    fn one(report: &VdevReport) -> String {
        let name = report.name.rsplit('/').next().unwrap();
        let name = if report.name.ends_with("/old") { "old" } else { name };
        let is_whole = report.stat.state == VdevState::Online && !report.stat.is_behind;
        let mark = if is_whole { "" } else { "-" };
        let below: Vec<String> = report.children.iter().map(one).collect();
        match below.is_empty() {
            true => format!("{name}{mark}"),
            false => format!("{name}({})", below.join(" ")),
        }
    }
    let report = pool.report();
    report.root.children.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The guid of the leaf on this image.
pub fn guid(pool: &Pool, name: &str) -> u64 {
    let mut guid = 0;
    pool.config().tree.visit(&mut |vdev| {
        if vdev.path.as_ref().is_some_and(|path| path.ends_with(&format!("/{name}"))) {
            guid = vdev.guid;
        }
    });
    assert_ne!(guid, 0, "no {name} in {}", shown(pool));
    guid
}

/// The state of the first spare, and who uses it.
fn spare(pool: &Pool) -> Option<(VdevState, Option<String>)> {
    let report = pool.report();
    report.spares.first().map(|spare| (spare.stat.state, spare.used_by.clone()))
}

#[track_caller]
pub fn refused(outcome: pool::Result<u64>, why: &str) {
    let said = outcome.unwrap_err().to_string();
    assert!(said.ends_with(why), "{said}");
}

#[test]
fn vdevs_are_added_and_holes_are_filled() {
    let dir = Dir::new("vdev-add");
    let (pool, mut files) = (fresh(&dir, &["a"]), Files::default());
    files.write(&pool);
    let before = pool.report().root.size;
    let mirror = VdevSpec::Mirror(vec![leaf(&dir, "b"), leaf(&dir, "c")]);
    pool.add_vdevs(&NewVdevs { data: vec![mirror], ..NewVdevs::default() }, false, "zpool add").unwrap();
    assert!(pool.report().root.size > before * 19 / 10);
    assert_eq!(shown(&pool), "a mirror-1(b c)");
    (0..4).for_each(|_| files.write(&pool));
    assert!(pool.report().root.children.iter().all(|top| top.allocated > 0), "both are used");
    assert_eq!(after_a_crash(&dir, &files), "a mirror-1(b c)");

    let (log, last) = (leaf(&dir, "log"), leaf(&dir, "d"));
    let new = NewVdevs { data: vec![last], logs: vec![log], ..NewVdevs::default() };
    pool.add_vdevs(&new, false, "zpool add").unwrap();
    assert_eq!(shown(&pool), "a mirror-1(b c) d log");
    let why = "d: removing data vdevs is not supported by this version of Cistern yet";
    refused(pool.remove_vdev(guid(&pool, "d"), ""), why);
    pool.remove_vdev(guid(&pool, "log"), "zpool remove").unwrap();
    let new = NewVdevs { data: vec![leaf(&dir, "e")], logs: vec![leaf(&dir, "f")], ..NewVdevs::default() };
    pool.add_vdevs(&new, false, "zpool add").unwrap();
    pool.remove_vdev(guid(&pool, "f"), "zpool remove").unwrap();
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "a mirror-1(b c) d e");
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn a_disk_becomes_a_mirror_whose_new_side_is_behind() {
    let dir = Dir::new("vdev-attach");
    let (pool, mut files) = (fresh(&dir, &["a"]), Files::default());
    files.write(&pool);
    let a = guid(&pool, "a");
    let small = NewDevice::at(&dir.image("small", 64 << 20));
    refused(pool.attach_vdev(a, &small, ""), "device is too small");
    let tiny = NewDevice::at(&dir.image("tiny", 1 << 20));
    refused(pool.attach_vdev(a, &tiny, ""), "device is too small");
    let coarse = NewDevice { ashift: Some(13), ..disk(&dir, "coarse") };
    assert!(
        pool.attach_vdev(a, &coarse, "").unwrap_err().to_string().contains("different optimal sector size")
    );
    assert!(pool.attach_vdev(a, &NewDevice::at("/nowhere/at/all"), "").is_err());
    let own = NewDevice { force: true, ..NewDevice::at(dir.image_path("a").to_str().unwrap()) };
    refused(pool.attach_vdev(a, &own, ""), "/a is part of active pool 'tank'");
    assert_eq!(shown(&pool), "a", "nothing has changed");

    pool.attach_vdev(a, &disk(&dir, "b"), "zpool attach").unwrap();
    assert_eq!(shown(&pool), "mirror-0(a b-)");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a b-)");
    refused(pool.detach_vdev(a, ""), "a: no valid replicas");
    refused(pool.offline_vdev(a, false, ""), "a: no valid replicas");
    let top = pool.config().tree.children[0].guid;
    refused(pool.detach_vdev(top, ""), "mirror-0: only applicable to mirror and replacing vdevs");
    refused(pool.attach_vdev(top, &disk(&dir, "x"), ""), "can only attach to mirrors and top-level disks");
    pool.detach_vdev(guid(&pool, "b"), "zpool detach").unwrap();
    assert_eq!(shown(&pool), "a");
    assert!(search(&Env::real(), &[dir.image_path("b").to_str().unwrap().to_owned()]).is_empty());
    // `zpool labelclear` has something to clear.
    let left = Env::real().disks.open(dir.image_path("b").to_str().unwrap(), OpenMode::ReadWrite).unwrap();
    assert_eq!(Device::locate(left).unwrap().clear_valid().unwrap(), 4);
    refused(pool.detach_vdev(guid(&pool, "a"), ""), "a: only applicable to mirror and replacing vdevs");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "a");
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn a_replacement_stands_beside_the_old_disk() {
    let dir = Dir::new("vdev-replace");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    files.write(&pool);
    pool.replace_vdev(guid(&pool, "b"), &disk(&dir, "c"), "zpool replace").unwrap();
    assert_eq!(shown(&pool), "mirror-0(a replacing-1(b c-))");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a replacing-1(b c-))");
    refused(
        pool.attach_vdev(guid(&pool, "b"), &disk(&dir, "x"), ""),
        "can only attach to mirrors and top-level disks",
    );
    pool.detach_vdev(guid(&pool, "c"), "zpool detach").unwrap();
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a b)");

    // Another disk in the same place.
    std::fs::remove_file(dir.image_path("b")).unwrap();
    dir.image("b", SIZE);
    pool.replace_vdev(guid(&pool, "b"), &NewDevice::default(), "zpool replace").unwrap();
    // The file that was deleted could still be written, but nothing of that would be kept.
    assert_eq!(shown(&pool), "mirror-0(a replacing-1(old- b-))");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a replacing-1(old- b-))");
    let b = guid(&pool, "b");
    pool.detach_vdev(guid(&pool, "b/old"), "zpool detach").unwrap();
    assert_eq!((shown(&pool), guid(&pool, "b")), ("mirror-0(a b-)".into(), b));
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a b-)");
    pool.export().unwrap();
}

#[test]
fn a_replacement_ends_by_itself() {
    let dir = Dir::new("vdev-resilver");
    let (pool, mut files) = (fresh_in(&support::around(), &dir, &["a", "b"]), Files::default());
    files.write(&pool);
    pool.replace_vdev(guid(&pool, "b"), &disk(&dir, "c"), "zpool replace").unwrap();
    for _ in 0..1000 {
        if shown(&pool) == "mirror-0(a c)" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        pool.core().txgs.sync_empty().unwrap();
    }
    assert_eq!(shown(&pool), "mirror-0(a c)");
    files.check(&pool);
    pool.export().unwrap();
    std::fs::remove_file(dir.image_path("a")).unwrap();
    zdb_accepts(&dir, "tank");
    let pool = import_in(&support::around(), &dir);
    files.check(&pool);
}

#[test]
fn disks_go_offline_and_come_back() {
    let dir = Dir::new("vdev-offline");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    pool.offline_vdev(guid(&pool, "a"), false, "zpool offline").unwrap();
    assert_eq!(shown(&pool), "mirror-0(a- b)");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a- b)");
    refused(pool.offline_vdev(guid(&pool, "b"), false, ""), "b: no valid replicas");
    refused(pool.detach_vdev(guid(&pool, "b"), ""), "b: no valid replicas");
    pool.online_vdev(guid(&pool, "a"), false, "zpool online").unwrap();
    let state = |pool: &Pool| pool.core().storage.leaf_state(guid(pool, "a"));
    assert_eq!(
        (state(&pool), shown(&pool)),
        (Some(VdevState::Online), "mirror-0(a- b)".into()),
        "it is behind"
    );
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a- b)");

    pool.offline_vdev(guid(&pool, "a"), true, "zpool offline -t").unwrap();
    std::fs::remove_file(dir.image_path("a")).unwrap();
    pool.online_vdev(guid(&pool, "a"), false, "zpool online").unwrap();
    assert_eq!(state(&pool), Some(VdevState::Unavail));
    dir.image("a", SIZE);
    pool.online_vdev(guid(&pool, "a"), false, "zpool online").unwrap();
    assert_eq!(state(&pool), Some(VdevState::Unavail), "it is another disk");
    pool.replace_vdev(guid(&pool, "a"), &NewDevice::default(), "zpool replace").unwrap();
    assert_eq!(shown(&pool), "mirror-0(replacing-0(old- a-) b)");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(replacing-0(old- a-) b)");
    pool.export().unwrap();
}

#[test]
fn a_spare_steps_in_and_goes_back() {
    let dir = Dir::new("vdev-spare");
    let faults = FaultDisks::new(Env::real().disks);
    let around = around();
    let env = Env { disks: Arc::new(faults.clone()), ..around.env.clone() };
    let around = Surroundings { env, ..around };
    let (pool, mut files) = (fresh_in(&around, &dir, &["a", "b"]), Files::default());
    let spares = vec![dir.image("s", SIZE)];
    pool.add_vdevs(&NewVdevs { spares: spares.clone(), ..NewVdevs::default() }, false, "zpool add").unwrap();
    assert_eq!(spare(&pool), Some((VdevState::Online, None)));
    assert!(zdb(&dir, &["-l", &spares[0]]).contains(&format!("state: {}", PoolState::Spare as u64)));
    let again = pool.add_vdevs(&NewVdevs { spares: spares.clone(), ..NewVdevs::default() }, true, "");
    assert!(again.unwrap_err().to_string().contains("refer to the same device"));

    let path = Some(dir.image_path("b").to_str().unwrap().to_owned());
    let rule = FaultRule { path, ..FaultRule::new(FaultOp::Write, FaultKind::Fail(DiskError::Gone)) };
    let rule = faults.inject(rule);
    files.write(&pool);
    files.write(&pool);
    pool.core().txgs.sync_empty().unwrap();
    assert_eq!(shown(&pool), "mirror-0(a spare-1(b- s-))");
    assert_eq!(spare(&pool), Some((VdevState::Online, Some("tank".into()))));
    let s = guid(&pool, "s");
    refused(pool.remove_vdev(s, ""), "Pool busy; removal may already be in progress");
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a spare-1(b- s-))");

    // The spare is sent away; the disk comes back.
    faults.cancel(rule);
    let crashed = crash(&dir, "vdev-spare-meanwhile");
    pool.clear_errors(None, "zpool clear").unwrap();
    pool.detach_vdev(s, "zpool detach").unwrap();
    assert_eq!((shown(&pool), spare(&pool)), ("mirror-0(a b-)".into(), Some((VdevState::Online, None))));
    assert!(zdb(&dir, &["-l", &spares[0]]).contains(&format!("state: {}", PoolState::Spare as u64)));
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a b-)");
    pool.remove_vdev(s, "zpool remove").unwrap();
    assert_eq!(spare(&pool), None);
    pool.export().unwrap();

    // The other way round: the disk goes, and the spare stays for good.
    let pool = import_from(&crashed);
    pool.detach_vdev(guid(&pool, "b"), "zpool detach").unwrap();
    assert_eq!((shown(&pool), spare(&pool)), ("mirror-0(a s-)".into(), None));
    files.write(&pool);
    assert_eq!(after_a_crash(&crashed, &files), "mirror-0(a s-)");
    pool.export().unwrap();
}

#[test]
fn a_disk_that_is_missing_at_import_is_stood_in_for() {
    let dir = Dir::new("vdev-spare-import");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    let spares = vec![dir.image("small", 64 << 20), dir.image("s", SIZE)];
    pool.add_vdevs(&NewVdevs { spares, ..NewVdevs::default() }, false, "zpool add").unwrap();
    files.write(&pool);
    pool.export().unwrap();
    std::fs::rename(dir.image_path("b"), dir.image_path("b.away")).unwrap();
    std::fs::write(dir.image_path("b.away"), b"").unwrap();
    let pool = import_from(&dir);
    pool.core().txgs.sync_empty().unwrap();
    assert_eq!(shown(&pool), "mirror-0(a spare-1(b- s-))", "the other spare is too small");
    files.check(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a spare-1(b- s-))");
    pool.export().unwrap();
}

#[test]
fn a_spare_in_the_bay_of_a_disk_stands_in_for_it() {
    for offline in [false, true] {
        let dir = Dir::new("vdev-spare-bay");
        let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
        let spares = vec![dir.image("s", SIZE)];
        pool.add_vdevs(&NewVdevs { spares, ..NewVdevs::default() }, false, "zpool add").unwrap();
        files.write(&pool);
        if offline {
            // No spare steps in by itself.
            pool.offline_vdev(guid(&pool, "b"), false, "zpool offline").unwrap();
        }
        pool.export().unwrap();
        std::fs::rename(dir.image_path("s"), dir.image_path("b")).unwrap();
        let pool = import_from(&dir);
        pool.core().txgs.sync_empty().unwrap();
        if offline {
            assert_eq!(shown(&pool), "mirror-0(a b-)");
            pool.replace_vdev(guid(&pool, "b"), &NewDevice::default(), "zpool replace").unwrap();
        }
        assert_eq!(shown(&pool), "mirror-0(a spare-1(old- b-))");
        assert_eq!(spare(&pool), Some((VdevState::Online, Some("tank".into()))));
        files.check(&pool);
        assert_eq!(after_a_crash(&dir, &files), "mirror-0(a spare-1(old- b-))");
        pool.export().unwrap();
    }
}

#[test]
fn disks_of_a_raidz_are_replaced_and_stood_in_for() {
    let dir = Dir::new("vdev-raidz");
    let children = ["a", "b", "c", "d"].iter().map(|name| leaf(&dir, name)).collect();
    let raidz = VdevSpec::Raidz { parity: 2, children };
    let (pool, mut files) = (create(&around(), &spec("tank", vec![raidz])).unwrap(), Files::default());
    files.write(&pool);
    let a = guid(&pool, "a");
    refused(pool.attach_vdev(a, &disk(&dir, "x"), ""), "can only attach to mirrors and top-level disks");
    refused(pool.detach_vdev(a, ""), "a: only applicable to mirror and replacing vdevs");
    pool.replace_vdev(a, &disk(&dir, "e"), "zpool replace").unwrap();
    pool.offline_vdev(guid(&pool, "b"), false, "zpool offline").unwrap();
    files.write(&pool);
    let tree = "raidz2-0(replacing-0(a e-) b- c d)";
    assert_eq!((shown(&pool), after_a_crash(&dir, &files)), (tree.into(), tree.into()));
    pool.detach_vdev(a, "zpool detach").unwrap();
    refused(pool.offline_vdev(guid(&pool, "c"), false, ""), "c: no valid replicas");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "raidz2-0(e- b- c d)");
    pool.export().unwrap();
}

#[test]
fn a_pool_grows_with_its_disk() {
    let dir = Dir::new("vdev-grow");
    let (pool, mut files) = (fresh(&dir, &["a"]), Files::default());
    files.write(&pool);
    let before = pool.report().root.size;
    std::fs::File::options().write(true).open(dir.image_path("a")).unwrap().set_len(4 * SIZE).unwrap();
    pool.online_vdev(guid(&pool, "a"), true, "zpool online -e").unwrap();
    assert!(pool.report().root.size > before * 3, "{} of {before}", pool.report().root.size);
    (0..4).for_each(|_| files.write(&pool));
    assert_eq!(after_a_crash(&dir, &files), "a");
    // More than the disk had before.
    let dataset = pool.dsl.open_dataset("tank").unwrap();
    let objset = dataset.objset();
    for n in 0..48u64 {
        let tx = objset.begin(Holds::new(4 << 20, 4)).unwrap();
        let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(128 << 10);
        let mut prng = Prng::new(n);
        let mut noise = vec![0; 4 << 20];
        prng.fill(&mut noise);
        objset.alloc(spec, &tx).unwrap().write(0, &noise, &tx).unwrap();
    }
    pool.core().txgs.sync_empty().unwrap();
    assert!(pool.report().root.allocated > SIZE);
    drop(dataset);
    assert_eq!(after_a_crash(&dir, &files), "a");
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

#[test]
fn a_pool_gets_another_guid() {
    let dir = Dir::new("vdev-reguid");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    files.write(&pool);
    let before = pool.guid();
    pool.reguid(None, "zpool reguid").unwrap();
    assert_ne!(pool.guid(), before);
    pool.reguid(Some(42), "zpool reguid").unwrap();
    assert_eq!(pool.guid(), 42);
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a b)");
    assert_eq!(search(&Env::real(), &[dir.path()])[0].guid, 42);
    pool.offline_vdev(guid(&pool, "a"), false, "").unwrap();
    refused(pool.reguid(None, ""), "one or more devices is currently unavailable");
    pool.export().unwrap();
}

#[test]
fn a_disk_that_was_detached_is_closed_when_the_command_ends() {
    let dir = Dir::new("vdev-closed");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    files.write(&pool);
    // A scan that heals holds the tree as it was.
    let healer = pool.core().storage.healer();
    let b = guid(&pool, "b");
    std::thread::scope(|scope| {
        let detaching = scope.spawn(|| pool.detach_vdev(b, "zpool detach"));
        std::thread::sleep(std::time::Duration::from_secs(2));
        assert!(!detaching.is_finished(), "b is still open");
        drop(healer);
        detaching.join().unwrap().unwrap();
    });
    assert_eq!(shown(&pool), "a");
}

/// Writes over all of an image, which stays the same file.
fn wipe(dir: &Dir, name: &str) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).open(dir.image_path(name)).unwrap();
    file.write_all_at(&vec![0; SIZE as usize], 0).unwrap();
}

#[test]
fn a_disk_that_was_wiped_is_replaced_by_itself() {
    let dir = Dir::new("vdev-wiped");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    files.write(&pool);
    let same =
        |name: &str| NewDevice { force: true, ..NewDevice::at(dir.image_path(name).to_str().unwrap()) };
    refused(pool.replace_vdev(guid(&pool, "b"), &same("b"), ""), "b is part of active pool 'tank'");
    wipe(&dir, "b");
    pool.replace_vdev(guid(&pool, "b"), &same("b"), "zpool replace -f").unwrap();
    assert_eq!(shown(&pool), "mirror-0(a replacing-1(old- b-))");
    files.write(&pool);
    assert_eq!(after_a_crash(&dir, &files), "mirror-0(a replacing-1(old- b-))");
    // The only one that has everything is not let go of.
    wipe(&dir, "a");
    refused(pool.replace_vdev(guid(&pool, "a"), &same("a"), ""), "a is busy");
}

#[test]
fn disks_that_were_wiped_are_found_out() {
    let dir = Dir::new("vdev-reopen");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    files.write(&pool);
    pool.reopen("zpool reopen").unwrap();
    assert_eq!(shown(&pool), "mirror-0(a b)");
    wipe(&dir, "b");
    pool.reopen("zpool reopen").unwrap();
    assert_eq!(shown(&pool), "mirror-0(a b-)");
    let state = |name: &str| pool.core().storage.leaf_state(guid(&pool, name));
    assert_eq!(state("b"), Some(VdevState::Unavail));
    // The last that there is stays, whatever its labels say.
    wipe(&dir, "a");
    pool.reopen("zpool reopen").unwrap();
    assert_eq!(state("a"), Some(VdevState::Online));
}

#[test]
fn a_scrub_looks_at_labels_first() {
    let dir = Dir::new("vdev-scrub-labels");
    let (pool, mut files) = (fresh(&dir, &["a", "b"]), Files::default());
    files.write(&pool);
    wipe(&dir, "b");
    pool.scan_command(ScanCommand::Scrub, "zpool scrub").unwrap();
    assert_eq!(pool.core().storage.leaf_state(guid(&pool, "b")), Some(VdevState::Unavail));
}
