//! Log devices that come, go and change while the pool runs.

use api_types::{NewDevice, NewVdevs, VdevSpec};
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule};
use pool::spa::create::Surroundings;
use storage::{VdevConfig, VdevKind, VdevState};

use super::*;

const LOG: u64 = 128 << 20;

fn leaf(dir: &Dir, name: &str) -> VdevSpec {
    VdevSpec::Leaf(dir.image(name, LOG))
}

fn add(pool: &Pool, logs: Vec<VdevSpec>) {
    pool.add_vdevs(&NewVdevs { logs, ..NewVdevs::default() }, false, "zpool add").unwrap();
}

fn tops(pool: &Pool) -> Vec<VdevConfig> {
    pool.config().tree.children
}

/// The guid of the leaf on this image.
fn guid(pool: &Pool, name: &str) -> u64 {
    let mut guid = 0;
    pool.config().tree.visit(&mut |vdev| {
        if vdev.path.as_ref().is_some_and(|path| path.ends_with(name)) {
            guid = vdev.guid;
        }
    });
    assert_ne!(guid, 0, "no {name}");
    guid
}

fn state(pool: &Pool, name: &str) -> VdevState {
    let guid = guid(pool, name);
    let tops = pool.core().storage.status().children;
    let leaves = tops.iter().flat_map(|top| std::iter::once(top).chain(&top.children));
    leaves.into_iter().find(|leaf| leaf.guid == guid).unwrap().state
}

/// A pool with a log that was used, and whose disks can be made to fail.
struct Fallible {
    dir: Dir,
    faults: FaultDisks,
    pool: Arc<Pool>,
    file: File,
}

impl Fallible {
    fn new(test: &str) -> Fallible {
        let dir = Dir::new(test);
        let faults = FaultDisks::new(Env::real().disks);
        let around = Surroundings { env: Env { disks: Arc::new(faults.clone()), ..Env::real() }, ..around() };
        let pool = create(&around, &spec("tank", vec![VdevSpec::Leaf(dir.image("disk0", SIZE))])).unwrap();
        add(&pool, vec![leaf(&dir, "log0")]);
        let file = File::new(&dataset(&pool, "tank"));
        assert!(commit_one(&pool, &file, b"before"));
        Fallible { dir, faults, pool, file }
    }
}

/// The log fails like this.
fn rule_for(dir: &Dir, op: FaultOp, error: DiskError) -> FaultRule {
    let path = Some(dir.image_path("log0").to_str().unwrap().to_owned());
    FaultRule { path, ..FaultRule::new(op, FaultKind::Fail(error)) }
}

#[test]
fn a_log_that_had_vanished_is_used_again_when_it_is_back() {
    let Fallible { dir, faults, pool, file } = Fallible::new("log-change-vanished");
    let rule = faults.inject(rule_for(&dir, FaultOp::Device, DiskError::Gone));
    file.write(0, b"while it is away", true);
    file.commit();
    for _ in 0..2 {
        pool.core().txgs.sync_empty().unwrap();
    }
    pool.look_for_disks();
    assert_eq!(state(&pool, "log0"), VdevState::Faulted);
    faults.cancel(rule);
    pool.look_for_disks();
    assert_eq!(state(&pool, "log0"), VdevState::Online);
    check(&dir, &pool, &file, b"in use again", true);
    drop(file);
    leave(&pool, &dir);
}

/// Commits through the log; says whether a log device took it.
fn commit_one(pool: &Pool, file: &File, text: &[u8]) -> bool {
    // The first commit of a chain waits for its group.
    file.write(0, b"begin", true);
    file.commit();
    pool.core().txgs.sync_empty().unwrap();
    let before = pool.core().zil_stats.slog.count.get();
    file.write(0, text, true);
    file.commit();
    pool.core().zil_stats.slog.count.get() > before
}

