//! Pools whose newest group cannot be believed, and the way back.

use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};

use api_types::VdevSpec;
use ondisk::BlkPtr;
use pool::change::Change;
use pool::spa::config::Host;
use pool::spa::create::create;
use pool::spa::import::{ImportSpec, import, peek};
use pool::spa::labels::search;
use pool::spa::rewind::Rewind;
use pool::verify::{Options, verify};
use pool::{Pool, PoolError};
use std::sync::Arc;

use crate::create::spec;
use crate::support::{Dir, around, zdb_accepts};

const SIZE: u64 = 128 << 20;

fn host() -> Host {
    Host { id: 77, name: "here".into() }
}

fn reimport(dir: &Dir, rewind: Rewind, readonly: bool) -> pool::Result<Arc<Pool>> {
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    import(&around, &found[0], &ImportSpec { rewind, readonly, host: host(), ..ImportSpec::default() })
}

/// Overwrites every copy of a block, on the only disk.
fn ruin(dir: &Dir, bp: &BlkPtr) {
    let mut disk = OpenOptions::new().write(true).open(dir.image_path("a.img")).unwrap();
    for dva in bp.dvas().iter().filter(|dva| dva.is_valid()) {
        disk.seek(SeekFrom::Start((4 << 20) + dva.offset)).unwrap();
        disk.write_all(&vec![0xee; bp.psize() as usize]).unwrap();
    }
}

/// A pool in which each of the last groups made a file system; their uberblocks' root pointers,
/// oldest first, with the number of file systems there were.
fn pool_of_groups(dir: &Dir, count: usize) -> Vec<(u64, BlkPtr)> {
    let leaf = VdevSpec::Leaf(dir.image("a.img", SIZE));
    let pool = create(&around(), &spec("tank", vec![leaf])).unwrap();
    let mut groups = Vec::new();
    for n in 0..count {
        let name = format!("tank/fs{n}");
        let change = Change::CreateFilesystem { name, parents: false, props: Vec::new() };
        pool.dsl.commit(change, "").unwrap();
        groups.push((pool.core().txgs.synced(), pool.core().mos.root()));
    }
    // The power goes.
    pool.core().storage.close();
    pool.core().txgs.stop().unwrap();
    groups
}

fn file_systems(pool: &Pool) -> usize {
    pool.dsl.list(&Default::default()).unwrap().len() - 1
}

#[test]
fn a_damaged_newest_group_is_left_for_the_one_before() {
    let dir = Dir::new("rewind");
    let groups = pool_of_groups(&dir, 6);
    ruin(&dir, &groups[5].1);
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    assert!(peek(&around, &found[0]).damaged);
    let refused = reimport(&dir, Rewind::Never, false).map(|_| ()).unwrap_err();
    assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "cannot import 'tank': I/O error");
    // The preview changes nothing.
    let before = std::fs::read(dir.image_path("a.img")).unwrap();
    let pool = reimport(&dir, Rewind::Safe, true).unwrap();
    let rewound = pool.core().rewound.expect("it went back");
    assert_eq!((file_systems(&pool), rewound.data_errors), (5, 0));
    pool.export().unwrap();
    drop(pool);
    assert!(std::fs::read(dir.image_path("a.img")).unwrap() == before);
    let pool = reimport(&dir, Rewind::Safe, false).unwrap();
    assert_eq!(file_systems(&pool), 5);
    assert!(pool.core().txgs.synced() > groups[5].0, "newer than what was left behind");
    assert!(verify(&pool, Options { data: true }, &mut |_, _| {}).unwrap().is_clean());
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    let pool = reimport(&dir, Rewind::Never, false).unwrap();
    assert_eq!((pool.core().rewound, file_systems(&pool)), (None, 5));
    pool.export().unwrap();
}

#[test]
fn further_back_all_of_the_group_must_be_readable() {
    let dir = Dir::new("rewind-far");
    let groups = pool_of_groups(&dir, 8);
    groups[4..].iter().for_each(|(_, root)| ruin(&dir, root));
    let refused = reimport(&dir, Rewind::Safe, false).map(|_| ()).unwrap_err();
    assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "cannot import 'tank': I/O error");
    // Whatever is taken is whole: of the groups this far back some have been overwritten since.
    if let Ok(pool) = reimport(&dir, Rewind::Extreme, false) {
        assert!(file_systems(&pool) <= 4);
        assert!(verify(&pool, Options { data: true }, &mut |_, _| {}).unwrap().is_clean());
        pool.export().unwrap();
        drop(pool);
        zdb_accepts(&dir, "tank");
    }
}

#[test]
fn a_group_can_be_asked_for() {
    let dir = Dir::new("rewind-to");
    let groups = pool_of_groups(&dir, 3);
    let pool = reimport(&dir, Rewind::To(groups[1].0), true).unwrap();
    assert_eq!((file_systems(&pool), pool.core().txgs.synced()), (2, groups[1].0));
    pool.export().unwrap();
    let pool = reimport(&dir, Rewind::Never, true).unwrap();
    assert_eq!(file_systems(&pool), 3);
    pool.export().unwrap();
}
