//! The error log: whoever has a block that cannot be had is named, through snapshots and clones,
//! and a scrub of errors alone tells what of it still holds. zdb 2.1 does not know the feature: our
//! verifier judges, and every object of the log is counted.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use api_types::{ScanCommand, VdevSpec};
use dmu::find::pointer_to;
use dmu::traverse::Part;
use dmu::zap::Entry;
use dmu::{Holds, ObjectSpec, Zap};
use env::{Env, FaultDisks, FaultKind, FaultOp, FaultRule, Nanos, Spans};
use ondisk::BlkPtr;
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::scan::{STATE_CANCELED, STATE_FINISHED};
use pool::Pool;
use pool::change::Change;
use pool::spa::config::Host;
use pool::spa::create::{Surroundings, create};
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options, verify};
use stdx::prng::Prng;

use crate::create::spec;
use crate::support::{Dir, around};

const SIZE: u64 = 128 << 20;
pub const BLOCK: u32 = 16 << 10;
/// Of a device, before its first block.
pub const LABELS: u64 = 4 << 20;

/// A pool on one disk; its errors are logged by head, or in the old form.
fn pool(dir: &Dir, around: &Surroundings, by_head: bool) -> Arc<Pool> {
    let mut spec = spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", SIZE))]);
    spec.features.extend(ondisk::feature::by_name("head_errlog").filter(|_| by_head));
    create(around, &spec).unwrap()
}

/// The keys of the last log, with those of the list of each; and that no other object of a log is
/// left behind.
fn keys(pool: &Pool) -> Vec<(String, Vec<String>)> {
    let mos = &pool.core().mos;
    let entries = |object: u64| Zap::open(mos, object).unwrap().entries().unwrap();
    let name = |name: &[u8]| String::from_utf8(name.to_vec()).unwrap();
    let (mut known, mut found, mut at) = (Vec::new(), Vec::new(), 0);
    for log in ["errlog_last", "errlog_scrub"] {
        let log = Zap::open(mos, pool_directory::OBJECT).unwrap().find_u64(log).unwrap().unwrap_or(0);
        let lists: Vec<_> = if log == 0 { Vec::new() } else { entries(log) };
        known.push((log, lists));
    }
    while let Some(object) = mos.next_object(at, 0).unwrap() {
        at = object;
        found.extend((mos.hold(object).unwrap().object_type() == ObjectType::ERROR_LOG).then_some(object));
    }
    let lists = known.iter().flat_map(|(log, lists)| {
        [*log].into_iter().chain(lists.iter().map(|list| list.value.first())).filter(|object| *object != 0)
    });
    let mut lists: Vec<u64> = lists.collect();
    lists.sort_unstable();
    assert_eq!(found, lists);
    let keys = |list: &Entry| entries(list.value.first()).iter().map(|entry| name(&entry.name)).collect();
    known[0].1.iter().map(|list| (name(&list.name), keys(list))).collect()
}

/// Whether all of it can be read and nothing is leaked, the log's objects included.
fn is_clean(pool: &Pool) -> bool {
    keys(pool);
    verify(pool, Options { data: true }, &mut |_, _| {}).unwrap().is_clean()
}

fn again(dir: &Dir, pool: Arc<Pool>) -> Arc<Pool> {
    pool.export().unwrap();
    drop(pool);
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    let host = Host { id: 77, name: "here".into() };
    import(&around, &found[0], &ImportSpec { host, ..ImportSpec::default() }).unwrap()
}

fn commit(pool: &Pool, change: Change) {
    pool.dsl.commit(change, "").unwrap();
}

fn make(pool: &Pool, name: &str) {
    let props = vec![("compression".into(), "off".into())];
    commit(pool, Change::CreateFilesystem { name: name.into(), parents: false, props });
}

fn snapshot(pool: &Pool, name: &str) {
    commit(pool, Change::Snapshot { names: vec![name.into()], recursive: false, props: Vec::new() });
}

