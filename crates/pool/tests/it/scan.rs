//! Scrubs and resilvers of pools on image files; what they leave is judged by zdb, also of one side
//! of a mirror alone.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use api_types::{ScanCommand, VdevSpec};
use dmu::{Holds, ObjectSpec};
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule, Nanos};
use ondisk::object_type::ObjectType;
use ondisk::scan::{FUNC_RESILVER, FUNC_SCRUB, STATE_CANCELED, STATE_FINISHED, STATE_SCANNING};
use pool::Pool;
use pool::spa::config::Host;
use pool::spa::create::{Surroundings, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options, verify};
use stdx::prng::Prng;
use storage::{VdevStat, VdevState};

use crate::create::spec;
use crate::support::{Dir, around, cut_partitions, shared_fixture, zdb_accepts};
use crate::vdevs::{Files, disk, fresh_in, guid, shown};

const SIZE: u64 = 256 << 20;
/// Labels at both ends are not scrubbed.
const FRONT: u64 = 4 << 20;

fn again(dir: &Dir) -> Arc<Pool> {
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    assert_eq!(found.len(), 1);
    let host = Host { id: 77, name: "here".into() };
    import(&around, &found[0], &ImportSpec { host, force: true, ..ImportSpec::default() }).unwrap()
}

/// A pool "tank" on mirrors of these images.
fn mirrors(dir: &Dir, names: &[&[&str]]) -> Arc<Pool> {
    let leaf = |name: &&str| VdevSpec::Leaf(dir.image(name, SIZE));
    let vdevs = names.iter().map(|sides| VdevSpec::Mirror(sides.iter().map(leaf).collect())).collect();
    create(&around(), &spec("tank", vdevs)).unwrap()
}

/// Files of `block` bytes a block in the root dataset, `bytes` in all.
fn fill(pool: &Pool, block: u32, bytes: u64, seed: u64) {
    let dataset = pool.dsl.open_dataset("tank").unwrap();
    let mut random = Prng::new(seed);
    let mut left = bytes;
    while left > 0 {
        let now = left.min(8 << 20);
        let mut data = vec![0; now as usize];
        random.fill(&mut data);
        let tx = dataset.objset().begin(Holds::new(now, 8)).unwrap();
        let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(block);
        dataset.objset().alloc(spec, &tx).unwrap().write(0, &data, &tx).unwrap();
        left -= now;
    }
    pool.core().txgs.sync_now().unwrap();
}

/// Overwrites random places of an image with noise.
fn damage(dir: &Dir, name: &str, places: u64, seed: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(dir.image_path(name)).unwrap();
    let mut random = Prng::new(seed);
    let mut noise = vec![0; 16384];
    for _ in 0..places {
        random.fill(&mut noise);
        let at = FRONT + random.below((SIZE - 2 * FRONT) / 4096) * 4096;
        file.write_all_at(&noise, at).unwrap();
    }
}

pub fn scan(pool: &Pool, command: ScanCommand) {
    pool.scan_command(command, "").unwrap();
    pool.wait_for_scan();
}

pub fn sides(pool: &Pool) -> Vec<VdevStat> {
    pool.core().storage.status().children.iter().flat_map(|top| top.children.clone()).collect()
}

fn states(pool: &Pool) -> Vec<VdevState> {
    sides(pool).iter().map(|side| side.state).collect()
}

/// Waits until nothing runs and no leaf lacks anything.
pub fn settle(pool: &Pool) {
    for _ in 0..200 {
        pool.wait_for_scan();
        if sides(pool).iter().all(|side| side.state == VdevState::Online && !side.is_behind) {
            return;
        }
        pool.core().env.clock.sleep(Nanos::from_millis(20));
        pool.core().txgs.sync_empty().unwrap();
    }
    panic!("leaves are still behind: {:?}", states(pool));
}

fn export(pool: Arc<Pool>) {
    pool.export().unwrap();
}

/// A folder that is not where it was, for as long as this lives.
struct OutOfSight(String);

impl OutOfSight {
    fn hide(dir: &Dir) -> OutOfSight {
        std::fs::rename(dir.path(), format!("{}-away", dir.path())).unwrap();
        OutOfSight(dir.path())
    }
}

impl Drop for OutOfSight {
    fn drop(&mut self) {
        let _ = std::fs::rename(format!("{}-away", self.0), &self.0);
    }
}

/// Whether zdb finds every block good on this side alone. The pool says where the other is: there
/// it must not be found.
pub fn alone(dir: &Dir, name: &str) {
    let lonely = Dir::new(&format!("alone-{name}-{}", dir.path().rsplit('/').next().unwrap()));
    std::fs::copy(dir.image_path(name), lonely.image_path(name)).unwrap();
    let _hidden = OutOfSight::hide(dir);
    zdb_accepts(&lonely, "tank");
}

