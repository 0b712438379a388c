use super::*;
use crate::IoClass;

#[test]
fn a_batch_has_one_result_each() {
    let disks = MemDisks::new();
    disks.add("/d/a", 4096);
    let disk = disks.open("/d/a", OpenMode::ReadWrite).unwrap();
    let mut back = [0; 4];
    let mut batch = [
        DiskIo::write(10, b"abcd", IoClass::SyncWrite),
        DiskIo::write(4094, b"abcd", IoClass::SyncWrite),
        DiskIo::write(u64::MAX, b"abcd", IoClass::SyncWrite),
    ];
    disk.submit(&mut batch);
    assert_eq!(batch.map(|io| io.result), [Ok(()), Err(DiskError::OutOfRange), Err(DiskError::OutOfRange)]);
    disk.read_at(10, &mut back, IoClass::SyncRead).unwrap();
    assert_eq!(&back, b"abcd");
    let counts = disks.counts("/d/a");
    assert_eq!((counts.reads, counts.writes, counts.write_bytes, counts.batches), (1, 1, 4, 2));
}

#[test]
fn exclusive_open_is_exclusive_until_dropped() {
    let disks = MemDisks::new();
    disks.add("/d/a", 512);
    let first = disks.open("/d/a", OpenMode::ReadWrite).unwrap();
    assert_eq!(disks.open("/d/a", OpenMode::ReadWrite).err(), Some(DiskError::Busy));
    let reader = disks.open("/d/a", OpenMode::ReadOnly).unwrap();
    assert_eq!(reader.write_at(0, &[1], IoClass::SyncWrite), Err(DiskError::ReadOnly));
    assert_eq!(reader.flush(), Err(DiskError::ReadOnly));
    drop(first);
    assert!(disks.open("/d/a", OpenMode::ReadWrite).is_ok());
}

#[test]
fn list_names_only_the_folder() {
    let disks = MemDisks::new();
    for path in ["/d/b", "/d/a", "/d/sub/c", "/dd/e"] {
        disks.add(path, 512);
    }
    assert_eq!(disks.list("/d/").unwrap(), ["/d/a", "/d/b"]);
    assert_eq!(disks.open("/d/x", OpenMode::ReadOnly).err(), Some(DiskError::NotFound));
}

#[test]
fn a_sparse_disk_knows_what_was_never_written() {
    let disks = MemDisks::new();
    disks.add_with("/d/a", 32 << 10, SectorSize { logical: 512, physical: 512 }, true);
    let disk = disks.open("/d/a", OpenMode::ReadWrite).unwrap();
    assert_eq!((disk.places_on_write(), disk.hole(100, 5000)), (true, Some((100, 5000))));
    disk.write_at(9000, &[1; 4000], IoClass::SyncWrite).unwrap();
    assert_eq!(disk.hole(0, 32 << 10), Some((0, 8192)), "up to the chunk that was written");
    assert_eq!(disk.hole(8192, 20 << 10), Some((16 << 10, 12 << 10)), "and behind it");
    assert_eq!(disk.hole(9000, 1000), None);
    disks.add("/d/b", 4096);
    let full = disks.open("/d/b", OpenMode::ReadWrite).unwrap();
    assert_eq!((full.places_on_write(), full.hole(0, 4096)), (false, None));
}