fn clone(pool: &Pool, snapshot: &str, name: &str) {
    let (snapshot, name) = (snapshot.into(), name.into());
    commit(pool, Change::Clone { snapshot, name, parents: false, props: Vec::new() });
}

fn destroy(pool: &Pool, name: &str) {
    commit(pool, Change::Destroy { names: vec![name.into()], defer: false });
}

/// Writes two blocks of noise into an object, 0: a new one.
pub fn write(pool: &Pool, dataset: &str, object: u64, seed: u64) -> u64 {
    let object = write_at(pool, dataset, object, 0, seed);
    pool.core().txgs.sync_now().unwrap();
    object
}

/// The same for the `pair`-th two blocks, and not yet on disk.
fn write_at(pool: &Pool, dataset: &str, object: u64, pair: u64, seed: u64) -> u64 {
    let dataset = pool.dsl.open_dataset(dataset).unwrap();
    let mut data = vec![0; 2 * BLOCK as usize];
    Prng::new(seed).fill(&mut data);
    let tx = dataset.objset().begin(Holds::new(data.len() as u64, 4)).unwrap();
    let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK);
    let dnode = match object {
        0 => dataset.objset().alloc(spec, &tx).unwrap(),
        object => dataset.objset().hold(object).unwrap(),
    };
    dnode.write(pair * data.len() as u64, &data, &tx).unwrap();
    dnode.object()
}

pub fn block(pool: &Pool, dataset: &str, object: u64, blkid: u64) -> BlkPtr {
    let root = pool.dsl.open_dataset(dataset).unwrap().objset().root();
    let storage = &*pool.core().storage;
    pointer_to(storage, &root, object, Part::Tree { level: 0, blkid }).unwrap().unwrap()
}

/// Turns the bytes of a block over; a second time they are right again.
fn turn_over(dir: &Dir, bp: &BlkPtr) {
    let disk = std::fs::File::options().read(true).write(true).open(dir.image_path("a.img")).unwrap();
    let mut bytes = vec![0; bp.psize() as usize];
    let at = LABELS + bp.dva(0).offset;
    disk.read_exact_at(&mut bytes, at).unwrap();
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
    disk.write_all_at(&bytes, at).unwrap();
}

fn scan(pool: &Pool, command: ScanCommand) {
    pool.scan_command(command, "").unwrap();
    pool.wait_for_scan();
}

fn refused(pool: &Pool, command: ScanCommand) -> String {
    pool.scan_command(command, "").unwrap_err().to_string()
}

/// `dataset:object` of all that is hurt.
fn hurt(pool: &Pool) -> Vec<String> {
    let hurt = pool.hurt_objects().unwrap().into_iter();
    let mut names: Vec<String> =
        hurt.map(|hurt| format!("{}:{}", hurt.dataset_name.unwrap_or_default(), hurt.object)).collect();
    names.sort();
    names
}