#[test]
fn a_scrub_repairs_what_is_bad_on_each_side() {
    let dir = Dir::new("scrub");
    let pool = mirrors(&dir, &[&["a.img", "b.img"]]);
    fill(&pool, 8192, 12 << 20, 1);
    fill(&pool, 131_072, 24 << 20, 2);
    export(pool);
    damage(&dir, "a.img", 2000, 3);
    let pool = again(&dir);
    scan(&pool, ScanCommand::Scrub);
    let report = pool.scan_report();
    assert_eq!((report.phys.func, report.phys.state, report.phys.errors), (FUNC_SCRUB, STATE_FINISHED, 0));
    let [a, b] = &sides(&pool)[..] else { panic!() };
    assert!(a.checksum_errors > 50 && b.checksum_errors == 0, "{} {}", a.checksum_errors, b.checksum_errors);
    assert!(report.phys.processed >= a.checksum_errors * 4096 && report.phys.processed < 40 << 20);
    assert_eq!(pool.error_count(), 0);
    // Nothing is left for a second one.
    scan(&pool, ScanCommand::Scrub);
    assert_eq!(pool.scan_report().phys.processed, 0);
    export(pool);
    zdb_accepts(&dir, "tank");
    ["a.img", "b.img"].iter().for_each(|side| alone(&dir, side));
    let pool = again(&dir);
    let events: Vec<String> = pool.dsl.history(true).unwrap().into_iter().map(|record| record.text).collect();
    let of_scans =
        events.iter().filter(|text| text.starts_with("scan ")).map(|text| text.split(' ').nth(1).unwrap());
    assert_eq!(of_scans.collect::<Vec<_>>(), ["setup", "done", "setup", "done"]);
    export(pool);
}

#[test]
fn the_golden_damaged_mirror_heals() {
    let dir = Dir::new("golden-scrub");
    if !shared_fixture(&dir, "mirror-damaged") {
        return;
    }
    cut_partitions(&dir);
    let pool = again(&dir);
    let name = pool.name();
    scan(&pool, ScanCommand::Scrub);
    let report = pool.scan_report();
    assert_eq!((report.phys.state, report.phys.errors), (STATE_FINISHED, 0));
    assert!(report.phys.processed > 0);
    assert!(
        verify(&pool, Options { data: true }, &mut |_, _| {}).is_ok_and(|report| report.bad_copies() == 0)
    );
    export(pool);
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let Some(file) =
            path.file_name().and_then(|file| file.to_str()).filter(|file| file.ends_with(".img"))
        else {
            continue;
        };
        let lonely = Dir::new(&format!("golden-{file}"));
        std::fs::copy(&path, lonely.image_path(file)).unwrap();
        zdb_accepts(&lonely, &name);
    }
}

#[test]
fn a_side_that_was_away_gets_what_it_missed_and_no_more() {
    let dir = Dir::new("resilver");
    let pool = mirrors(&dir, &[&["a.img", "b.img"]]);
    fill(&pool, 131_072, 40 << 20, 1);
    export(pool);
    let away = Dir::new("resilver-away");
    std::fs::rename(dir.image_path("b.img"), away.image_path("b.img")).unwrap();
    let pool = again(&dir);
    fill(&pool, 16384, 6 << 20, 2);
    export(pool);
    std::fs::rename(away.image_path("b.img"), dir.image_path("b.img")).unwrap();
    let pool = again(&dir);
    settle(&pool);
    let report = pool.scan_report();
    assert_eq!((report.phys.func, report.phys.state, report.phys.errors), (FUNC_RESILVER, STATE_FINISHED, 0));
    let resilvered = report.phys.processed;
    assert!((6 << 20..10 << 20).contains(&resilvered), "{resilvered} bytes resilvered");
    // Before the pool knew what it lacks, it may have been asked for some of that.
    assert!(sides(&pool)[1].checksum_errors < 5);
    export(pool);
    zdb_accepts(&dir, "tank");
    ["a.img", "b.img"].iter().for_each(|side| alone(&dir, side));
    // Whole for good.
    let pool = again(&dir);
    pool.core().txgs.sync_empty().unwrap();
    assert_eq!(states(&pool), [VdevState::Online; 2]);
    assert!(!pool.core().scan.is_running());
    export(pool);
}

