//! The intent log on image files: what it promises after a crash, and what zdb says of it. A crash
//! is a copy of the images while the pool is in use.

mod log_change;
mod log_vdev;

use std::process::Command;
use std::sync::{Arc, Mutex};

use api_types::{DatasetFilter, ScanCommand, VdevSpec};
use dmu::{DmuError, Holds, ObjectSpec};
use ondisk::object_type::ObjectType;
use ondisk::zil::record::{LrTruncate, Record, Written};
use pool::Pool;
use pool::change::Change;
use pool::dsl::LongHold;
use pool::spa::create::create;
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options as VerifyOptions, verify};
use pool::zil::{IMMEDIATE_SIZE, LogData, LoggedRecord, LoggedWrite, Replay, SyncMode};

use crate::create::spec;
use crate::support::{Dir, around, crash, cut_partitions, fixture, zdb_accepts};

const SIZE: u64 = 256 << 20;

fn fresh(dir: &Dir) -> Arc<Pool> {
    let leaf = dir.image("disk0", SIZE);
    create(&around(), &spec("tank", vec![VdevSpec::Leaf(leaf)])).unwrap()
}

fn import_all(dir: &Dir) -> Arc<Pool> {
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap()
}

fn logged(object: u64, offset: u64, data: &[u8], copied: bool) -> LoggedWrite<'_> {
    let (len, data) = (data.len() as u64, copied.then_some(data));
    LoggedWrite {
        object,
        generation: 1,
        offset,
        len,
        block_size: 16 << 10,
        is_large: len >= IMMEDIATE_SIZE,
        data,
    }
}

/// A file in a dataset, written and logged as a file system would.
struct File {
    dataset: LongHold,
    object: u64,
}

impl File {
    fn new(dataset: &LongHold) -> File {
        let objset = dataset.objset();
        let tx = objset.begin(Holds::new(0, 4)).unwrap();
        let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(16 << 10);
        let object = objset.alloc(spec, &tx).unwrap().object();
        drop(tx);
        File { dataset: dataset.clone(), object }
    }

    /// Writes, and logs it with a copy of the bytes if wanted.
    fn write(&self, offset: u64, data: &[u8], copied: bool) -> u64 {
        let objset = self.dataset.objset();
        let tx = objset.begin(Holds::new(1 << 20, 4)).unwrap();
        objset.hold(self.object).unwrap().write(offset, data, &tx).unwrap();
        self.dataset.zil().unwrap().log_write(&tx, &logged(self.object, offset, data, copied));
        tx.txg()
    }

    fn commit(&self) {
        self.dataset.zil().unwrap().commit(Some(self.object)).unwrap();
    }
}

/// A file of a dataset whose first commit has begun the chain, in a group that is durable.
fn file(pool: &Pool, name: &str) -> File {
    let file = File::new(&dataset(pool, name));
    file.write(0, b"start", true);
    file.commit();
    pool.core().txgs.sync_empty().unwrap();
    file
}

struct Reader(LongHold);

impl Reader {
    /// Gives a log the bytes of its writes, as long as it lives.
    fn attach(dataset: &LongHold) -> Arc<dyn LogData> {
        let reader: Arc<dyn LogData> = Arc::new(Reader(dataset.clone()));
        dataset.zil().unwrap().attach(Arc::downgrade(&reader));
        reader
    }
}

impl LogData for Reader {
    fn read(&self, object: u64, _: u64, offset: u64, len: u64) -> Result<Option<Vec<u8>>, DmuError> {
        Ok(Some(self.0.objset().hold(object)?.read_bytes(offset, len as usize)?))
    }
}

/// Collects what a log says, and does it again.
#[derive(Default)]
struct Again {
    writes: Mutex<Vec<(u64, u64, Vec<u8>)>>,
    others: Mutex<Vec<u64>>,
}

impl Again {
    fn run(&self, dataset: &LongHold) -> u64 {
        let apply = Apply { again: self, dataset };
        dataset.zil().unwrap().replay(&apply).unwrap()
    }
}

