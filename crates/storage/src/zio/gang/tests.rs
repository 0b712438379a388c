use env::Quirk;
use ondisk::label::START;

use super::*;
use crate::WriteItem;
use crate::testing::{noise, plain, rig_of_raidz};

const DISKS: usize = 5;
const SECTOR: usize = 512;

/// Disks that took one of two passes each: two headers prove to be of this gang, each leads to
/// pieces that prove to be its own, and only one of them is what the pointer says.
#[test]
fn nothing_is_written_over_before_the_whole_is_proved() {
    let rig = rig_of_raidz(2, DISKS, 9);
    rig.storage.env().quirks.set(Quirk::ForceGang, true);
    let (first, second) = (noise(2 * SECTOR, 1), noise(2 * SECTOR, 2));
    let header = |bp: &BlkPtr| {
        let how = (IoClass::SyncRead, 0);
        rig.storage.fetch_header(&rig.storage.tree(), bp, how, &AtomicBool::new(false), &|_| true).unwrap()
    };
    let bp = rig.write_one(&first, plain());
    let old = header(&bp);
    let item = WriteItem { data: second.clone(), policy: plain(), rewrite: Some(bp), unless: None };
    let bp = rig.storage.write_batch(vec![item], 4, &mut |_| {}).remove(0).unwrap();
    let new = header(&bp);
    let pieces = pieces_of(&new).unwrap();
    assert_eq!((bp.ndvas(), pieces.len()), (2, 2));

    // Of one sector of data each parity is what the data is; they come first.
    let column = |dva: Dva, column: usize| {
        let sector = dva.offset as usize / SECTOR + column;
        let disk = char::from(b'a' + (sector % DISKS) as u8).to_string();
        (disk, START as usize + sector / DISKS * SECTOR)
    };
    let check = |dva: Dva, n: usize, wanted: &[u8]| {
        let (disk, at) = column(dva, n);
        rig.disks
            .edit(&disk, |bytes| assert!(bytes[at..][..SECTOR] == wanted[..SECTOR], "{dva:?}, column {n}"));
    };
    let put = |dva: Dva, n: usize, sector: &[u8]| {
        let (disk, at) = column(dva, n);
        rig.disks.edit(&disk, |bytes| bytes[at..][..SECTOR].copy_from_slice(&sector[..SECTOR]));
    };
    // What is where, in the older pass and in the newer.
    let places = [
        (bp.dva(0), &old[..], &new[..]),
        (pieces[0].dva(0), &first[..SECTOR], &second[..SECTOR]),
        (pieces[1].dva(0), &first[SECTOR..], &second[SECTOR..]),
    ];
    for (dva, old, new) in places {
        (0..3).for_each(|n| check(dva, n, new));
        put(dva, 0, old);
        put(dva, 2, &[7; SECTOR]);
    }
    (0..3).for_each(|n| put(bp.dva(1), n, &old));

    let read = rig.storage.read_gang(&rig.storage.tree(), &bp, IoClass::SyncRead);
    assert!(read.unwrap()[..] == second[..]);
    for (dva, _, new) in places.into_iter().chain([(bp.dva(1), &old[..], &new[..])]) {
        (0..3).for_each(|n| check(dva, n, new));
    }
}
