//! A log with a record that cannot be done again: what is before it counts, nothing behind it is
//! guessed, and the file system is read-only with its log kept, until an operator gives that up.
//! And one that looks so, but for want of room.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use dmu::Holds;
use engine::facade::{LocalEngine, Options};
use engine_api::{
    Change, Condition, CreateMode, Cred, Engine, Error, FileSystem, ImportOptions, Pool, PoolSpec,
    PropertyChange, SetAttr, Stable, VdevSpec,
};
use env::{Env, MemDisks, lock};
use ondisk::zil::record::{LoggedNode, LrCreate, Record};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::disks::{Dir, zdb_is_content};

const ROOT: Cred = Cred::root();
const DISK: &str = "/disks/a";

/// Keeps the words of errors, fields and all.
#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<String>>>);

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!("{field}={value:?} ");
    }
}

impl Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut words = Words(String::new());
        event.record(&mut words);
        lock(&self.0).push(words.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn machine(image: Option<Vec<u8>>) -> (Arc<MemDisks>, Arc<LocalEngine>) {
    let disks = Arc::new(MemDisks::new());
    match image {
        Some(image) => disks.add_image(DISK, image),
        None => disks.add(DISK, 128 << 20),
    }
    let options = Options { search: vec!["/disks".into()], ..Options::default() };
    (disks.clone(), LocalEngine::new(Env { disks, ..Env::real() }, options))
}

fn create(engine: &LocalEngine) -> Arc<dyn Pool> {
    let vdevs = vec![VdevSpec::Leaf(DISK.into())];
    let props = vec![PropertyChange { name: "ashift".into(), value: "12".into() }];
    let mountpoint = Some("none".into());
    engine.create(&PoolSpec { name: "tank".into(), vdevs, props, mountpoint, ..PoolSpec::default() }).unwrap()
}

/// Leaves a good record, one that leads into a directory which never was, and another good one.
fn leave_log(engine: &LocalEngine, fs: &dyn FileSystem) {
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    let file = fs.create(&ROOT, fs.root(), b"file", CreateMode::Guarded, &attr).unwrap().attr.node;
    // The first commit starts the chain.
    fs.write(&ROOT, file, 0, b"in its group, ", Stable::FileSync).unwrap();
    fs.write(&ROOT, file, 14, b"before, ", Stable::FileSync).unwrap();
    let below = engine.pool_below("tank").unwrap();
    let dataset = below.dsl.open_dataset("tank").unwrap();
    let node = LoggedNode { object: 1000, slots: 1, mode: 0o100_644, ..LoggedNode::default() };
    let nowhere = LrCreate { dir: 999, node, name: b"nowhere", ..LrCreate::default() };
    let tx = dataset.objset().begin(Holds::new(0, 1)).unwrap();
    dataset.zil().unwrap().log(&tx, Record::Create(nowhere).encode(), None);
    drop(tx);
    fs.write(&ROOT, file, 22, b"behind", Stable::FileSync).unwrap();
    assert_eq!(below.core().zil_stats.fell_back.get(), 1, "all but the first is in the log");
}

/// What `zpool clear` does: the records behind the one that cannot be done again are lost, and the
/// file system is written.
fn give_up(pool: &dyn Pool) {
    pool.commit(&Change::ClearErrors { guid: None }, "zpool clear tank").unwrap();
    assert_eq!(pool.status().condition, None);
    let fs = pool.open_fs("tank").unwrap();
    let file = fs.lookup(&ROOT, fs.root(), b"file").unwrap().node;
    assert_eq!(fs.read(&ROOT, file, 0, 100).unwrap().to_vec(), b"in its group, before, ");
    fs.write(&ROOT, file, 22, b"anew", Stable::FileSync).unwrap();
    assert_eq!(fs.read(&ROOT, file, 0, 100).unwrap().to_vec(), b"in its group, before, anew");
}

#[test]
fn a_record_that_cannot_be_done_again_makes_a_file_system_read_only() {
    let (disks, engine) = machine(None);
    let fs = create(&engine).open_fs("tank").unwrap();
    leave_log(&engine, &*fs);
    let mut left = disks.image(DISK);

    for turn in 1..=2 {
        let (disks, engine) = machine(Some(left));
        let options = ImportOptions { force: true, ..ImportOptions::default() };
        let pool = engine.import("tank", &options).unwrap();
        let errors = Errors::default();
        let fs = tracing::subscriber::with_default(errors.clone(), || pool.open_fs("tank")).unwrap();
        let said = lock(&errors.0).join("\n");
        let wanted = ["cannot be replayed", "read-only", "log is kept", "name=\"tank\"", "of type 1: "];
        assert!(wanted.iter().all(|word| said.contains(word)), "turn {turn}: {said}");
        let file = fs.lookup(&ROOT, fs.root(), b"file").unwrap().node;
        assert_eq!(fs.read(&ROOT, file, 0, 100).unwrap().to_vec(), b"in its group, before, ", "turn {turn}");
        let written = fs.write(&ROOT, file, 0, b"x", Stable::Unstable).map(drop);
        assert_eq!(written, Err(Error::ReadOnly), "turn {turn}");
        let dataset = engine.pool_below("tank").unwrap().dsl.open_dataset("tank").unwrap();
        assert!(dataset.zil().unwrap().needs_replay(), "turn {turn}: its log is kept");
        // Others need not care.
        let name = format!("tank/other{turn}");
        let other = Change::CreateFilesystem { name: name.clone(), parents: false, props: Vec::new() };
        pool.commit(&other, "").unwrap();
        let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
        let new = pool.open_fs(&name).unwrap();
        new.create(&ROOT, new.root(), b"new", CreateMode::Guarded, &attr).unwrap();
        let unreplayable = Condition::UnreplayableLogs { datasets: vec!["tank".into()] };
        assert_eq!(pool.status().condition, Some(unreplayable), "turn {turn}");
        drop((fs, new, dataset));
        if turn == 2 {
            give_up(&*pool);
        }
        drop(pool);
        engine.export("tank", false).unwrap();
        left = disks.image(DISK);
    }
    let dir = Dir::new("unreplayable");
    std::fs::write(dir.0.join("a"), left).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "tank");
}

