//! What a disk missed is known until it has it: written down by the group, kept by scans that could
//! not give it, and given in the end. Of each disk zdb says whether it has everything, alone.

use std::sync::Arc;
use std::time::Duration;

use api_types::ScanCommand;
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule, Nanos};
use ondisk::scan::{FUNC_RESILVER, STATE_FINISHED};
use pool::Pool;
use pool::spa::create::Surroundings;
use storage::VdevState;

use crate::errlog::{BLOCK, LABELS, block, write};
use crate::scan::{alone, scan, settle, sides};
use crate::support::{Dir, around, crash};
use crate::vdevs::{Files, fresh_in, guid, import_in};

/// A mirror of `a` and `b`, with faults on demand.
fn mirror(dir: &Dir) -> (Arc<Pool>, FaultDisks) {
    let faults = FaultDisks::new(Env::real().disks);
    let around = Surroundings { env: Env { disks: Arc::new(faults.clone()), ..Env::real() }, ..around() };
    (fresh_in(&around, dir, &["a", "b"]), faults)
}

/// Writes to `b` between its labels fail, in this stretch of the disk.
fn refusing(dir: &Dir, bytes: std::ops::Range<u64>) -> FaultRule {
    let path = Some(dir.image_path("b").to_str().unwrap().to_owned());
    let fail = FaultKind::Fail(DiskError::Io(5));
    FaultRule { path, bytes: bytes.into(), ..FaultRule::new(FaultOp::Write, fail) }
}

/// Each disk has everything.
fn both_have_all(pool: Arc<Pool>, dir: &Dir, files: &Files) {
    files.check(&pool);
    pool.export().unwrap();
    ["a", "b"].iter().for_each(|side| alone(dir, side));
}

#[test]
fn a_write_that_a_disk_refused_is_given_to_it_later() {
    let dir = Dir::new("missed-refused");
    let ((pool, faults), mut files) = (mirror(&dir), Files::default());
    // Writes that were joined are tried alone once more.
    faults.inject(FaultRule { times: 3, ..refusing(&dir, LABELS..120 << 20) });
    files.write(&pool);
    assert_eq!(faults.fired(), 3);
    settle(&pool);
    let phys = pool.scan_report().phys;
    assert_eq!((phys.func, phys.state, phys.errors), (FUNC_RESILVER, STATE_FINISHED, 0));
    both_have_all(pool, &dir, &files);
}

/// Labels and the meta object set say the same of a disk, whenever it is said.
#[test]
fn a_verdict_that_comes_while_a_group_ends_is_kept() {
    let dir = Dir::new("missed-verdict");
    let ((pool, faults), mut files) = (mirror(&dir), Files::default());
    // The disk has a dirty time log already: a new one would have the configuration written again.
    let a = guid(&pool, "a");
    pool.offline_vdev(a, false, "").unwrap();
    files.write(&pool);
    pool.online_vdev(a, false, "").unwrap();
    settle(&pool);
    let slow = FaultKind::Delay(Nanos::from_millis(200));
    faults.inject(FaultRule::new(FaultOp::Flush, slow));
    let group = {
        let pool = pool.clone();
        std::thread::spawn(move || pool.core().txgs.sync_empty())
    };
    // The group has written its configuration, and waits for a flush before it writes labels.
    std::thread::sleep(Duration::from_millis(100));
    pool.fault_vdev(a, false, "zpool offline -f").unwrap();
    group.join().unwrap().unwrap();
    let copy = crash(&dir, "missed-verdict-crash");
    pool.export().unwrap();
    let again = import_in(&around(), &copy);
    assert_eq!(again.core().storage.leaf_state(a), Some(VdevState::Faulted));
    again.export().unwrap();
}

#[test]
fn a_scan_that_ends_while_a_disk_is_away_has_given_it_nothing() {
    let dir = Dir::new("missed-away");
    let ((pool, _), mut files) = (mirror(&dir), Files::default());
    files.write(&pool);
    let b = guid(&pool, "b");
    pool.offline_vdev(b, false, "").unwrap();
    files.write(&pool);
    scan(&pool, ScanCommand::Scrub);
    pool.online_vdev(b, false, "").unwrap();
    settle(&pool);
    both_have_all(pool, &dir, &files);
}

#[test]
fn what_a_resilver_could_not_rewrite_is_lacking_still() {
    let dir = Dir::new("missed-unrepaired");
    let ((pool, faults), mut files) = (mirror(&dir), Files::default());
    files.write(&pool);
    let b = guid(&pool, "b");
    pool.offline_vdev(b, false, "").unwrap();
    let object = write(&pool, "tank", 0, 1);
    let at = LABELS + block(&pool, "tank", object, 0).dva(0).offset;
    faults.inject(refusing(&dir, at..at + u64::from(BLOCK)));
    pool.online_vdev(b, false, "").unwrap();
    for _ in 0..5 {
        pool.wait_for_scan();
        pool.core().txgs.sync_empty().unwrap();
    }
    assert!(faults.fired() > 0 && sides(&pool)[1].is_behind);
    faults.clear();
    pool.clear_errors(None, "").unwrap();
    settle(&pool);
    both_have_all(pool, &dir, &files);
}
