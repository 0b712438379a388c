//! Corrective receive: what no disk has any more of a snapshot comes back from its stream, and
//! nothing else does.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, Engine, FileSystem, ImportOptions, Pool, ReceiveEvent, ReceiveRequest,
    SendRequest, SetAttr, Stable,
};
use env::Env;
use model::{Compare, Tree, dump};
use stdx::prng::Prng;

use crate::disks::{Dir, new_pool, prop, zdb, zdb_is_content};

const ROOT: Cred = Cred::root();
/// Where a vdev's space begins on its disk.
const START: u64 = 4 << 20;
const FILE: usize = 300_000;

/// Of every second block of files and volumes in a snapshot, one byte of each copy. Nobody has the
/// pool open.
fn hurt(dir: &Path, snapshot: &str) -> usize {
    let text = zdb(dir.to_str().unwrap(), snapshot, "-dddddd");
    let (mut is_data, mut blocks) = (false, Vec::new());
    for line in text.lines() {
        if line.trim_start().starts_with("Object  lvl") {
            is_data = false;
        }
        is_data |= line.contains("ZFS plain file") || line.contains("zvol object");
        if is_data && line.contains(" L0 ") {
            blocks.push(line.split_whitespace().filter_map(place).collect::<Vec<_>>());
        }
    }
    for (vdev, offset) in blocks.iter().step_by(2).flatten() {
        let disk = dir.join(format!("disk{vdev}"));
        let disk = std::fs::OpenOptions::new().read(true).write(true).open(disk).unwrap();
        let mut byte = [0];
        disk.read_exact_at(&mut byte, START + offset + 10).unwrap();
        disk.write_all_at(&[!byte[0]], START + offset + 10).unwrap();
    }
    blocks.len().div_ceil(2)
}

/// `0:1a000:2000`
fn place(word: &str) -> Option<(u64, u64)> {
    let mut parts = word.split(':').map(|part| u64::from_str_radix(part, 16));
    match (parts.next()?, parts.next()?, parts.next()?, parts.next()) {
        (Ok(vdev), Ok(offset), Ok(_), None) => Some((vdev, offset)),
        _ => None,
    }
}

fn import(engine: &LocalEngine, dir: &Path) -> Arc<dyn Pool> {
    let search = vec![dir.to_str().unwrap().to_owned()];
    engine.import("ours", &ImportOptions { search, ..ImportOptions::default() }).unwrap()
}

fn snapshot(pool: &dyn Pool, name: &str) {
    pool.commit(&Change::Snapshot { names: vec![name.into()], recursive: false, props: vec![] }, "").unwrap();
}

fn send(pool: &dyn Pool, request: SendRequest) -> Vec<u8> {
    let mut stream = Vec::new();
    pool.send(&request, &mut stream, &mut |_| {}).unwrap();
    stream
}

fn full(snapshot: &str) -> SendRequest {
    SendRequest { snapshot: snapshot.into(), ..SendRequest::default() }
}

fn healing(snapshot: &str) -> ReceiveRequest {
    ReceiveRequest { target: snapshot.into(), heal: true, ..ReceiveRequest::default() }
}

fn receive(pool: &dyn Pool, request: &ReceiveRequest, mut stream: &[u8]) -> Result<(), String> {
    pool.receive(request, &mut stream, &mut |_| {}).map(drop).map_err(|error| error.to_string())
}

/// Half noise, half a pattern; other files for each seed.
fn write(fs: &dyn FileSystem, name: &[u8], seed: u64) {
    let mut data = vec![b'.'; FILE];
    let mut random = Prng::new(seed);
    data.chunks_mut(512).step_by(2).for_each(|part| random.fill(part));
    let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
    let file = fs.create(&ROOT, fs.root(), name, CreateMode::Unchecked, &attr).unwrap().attr.node;
    fs.write(&ROOT, file, 0, &data, Stable::Unstable).unwrap();
}

#[track_caller]
fn is_whole(pool: &dyn Pool, name: &str, tree: &Tree) {
    let found = dump(&*pool.open_fs(name).unwrap()).unwrap();
    let differences = tree.differences(&found, Compare { times: true });
    assert!(differences.is_empty(), "{name}: {differences:#?}");
}

