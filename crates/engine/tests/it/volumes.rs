//! Volumes: those that OpenZFS made, beside their manifest; our own, from making to destroying,
//! before zdb; and what a crash leaves of them.

use std::sync::Arc;

use engine::facade::{LocalEngine, Options};
use engine_api::{
    Change, DatasetFilter, DatasetKind, Engine, Error, ImportOptions, Pool, PoolSpec, Seek, Stable, VdevSpec,
    Volume,
};
use env::{Env, MemDisks};

use crate::disks::{Dir, new_pool, prop, zdb_finds_no_leak, zdb_is_content};
use crate::manifest::Fixture;

const DISK: &str = "/disks/a";
const BLOCK: usize = 16 << 10;

#[test]
fn volumes_of_openzfs_are_read_and_written_on() {
    let Some(fixture) = Fixture::unpack_shared("zvols") else { return };
    let engine = LocalEngine::new(Env::real(), Options::default());
    let options = ImportOptions { search: vec![fixture.images()], force: true, ..ImportOptions::default() };
    let pool = engine.import("g_zvol", &options).unwrap();
    assert_eq!(fixture.check(&*pool), Vec::<String>::new());
    assert_eq!(
        pool.open_volume("g_zvol/v4k@s1").unwrap().write(0, b"x", Stable::Unstable),
        Err(Error::ReadOnly)
    );
    for name in ["v4k", "v512", "v128k", "v16k_sparse", "v4k_clone"] {
        let volume = pool.open_volume(&format!("g_zvol/{name}")).unwrap();
        volume.write(777, &vec![7; 300_000], Stable::DataSync).unwrap();
        volume.write_zeroes(1 << 20, 1 << 20, Stable::DataSync).unwrap();
        assert_eq!(volume.read(776, 3).unwrap().to_vec()[1..], [7, 7]);
    }
    let grown = [prop("volsize", "16M")];
    let set = Change::SetProperties { name: "g_zvol/v4k".into(), props: grown.to_vec() };
    pool.commit(&set, "").unwrap();
    // What OpenZFS had kept for it was what its size asked for: it goes with the size, 24 blocks of
    // metadata in all.
    assert_eq!(property(&*pool, "g_zvol/v4k", "refreservation"), ((16 << 20) + 24 * (128 << 10)).to_string());
    drop(pool);
    engine.export("g_zvol", false).unwrap();
    zdb_is_content(fixture.partitions().to_str().unwrap(), "g_zvol");
}

fn property(pool: &dyn Pool, name: &str, wanted: &str) -> String {
    let filter = DatasetFilter {
        roots: vec![name.into()],
        depth: Some(0),
        props: vec![wanted.into()],
        ..DatasetFilter::default()
    };
    pool.datasets(&filter).unwrap()[0].props[0].value.clone()
}

fn number(pool: &dyn Pool, name: &str, wanted: &str) -> u64 {
    property(pool, name, wanted).parse().unwrap()
}

fn create(pool: &dyn Pool, name: &str, sparse: bool, props: &[(&str, &str)]) -> Result<(), Error> {
    let props = props.iter().map(|(name, value)| prop(name, value)).collect();
    let change = Change::CreateVolume { name: name.into(), parents: false, sparse, props };
    pool.commit(&change, "").map(drop)
}