/// A crash here loses nothing that was committed, and zdb is content before and after.
fn check(dir: &Dir, pool: &Pool, file: &File, text: &[u8], on_log: bool) {
    let name = std::thread::current().name().unwrap_or_default().replace(':', "-");
    assert_eq!(commit_one(pool, file, text), on_log, "{:?}", String::from_utf8_lossy(text));
    let crashed = crash(dir, &name);
    zdb_accepts(&crashed, "tank");
    let again = import_apart(&crashed, &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    let fs = dataset(&again, "tank");
    Again::default().run(&fs);
    assert_eq!(fs.objset().hold(file.object).unwrap().read_bytes(0, text.len()).unwrap(), text);
    is_sound(&again);
    drop(fs);
    again.export().unwrap();
}

/// Imports what lies in this folder and nowhere else.
fn import_apart(dir: &Dir, spec: &ImportSpec) -> pool::Result<Arc<Pool>> {
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    let pool = import(&around, &found[0], spec)?;
    pool.config().tree.visit(&mut |vdev| {
        let path = vdev.path.clone().unwrap_or_default();
        assert!(path.is_empty() || path.starts_with(&dir.path()), "{path}");
    });
    Ok(pool)
}

#[test]
fn logs_are_added_mirrored_replaced_and_removed_under_load() {
    let dir = Dir::new("log-change");
    let pool = fresh(&dir);
    let file = File::new(&dataset(&pool, "tank"));
    check(&dir, &pool, &file, b"no log yet", false);

    add(&pool, vec![leaf(&dir, "log0")]);
    assert_eq!((tops(&pool).len(), tops(&pool)[1].is_log), (2, true));
    check(&dir, &pool, &file, b"one log", true);

    let log1 = NewDevice::at(&dir.image("log1", LOG));
    pool.attach_vdev(guid(&pool, "log0"), &log1, "zpool attach").unwrap();
    assert_eq!((tops(&pool)[1].kind.clone(), tops(&pool)[1].children.len()), (VdevKind::Mirror, 2));
    check(&dir, &pool, &file, b"a mirrored log", true);

    let too_small = NewDevice::at(&dir.image("small", 64 << 20));
    let refused = pool.attach_vdev(guid(&pool, "log0"), &too_small, "").unwrap_err().to_string();
    assert!(refused.ends_with("device is too small"), "{refused}");
    let taken = dir.image_path("log1").to_str().unwrap().to_owned();
    assert!(pool.attach_vdev(guid(&pool, "log0"), &NewDevice::at(&taken), "").is_err());

    let log2 = NewDevice::at(&dir.image("log2", LOG));
    pool.replace_vdev(guid(&pool, "log1"), &log2, "zpool replace").unwrap();
    assert!(search(&Env::real(), std::slice::from_ref(&taken)).is_empty(), "its label is gone");
    check(&dir, &pool, &file, b"another side", true);

    pool.offline_vdev(guid(&pool, "log0"), false, "zpool offline").unwrap();
    assert_eq!(state(&pool, "log0"), VdevState::Offline);
    check(&dir, &pool, &file, b"one side offline", true);
    pool.online_vdev(guid(&pool, "log0"), false, "zpool online").unwrap();
    assert_eq!(state(&pool, "log0"), VdevState::Online);
    check(&dir, &pool, &file, b"both are back", true);

    let mirror = tops(&pool)[1].guid;
    pool.detach_vdev(guid(&pool, "log0"), "zpool detach").unwrap();
    assert_eq!((tops(&pool)[1].kind.clone(), tops(&pool)[1].guid), (VdevKind::File, mirror));
    check(&dir, &pool, &file, b"one side left", true);
    let refused = pool.detach_vdev(mirror, "").unwrap_err().to_string();
    assert!(refused.ends_with("only applicable to mirror and replacing vdevs"), "{refused}");

    add(&pool, vec![VdevSpec::Mirror(vec![leaf(&dir, "log3"), leaf(&dir, "log4")])]);
    pool.remove_vdev(mirror, "zpool remove").unwrap();
    assert_eq!((tops(&pool).len(), tops(&pool)[1].kind.clone()), (3, VdevKind::Hole));
    check(&dir, &pool, &file, b"a hole before the log", true);

    add(&pool, vec![leaf(&dir, "log5")]);
    assert_eq!((tops(&pool).len(), tops(&pool)[1].is_log), (3, true), "the hole is filled");
    check(&dir, &pool, &file, b"two logs", true);
    for top in [2, 1] {
        pool.remove_vdev(tops(&pool)[top].guid, "zpool remove").unwrap();
    }
    assert_eq!(tops(&pool).len(), 1);
    check(&dir, &pool, &file, b"no log any more", false);
    drop(file);
    is_sound(&pool);
    leave(&pool, &dir);
}

#[test]
fn a_log_that_waits_to_be_replayed_is_not_taken_away() {
    let dir = Dir::new("log-change-unreplayed");
    let pool = fresh(&dir);
    add(&pool, vec![leaf(&dir, "log0")]);
    let file = File::new(&dataset(&pool, "tank"));
    assert!(commit_one(&pool, &file, b"promised"));
    let crashed = crash(&dir, "log-change-unreplayed-after");
    let object = file.object;
    drop(file);
    pool.export().unwrap();

    let pool = import_apart(&crashed, &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    let log = guid(&pool, "log0");
    let new = NewDevice::at(&crashed.image("new", LOG));
    for refused in [
        pool.remove_vdev(log, ""),
        pool.offline_vdev(log, false, ""),
        pool.attach_vdev(log, &new, ""),
        pool.replace_vdev(log, &new, ""),
    ] {
        let why = refused.unwrap_err().to_string();
        assert!(why.ends_with("have not been replayed yet; mount these datasets first: tank"), "{why}");
    }
    let fs = dataset(&pool, "tank");
    Again::default().run(&fs);
    pool.remove_vdev(log, "").unwrap();
    assert_eq!(fs.objset().hold(object).unwrap().read_bytes(0, 8).unwrap(), b"promised");
    drop(fs);
    is_sound(&pool);
    leave(&pool, &crashed);
}

#[test]
fn a_failed_log_is_remembered_until_it_is_cleared() {
    let Fallible { dir, faults, pool, file } = Fallible::new("log-change-failed");
    let rule = faults.inject(rule_for(&dir, FaultOp::Write, DiskError::Io(5)));
    file.write(0, b"while it fails", true);
    file.commit();
    assert_eq!(state(&pool, "log0"), VdevState::Faulted);
    for _ in 0..2 {
        pool.core().txgs.sync_empty().unwrap();
    }
    faults.cancel(rule);
    check(&dir, &pool, &file, b"without it", false);
    let crashed = crash(&dir, "log-change-failed-after");
    let again = import_apart(&crashed, &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    assert_eq!(state(&again, "log0"), VdevState::Faulted, "the device works, but nobody has said so");
    assert!(again.report().lost_logs.is_empty());
    again.clear_errors(None, "zpool clear").unwrap();
    assert_eq!(state(&again, "log0"), VdevState::Online);
    let other = File { dataset: dataset(&again, "tank"), object: file.object };
    Again::default().run(&other.dataset);
    check(&crashed, &again, &other, b"in use again", true);
    drop(other);
    leave(&again, &crashed);

    // Under the same path lies a new, empty device.
    drop(pool.core().storage.epoch());
    let old = guid(&pool, "log0");
    std::fs::remove_file(dir.image_path("log0")).unwrap();
    dir.image("log0", LOG);
    pool.online_vdev(old, false, "").unwrap();
    assert_eq!(state(&pool, "log0"), VdevState::Faulted);
    pool.clear_errors(Some(old), "").unwrap();
    assert_eq!(state(&pool, "log0"), VdevState::Faulted, "it is another device now");
    pool.replace_vdev(old, &NewDevice::default(), "zpool replace").unwrap();
    assert_eq!(state(&pool, "log0"), VdevState::Online);
    check(&dir, &pool, &file, b"a new device at the old place", true);
    drop(file);
    leave(&pool, &dir);
}