#[test]
fn a_block_that_is_lost_is_told_of_everybody_who_has_it() {
    let dir = Dir::new("errlog");
    let pool = pool(&dir, &around(), true);
    make(&pool, "tank/a");
    let object = write(&pool, "tank/a", 0, 1);
    snapshot(&pool, "tank/a@one");
    clone(&pool, "tank/a@one", "tank/b");
    snapshot(&pool, "tank/b@two");
    let bp = block(&pool, "tank/a", object, 1);
    // Nothing is known to be wrong: there is nothing to look at.
    scan(&pool, ScanCommand::ScrubErrors);
    assert_eq!(pool.scan_report().errors.state, 0);
    turn_over(&dir, &bp);
    scan(&pool, ScanCommand::Scrub);
    assert_eq!((pool.error_count(), pool.scan_report().phys.errors), (1, 1));
    let names = |names: &[&str]| names.iter().map(|name| format!("{name}:{object}")).collect::<Vec<_>>();
    assert_eq!(hurt(&pool), names(&["tank/a", "tank/a@one", "tank/b", "tank/b@two"]));
    // Heads that have other bytes there now have nothing to do with it; a snapshot taken now
    // neither.
    write(&pool, "tank/a", object, 2);
    write(&pool, "tank/b", object, 3);
    snapshot(&pool, "tank/a@three");
    assert_eq!(hurt(&pool), names(&["tank/a@one", "tank/b@two"]));
    // The log follows the snapshots to another head.
    commit(&pool, Change::Promote { name: "tank/b".into() });
    assert_eq!(hurt(&pool), names(&["tank/b@one", "tank/b@two"]));
    scan(&pool, ScanCommand::ScrubErrors);
    let report = pool.scan_report();
    assert_eq!((report.errors.state, report.errors.examined, report.errors.errors), (STATE_FINISHED, 1, 1));
    assert_eq!((pool.error_count(), hurt(&pool).len()), (1, 2));
    let pool = again(&dir, pool);
    assert_eq!(hurt(&pool), names(&["tank/b@one", "tank/b@two"]));
    let (head, birth) = (pool.dsl.object_of("tank/b").unwrap(), bp.physical_birth());
    assert_eq!(keys(&pool), [(format!("{head:x}"), vec![format!("{object:x}:0:1:{birth:x}")])]);
    // It is well again.
    turn_over(&dir, &bp);
    scan(&pool, ScanCommand::ScrubErrors);
    assert_eq!((pool.error_count(), pool.scan_report().errors.errors), (0, 0));
    // Lost once more, by a reader, and destroyed with all who had it.
    turn_over(&dir, &bp);
    let pool = again(&dir, pool);
    let two = pool.dsl.open_dataset("tank/b@two").unwrap();
    assert!(two.objset().hold(object).unwrap().read_bytes(0, 2 * BLOCK as usize).is_err());
    drop(two);
    pool.core().txgs.sync_now().unwrap();
    assert_eq!(hurt(&pool), names(&["tank/b@one", "tank/b@two"]));
    for gone in ["tank/a@three", "tank/a", "tank/b@two", "tank/b@one"] {
        destroy(&pool, gone);
    }
    pool.core().txgs.sync_now().unwrap();
    assert!(hurt(&pool).is_empty(), "nobody has it any more");
    pool.core().txgs.sync_empty().unwrap();
    assert_eq!(pool.error_count(), 0);
    destroy(&pool, "tank/b");
    let events: Vec<String> = pool.dsl.history(true).unwrap().into_iter().map(|record| record.text).collect();
    assert_eq!(events.iter().filter(|text| text.starts_with("error scrub done errors=")).count(), 2);
    assert!(is_clean(&pool));
    pool.export().unwrap();
}