#[test]
fn what_is_lost_comes_back_from_a_stream() {
    let dir = Dir::new("heal");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let mut sets = Vec::new();
    for (seed, (compression, copies, compress)) in
        [("off", "1", false), ("lz4", "2", true), ("zstd-7", "1", false), ("gzip-6", "1", false)]
            .iter()
            .enumerate()
    {
        let name = format!("ours/{compression}");
        let props = vec![
            prop("compression", compression),
            prop("copies", copies),
            prop("recordsize", "32K"),
            prop("atime", "off"),
        ];
        pool.commit(&Change::CreateFilesystem { name: name.clone(), parents: false, props }, "").unwrap();
        let fs = pool.open_fs(&name).unwrap();
        write(&*fs, b"file", seed as u64);
        snapshot(&*pool, &format!("{name}@s"));
        let stream = send(&*pool, SendRequest { compress: *compress, ..full(&format!("{name}@s")) });
        sets.push((name, dump(&*fs).unwrap(), stream));
    }
    // With which level blocks were compressed is not known any more.
    let other = vec![prop("compression", "lz4")];
    pool.commit(&Change::SetProperties { name: "ours/zstd-7".into(), props: other }, "").unwrap();
    drop(pool);
    engine.export("ours", false).unwrap();
    for (name, ..) in &sets {
        assert_eq!(hurt(&dir.0, &format!("{name}@s")), 5, "{name}");
    }

    let pool = import(&engine, &dir.0);
    for (name, tree, stream) in &sets {
        let at = format!("{name}@s");
        assert!(dump(&*pool.open_fs(&at).unwrap()).is_err(), "{name} can be read");
        receive(&*pool, &healing(&at), stream).unwrap();
        is_whole(&*pool, &at, tree);
        is_whole(&*pool, name, tree);
        // Once more there is nothing to do.
        receive(&*pool, &healing(&at), stream).unwrap();
    }
    pool.sync().unwrap();
    assert_eq!(pool.status().data_errors, 0, "what is healed is no error any more");
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

#[test]
fn incremental_streams_and_streams_of_volumes_heal() {
    let dir = Dir::new("heal-more");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let create = Change::CreateFilesystem { name: "ours/fs".into(), parents: false, props: vec![] };
    pool.commit(&create, "").unwrap();
    let props = vec![prop("volsize", "1M"), prop("volblocksize", "8K"), prop("compression", "off")];
    let create = Change::CreateVolume { name: "ours/vol".into(), parents: false, sparse: true, props };
    pool.commit(&create, "").unwrap();
    let fs = pool.open_fs("ours/fs").unwrap();
    snapshot(&*pool, "ours/fs@s");
    write(&*fs, b"later", 9);
    let volume = pool.open_volume("ours/vol").unwrap();
    volume.write(0, &[7; 100_000], Stable::DataSync).unwrap();
    snapshot(&*pool, "ours/fs@t");
    snapshot(&*pool, "ours/vol@t");
    let tree = dump(&*fs).unwrap();
    let next = send(&*pool, SendRequest { from: Some("ours/fs@s".into()), ..full("ours/fs@t") });
    let of_volume = send(&*pool, full("ours/vol@t"));
    drop((fs, volume, pool));
    engine.export("ours", false).unwrap();
    assert!(hurt(&dir.0, "ours/fs@t") > 0 && hurt(&dir.0, "ours/vol@t") > 0);

    let pool = import(&engine, &dir.0);
    let mut told = Vec::new();
    let request = ReceiveRequest { verbose: true, ..healing("ours/fs@t") };
    let mut tell = |event| {
        if let ReceiveEvent::Line(line) = event {
            told.push(line);
        }
    };
    pool.receive(&request, &mut &next[..], &mut tell).unwrap();
    assert_eq!(told, ["receiving corrective incremental stream of ours/fs@t into ours/fs@t"]);
    is_whole(&*pool, "ours/fs@t", &tree);
    let volume = pool.open_volume("ours/vol").unwrap();
    assert!(volume.read(0, 100_000).is_err());
    receive(&*pool, &healing("ours/vol@t"), &of_volume).unwrap();
    assert_eq!(volume.read(0, 100_000).unwrap().to_vec(), [7; 100_000]);
    drop((volume, pool));
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

/// In libzfs's words; and what was lost stays lost rather than becoming something else.
#[test]
fn what_does_not_heal_is_refused() {
    let dir = Dir::new("heal-not");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let props = vec![prop("recordsize", "256K"), prop("compression", "off")];
    pool.commit(&Change::CreateFilesystem { name: "ours/fs".into(), parents: false, props }, "").unwrap();
    let fs = pool.open_fs("ours/fs").unwrap();
    write(&*fs, b"file", 1);
    snapshot(&*pool, "ours/fs@s");
    let cut_up = send(&*pool, full("ours/fs@s"));
    let stream = send(&*pool, SendRequest { large_blocks: true, ..full("ours/fs@s") });
    snapshot(&*pool, "ours/fs@t");
    let tree = dump(&*fs).unwrap();
    drop((fs, pool));
    engine.export("ours", false).unwrap();
    hurt(&dir.0, "ours/fs@s");

    let pool = import(&engine, &dir.0);
    let refused = |request: &ReceiveRequest, stream: &[u8]| {
        let why = receive(&*pool, request, stream).unwrap_err();
        why.strip_prefix("cannot receive new filesystem stream: ").map(str::to_owned).unwrap_or(why)
    };
    const ALONE: &str = "corrective recv can not be used when combined with this flag";
    assert_eq!(refused(&ReceiveRequest { force: true, ..healing("ours/fs@s") }, &stream), ALONE);
    assert_eq!(refused(&ReceiveRequest { resumable: true, ..healing("ours/fs@s") }, &stream), ALONE);
    const NONE: &str = "corrective recv must specify an existing snapshot to heal";
    assert_eq!(refused(&healing("ours/none@s"), &stream), NONE);
    const OTHER: &str = "local snapshot doesn't match the snapshot in the provided stream";
    assert_eq!(refused(&healing("ours/fs@t"), &stream), OTHER);
    const UNLIKE: &str = "stream is not compatible with the data in the pool.";
    assert_eq!(refused(&healing("ours/fs@s"), &cut_up), UNLIKE);
    const LACKS: &str = "corrective receive was not able to reconstruct the data needed for healing.";
    assert_eq!(refused(&healing("ours/fs@s"), &stream[..stream.len() / 4]), LACKS);
    receive(&*pool, &ReceiveRequest { dry_run: true, ..healing("ours/fs@s") }, &stream).unwrap();
    assert!(dump(&*pool.open_fs("ours/fs@s").unwrap()).is_err(), "it was healed");
    receive(&*pool, &healing("ours/fs@s"), &stream).unwrap();
    is_whole(&*pool, "ours/fs@s", &tree);
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}