struct Apply<'a> {
    again: &'a Again,
    dataset: &'a LongHold,
}

impl Replay for Apply<'_> {
    fn replay(&self, record: &LoggedRecord<'_>) -> Result<(), DmuError> {
        let decoded = Record::decode(&record.head, record.bytes, record.endian).unwrap();
        let Record::Write(write, bytes) = decoded else {
            self.again.others.lock().unwrap().push(record.head.txtype);
            return Ok(());
        };
        let (offset, data) = match bytes {
            Written::Here(data) => (write.offset, data[..write.length as usize].to_vec()),
            Written::Block { .. } => {
                let data = record.data.clone().unwrap_or_default();
                (write.offset - write.offset % (data.len() as u64).max(1), data)
            }
            Written::Elsewhere => (write.offset, Vec::new()),
        };
        if let Ok(dnode) = self.dataset.objset().hold(write.object) {
            let tx = self.dataset.objset().begin(Holds::new(1 << 20, 4))?;
            dnode.write(offset, &data, &tx)?;
            self.dataset.zil().unwrap().log_write(&tx, &logged(write.object, offset, &data, false));
        }
        self.again.writes.lock().unwrap().push((write.object, write.offset, data));
        Ok(())
    }
}

fn dataset(pool: &Pool, name: &str) -> LongHold {
    pool.dsl.open_dataset(name).unwrap()
}

fn make(pool: &Pool, name: &str) {
    let change = Change::CreateFilesystem { name: name.into(), parents: false, props: Vec::new() };
    pool.dsl.commit(change, "").unwrap();
}