/// A new disk is not taken for whole, nor the old one sent away, while the old one has what nobody
/// could read.
#[test]
fn what_could_not_be_read_for_a_while_is_lacking_still() {
    let dir = Dir::new("resilver-unread");
    let faults = FaultDisks::new(Env::real().disks);
    let around = Surroundings { env: Env { disks: Arc::new(faults.clone()), ..Env::real() }, ..around() };
    let (pool, mut files) = (fresh_in(&around, &dir, &["a"]), Files::default());
    (0..20).for_each(|_| files.write(&pool));
    let path = Some(dir.image_path("a").to_str().unwrap().to_owned());
    let fail = FaultKind::Fail(DiskError::Io(5));
    faults.inject(FaultRule { path, bytes: (FRONT..96 << 20).into(), ..FaultRule::new(FaultOp::Read, fail) });
    pool.replace_vdev(guid(&pool, "a"), &disk(&dir, "b"), "").unwrap();
    let some_groups = || {
        for _ in 0..5 {
            pool.wait_for_scan();
            pool.core().txgs.sync_empty().unwrap();
        }
    };
    some_groups();
    let phys = pool.scan_report().phys;
    assert!(phys.errors > 0 && phys.state == STATE_FINISHED, "{phys:?}");
    assert_eq!(shown(&pool), "replacing-0(a b-)");
    faults.clear();
    some_groups();
    assert_eq!(shown(&pool), "replacing-0(a b-)", "it is not tried again and again");
    pool.clear_errors(None, "").unwrap();
    some_groups();
    assert_eq!((shown(&pool), pool.scan_report().phys.errors), ("b".into(), 0));
    files.check(&pool);
    export(pool);
    alone(&dir, "b");
}

#[test]
fn a_scrub_pauses_stops_and_goes_on_after_an_import() {
    let dir = Dir::new("pause");
    let pool = mirrors(&dir, &[&["a.img", "b.img"]]);
    fill(&pool, 4096, 16 << 20, 1);
    let refusal = |command| pool.scan_command(command, "").unwrap_err().to_string();
    assert!(refusal(ScanCommand::Stop).ends_with("there is no active scrub"));
    // Small steps: it is still at work when it is paused.
    pool.core().env.quirks.set(env::Quirk::SmallTxg, true);
    pool.scan_command(ScanCommand::Scrub, "zpool scrub tank").unwrap();
    assert!(refusal(ScanCommand::Scrub).contains("currently scrubbing"));
    pool.scan_command(ScanCommand::Pause, "zpool scrub -p tank").unwrap();
    let report = pool.scan_report();
    assert!(report.phys.is_paused() && report.phys.state == STATE_SCANNING && report.paused > 0);
    assert!(refusal(ScanCommand::Pause).contains("scrub is paused"));
    let examined = report.phys.examined;
    export(pool);
    zdb_accepts(&dir, "tank");
    damage(&dir, "b.img", 1000, 9);
    let pool = again(&dir);
    assert!(pool.scan_report().phys.is_paused());
    scan(&pool, ScanCommand::Scrub);
    let report = pool.scan_report();
    assert_eq!((report.phys.state, report.phys.errors), (STATE_FINISHED, 0));
    assert!(report.phys.examined >= examined);
    pool.core().env.quirks.set(env::Quirk::SmallTxg, true);
    pool.scan_command(ScanCommand::Scrub, "").unwrap();
    pool.scan_command(ScanCommand::Stop, "").unwrap();
    assert_eq!(pool.scan_report().phys.state, STATE_CANCELED);
    export(pool);
    zdb_accepts(&dir, "tank");
}

#[test]
fn what_cannot_be_healed_is_remembered_until_it_is_gone() {
    let dir = Dir::new("hurt");
    let pool = mirrors(&dir, &[&["a.img", "b.img"]]);
    fill(&pool, 131_072, 16 << 20, 1);
    export(pool);
    for side in ["a.img", "b.img"] {
        damage(&dir, side, 300, 5);
    }
    let pool = again(&dir);
    scan(&pool, ScanCommand::Scrub);
    let report = pool.scan_report();
    assert!(report.phys.errors > 0 && report.phys.state == STATE_FINISHED);
    assert!(pool.error_count() > 0);
    export(pool);
    let pool = again(&dir);
    let hurt = pool.hurt_objects().unwrap();
    let dataset = pool.dsl.open_dataset("tank").unwrap();
    assert!(!hurt.is_empty() && hurt.iter().all(|hurt| hurt.dataset == dataset.object()), "{hurt:?}");
    assert_eq!(hurt[0].dataset_name.as_deref(), Some("tank"));
    // The files go; the next scrub but one has forgotten them.
    for hurt in &hurt {
        dataset.objset().free_in_steps(hurt.object).unwrap();
    }
    drop(dataset);
    scan(&pool, ScanCommand::Scrub);
    assert_eq!(pool.scan_report().phys.errors, 0);
    assert_eq!((pool.error_count(), pool.hurt_objects().unwrap()), (0, Vec::new()));
    export(pool);
    zdb_accepts(&dir, "tank");
}
