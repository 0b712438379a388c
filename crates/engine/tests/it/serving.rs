//! Servers of datasets learn by the generation that something else may be served.

use engine::{LocalEngine, Options};
use engine_api::{Change, PropertyChange, Serving};
use env::Env;

use crate::disks::{Dir, new_pool};
use crate::rights::{create, snapshot};

#[test]
fn snapshots_change_nothing_that_is_served() {
    let dir = Dir::new("serving-generation");
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    create(&*pool, "ours/home", &[("sharenfs", "on"), ("mountpoint", "/home")]);
    let shared = || engine.served().into_iter().map(|one| one.dataset).collect::<Vec<_>>();
    assert_eq!(shared(), ["ours/home"]);

    let home = || vec!["ours/home@one".to_owned()];
    let destroy = |names: Vec<String>| Change::Destroy { names, defer: false };
    let before = engine.served_generation();
    let of_snapshots = [
        snapshot("ours/home@one"),
        Change::Hold { snapshots: home(), tag: "kept".into(), recursive: false },
        Change::Bookmark { source: "ours/home@one".into(), name: "ours/home#one".into() },
        Change::Release { snapshots: home(), tag: "kept".into(), recursive: false },
        destroy(vec!["ours/home@one".into(), "ours/home#one".into()]),
    ];
    for change in of_snapshots {
        pool.commit(&change, "").unwrap();
        assert_eq!(engine.served_generation(), before, "{change:?}");
    }

    let off = vec![PropertyChange { name: "sharenfs".into(), value: "off".into() }];
    pool.commit(&Change::SetProperties { name: "ours/home".into(), props: off }, "").unwrap();
    let after = engine.served_generation();
    assert!(after > before && shared().is_empty());
    pool.commit(&destroy(vec!["ours/home".into()]), "").unwrap();
    assert!(engine.served_generation() > after);
}