#[test]
fn a_scrub_of_errors_pauses_goes_on_and_stops() {
    let dir = Dir::new("errlog-pause");
    let faults = FaultDisks::new(Env::real().disks);
    let slow = Surroundings { env: Env { disks: Arc::new(faults.clone()), ..Env::real() }, ..around() };
    let pool = pool(&dir, &slow, true);
    make(&pool, "tank/a");
    // More than one step of its worker gets through while reads take their time.
    const ERRORS: u64 = 250;
    let object = write(&pool, "tank/a", 0, 1);
    for pair in 1..ERRORS / 2 {
        write_at(&pool, "tank/a", object, pair, pair);
    }
    pool.core().txgs.sync_now().unwrap();
    let blocks: Vec<BlkPtr> = (0..ERRORS).map(|blkid| block(&pool, "tank/a", object, blkid)).collect();
    blocks.iter().for_each(|bp| turn_over(&dir, bp));
    scan(&pool, ScanCommand::Scrub);
    assert_eq!(pool.error_count(), ERRORS);
    let at = |bp: &BlkPtr| LABELS + bp.dva(0).offset..LABELS + bp.dva(0).offset + 512;
    let bytes = Spans::new(blocks.iter().map(at).collect());
    let late = FaultRule::new(FaultOp::Read, FaultKind::Delay(Nanos::from_millis(500)));
    faults.inject(FaultRule { bytes, ..late });
    pool.scan_command(ScanCommand::ScrubErrors, "").unwrap();
    let running = "currently error scrubbing; use 'zpool scrub -s' to cancel error scrub";
    assert_eq!(refused(&pool, ScanCommand::Scrub), format!("cannot scrub tank: {running}"));
    pool.scan_command(ScanCommand::Pause, "").unwrap();
    let paused = "error scrub is paused; use 'zpool scrub -e' to resume error scrub";
    assert_eq!(refused(&pool, ScanCommand::Pause), format!("cannot pause scrubbing tank: {paused}"));
    assert_eq!(refused(&pool, ScanCommand::Scrub), format!("cannot scrub tank: {paused}"));
    pool.wait_for_scan();
    pool.scan_command(ScanCommand::ScrubErrors, "").unwrap();
    assert!(pool.scan_report().errors.is_running() && !pool.scan_report().errors.is_paused());
    pool.scan_command(ScanCommand::Stop, "").unwrap();
    let errors = pool.scan_report().errors;
    assert!(errors.state == STATE_CANCELED && errors.examined < ERRORS, "{errors:?}");
    pool.core().txgs.sync_now().unwrap();
    assert_eq!(pool.error_count(), ERRORS, "what was not looked at is still known");
    faults.clear();
    blocks.iter().for_each(|bp| turn_over(&dir, bp));
    // One that is under way goes on after an import.
    pool.scan_command(ScanCommand::ScrubErrors, "").unwrap();
    let pool = again(&dir, pool);
    pool.wait_for_scan();
    assert_eq!((pool.error_count(), pool.scan_report().errors.state), (0, STATE_FINISHED));
    scan(&pool, ScanCommand::Scrub);
    assert_eq!(pool.scan_report().errors.state, 0);
    assert!(is_clean(&pool));
    pool.export().unwrap();
}

#[test]
fn what_was_met_in_a_dataset_that_is_gone_is_forgotten() {
    let dir = Dir::new("errlog-gone");
    let pool = pool(&dir, &around(), true);
    make(&pool, "tank/a");
    let object = write(&pool, "tank/a", 0, 1);
    turn_over(&dir, &block(&pool, "tank/a", object, 0));
    let pool = again(&dir, pool);
    let a = pool.dsl.open_dataset("tank/a").unwrap();
    assert!(a.objset().hold(object).unwrap().read_bytes(0, BLOCK as usize).is_err());
    drop(a);
    // It goes with the group that notes the error.
    destroy(&pool, "tank/a");
    scan(&pool, ScanCommand::ScrubErrors);
    assert_eq!(pool.error_count(), 0);
    assert!(is_clean(&pool));
    pool.export().unwrap();
}

#[test]
fn an_old_log_takes_the_new_form_with_the_feature() {
    let dir = Dir::new("errlog-old");
    let pool = pool(&dir, &around(), false);
    make(&pool, "tank/a");
    let object = write(&pool, "tank/a", 0, 1);
    snapshot(&pool, "tank/a@one");
    let bp = block(&pool, "tank/a", object, 0);
    turn_over(&dir, &bp);
    scan(&pool, ScanCommand::Scrub);
    let names = |names: &[&str]| names.iter().map(|name| format!("{name}:{object}")).collect::<Vec<_>>();
    assert_eq!(hurt(&pool), names(&["tank/a@one"]), "where it was met, and no more is known");
    let refusal = "cannot scrub tank: operation not supported on this type of pool";
    assert_eq!(refused(&pool, ScanCommand::ScrubErrors), refusal);
    let props = vec![("feature@head_errlog".into(), "enabled".into())];
    commit(&pool, Change::SetPoolProperties { props });
    assert_eq!(hurt(&pool), names(&["tank/a", "tank/a@one"]));
    let pool = again(&dir, pool);
    assert_eq!((pool.error_count(), hurt(&pool)), (1, names(&["tank/a", "tank/a@one"])));
    turn_over(&dir, &bp);
    scan(&pool, ScanCommand::ScrubErrors);
    assert_eq!(pool.error_count(), 0);
    assert!(is_clean(&pool));
    pool.export().unwrap();
}
