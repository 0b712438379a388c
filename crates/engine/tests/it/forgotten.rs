//! Datasets that go while somebody has them open, and whose numbers are given to others. Snapshots
//! may go with their last hold, or with their last clone, without anybody's asking for their end by
//! name.

use engine::{LocalEngine, Options};
use engine_api::{Change, CreateMode, Cred, Engine, Error, FileSystem, Pool, SetAttr, Stable};
use env::Env;

use crate::disks::{Dir, new_pool, prop, zdb_finds_no_leak};

const ROOT: Cred = Cred::root();

fn commit(pool: &dyn Pool, change: &Change) {
    pool.commit(change, "").unwrap_or_else(|error| panic!("{change:?}: {error}"));
}

fn destroy(pool: &dyn Pool, name: &str, defer: bool) {
    commit(pool, &Change::Destroy { names: vec![name.into()], defer });
}

fn write(fs: &dyn FileSystem, data: &[u8]) {
    let file = fs.create(&ROOT, fs.root(), b"file", CreateMode::Unchecked, &SetAttr::default()).unwrap();
    fs.write(&ROOT, file.attr.node, 0, data, Stable::Unstable).unwrap();
}

#[test]
fn a_number_given_again_leads_to_its_new_dataset() {
    let dir = Dir::new("forgotten");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let create = |name: &str| {
        let change = Change::CreateFilesystem { name: name.into(), parents: false, props: vec![] };
        commit(&*pool, &change);
        pool.open_fs(name).unwrap()
    };
    let fs = create("ours/a");
    for way in ["hold", "clone"] {
        write(&*fs, way.as_bytes());
        let name = format!("ours/a@{way}");
        commit(&*pool, &Change::Snapshot { names: vec![name.clone()], recursive: false, props: vec![] });
        let (snapshots, tag) = (vec![name.clone()], "kept".to_owned());
        let clone =
            Change::Clone { snapshot: name.clone(), name: "ours/c".into(), parents: false, props: vec![] };
        let keep = match way {
            "hold" => Change::Hold { snapshots: snapshots.clone(), tag: tag.clone(), recursive: false },
            _ => clone,
        };
        commit(&*pool, &keep);
        destroy(&*pool, &name, true);
        let open = pool.open_fs(&name).unwrap();
        assert!(open.getattr(open.root()).is_ok());
        match way {
            "hold" => commit(&*pool, &Change::Release { snapshots, tag, recursive: false }),
            _ => destroy(&*pool, "ours/c", false),
        }
        assert_eq!(open.getattr(open.root()).unwrap_err(), Error::Stale, "{way}");
        for n in 0..12 {
            let name = format!("ours/{way}{n}");
            write(&*create(&name), name.as_bytes());
        }
        assert_eq!(open.getattr(open.root()).unwrap_err(), Error::Stale, "{way}");
    }
    drop(fs);
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_finds_no_leak(&dir.0.to_string_lossy(), "ours");
}

#[test]
fn the_handle_of_a_volume_leads_to_no_other() {
    let dir = Dir::new("forgotten-volume");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let create = |name: &str| {
        let props = vec![prop("volsize", "1M")];
        commit(&*pool, &Change::CreateVolume { name: name.into(), parents: false, sparse: true, props });
        pool.open_volume(name).unwrap()
    };
    let handle = create("ours/v");
    handle.set_note("test:note", "first").unwrap();
    destroy(&*pool, "ours/v", false);
    let others: Vec<_> = (0..12).map(|n| create(&format!("ours/v{n}"))).collect();
    assert_eq!(handle.set_note("test:note", "again").unwrap_err(), Error::Stale);
    assert_eq!(handle.note("test:note").unwrap_err(), Error::Stale);
    assert_eq!(handle.room().unwrap_err(), Error::Stale);
    assert_eq!(handle.write(0, b"x", Stable::Unstable).unwrap_err(), Error::Stale);
    assert!(others.iter().all(|other| other.note("test:note").unwrap().is_empty()));
}
