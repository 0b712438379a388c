//! Damaged and forged pools: each is imported, listed, read, written and verified; what comes back
//! is data or an error.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use engine::facade::{LocalEngine, Options};
use engine_api::{
    Condition, CreateMode, Cred, DatasetFilter, DatasetKind, DirLimit, Engine, FileSystem, Health,
    ImportOptions, NodeKind, Pool, Seek, Serving, SetAttr, Stable, SuspendCause,
};
use fuzzing::forge::Forge;
use fuzzing::image::Image;
use fuzzing::mutate::mutate_in_place;
use ondisk::BlkPtr;
use stdx::prng::Prng;

use crate::memory;
use crate::setup::{ImageDisks, fixture};

/// Longest a case may take on a busy machine, and the most it may hold beyond what was there
/// before.
const PATIENCE: Duration = Duration::from_secs(60);
const MEMORY: isize = 192 << 20;
const CACHE: usize = 8 << 20;
/// Entries and bytes looked at, of one pool.
const NODES: usize = 400;
const BYTES: u64 = 4 << 20;

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// One case at a time: memory and panics are counted for the whole process.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, SeqCst);
            before(info);
        }));
    });
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pool is imported, looked at and verified, with writing in between where that is wanted.
fn case(what: &str, images: Vec<Image>, writable: bool) -> Outcome {
    bounded(what, images, move |disks| {
        let mut outcome = exercise(disks, false);
        if writable {
            let errors = std::mem::take(&mut outcome.errors);
            outcome = exercise(disks, true);
            outcome.errors.extend(errors);
            let after = exercise(disks, false);
            outcome.errors.extend(after.errors);
        }
        outcome
    })
}

/// Runs something with disks by the clock; a panic in any thread of it is a failure.
pub fn bounded(
    what: &str,
    images: Vec<Image>,
    work: impl FnOnce(&Arc<ImageDisks>) -> Outcome + Send + 'static,
) -> Outcome {
    let (panics, held) = (PANICS.load(SeqCst), memory::all_held());
    memory::reset_all_peak();
    let (tell, told) = channel();
    let thread = std::thread::spawn(move || {
        let outcome = work(&ImageDisks::new(images));
        let _ = tell.send(());
        outcome
    });
    match told.recv_timeout(PATIENCE) {
        Err(RecvTimeoutError::Timeout) => panic!("{what}: hangs"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
    }
    let outcome = thread.join().unwrap_or_else(|_| panic!("{what}: panicked"));
    assert_eq!(PANICS.load(SeqCst), panics, "{what}: a thread panicked");
    let grown = memory::all_peak() - held;
    assert!(grown < MEMORY, "{what}: {grown} bytes held at a time");
    outcome
}

/// How far a case came.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    imported: bool,
    files: usize,
    errors: Vec<String>,
    written: bool,
}

impl Outcome {
    fn error(&mut self, what: &str, error: impl std::fmt::Debug) {
        if self.errors.len() < 20 {
            self.errors.push(format!("{what}: {error:?}"));
        }
    }
}

/// What an administrator and a client do with a pool.
fn exercise(disks: &Arc<ImageDisks>, writable: bool) -> Outcome {
    let mut outcome = Outcome::default();
    let options = Options { cache: CACHE, search: vec!["/d".into()], hostid: 7, ..Options::default() };
    let engine = LocalEngine::new(disks.env(), options);
    let Ok(found) = engine.importable(&[], None) else { return outcome };
    for pool in found {
        let options = ImportOptions { readonly: !writable, force: true, ..ImportOptions::default() };
        let pool = match engine.import(&pool.guid.to_string(), &options) {
            Ok(pool) => pool,
            Err(error) => {
                outcome.error("import", error);
                continue;
            }
        };
        outcome.imported = true;
        look(&*engine, &*pool, &mut outcome);
        if writable {
            let _ = pool.sync();
        } else if let Ok(below) = engine.pool_below(&pool.name()) {
            let options = pool::verify::Options { data: true };
            match pool::verify::verify(&below, options, &mut |_, _| {}) {
                Ok(report) => report.problems.iter().for_each(|problem| outcome.error("verify", problem)),
                Err(error) => outcome.error("verify", error),
            }
        }
        let _ = engine.export(&pool.name(), true);
    }
    outcome
}