/// What the pools of OpenZFS say of volumes of the same sizes (`zfs-get.txt` of `zvols`).
#[test]
fn what_is_kept_for_a_volume_is_what_openzfs_keeps() {
    let (dir, engine) = (Dir::new("volume-reservations"), LocalEngine::new(Env::real(), Options::default()));
    let pool = new_pool(&engine, &dir.0);
    let cases = [
        ("8388608", "4K", 11_010_048),
        ("5242880", "512", 9_961_472),
        ("33554432", "8K", 36_700_160),
        ("3145728", "8K", 5_242_880),
    ];
    for (at, (size, block, kept)) in cases.into_iter().enumerate() {
        let name = format!("ours/v{at}");
        create(&*pool, &name, false, &[("volsize", size), ("volblocksize", block)]).unwrap();
        assert_eq!(number(&*pool, &name, "refreservation"), kept, "{size} in {block}");
        assert_eq!(property(&*pool, &name, "volsize"), size);
    }
    let refused = |props: &[(&str, &str)]| create(&*pool, "ours/no", false, props).unwrap_err().to_string();
    assert_eq!(refused(&[("volsize", "100G")]), "cannot create 'ours/no': out of space");
    assert_eq!(refused(&[("volsize", "0")]), "cannot create 'ours/no': volume size cannot be zero");
    assert_eq!(
        refused(&[("volsize", "1M"), ("volblocksize", "3000")]),
        "cannot create 'ours/no': 'volblocksize' must be power of 2 from 512B to 16M"
    );
    assert_eq!(
        refused(&[("volsize", "1M"), ("atime", "off")]),
        "cannot create 'ours/no': 'atime' does not apply to datasets of this type"
    );
    let below = create(&*pool, "ours/v0/below", true, &[("volsize", "1M")]).unwrap_err().to_string();
    assert_eq!(below, "cannot create 'ours/v0/below': parent is not a filesystem");
    let set = |name: &str, props: &[(&str, &str)]| {
        let props = props.iter().map(|(name, value)| prop(name, value)).collect();
        pool.commit(&Change::SetProperties { name: name.into(), props }, "").map(drop)
    };
    let said = set("ours/v0", &[("volsize", "5000")]).unwrap_err().to_string();
    assert_eq!(
        said,
        "cannot set property for 'ours/v0': 'volsize' must be a multiple of volume block size (4K)"
    );
    set("ours/v0", &[("refreservation", "none")]).unwrap();
    set("ours/v0", &[("refreservation", "auto")]).unwrap();
    assert_eq!(number(&*pool, "ours/v0", "refreservation"), 11_010_048);
    // The objects of a volume are neighbours, however wide those of file systems are.
    set("ours", &[("dnodesize", "auto")]).unwrap();
    create(&*pool, "ours/wide", true, &[("volsize", "1M")]).unwrap();
    assert_eq!(number(&*pool, "ours/wide", "volsize"), 1 << 20);
    drop(pool);
    engine.export("ours", false).unwrap();
    zdb_finds_no_leak(dir.0.to_str().unwrap(), "ours");
}

