//! Devices that hold intent logs and nothing else: used, lost while the pool runs, missing when it
//! is imported, and back with what they had long ago.

use api_types::VdevSpec;
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule};
use pool::spa::create::CreateSpec;
use storage::{LeafIo, VdevStat, VdevState};

use super::*;

/// A pool of a disk and a log device, `mirrored` or not; exported.
fn with_log(name: &str, mirrored: bool) -> Dir {
    let dir = Dir::new(name);
    let image = |name: &str| VdevSpec::Leaf(dir.image(name, 128 << 20));
    let log = match mirrored {
        true => VdevSpec::Mirror(vec![image("log0"), image("log1")]),
        false => image("log0"),
    };
    let wanted = CreateSpec { logs: vec![log], ..spec("tank", vec![image("disk0")]) };
    create(&around(), &wanted).unwrap().export().unwrap();
    zdb_accepts(&dir, "tank");
    dir
}

fn import_with(dir: &Dir, env: Env, missing_log: bool) -> pool::Result<Arc<Pool>> {
    let around = pool::spa::create::Surroundings { env, ..around() };
    let found = search(&around.env, &[dir.path()]);
    import(&around, &found[0], &ImportSpec { force: true, missing_log, ..ImportSpec::default() })
}

fn log(pool: &Pool) -> VdevStat {
    pool.core().storage.status().children.into_iter().find(|top| top.is_log).unwrap()
}

fn io(pool: &Pool) -> LeafIo {
    log(pool).io
}

#[test]
fn commits_go_to_the_log_device_and_zdb_finds_them_there() {
    let dir = with_log("log-used", false);
    let pool = import_with(&dir, Env::real(), false).unwrap();
    let file = file(&pool, &pool.name());
    let before = io(&pool);
    let txg = file.write(0, b"in the log", true);
    file.commit();
    let after = io(&pool);
    assert!(pool.core().txgs.synced() < txg);
    assert!(after.writes > before.writes && after.flushes > before.flushes);
    let crashed = crash(&dir, "log-used-after");
    zdb_accepts(&crashed, &pool.name());
    let (name, object) = (pool.name(), file.object);
    drop(file);
    leave(&pool, &dir);

    let pool = import_with(&crashed, Env::real(), false).unwrap();
    let fs = dataset(&pool, &name);
    Again::default().run(&fs);
    assert_eq!(fs.objset().hold(object).unwrap().read_bytes(0, 10).unwrap(), b"in the log");
    is_sound(&pool);
    drop(fs);
    leave(&pool, &crashed);
}

#[test]
fn a_log_device_that_fails_costs_no_promise() {
    let io_error = FaultKind::Fail(DiskError::Io(5));
    for (op, kind) in [
        (FaultOp::Write, io_error),
        (FaultOp::Flush, io_error),
        (FaultOp::Any, FaultKind::Fail(DiskError::Gone)),
    ] {
        let dir = with_log("log-fails", false);
        let faults = FaultDisks::new(Env::real().disks);
        let pool = import_with(&dir, Env { disks: Arc::new(faults.clone()), ..Env::real() }, false).unwrap();
        let file = file(&pool, &pool.name());
        let rule = faults.inject(FaultRule { path: log(&pool).path, ..FaultRule::new(op, kind) });
        let first = file.write(0, b"the log is lost", true);
        file.commit();
        assert!(pool.core().txgs.synced() >= first, "what the log could not take is in the pool");
        assert_eq!((log(&pool).state, log(&pool).is_log), (VdevState::Faulted, true), "{op:?}");
        let second = file.write(512, b"the pool takes it", true);
        file.commit();
        assert!(pool.core().txgs.synced() >= first && second > first);
        let (name, object) = (pool.name(), file.object);
        // Before the device is there again: it comes back by itself, and disks are copied one by
        // one.
        let crashed = crash(&dir, "log-fails-after");
        faults.cancel(rule);
        drop(file);
        is_sound(&pool);
        leave(&pool, &dir);

        // The device is back with what it had before it failed.
        let pool = import_with(&crashed, Env::real(), false).unwrap();
        let fs = dataset(&pool, &name);
        Again::default().run(&fs);
        let bytes = fs.objset().hold(object).unwrap().read_bytes(0, 1024).unwrap();
        assert!(bytes.starts_with(b"the log is lost") && bytes[512..].starts_with(b"the pool takes it"));
        is_sound(&pool);
        drop(fs);
        leave(&pool, &crashed);
    }
}

/// A pool left with a promise that only its log has: the copy that a crash leaves, the pool's name,
/// the file.
fn with_promise(name: &str, text: &[u8]) -> (Dir, String, u64) {
    let dir = with_log(name, false);
    let pool = import_with(&dir, Env::real(), false).unwrap();
    let file = file(&pool, &pool.name());
    let txg = file.write(0, text, true);
    file.commit();
    assert!(pool.core().txgs.synced() < txg);
    let crashed = crash(&dir, &format!("{name}-after"));
    let left = (crashed, pool.name(), file.object);
    drop(file);
    leave(&pool, &dir);
    left
}

