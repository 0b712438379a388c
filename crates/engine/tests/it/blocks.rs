//! Blocks of all sizes and with all checksums: written, read, sent and received as they are, and
//! judged by zdb.

use engine::{LocalEngine, Options};
use engine_api::{
    Change, CreateMode, Cred, Engine, ImportOptions, ReceiveRequest, SendRequest, SetAttr, Stable,
};
use env::Env;
use model::{Compare, dump};
use stdx::prng::Prng;

use crate::disks::{Dir, new_pool, prop, zdb, zdb_is_content};

const ROOT: Cred = Cred::root();
const PIECE: usize = 1 << 20;

#[test]
fn records_of_sixteen_megabytes() {
    let dir = Dir::new("large-records");
    let place = dir.0.to_str().unwrap();
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let props = vec![prop("recordsize", "16M"), prop("compression", "lz4")];
    pool.commit(&Change::CreateFilesystem { name: "ours/large".into(), parents: false, props }, "").unwrap();
    let fs = pool.open_fs("ours/large").unwrap();
    let attr = SetAttr { mode: Some(0o600), ..SetAttr::default() };
    let make = |name: &[u8]| fs.create(&ROOT, fs.root(), name, CreateMode::Guarded, &attr).unwrap().attr.node;
    let mut random = Prng::new(4);
    let mut piece = vec![0; PIECE];
    // Two records and a bit, as clients write them; half of each piece is zeros.
    let (whole, small, holes) = (make(b"whole"), make(b"small"), make(b"holes"));
    for at in 0..35 {
        random.fill(&mut piece[..PIECE / 2]);
        fs.write(&ROOT, whole, at * PIECE as u64, &piece, Stable::Unstable).unwrap();
    }
    fs.sync().unwrap();
    random.fill(&mut piece);
    fs.write(&ROOT, whole, (16 << 20) - 700, &piece[..5000], Stable::FileSync).unwrap();
    fs.write(&ROOT, small, 0, &piece[..70_001], Stable::FileSync).unwrap();
    fs.write(&ROOT, holes, 100 << 20, &piece[..10], Stable::Unstable).unwrap();
    fs.sync().unwrap();
    let tree = dump(&*fs).unwrap();
    drop(fs);
    pool.commit(
        &Change::Snapshot { names: vec!["ours/large@s".into()], recursive: false, props: vec![] },
        "",
    )
    .unwrap();
    let plain = SendRequest { snapshot: "ours/large@s".into(), ..SendRequest::default() };
    let large = SendRequest { large_blocks: true, compress: true, ..plain.clone() };
    for (request, target) in [(plain, "ours/cut"), (large, "ours/same")] {
        let mut stream = Vec::new();
        pool.send(&request, &mut stream, &mut |_| {}).unwrap();
        let request = ReceiveRequest { target: target.into(), ..ReceiveRequest::default() };
        pool.receive(&request, &mut stream.as_slice(), &mut |_| {}).unwrap();
        let differences =
            tree.differences(&dump(&*pool.open_fs(target).unwrap()).unwrap(), Compare { times: true });
        assert!(differences.is_empty(), "{target}: {differences:#?}");
    }
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_is_content(place, "ours");
    for (name, has) in [("ours/large", true), ("ours/same", true), ("ours/cut", false)] {
        assert_eq!(zdb(place, name, "-dddd").contains("  16M  "), has, "{name}");
    }
    let pool = engine
        .import("ours", &ImportOptions { search: vec![place.into()], ..ImportOptions::default() })
        .unwrap();
    let differences =
        tree.differences(&dump(&*pool.open_fs("ours/large").unwrap()).unwrap(), Compare { times: true });
    assert!(differences.is_empty(), "after import: {differences:#?}");
}
