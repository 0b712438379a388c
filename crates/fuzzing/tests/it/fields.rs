//! Fields that decide how far an import goes, forged one by one to values that nobody wrote: every
//! import comes to an end, by itself or when it is told to, and others go on meanwhile.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use engine::facade::{LocalEngine, Options};
use engine_api::{Engine, Error, ImportOptions};
use fuzzing::forge::Forge;
use fuzzing::image::Image;
use ondisk::dnode::SLOT_SIZE;
use ondisk::object_type::ObjectType;
use ondisk::uberblock::{MMP_MAGIC, Mmp, Uberblock};

use crate::pools::{alone, bounded, glance, note};
use crate::setup::{ImageDisks, fixture};

const HOSTILE: [u64; 3] = [1 << 63, u64::MAX, (1 << 49) - 2];
/// For a word to be heard on a busy machine.
const SOON: Duration = Duration::from_secs(20);

fn forge() -> Forge {
    Forge::open(&fixture("single-default")).expect("a pool that can be walked")
}

#[test]
fn no_field_of_an_uberblock_holds_up_an_import() {
    let _alone = alone();
    let forge = forge();
    type Set = fn(&mut Uberblock, u64);
    let fields: [(&str, Set); 8] = [
        ("version", |it, value| it.version = value),
        ("txg", |it, value| it.txg = value),
        ("guid sum", |it, value| it.guid_sum = value),
        ("timestamp", |it, value| it.timestamp = value),
        // Without its config, for only so does the delay count.
        ("mmp delay", |it, value| (it.mmp_magic, it.mmp_delay, it.mmp_config) = (MMP_MAGIC, value, 0)),
        ("mmp config", |it, value| (it.mmp_magic, it.mmp_delay, it.mmp_config) = (MMP_MAGIC, value, value)),
        ("checkpoint", |it, value| it.checkpoint_txg = value),
        ("reflow", |it, value| it.raidz_reflow = value),
    ];
    for (name, set) in fields {
        for value in HOSTILE {
            let mut forge = forge.clone();
            assert!(forge.edit_uberblock(&|uberblock| set(uberblock, value)));
            let what = format!("{name} of the uberblock is {value:#x}");
            let begun = Instant::now();
            let outcome = bounded(&what, forge.images(), glance);
            note(&what, begun, &outcome);
        }
    }
}

/// (name, place in the dnode, bytes)
const DNODE_FIELDS: [(&str, usize, usize); 8] = [
    ("indblkshift", 1, 1),
    ("nlevels", 2, 1),
    ("nblkptr", 3, 1),
    ("datablkszsec", 8, 2),
    ("bonuslen", 10, 2),
    ("extra slots", 12, 1),
    ("maxblkid", 16, 8),
    ("used", 24, 8),
];

#[test]
fn no_field_of_the_root_dnode_holds_up_an_import() {
    let _alone = alone();
    let forge = forge();
    let root = forge.read(&forge.nodes[0].bp).expect("the root of the meta object set");
    for (name, at, len) in DNODE_FIELDS {
        for value in HOSTILE.into_iter().chain([127 << 40]) {
            // Short fields get what is highest in the number.
            let bytes = if len == 8 { value.to_le_bytes() } else { value.swap_bytes().to_le_bytes() };
            let (mut forge, mut block) = (forge.clone(), root.clone());
            block[at..at + len].copy_from_slice(&bytes[..len]);
            assert!(forge.replace(0, &block));
            let what = format!("{name} of the meta dnode is {value:#x}");
            let begun = Instant::now();
            let outcome = bounded(&what, forge.images(), glance);
            note(&what, begun, &outcome);
        }
    }
}

#[test]
fn no_object_of_the_pool_is_endless() {
    let _alone = alone();
    let forge = forge();
    let is_mos = |index: &usize| {
        let node = &forge.nodes[*index];
        node.dataset == 0 && node.bp.level() == 0 && node.bp.object_type() == ObjectType::DNODE
    };
    let (mut seen, mut changed) = (0, 0);
    for index in (0..forge.nodes.len()).filter(is_mos) {
        let block = forge.read(&forge.nodes[index].bp).expect("dnodes");
        for slot in (0..block.len() / SLOT_SIZE).filter(|slot| block[slot * SLOT_SIZE] != 0) {
            seen += 1;
            // Some of each kind; all of them take minutes.
            if seen % 7 != 1 {
                continue;
            }
            let (mut forge, mut block) = (forge.clone(), block.clone());
            let at = slot * SLOT_SIZE + 16;
            block[at..at + 8].copy_from_slice(&(127_u64 << 40).to_le_bytes());
            changed += u32::from(forge.replace(index, &block));
            let what = format!("object {slot} of block {index} is endless");
            let begun = Instant::now();
            let outcome = bounded(&what, forge.images(), glance);
            note(&what, begun, &outcome);
        }
    }
    assert!(changed > 10, "{changed} objects");
}

/// A pool that another host seems to use: its import watches for minutes.
fn in_use() -> Vec<Image> {
    let mut forge = forge();
    let mmp = Mmp { interval_ms: Some(60_000), sequence: Some(1), fail_intervals: Some(30) };
    assert!(forge.edit_uberblock(&|uberblock| uberblock.set_mmp(mmp, 1_000_000_000)));
    forge.images()
}

fn importing(engine: &Arc<LocalEngine>, name: &str) -> std::sync::mpsc::Receiver<Result<(), Error>> {
    let (tell, told) = channel();
    let (engine, name) = (engine.clone(), name.to_owned());
    std::thread::spawn(move || {
        let options = ImportOptions { force: true, ..ImportOptions::default() };
        let _ = tell.send(engine.import(&name, &options).map(drop));
    });
    told
}

#[test]
fn an_import_that_takes_its_time_keeps_nobody_and_can_be_cancelled() {
    let _alone = alone();
    let mut images = in_use();
    images.extend(fixture("mirror2"));
    let disks = ImageDisks::new(images);
    let options = Options { cache: 8 << 20, search: vec!["/d".into()], hostid: 7, ..Options::default() };
    let engine = LocalEngine::new(disks.env(), options);
    let names: Vec<String> =
        engine.importable(&[], None).expect("two pools").iter().map(|pool| pool.name.clone()).collect();
    let (slow, quick) = names.iter().partition::<Vec<&String>, _>(|name| name.contains("single"));
    let (slow, quick) = (slow[0].as_str(), quick[0].as_str());
    let told = importing(&engine, slow);
    std::thread::sleep(Duration::from_secs(2));
    let options = ImportOptions { force: true, ..ImportOptions::default() };
    let begun = Instant::now();
    for _ in 0..3 {
        engine.import(quick, &options).expect("another pool comes").sync().expect("and works");
        engine.export(quick, false).expect("and goes");
    }
    assert!(engine.pools().is_empty());
    let again = engine.import(slow, &options).map(drop).unwrap_err().to_string();
    assert!(again.contains("a pool with that name already exists"), "{again}");
    assert!(told.try_recv().is_err(), "it still watches");
    engine.export(slow, false).expect("who comes can be sent away");
    let error = told.recv_timeout(SOON).expect("it has ended").unwrap_err().to_string();
    assert_eq!(error, format!("cannot import '{slow}': the import was cancelled"));
    assert!(begun.elapsed() < SOON * 3);
    // The end of the program does not wait for one either.
    let told = importing(&engine, slow);
    engine.import(quick, &options).expect("another pool comes");
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    engine.export_all().expect("all go");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(told.recv_timeout(SOON).expect("it has ended").is_err());
    assert!(engine.pools().is_empty());
    assert!(engine.import(quick, &options).is_err(), "none comes any more");
}