/// What is there after the log was done again.
fn bytes_after_replay(pool: &Pool, name: &str, object: u64, len: usize) -> Vec<u8> {
    let fs = dataset(pool, name);
    Again::default().run(&fs);
    fs.objset().hold(object).unwrap().read_bytes(0, len).unwrap()
}

#[test]
fn a_log_that_fails_while_a_pool_is_imported_is_replayed() {
    for op in [FaultOp::Write, FaultOp::Flush] {
        let (dir, name, object) = with_promise("log-fails-early", b"only in the log");
        let faults = FaultDisks::new(Env::real().disks);
        let path = Some(dir.image_path("log0").to_str().unwrap().to_owned());
        faults.inject(FaultRule { path, ..FaultRule::new(op, FaultKind::Fail(DiskError::Io(5))) });
        let pool = import_with(&dir, Env { disks: Arc::new(faults), ..Env::real() }, false).unwrap();
        assert_eq!(log(&pool).state, VdevState::Faulted, "{op:?}");
        assert_eq!(bytes_after_replay(&pool, &name, object, 15), b"only in the log", "{op:?}");
        is_sound(&pool);
        leave(&pool, &dir);
    }
}

#[test]
fn a_log_that_cannot_be_read_is_not_given_up_unasked() {
    let (dir, name, object) = with_promise("log-unread", b"only in the log");
    let [tried, asked] = ["log-unread-tried", "log-unread-asked"].map(|name| crash(&dir, name));
    let import_unread = |dir: &Dir, times: u64, missing_log: bool| {
        let faults = FaultDisks::new(Env::real().disks);
        let path = Some(dir.image_path("log0").to_str().unwrap().to_owned());
        let bytes = (4 << 20..127 << 20).into(); // Between the labels.
        let failing = FaultRule::new(FaultOp::Read, FaultKind::Fail(DiskError::Io(5)));
        faults.inject(FaultRule { path, bytes, times, ..failing });
        import_with(dir, Env { disks: Arc::new(faults), ..Env::real() }, missing_log)
    };

    let refused = import_unread(&dir, u64::MAX, false).err().unwrap().to_string();
    assert!(refused.contains("use '-m' to import the pool anyway"), "{refused}");
    assert!(refused.contains("log0 [log]"), "{refused}");
    // It is nobody's loss that it was tried; and a read that fails once or twice is no reason.
    for (dir, times) in [(&dir, 0), (&tried, 2)] {
        let pool = import_unread(dir, times, false).unwrap();
        assert_eq!(bytes_after_replay(&pool, &name, object, 15), b"only in the log");
        is_sound(&pool);
        leave(&pool, dir);
    }
    let pool = import_unread(&asked, u64::MAX, true).unwrap();
    assert_eq!(bytes_after_replay(&pool, &name, object, 5), b"start");
    is_sound(&pool);
    leave(&pool, &asked);
}

#[test]
fn a_pool_whose_log_is_missing_opens_only_when_told_so() {
    let dir = with_log("log-missing", true);
    let pool = import_with(&dir, Env::real(), false).unwrap();
    let file = file(&pool, &pool.name());
    file.write(0, b"only in the log", true);
    file.commit();
    let (name, object) = (pool.name(), file.object);
    let crashed = crash(&dir, "log-missing-after");
    drop(file);
    pool.export().unwrap();
    drop((pool, dir)); // Else the devices would be found where they were.

    let hidden = Dir::new("log-missing-hidden");
    let sides = ["log0", "log1"];
    let carry = |from: &Dir, to: &Dir| {
        for side in sides {
            std::fs::copy(from.image_path(side), to.image_path(side)).unwrap();
            std::fs::remove_file(from.image_path(side)).unwrap();
        }
    };
    carry(&crashed, &hidden);
    let refused = import_with(&crashed, Env::real(), false).err().unwrap().to_string();
    assert!(refused.contains("use '-m' to import the pool anyway"), "{refused}");
    let pool = import_with(&crashed, Env::real(), true).unwrap();
    assert_eq!(log(&pool).state, VdevState::Unavail);
    let fs = dataset(&pool, &name);
    Again::default().run(&fs);
    assert!(fs.objset().hold(object).unwrap().read_bytes(0, 5).unwrap() == b"start");
    let file = File { dataset: fs, object };
    file.write(0, b"afterwards", true);
    file.commit();
    drop(file);
    pool.export().unwrap();

    // The device comes back with a log that nobody must believe any more.
    carry(&hidden, &crashed);
    zdb_accepts(&crashed, &name);
    let pool = import_with(&crashed, Env::real(), false).unwrap();
    let fs = dataset(&pool, &name);
    assert_eq!(Again::default().run(&fs), 0);
    assert_eq!(fs.objset().hold(object).unwrap().read_bytes(0, 10).unwrap(), b"afterwards");
    is_sound(&pool);
    drop(fs);
    leave(&pool, &crashed);
}