fn zdb_log(dir: &Dir, dataset: &str) -> String {
    let out = Command::new("zdb").args(["-e", "-p", &dir.path(), "-iiii", dataset]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Exports the pool, of which zdb has nothing to say.
fn leave(pool: &Pool, dir: &Dir) {
    let name = pool.name();
    pool.export().unwrap();
    zdb_accepts(dir, &name);
}

/// Once nobody writes it any more.
fn is_sound(pool: &Pool) {
    pool.wait_for_scan();
    let report = verify(pool, VerifyOptions { data: true }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn what_was_committed_is_in_the_log_before_its_group_is_durable() {
    let dir = Dir::new("zil-crash");
    let pool = fresh(&dir);
    let fs = dataset(&pool, "tank");
    let _reader = Reader::attach(&fs);
    let file = File::new(&fs);
    file.write(0, b"the first commit starts the chain", true);
    file.commit();
    let other = File::new(&fs);
    pool.core().txgs.sync_empty().unwrap();
    other.write(0, b"nobody commits this", true);
    let copied = file.write(0, b"copied when it was written", true);
    file.write(100_000, &[7; 30_000], false);
    file.write(130_000, &[7; 20_000], false);
    file.commit();
    assert!(pool.core().txgs.synced() < copied, "the log was quicker than the group");
    let after = crash(&dir, "zil-crash-after");
    zdb_accepts(&after, "tank");
    let shown = zdb_log(&after, "tank");
    assert!(shown.contains("TX_WRITE") && !shown.contains("nobody"), "{shown}");
    leave(&pool, &dir);

    let again = Again::default();
    let pool = import_all(&after);
    is_sound(&pool);
    let fs = dataset(&pool, "tank");
    assert!(fs.zil().unwrap().needs_replay());
    let done = again.run(&fs);
    let writes = again.writes.lock().unwrap();
    assert_eq!(done as usize, writes.len());
    assert_eq!(writes[0], (file.object, 0, b"copied when it was written".to_vec()));
    let rest: u64 = writes[1..].iter().map(|(_, _, data)| data.len() as u64).sum();
    assert_eq!(rest, 50_000);
    assert!(writes[1..].iter().all(|(object, at, data)| {
        *object == file.object && *at >= 100_000 && data.iter().all(|byte| *byte == 7)
    }));
    let bytes = fs.objset().hold(file.object).unwrap().read_bytes(149_999, 2).unwrap();
    assert_eq!(bytes[0], 7);
    is_sound(&pool);
    drop((fs, writes));
    leave(&pool, &after);
}

#[test]
fn many_writers_share_blocks_and_lose_nothing() {
    const THREADS: usize = 8;
    const EACH: u64 = 40;
    let dir = Dir::new("zil-many");
    let pool = fresh(&dir);
    make(&pool, "tank/a");
    let sets = [dataset(&pool, "tank"), dataset(&pool, "tank/a")];
    sets.iter().for_each(|fs| File::new(fs).commit());
    let files: Vec<File> = (0..THREADS).map(|n| File::new(&sets[n % 2])).collect();
    pool.core().txgs.sync_empty().unwrap();
    files.iter().for_each(|file| {
        file.write(1 << 20, b"x", true);
        file.commit();
    });
    pool.core().txgs.sync_empty().unwrap();
    let promised = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for file in &files {
            let promised = &promised;
            scope.spawn(move || {
                for n in 0..EACH {
                    let data = format!("{} {n}", file.object);
                    file.write(n * 64, data.as_bytes(), true);
                    file.commit();
                    promised.lock().unwrap().push((file.object, file.dataset.object(), n * 64, data));
                }
            });
        }
    });
    let after = crash(&dir, "zil-many-after");
    let stats = &pool.core().zil_stats;
    assert!(stats.blocks.get() < stats.commits.get(), "{} {}", stats.blocks.get(), stats.commits.get());
    drop(files);
    drop(sets);
    leave(&pool, &dir);

    let pool = import_all(&after);
    for name in ["tank", "tank/a"] {
        let fs = dataset(&pool, name);
        Again::default().run(&fs);
        for (object, set, at, data) in promised.lock().unwrap().iter().filter(|p| p.1 == fs.object()) {
            let bytes = fs.objset().hold(*object).unwrap().read_bytes(*at, data.len()).unwrap();
            assert_eq!(bytes, data.as_bytes(), "{set} {object} at {at}");
        }
    }
    is_sound(&pool);
    leave(&pool, &after);
}

#[test]
fn a_replay_that_is_cut_short_goes_on_where_it_was() {
    let dir = Dir::new("zil-cut");
    let pool = fresh(&dir);
    let file = file(&pool, "tank");
    for n in 0..20u64 {
        file.write(n * 512, &n.to_le_bytes(), true);
        file.commit();
    }
    let first = crash(&dir, "zil-cut-1");
    pool.export().unwrap();

    let pool = import_all(&first);
    let fs = dataset(&pool, "tank");
    let stop = StopAfter { left: Mutex::new(7), again: Again::default(), dataset: fs.clone() };
    assert!(fs.zil().unwrap().replay(&stop).is_err());
    pool.core().txgs.sync_empty().unwrap();
    let second = crash(&first, "zil-cut-2");
    leave(&pool, &first);

    let pool = import_all(&second);
    let fs = dataset(&pool, "tank");
    let again = Again::default();
    assert_eq!(again.run(&fs), 13, "seven were done");
    for n in 0..20u64 {
        assert_eq!(fs.objset().hold(file.object).unwrap().read_bytes(n * 512, 8).unwrap(), n.to_le_bytes());
    }
    drop(fs);
    leave(&pool, &second);
}

struct StopAfter {
    left: Mutex<u32>,
    again: Again,
    dataset: LongHold,
}

impl Replay for StopAfter {
    fn replay(&self, record: &LoggedRecord<'_>) -> Result<(), DmuError> {
        let mut left = self.left.lock().unwrap();
        *left = left.checked_sub(1).ok_or(DmuError::Io)?;
        Apply { again: &self.again, dataset: &self.dataset }.replay(record)
    }
}

#[test]
fn logs_of_real_pools_are_claimed_kept_and_replayed() {
    for name in ["dirty-zil", "dirty-zil-slog"] {
        let dir = Dir::new(&format!("zil-{name}"));
        fixture(&dir, name);
        cut_partitions(&dir);
        let pool = import_all(&dir);
        assert!(!pool.core().readonly, "{name}");
        is_sound(&pool);
        leave(&pool, &dir);

        let pool = import_all(&dir);
        let list = pool.dsl.list(&DatasetFilter::default()).unwrap();
        let mut records = 0;
        // Encrypted file systems stay closed; their logs are claimed, and wait for whoever has the
        // key.
        for listed in list {
            let fs = dataset(&pool, &listed.name);
            let again = Again::default();
            if fs.zil().is_some_and(|zil| zil.needs_replay()) {
                records += again.run(&fs);
            }
        }
        assert!(records > 100, "{name}: {records}");
        is_sound(&pool);
        leave(&pool, &dir);
    }
}

#[test]
fn sync_disabled_waits_for_nobody_and_says_so_afterwards() {
    let dir = Dir::new("zil-disabled");
    let pool = fresh(&dir);
    let fs = dataset(&pool, "tank");
    let zil = fs.zil().unwrap();
    zil.set_mode(SyncMode::Disabled);
    let file = File::new(&fs);
    let txg = file.write(0, b"whatever", true);
    file.commit();
    assert!(pool.core().txgs.synced() < txg);
    zil.set_mode(SyncMode::Standard);
    file.commit();
    assert!(pool.core().txgs.synced() >= txg, "there is no record of it");
    leave(&pool, &dir);
}

#[test]
fn a_change_of_names_goes_out_with_any_commit_and_a_destroyed_dataset_leaves_no_log() {
    let dir = Dir::new("zil-names");
    let pool = fresh(&dir);
    make(&pool, "tank/gone");
    let fs = dataset(&pool, "tank/gone");
    let file = file(&pool, "tank/gone");
    let tx = fs.objset().begin(Holds::new(0, 1)).unwrap();
    let truncate = LrTruncate { object: 99, offset: 0, length: 0 };
    fs.zil().unwrap().log(&tx, Record::Truncate(truncate).encode(), None);
    drop(tx);
    file.write(0, b"own", true);
    file.commit();
    let after = crash(&dir, "zil-names-after");
    drop((file, fs));
    pool.dsl.commit(Change::Destroy { names: vec!["tank/gone".into()], defer: false }, "").unwrap();
    pool.core().txgs.sync_empty().unwrap();
    is_sound(&pool);
    leave(&pool, &dir);

    let pool = import_all(&after);
    let fs = dataset(&pool, "tank/gone");
    let again = Again::default();
    again.run(&fs);
    assert_eq!(*again.others.lock().unwrap(), [ondisk::zil::record::TX_TRUNCATE]);
    drop(fs);
    leave(&pool, &after);
}

#[test]
fn large_writes_are_written_once_and_only_led_to() {
    let dir = Dir::new("zil-large");
    let pool = fresh(&dir);
    let fs = dataset(&pool, "tank");
    let reader = Reader::attach(&fs);
    let file = file(&pool, "tank");
    let mut expected: Vec<u8> = (0..200_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
    file.write(0, &expected, true);
    file.commit();
    let stats = &pool.core().zil_stats;
    assert!(stats.indirect_bytes.get() > 100_000, "{}", stats.indirect_bytes.get());
    for at in [10, 40_000, 40_500, 199_000] {
        expected[at..at + 500].fill(9);
        file.write(at as u64, &expected[at..at + 500], true);
    }
    file.commit();
    expected[100_000..150_000].fill(3);
    file.write(100_000, &expected[100_000..150_000], true);
    file.commit();
    let after = crash(&dir, "zil-large-after");
    zdb_accepts(&after, "tank");
    pool.core().txgs.sync_empty().unwrap();
    let now = fs.objset().hold(file.object).unwrap().read_bytes(0, expected.len()).unwrap();
    assert!(now == expected);
    drop(reader);
    is_sound(&pool);
    leave(&pool, &dir);

    let pool = import_all(&after);
    is_sound(&pool);
    let fs = dataset(&pool, "tank");
    Again::default().run(&fs);
    let now = fs.objset().hold(file.object).unwrap().read_bytes(0, expected.len()).unwrap();
    assert!(now == expected);
    is_sound(&pool);
    drop(fs);
    leave(&pool, &after);
}

/// A power failure may leave the end of a log on one disk only; when a group has claimed it, that
/// disk may go.
#[test]
fn what_is_claimed_is_on_all_disks() {
    let dir = Dir::new("zil-torn");
    let sides = ["disk0", "disk1"].map(|name| VdevSpec::Leaf(dir.image(name, SIZE)));
    let pool = create(&around(), &spec("tank", vec![VdevSpec::Mirror(sides.to_vec())])).unwrap();
    let fs = dataset(&pool, "tank");
    let _reader = Reader::attach(&fs);
    let file = file(&pool, "tank");
    let synced = pool.core().txgs.synced();
    let before = crash(&dir, "zil-torn-before");
    file.write(1000, b"in the log", true);
    file.write(1 << 20, &[7; 64 << 10], true);
    file.commit();
    let torn = crash(&dir, "zil-torn-after");
    assert!(pool.core().zil_stats.indirect_bytes.get() > 0 && pool.core().txgs.synced() == synced);
    std::fs::copy(before.image_path("disk0"), torn.image_path("disk0")).unwrap();
    leave(&pool, &dir);

    let pool = import_all(&torn);
    let claimed = crash(&torn, "zil-torn-claimed");
    pool.export().unwrap();
    std::fs::remove_file(claimed.image_path("disk1")).unwrap();
    drop(torn); // Its disk would be found where it was last.

    let pool = import_all(&claimed);
    let fs = dataset(&pool, "tank");
    assert!(Again::default().run(&fs) > 1);
    let read = |at, len| fs.objset().hold(file.object).unwrap().read_bytes(at, len).unwrap();
    assert!(read(1000, 10) == b"in the log" && read(1 << 20, 64 << 10) == [7; 64 << 10]);
    is_sound(&pool);
    pool.export().unwrap();
}

/// Of a commit that the power cut short, a block that records lead to may be torn. The claim ends
/// there, and what comes after it is free: nobody may look at it.
#[test]
fn records_that_were_not_claimed_lead_nowhere() {
    let dir = Dir::new("zil-unclaimed");
    let pool = fresh(&dir);
    let fs = dataset(&pool, "tank");
    let _reader = Reader::attach(&fs);
    let file = file(&pool, "tank");
    let mut random = stdx::prng::Prng::new(1);
    let parts = [0, 1, 2].map(|_| (0..64 << 10).map(|_| random.below(256) as u8).collect::<Vec<u8>>());
    let synced = pool.core().txgs.synced();
    for (at, part) in parts.iter().enumerate() {
        file.write((at as u64) << 20, part, true);
        file.commit();
    }
    let torn = crash(&dir, "zil-unclaimed-after");
    assert_eq!(pool.core().txgs.synced(), synced);
    leave(&pool, &dir);
    let path = torn.image_path("disk0");
    let mut image = std::fs::read(&path).unwrap();
    let sectors = image.chunks_exact_mut(512);
    let second = sectors.filter(|sector| **sector == parts[1][..512]).map(|sector| sector.fill(0));
    assert_eq!(second.count(), 1);
    std::fs::write(&path, image).unwrap();

    let pool = import_all(&torn);
    is_sound(&pool);
    pool.scan_command(ScanCommand::Scrub, "").unwrap();
    is_sound(&pool);
    assert_eq!((pool.scan_report().phys.errors, pool.error_count()), (0, 0));
    let fs = dataset(&pool, "tank");
    assert!(Again::default().run(&fs) > 0);
    let read = |at| fs.objset().hold(file.object).unwrap().read_bytes(at, 64 << 10).unwrap();
    assert!(read(0) == parts[0] && read(1 << 20) != parts[1] && read(2 << 20) != parts[2]);
    is_sound(&pool);
    drop(fs);
    leave(&pool, &torn);
}