/// Imports what is there, writes a little and exports it.
pub fn glance(disks: &Arc<ImageDisks>) -> Outcome {
    let mut outcome = Outcome::default();
    let options = Options { cache: CACHE, search: vec!["/d".into()], hostid: 7, ..Options::default() };
    let engine = LocalEngine::new(disks.env(), options);
    for pool in engine.importable(&[], None).unwrap_or_default() {
        let options = ImportOptions { force: true, ..ImportOptions::default() };
        match engine.import(&pool.guid.to_string(), &options) {
            Ok(pool) => {
                outcome.imported = true;
                let fs = pool.open_fs(&pool.name());
                outcome.written |= fs.and_then(|fs| write_a_little(&*fs)).and_then(|()| pool.sync()).is_ok();
                let _ = (pool.status(), engine.export(&pool.name(), true));
            }
            Err(error) => outcome.error("import", error),
        }
    }
    outcome
}

fn look(engine: &dyn Engine, pool: &dyn Pool, outcome: &mut Outcome) {
    let _ = (pool.status(), pool.properties(&[]), pool.history(true));
    let filter = DatasetFilter { kinds: vec![DatasetKind::Filesystem], ..DatasetFilter::default() };
    let datasets = match pool.datasets(&filter) {
        Ok(datasets) => datasets,
        Err(error) => return outcome.error("datasets", error),
    };
    let mut budget = Budget { nodes: NODES, bytes: BYTES };
    for dataset in datasets {
        let fs = match pool.open_fs(&dataset.name) {
            Ok(fs) => fs,
            Err(error) => {
                outcome.error(&dataset.name, error);
                continue;
            }
        };
        let _ = fs.statfs(fs.root());
        walk(&*fs, &mut budget, outcome);
        outcome.written |= write_a_little(&*fs).is_ok();
    }
    let _ = engine.served();
}

struct Budget {
    nodes: usize,
    bytes: u64,
}

/// Everything that can be read of a file system, within the budget.
fn walk(fs: &dyn FileSystem, budget: &mut Budget, outcome: &mut Outcome) {
    let cred = Cred::root();
    let mut dirs = vec![fs.root()];
    while let Some(dir) = dirs.pop() {
        let mut cookie = 0;
        loop {
            let limit = DirLimit { entries: 64, name_bytes: 1 << 16, with_attr: true };
            let page = match fs.readdir(&cred, dir, cookie, limit) {
                Ok(page) => page,
                Err(error) => {
                    outcome.error("readdir", error);
                    break;
                }
            };
            for entry in &page.entries {
                if budget.nodes == 0 {
                    return;
                }
                budget.nodes -= 1;
                outcome.files += 1;
                let attr = match fs.lookup(&cred, dir, &entry.name) {
                    Ok(attr) => attr,
                    Err(error) => {
                        outcome.error("lookup", error);
                        continue;
                    }
                };
                let _ = fs.listxattr(&cred, attr.node).map(|names| {
                    names.iter().take(8).for_each(|name| drop(fs.getxattr(&cred, attr.node, name)));
                });
                match attr.kind {
                    NodeKind::Dir => dirs.push(attr.node),
                    NodeKind::Symlink => drop(fs.readlink(&cred, attr.node)),
                    NodeKind::File => read_file(fs, attr.node, attr.size, budget, outcome),
                    _ => {}
                }
            }
            let Some(last) = page.entries.last().filter(|_| !page.eof) else { break };
            if last.cookie == cookie {
                break;
            }
            cookie = last.cookie;
        }
    }
}

fn read_file(
    fs: &dyn FileSystem,
    node: engine_api::NodeId,
    size: u64,
    budget: &mut Budget,
    outcome: &mut Outcome,
) {
    let cred = Cred::root();
    let _ = (fs.seek(&cred, node, 0, Seek::Hole), fs.seek(&cred, node, 0, Seek::Data));
    let mut offset = 0;
    while offset < size.min(1 << 20) && budget.bytes > 0 {
        match fs.read(&cred, node, offset, 128 << 10) {
            Ok(read) if read.is_empty() => break,
            Ok(read) => {
                offset += read.len() as u64;
                budget.bytes = budget.bytes.saturating_sub(read.len() as u64);
            }
            Err(error) => {
                outcome.error("read", error);
                break;
            }
        }
    }
    let _ = fs.read(&cred, node, size.saturating_sub(10), 100);
}