/// A pool has room for an operation, so it has for doing that again. What is feared of records in
/// large blocks may not be more than was feared of the operation itself.
#[test]
fn what_a_pool_had_room_for_is_done_again() {
    let (disks, engine) = machine(None);
    let pool = create(&engine);
    let props = vec![PropertyChange { name: "recordsize".into(), value: "4M".into() }];
    pool.commit(&Change::CreateFilesystem { name: "tank/large".into(), parents: false, props }, "").unwrap();
    let fs = pool.open_fs("tank/large").unwrap();
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    let file = fs.create(&ROOT, fs.root(), b"file", CreateMode::Guarded, &attr).unwrap().attr.node;
    let size = 5 << 20;
    fs.write(&ROOT, file, 0, &vec![7; size], Stable::FileSync).unwrap();
    let shorter = SetAttr { size: Some(size as u64 - 5000), ..SetAttr::default() };
    fs.write(&ROOT, file, 100, b"written", Stable::FileSync).unwrap();
    fs.setattr(&ROOT, file, &shorter).unwrap();
    fs.punch(&ROOT, file, 1000, 100).unwrap();
    fs.write(&ROOT, file, 200, b"again", Stable::FileSync).unwrap();
    let left = disks.image(DISK);

    let (_disks, engine) = machine(Some(left));
    let options = ImportOptions { force: true, ..ImportOptions::default() };
    let pool = engine.import("tank", &options).unwrap();
    let fs = pool.open_fs("tank/large").unwrap();
    let dataset = engine.pool_below("tank").unwrap().dsl.open_dataset("tank/large").unwrap();
    assert!(!dataset.zil().unwrap().needs_replay());
    let file = fs.lookup(&ROOT, fs.root(), b"file").unwrap();
    let mut wanted = vec![7; size - 5000];
    wanted[100..107].copy_from_slice(b"written");
    wanted[1000..1100].fill(0);
    wanted[200..205].copy_from_slice(b"again");
    assert_eq!(file.size, wanted.len() as u64);
    let found = fs.read(&ROOT, file.node, 0, size).unwrap().to_vec();
    assert!(found == wanted, "the file differs at {:?}", found.iter().zip(&wanted).position(|(a, b)| a != b));
    fs.write(&ROOT, file.node, 0, b"x", Stable::FileSync).unwrap();
}
