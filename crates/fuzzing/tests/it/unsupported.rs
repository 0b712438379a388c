//! Pools that only newer software can import: they are listed as unsupported, never as damaged or
//! as importable, and an import is refused for the same reason.

use engine::facade::{LocalEngine, Options};
use engine_api::{Engine, Health, ImportCondition, ImportOptions};
use fuzzing::forge::Forge;
use ondisk::nvlist::NvList;

use crate::pools::alone;
use crate::setup::{ImageDisks, fixture};

const DRAID: &str = "org.openzfs:draid";
const UNKNOWN: &str = "com.example:of_the_future";

/// What `zpool import` shows of the only pool there is, and what comes of importing it.
struct Seen {
    health: Health,
    note: String,
    condition: ImportCondition,
    refusal: String,
}

impl Seen {
    fn lacks(&self, guid: &str) -> bool {
        let ImportCondition::UnknownFeatures { features } = &self.condition else { return false };
        features.iter().any(|feature| feature.guid == guid)
    }
}

fn see(edit: &dyn Fn(&mut NvList)) -> Seen {
    let mut forge = Forge::open(&fixture("mirror2")).expect("a pool that can be walked");
    assert!(forge.edit_labels(edit));
    let disks = ImageDisks::new(forge.images());
    let options = Options { cache: 8 << 20, search: vec!["/d".into()], ..Options::default() };
    let engine = LocalEngine::new(disks.env(), options);
    let found = engine.importable(&[], None).expect("the disks are looked at");
    let [pool] = &found[..] else { panic!("{} pools", found.len()) };
    let options = ImportOptions { force: true, ..ImportOptions::default() };
    let refusal = engine.import(&pool.name, &options).map(drop).expect_err("refused").to_string();
    Seen {
        health: pool.health,
        note: pool.vdevs.note.clone().unwrap_or_default(),
        condition: pool.condition.clone(),
        refusal,
    }
}

fn need(config: &mut NvList, feature: &str) {
    let mut needed = config.nvlist("features_for_read").cloned().unwrap_or_default();
    needed.set_flag(feature);
    config.set("features_for_read", needed);
}

#[test]
fn a_pool_of_an_unknown_version_is_unsupported() {
    let _alone = alone();
    let seen = see(&|config| {
        config.set("version", 5001_u64);
    });
    assert_eq!((seen.health, &seen.note[..]), (Health::Unavail, "newer version"));
    assert_eq!(seen.condition, ImportCondition::UnknownVersion);
    assert!(seen.refusal.contains("version"), "{}", seen.refusal);
}

#[test]
fn a_pool_with_unknown_features_is_unsupported() {
    let _alone = alone();
    let seen = see(&|config| need(config, UNKNOWN));
    assert_eq!((seen.health, &seen.note[..]), (Health::Unavail, "unsupported feature(s)"));
    assert!(seen.lacks(UNKNOWN), "{:?}", seen.condition);
    assert!(seen.refusal.contains(UNKNOWN), "{}", seen.refusal);
}

#[test]
fn a_pool_of_draid_is_unsupported() {
    let _alone = alone();
    let seen = see(&|config| {
        need(config, DRAID);
        let mut tree = config.nvlist("vdev_tree").expect("a tree").clone();
        tree.set("type", "draid").set("nparity", 1_u64).set("draid_ndata", 1_u64);
        tree.set("draid_nspares", 0_u64).set("draid_ngroups", 1_u64);
        config.set("vdev_tree", tree);
    });
    assert_eq!((seen.health, &seen.note[..]), (Health::Unavail, "unsupported feature(s)"));
    assert!(seen.lacks(DRAID), "{:?}", seen.condition);
    assert!(seen.refusal.contains(DRAID), "{}", seen.refusal);
}