fn write_a_little(fs: &dyn FileSystem) -> engine_api::Result<()> {
    let (cred, root) = (Cred::root(), fs.root());
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    let file = fs.create(&cred, root, b"hostile", CreateMode::Unchecked, &attr)?.attr.node;
    fs.write(&cred, file, 0, &[7; 50_000], Stable::Unstable)?;
    let page = fs.readdir(&cred, root, 0, DirLimit { entries: 20, name_bytes: 4096, with_attr: true })?;
    for entry in page.entries {
        let _ = fs.write(&cred, entry.node, 3, b"changed", Stable::Unstable);
        let _ = fs.setattr(
            &cred,
            entry.node,
            &SetAttr { mode: Some(0o600), size: Some(5), ..SetAttr::default() },
        );
    }
    let _ = fs.remove(&cred, root, b"hostile");
    Ok(())
}

/// Cases of each kind; more where somebody wants them.
fn cases(usual: u64) -> std::ops::Range<u64> {
    let first = std::env::var("HOSTILE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let count = std::env::var("HOSTILE_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(usual);
    first..first + count
}

/// One of the pools OpenZFS made, by turns.
fn pools() -> Vec<(&'static str, Vec<Image>)> {
    ["single-default", "mirror2", "snapshots"].map(|name| (name, fixture(name))).into()
}

fn pick<'a>(pools: &'a [(&'static str, Vec<Image>)], seed: u64) -> (&'static str, &'a [Image]) {
    let (name, images) = &pools[(seed % pools.len() as u64) as usize];
    (name, images)
}

#[test]
fn whole_pools_come_through_unharmed() {
    let _alone = alone();
    for (name, images) in pools() {
        let outcome = case(name, images, true);
        assert!(
            outcome.imported && outcome.files > 5 && outcome.errors.is_empty() && outcome.written,
            "{name}: {outcome:?}"
        );
    }
}

/// Damage that checksums find: bytes and sectors anywhere, lost ends, lost labels.
#[test]
fn damaged_disks_give_data_or_errors() {
    let _alone = alone();
    let pools = pools();
    for seed in cases(24) {
        let (name, images) = pick(&pools, seed / 2);
        let mut prng = Prng::new(seed);
        let mut images = images.to_vec();
        for _ in 0..prng.range(1, 4) {
            let disk = prng.below(images.len() as u64) as usize;
            damage(&mut prng, &mut images[disk]);
        }
        let start = Instant::now();
        let what = format!("damage {seed} of {name}");
        let outcome = case(&what, images, seed % 2 == 0);
        note(&what, start, &outcome);
    }
}

/// Tells what a case came to, where somebody looks for seeds.
pub fn note(what: &str, start: Instant, outcome: &Outcome) {
    if std::env::var_os("HOSTILE_CASES").is_some() {
        eprintln!("{what}: {:?} {outcome:?}", start.elapsed());
    }
}

fn forges(pools: &[(&str, Vec<Image>)]) -> Vec<Forge> {
    pools.iter().map(|(_, images)| Forge::open(images).expect("a pool that can be walked")).collect()
}

fn damage(prng: &mut Prng, image: &mut Image) {
    let len = image.len() as u64;
    if len < 16 << 20 {
        return; // Cut short before.
    }
    // Most of a disk is empty; what matters lies at the ends and in the first megabytes.
    let place = |prng: &mut Prng| match prng.below(4) {
        0 => (1 << 20) + prng.below(512 << 10),
        1 => prng.below(len),
        2 => len - 1 - prng.below(9 << 20),
        _ => ((5 << 20) + prng.below(20 << 20)).min(len - 1),
    };
    match prng.below(8) {
        0 => image.truncate(place(prng) as usize),
        1 => {
            let from = place(prng) as usize & !511;
            let size = (512_usize << prng.below(14)).min(image.len() - from);
            image.write(from, &vec![0; size]);
        }
        2 => {
            let from = place(prng) as usize & !511;
            let mut noise = vec![0; (512_usize << prng.below(11)).min(image.len() - from)];
            prng.fill(&mut noise);
            image.write(from, &noise);
        }
        3 => {
            let size = 128 << 10;
            let (from, to) = (place(prng) as usize & !511, place(prng) as usize & !511);
            let piece = image.bytes(from.min(image.len() - size), size);
            image.write(to.min(image.len() - size), &piece);
        }
        _ => {
            for _ in 0..200 {
                let at = place(prng) as usize;
                let byte = image.bytes(at, 1)[0] ^ 1 << prng.below(8);
                image.write(at, &[byte]);
            }
        }
    }
}

/// Disks of one pool in the places, or the company, of another's.
#[test]
fn wrong_disks_and_mixed_pools_are_told_apart() {
    let _alone = alone();
    let (mirror, single) = (fixture("mirror2"), fixture("single-default"));
    let stripe = fixture("stripe-of-mirrors");
    case("swapped", mirror.iter().rev().cloned().collect(), true);
    case("the same disk twice", vec![mirror[0].clone(), mirror[0].clone()], true);
    case("one side", vec![mirror[1].clone()], true);
    let everything: Vec<Image> = mirror.iter().chain(&single).chain(&stripe).cloned().collect();
    let outcome = case("all pools at once", everything, true);
    assert!(outcome.imported && outcome.errors.is_empty(), "{outcome:?}");
    case("stripe without a mirror", stripe[2..].to_vec(), true);
    // One disk's labels in front of another's data.
    for (label_of, data_of) in [(&mirror[0], &single[0]), (&single[0], &stripe[0]), (&stripe[0], &stripe[2])]
    {
        let mut image = data_of.clone();
        image.write(1 << 20, &label_of.bytes(1 << 20, 512 << 10));
        let mut disks = vec![image];
        disks.extend(stripe[1..2].iter().cloned());
        case("foreign labels", disks, true);
    }
    case("nothing but zeros", vec![Image::new(vec![0; 64 << 20])], true);
    case("too small", vec![Image::new(vec![0xff; 300])], true);
    // A mirror whose sides went different ways.
    let mut sides = mirror.clone();
    let disks = ImageDisks::new(vec![mirror[0].clone()]);
    exercise(&disks, true);
    sides[0] = disks.images().remove(0);
    case("sides of different age", sides, true);
}

/// The block itself is hostile, and every checksum above it right.
#[test]
fn forged_blocks_with_good_checksums_give_data_or_errors() {
    let _alone = alone();
    let pools = pools();
    let (mut forged, mut felt) = (0, 0);
    let forges = forges(&pools);
    for seed in cases(40) {
        let (name, _) = pick(&pools, seed);
        let mut prng = Prng::new(0x1000 + seed);
        let mut forge = forges[seed as usize % forges.len()].clone();
        let mut what = format!("forged {seed} of {name}:");
        for _ in 0..prng.range(1, 3) {
            let Some(index) = choose(&mut prng, &forge) else { continue };
            let node = forge.nodes[index].clone();
            let Some(mut block) = forge.read(&node.bp) else { continue };
            mutate_in_place(&mut prng, &mut block);
            forged += usize::from(forge.replace(index, &block));
            what += &format!(
                " {}/{} {:?} level {}",
                node.dataset,
                node.object,
                node.bp.object_type(),
                node.bp.level()
            );
        }
        let start = Instant::now();
        let outcome = case(&what, forge.images(), true);
        felt += u32::from(!outcome.errors.is_empty());
        note(&what, start, &outcome);
    }
    assert!(forged > 0 && felt > 0, "{forged} blocks forged, {felt} cases felt");
}

/// A block that can be replaced and means something, each kind as likely as any other.
fn choose(prng: &mut Prng, forge: &Forge) -> Option<usize> {
    let mut kinds: BTreeMap<(u8, bool), Vec<usize>> = BTreeMap::new();
    for (index, node) in forge.nodes.iter().enumerate() {
        if !node.is_data() && !node.bp.is_embedded() {
            kinds.entry((node.bp.object_type().0, node.dataset == 0)).or_default().push(index);
        }
    }
    let kinds: Vec<Vec<usize>> = kinds.into_values().collect();
    prng.pick(&kinds).and_then(|kind| prng.pick(kind)).copied()
}

/// Pointers that lead elsewhere: to another object's block, to their own ancestors, out of the
/// vdev, nowhere.
#[test]
fn forged_pointers_give_data_or_errors() {
    let _alone = alone();
    let pools = pools();
    let forges = forges(&pools);
    let mut felt = 0;
    for seed in cases(30) {
        let (name, _) = pick(&pools, seed);
        let mut prng = Prng::new(0x2000 + seed);
        let mut forge = forges[seed as usize % forges.len()].clone();
        let Some(index) = choose(&mut prng, &forge) else { continue };
        let (old, other) = (forge.nodes[index].clone(), prng.pick(&forge.nodes).expect("nodes").clone());
        let bp = bend(&mut prng, &old.bp, &other.bp);
        let what =
            format!("pointer {seed} of {name}: {}/{} {:?} becomes {bp:?}", old.dataset, old.object, old.bp);
        if forge.point(index, bp) {
            let start = Instant::now();
            let outcome = case(&what, forge.images(), true);
            felt += u32::from(!outcome.errors.is_empty());
            note(&what, start, &outcome);
        }
    }
    assert!(felt > 0);
}

fn bend(prng: &mut Prng, bp: &BlkPtr, other: &BlkPtr) -> BlkPtr {
    let mut bp = *bp;
    match prng.below(6) {
        0..=2 => bp = *other,
        3 => {
            let mut dva = bp.first_dva();
            dva.offset = dva.offset.wrapping_add(1 << prng.range(9, 62));
            dva.vdev ^= prng.below(2) as u32;
            bp.set_dva(0, dva);
        }
        4 => {
            // Right where it is, wrong in what it says it is. Its level is in the low bits here.
            let mut bytes = bp.encode();
            bytes[55] = (bytes[55] & 0xe0) | prng.below(8) as u8;
            bp = BlkPtr::decode(&bytes, ondisk::Endian::Little).unwrap_or(bp);
            bp.set_birth(prng.below(1 << 40), prng.below(1 << 40));
        }
        _ => {
            let mut bytes = bp.encode();
            mutate_in_place(prng, &mut bytes);
            bp = BlkPtr::decode(&bytes, ondisk::Endian::Little).unwrap_or(bp);
        }
    }
    bp
}

/// A defect that panics in one pool's sync ends that pool alone: its clients get errors, the others
/// go on.
#[test]
fn a_panic_in_one_pool_stays_there() {
    let _alone = alone();
    let mut images = fixture("single-default");
    images.extend(fixture("mirror2"));
    let disks = ImageDisks::new(images);
    let options = Options { cache: CACHE, search: vec!["/d".into()], ..Options::default() };
    let engine = LocalEngine::new(disks.env(), options);
    let import = ImportOptions { force: true, ..ImportOptions::default() };
    let names: Vec<String> =
        engine.importable(&[], None).expect("two pools").iter().map(|pool| pool.name.clone()).collect();
    assert_eq!(names.len(), 2);
    for name in &names {
        engine.import(name, &import).expect("a whole pool");
    }
    let (bad, good) = names.iter().partition::<Vec<&String>, _>(|name| name.contains("single"));
    let (bad, good) = (engine.pool(bad[0]).expect("imported"), engine.pool(good[0]).expect("imported"));
    let (bad_fs, good_fs) =
        (bad.open_fs(&bad.name()).expect("its root"), good.open_fs(&good.name()).expect("its root"));
    let _ = write_a_little(&*bad_fs);
    disks.panic_on_write("/d/0");
    assert!(bad.sync().is_err(), "the sync has panicked");
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| write_a_little(&*bad_fs)));
    assert!(!matches!(again, Ok(Ok(()))), "nothing is accepted any more");
    // It is told: by the status, which lists the other pool too, and by an event. Whoever waited
    // for the group hears first.
    let begun = Instant::now();
    let defect =
        |condition: Condition| matches!(condition, Condition::Suspended { cause: SuspendCause::Fault, .. });
    while !bad.status().condition.is_some_and(defect) {
        assert!(begun.elapsed() < PATIENCE, "{:?}", bad.status().condition);
        std::thread::sleep(Duration::from_millis(10));
    }
    let health: Vec<Health> = engine.pools().iter().map(|pool| pool.status().health).collect();
    assert!(health.contains(&Health::Suspended) && health.contains(&Health::Online), "{health:?}");
    let told = engine.diagnostics().zevents(0, 0);
    let fault = told.iter().find(|event| event.class == "ereport.fs.zfs.io_failure").expect("an event");
    assert!(format!("{fault:?}").contains("cistern_fault"), "{fault:?}");
    write_a_little(&*good_fs).expect("the other pool takes writes");
    good.sync().expect("and makes them durable");
    assert!(
        engine
            .served()
            .iter()
            .all(|served| served.id.pool_guid == good.guid() || served.id.pool_guid == bad.guid())
    );
    drop(bad_fs);
    assert!(engine.export(&bad.name(), true).is_err(), "what was lost is said");
    drop(good_fs);
    engine.export(&good.name(), true).expect("the other pool leaves in order");
    assert!(engine.pools().is_empty());
}