#[test]
fn a_volume_from_making_to_destroying() {
    let (dir, engine) = (Dir::new("volumes"), LocalEngine::new(Env::real(), Options::default()));
    let pool = new_pool(&engine, &dir.0);
    create(&*pool, "ours/v", true, &[("volsize", "500G"), ("compression", "lz4")]).unwrap();
    let commit = |change: Change| pool.commit(&change, "").map(drop);
    let kinds = DatasetFilter { kinds: vec![DatasetKind::Volume], ..DatasetFilter::default() };
    assert_eq!(pool.datasets(&kinds).unwrap().len(), 1);
    let volume = pool.open_volume("ours/v").unwrap();
    let used = || {
        pool.sync().unwrap();
        number(&*pool, "ours/v", "referenced")
    };
    let empty = used();

    // Bytes that no compression makes less of.
    let mut noise = vec![0; 64 * BLOCK];
    stdx::prng::Prng::new(1).fill(&mut noise);
    volume.write(300 << 30, &noise, Stable::Unstable).unwrap();
    let full = used();
    assert!(full - empty >= noise.len() as u64, "{empty} to {full}");
    assert_eq!(volume.read(300 << 30, noise.len()).unwrap().to_vec(), noise);
    assert_eq!(volume.seek(0, Seek::Data), Ok(300 << 30));
    assert_eq!(volume.seek(300 << 30, Seek::Hole), Ok((300 << 30) + noise.len() as u64));
    assert_eq!(volume.seek((300 << 30) + noise.len() as u64, Seek::Data), Ok(500 << 30));

    // Half of it freed, to the byte; the rest by writing zeroes.
    let (at, half) = (300u64 << 30, noise.len() as u64 / 2);
    volume.write_zeroes(at + 100, half - 100, Stable::DataSync).unwrap();
    let left = [&noise[..100], &[0; BLOCK - 100]].concat();
    assert!(volume.read(at, BLOCK).unwrap().to_vec() == left);
    assert!(volume.read(at + BLOCK as u64, BLOCK).unwrap().to_vec().iter().all(|byte| *byte == 0));
    assert!(full - used() >= half - 2 * BLOCK as u64);
    volume.write(at, &vec![0; noise.len()], Stable::Unstable).unwrap();
    let zeroed = used();
    assert!(zeroed < empty + BLOCK as u64 * 2, "{empty}, and {zeroed} when all is zeroes");

    assert!(matches!(volume.read((500 << 30) - 1, 2), Err(Error::Invalid(_))));
    volume.write(0, b"first", Stable::DataSync).unwrap();
    commit(Change::Snapshot { names: vec!["ours/v@s".into()], recursive: false, props: Vec::new() }).unwrap();
    volume.write(0, b"later", Stable::DataSync).unwrap();
    let name = "ours/clone".to_owned();
    commit(Change::Clone { snapshot: "ours/v@s".into(), name, parents: false, props: Vec::new() }).unwrap();
    assert_eq!(pool.open_volume("ours/clone").unwrap().read(0, 5).unwrap().to_vec(), b"first");
    commit(Change::Rollback { snapshot: "ours/v@s".into() }).unwrap();
    // The handle leads to what the volume is now.
    assert_eq!(volume.read(0, 5).unwrap().to_vec(), b"first");

    let resize = |size: &str| {
        commit(Change::SetProperties { name: "ours/v".into(), props: vec![prop("volsize", size)] }).unwrap();
        volume.geometry().unwrap().size
    };
    volume.write(2 << 20, b"cut off", Stable::DataSync).unwrap();
    assert_eq!(resize("1M"), 1 << 20);
    assert!(matches!(volume.write(1 << 20, b"x", Stable::Unstable), Err(Error::Invalid(_))));
    assert_eq!(resize("4M"), 4 << 20);
    assert_eq!(volume.read(2 << 20, 7).unwrap().to_vec(), [0; 7]);

    let mut seen = Vec::new();
    volume
        .modify(0, 5, Stable::DataSync, &mut |bytes| {
            seen = bytes.to_vec();
            bytes.copy_from_slice(b"other");
            true
        })
        .unwrap();
    assert_eq!((seen, volume.read(0, 5).unwrap().to_vec()), (b"first".to_vec(), b"other".to_vec()));

    let rename = |from: &str, to: &str| Change::Rename {
        from: from.into(),
        to: to.into(),
        parents: false,
        recursive: false,
    };
    commit(rename("ours/v", "ours/w")).unwrap();
    commit(Change::Promote { name: "ours/clone".into() }).unwrap();
    commit(Change::Destroy { names: vec!["ours/w".into()], defer: false }).unwrap();
    assert_eq!(volume.read(0, 5).map(drop), Err(Error::Stale));
    drop((volume, pool));
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

/// Within a volume, where ranges overlap too, between volumes of other blocks and of other pools;
/// holes stay holes. Where there is no log device. Files are measured by another rule
/// (`pool/tests/it/zil.rs`).
#[test]
fn only_whole_large_blocks_go_past_the_log() {
    let (dir, engine) = (Dir::new("volume-log"), LocalEngine::new(Env::real(), Options::default()));
    let pool = new_pool(&engine, &dir.0);
    for (block, past_the_log) in [("16K", [0, 0]), ("64K", [2, 0]), ("32K", [0, 0])] {
        let name = format!("ours/v{block}");
        create(&*pool, &name, true, &[("volsize", "1M"), ("volblocksize", block)]).unwrap();
        let volume = pool.open_volume(&name).unwrap();
        // The first commit waits for the group that gives it a log.
        volume.write(0, &[1], Stable::DataSync).unwrap();
        for (at, (len, wanted)) in [128 << 10, 48 << 10].into_iter().zip(past_the_log).enumerate() {
            let before = logged(&*pool, "zil_itx_indirect_count");
            volume.write(0, &vec![at as u8 + 1; len], Stable::DataSync).unwrap();
            assert_eq!(
                logged(&*pool, "zil_itx_indirect_count") - before,
                wanted,
                "{len} bytes, blocks of {block}"
            );
        }
    }
    engine.export("ours", false).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

fn logged(pool: &dyn Pool, name: &str) -> u64 {
    let counts = pool.log_counts();
    counts.into_iter().find(|(count, _)| *count == name).expect("a count").1
}

#[test]
fn volumes_are_copied_inside_the_engine() {
    const SIZE: usize = 8 << 20;
    let (dir, other) = (Dir::new("volume-copy"), Dir::new("volume-copy-other"));
    let engine = LocalEngine::new(Env::real(), Options::default());
    let pool = new_pool(&engine, &dir.0);
    let make = |pool: &dyn Pool, name: &str, block: &str| {
        create(pool, name, true, &[("volsize", "8M"), ("volblocksize", block), ("compression", "off")])
            .unwrap();
        pool.open_volume(name).unwrap()
    };
    let (a, b) = (make(&*pool, "ours/a", "16K"), make(&*pool, "ours/b", "4K"));
    let disk = other.0.join("disk");
    std::fs::File::create(&disk).unwrap().set_len(256 << 20).unwrap();
    let vdevs = vec![VdevSpec::Leaf(disk.to_str().unwrap().into())];
    let spec =
        PoolSpec { name: "theirs".into(), vdevs, mountpoint: Some("none".into()), ..PoolSpec::default() };
    let theirs = engine.create(&spec).unwrap();
    let c = make(&*theirs, "theirs/c", "16K");
    let mut rng = stdx::prng::Prng::new(83);
    let mut data = vec![0; SIZE];
    for piece in data.chunks_mut(SIZE / 8).step_by(2) {
        rng.fill(piece);
    }
    for (at, piece) in data.chunks(SIZE / 8).enumerate().step_by(2) {
        a.write((at * SIZE / 8) as u64, piece, Stable::Unstable).unwrap();
    }
    let whole = |volume: &dyn Volume| volume.read(0, SIZE).unwrap().to_vec();
    for target in [&b, &c] {
        for at in (0..SIZE).step_by(SIZE / 8) {
            target.write(at as u64, &vec![1; SIZE / 8], Stable::Unstable).unwrap();
        }
        target.copy_from(&*a, 0, 0, SIZE as u64).unwrap();
        assert!(whole(&**target) == data);
        assert_eq!(target.seek(SIZE as u64 / 8, Seek::Data).unwrap(), SIZE as u64 / 4);
    }
    for (from, to, len) in [(0, 3 << 19, 5 << 20), (5 << 20, 1000, 3 << 20), (512, 512, 4096), (0, 0, 0)] {
        let mut expected = whole(&*b);
        expected.copy_within(from..from + len, to);
        b.copy_from(&*b, from as u64, to as u64, len as u64).unwrap();
        assert!(whole(&*b) == expected, "{from} to {to}");
    }
    assert!(matches!(b.copy_from(&*a, 1, 0, SIZE as u64), Err(Error::Invalid(_))));
    assert!(matches!(b.copy_from(&*a, 0, 1, SIZE as u64), Err(Error::Invalid(_))));
    b.set_note("test:note", "as long as it likes").unwrap();
    drop((a, b, c, pool, theirs));
    for (name, place) in [("ours", &dir.0), ("theirs", &other.0)] {
        engine.export(name, false).unwrap();
        zdb_finds_no_leak(place.to_str().unwrap(), name);
    }
    // What is noted with a volume stays with it, until it is not.
    let options = ImportOptions { search: vec![dir.0.to_str().unwrap().into()], ..ImportOptions::default() };
    let b = engine.import("ours", &options).unwrap().open_volume("ours/b").unwrap();
    assert_eq!(b.note("test:note").unwrap(), "as long as it likes");
    b.set_note("test:note", "").unwrap();
    assert_eq!(b.note("test:note").unwrap(), "");
    assert!(b.room().unwrap().used > 4 << 20);
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

/// Changes of a volume, and the same of bytes in memory; all of them stable.
fn storm(volume: &dyn Volume, bytes: &mut [u8], rng: &mut stdx::prng::Prng) {
    for _ in 0..40 {
        let at = rng.below(bytes.len() as u64 - 1);
        let most = 1 << (1 + rng.below(17));
        let len = (rng.below(most) + 1).min(bytes.len() as u64 - at);
        let range = at as usize..(at + len) as usize;
        match rng.below(5) {
            0 => {
                volume.write_zeroes(at, len, Stable::DataSync).unwrap();
                bytes[range].fill(0);
            }
            1 => {
                let change = &mut |part: &mut [u8]| {
                    part.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
                    true
                };
                volume.modify(at, len as usize, Stable::DataSync, change).unwrap();
                change(&mut bytes[range]);
            }
            2 => {
                rng.fill(&mut bytes[range.clone()]);
                volume.write_promised(at, &bytes[range]).unwrap()().unwrap();
            }
            3 => {
                rng.fill(&mut bytes[range.clone()]);
                volume.write_whole(at, &bytes[range], Stable::DataSync).unwrap();
            }
            _ => {
                rng.fill(&mut bytes[range.clone()]);
                volume.write(at, &bytes[range], Stable::Unstable).unwrap();
            }
        }
    }
    volume.flush().unwrap();
}

#[test]
fn what_was_stable_is_there_after_a_crash() {
    let (disks, engine) = machine(None);
    let vdevs = vec![VdevSpec::Leaf(DISK.into())];
    let spec =
        PoolSpec { name: "ours".into(), vdevs, mountpoint: Some("none".into()), ..PoolSpec::default() };
    let pool = engine.create(&spec).unwrap();
    create(&*pool, "ours/v", true, &[("volsize", "4M")]).unwrap();
    let (mut bytes, mut rng) = (vec![0; 4 << 20], stdx::prng::Prng::new(7));
    storm(&*pool.open_volume("ours/v").unwrap(), &mut bytes, &mut rng);
    let mut left = disks.image(DISK);
    for turn in 0..3 {
        let (disks, engine) = machine(Some(left));
        let pool = engine.import("ours", &ImportOptions { force: true, ..ImportOptions::default() }).unwrap();
        let volume = pool.open_volume("ours/v").unwrap();
        assert!(volume.read(0, bytes.len()).unwrap().to_vec() == bytes, "turn {turn}");
        storm(&*volume, &mut bytes, &mut rng);
        left = disks.image(DISK);
        if turn == 2 {
            drop((volume, pool));
            engine.export("ours", false).unwrap();
            left = disks.image(DISK);
        }
    }
    let dir = Dir::new("volume-crash");
    std::fs::write(dir.0.join("a"), left).unwrap();
    zdb_is_content(dir.0.to_str().unwrap(), "ours");
}

/// Writes that are to be whole are, whatever the log has of them, and what follows them in it.
#[test]
fn what_is_written_whole_is_there_whole_or_not_at_all() {
    const WHOLE: usize = 600 << 10;
    let (disks, engine) = machine(None);
    let vdevs = vec![VdevSpec::Leaf(DISK.into())];
    let spec =
        PoolSpec { name: "ours".into(), vdevs, mountpoint: Some("none".into()), ..PoolSpec::default() };
    let pool = engine.create(&spec).unwrap();
    create(&*pool, "ours/v", true, &[("volsize", "4M"), ("volblocksize", "16K")]).unwrap();
    let volume = pool.open_volume("ours/v").unwrap();
    volume.write(0, &[0; WHOLE + 1000], Stable::DataSync).unwrap();
    // While it writes, the power goes at some moments.
    let (images, stop) = (&mut Vec::new(), std::sync::atomic::AtomicBool::new(false));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for turn in 1..u8::MAX {
                volume.write_whole(700, &vec![turn; WHOLE], Stable::DataSync).unwrap();
                volume.write(3 << 20, &[turn; 512], Stable::DataSync).unwrap();
                if stop.load(std::sync::atomic::Ordering::SeqCst) {
                    break;
                }
            }
        });
        for _ in 0..4 {
            std::thread::sleep(std::time::Duration::from_millis(7));
            images.push(disks.image(DISK));
        }
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    for image in images.drain(..) {
        let (_, engine) = machine(Some(image));
        let pool = engine.import("ours", &ImportOptions { force: true, ..ImportOptions::default() }).unwrap();
        let volume = pool.open_volume("ours/v").unwrap();
        let found = volume.read(700, WHOLE).unwrap().to_vec();
        let behind = volume.read(3 << 20, 1).unwrap().to_vec()[0];
        assert!(found.iter().all(|byte| *byte == found[0]), "torn");
        assert!(found[0] == behind || found[0] == behind + 1, "{} before {behind}", found[0]);
    }
}
