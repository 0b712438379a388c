//! Real files through the public interface, in every mode of transfer.

use std::path::PathBuf;
use std::sync::Arc;

use env::{AlignedBuf, Disk, DiskError, DiskIo, Disks, FileDisks, IoClass, OpenMode, Quirk, Quirks};

/// A file of the given size that goes away with the test.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, size: u64) -> TempFile {
        let dir = std::env::temp_dir().join(format!("cistern-env-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::File::create(dir.join("disk")).unwrap().set_len(size).unwrap();
        TempFile(dir)
    }

    fn path(&self) -> String {
        self.0.join("disk").to_str().unwrap().to_owned()
    }

    fn open(&self, quirks: &[Quirk]) -> Arc<dyn Disk> {
        let set = Quirks::default();
        quirks.iter().for_each(|&quirk| set.set(quirk, true));
        FileDisks::new(set).open(&self.path(), OpenMode::ReadWrite).unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A leftover in the folder for temporary files is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const MODES: [&[Quirk]; 4] = [&[], &[Quirk::NoUring], &[Quirk::NoDirect], &[Quirk::NoUring, Quirk::NoDirect]];

/// Recognisable bytes.
fn pattern(len: usize, seed: usize) -> AlignedBuf {
    let mut buf = AlignedBuf::zeroed(len);
    (0..)
        .zip(buf.iter_mut())
        .for_each(|(i, b): (usize, _)| *b = (i.wrapping_mul(31) ^ (i >> 8) ^ seed) as u8);
    buf
}

#[test]
fn big_batches_come_back_in_every_mode() {
    for (n, mode) in MODES.iter().enumerate() {
        let file = TempFile::new(&format!("batch{n}"), 64 << 20);
        let disk = file.open(mode);
        // More entries than a ring holds; sizes differ.
        let blocks: Vec<AlignedBuf> = (0..400).map(|i| pattern(4096 << (i % 4), i)).collect();
        let offset = |i: usize| (i as u64) << 15;
        let mut writes: Vec<DiskIo<'_>> = (0..)
            .zip(&blocks)
            .map(|(i, block)| DiskIo::write(offset(i), block, IoClass::AsyncWrite))
            .collect();
        disk.submit(&mut writes);
        assert!(writes.iter().all(|io| io.result == Ok(())));
        disk.flush().unwrap();
        let mut back: Vec<AlignedBuf> = blocks.iter().map(|b| AlignedBuf::zeroed(b.len())).collect();
        let mut reads: Vec<DiskIo<'_>> = (0..)
            .zip(&mut back)
            .map(|(i, block)| DiskIo::read(offset(i), block, IoClass::AsyncRead))
            .collect();
        disk.submit(&mut reads);
        assert!(reads.iter().all(|io| io.result == Ok(())));
        assert!(back.iter().zip(&blocks).all(|(a, b)| **a == **b), "mode {mode:?}");
    }
}

#[test]
fn odd_places_and_odd_memory_work() {
    for (n, mode) in MODES.iter().enumerate() {
        let file = TempFile::new(&format!("odd{n}"), 1 << 20);
        let disk = file.open(mode);
        let data = pattern(8193, n);
        // Aligned place, unaligned memory; then the other way round; then neither.
        for (offset, range) in [(4096, 1..8193), (4097, 0..8192), (70_001, 3..778)] {
            disk.write_at(offset, &data[range.clone()], IoClass::SyncWrite).unwrap();
            let mut back = vec![0; range.len() + 1];
            disk.read_at(offset, &mut back[1..], IoClass::SyncRead).unwrap();
            assert_eq!(back[1..], data[range], "mode {mode:?} offset {offset}");
        }
    }
}

#[test]
fn parts_of_a_write_lie_behind_each_other() {
    for (n, mode) in MODES.iter().enumerate() {
        let file = TempFile::new(&format!("parts{n}"), 8 << 20);
        let disk = file.open(mode);
        let data = pattern(5 << 20, n);
        let pages = |len: usize| data[..len].chunks(4096).rev().collect::<Vec<_>>();
        // Whole pages; more of them than a system call takes; parts too small; unaligned; and all
        // of it at an odd place.
        for (offset, parts) in [
            (8192, pages(64 << 10)),
            (4096, pages(5 << 20)),
            (4096, data[..8192].chunks(512).rev().collect()),
            (1 << 20, vec![&data[4096..8192], &data[1..4097], &data[77..8269]]),
            (70_001, vec![&data[..4096], &data[5..700]]),
        ] {
            let all = parts.concat();
            // Alone, and one of several.
            let mut alone = [DiskIo::gather(offset, &parts, IoClass::AsyncWrite)];
            disk.submit(&mut alone);
            assert_eq!(alone[0].result, Ok(()));
            let mut back = vec![0; all.len()];
            disk.read_at(offset, &mut back, IoClass::SyncRead).unwrap();
            assert!(back == all, "mode {mode:?} offset {offset}");
            let behind = 7 << 20;
            let mut batch = [
                DiskIo::gather(offset, &parts, IoClass::AsyncWrite),
                DiskIo::gather(behind, &parts[..2], IoClass::AsyncWrite),
                DiskIo::gather(8 << 20, &parts, IoClass::AsyncWrite),
            ];
            disk.submit(&mut batch);
            assert_eq!(batch.map(|io| io.result), [Ok(()), Ok(()), Err(DiskError::OutOfRange)]);
            let mut two = vec![0; parts[0].len() + parts[1].len()];
            disk.read_at(behind, &mut two, IoClass::SyncRead).unwrap();
            assert!(two == parts[..2].concat(), "mode {mode:?} offset {offset}");
        }
    }
}

#[test]
fn one_bad_entry_does_not_hurt_the_others() {
    let file = TempFile::new("range", 1 << 20);
    let disk = file.open(&[]);
    let data = pattern(4096, 1);
    let mut batch = [0, (1 << 20) - 4095, 8192].map(|at| DiskIo::write(at, &data, IoClass::SyncWrite));
    disk.submit(&mut batch);
    assert_eq!(batch.map(|io| io.result), [Ok(()), Err(DiskError::OutOfRange), Ok(())]);
    disk.submit(&mut []);
    disk.read_at(0, &mut [], IoClass::SyncRead).unwrap();
}

#[test]
fn a_file_cut_short_is_an_error() {
    let file = TempFile::new("short", 1 << 20);
    let disk = file.open(&[]);
    std::fs::OpenOptions::new().write(true).open(file.path()).unwrap().set_len(4096).unwrap();
    let mut buf = AlignedBuf::zeroed(8192);
    assert!(matches!(disk.read_at(0, &mut buf, IoClass::SyncRead), Err(DiskError::Io(_))));
}

#[test]
fn exclusive_read_only_and_missing() {
    let file = TempFile::new("lock", 1 << 20);
    let disks = FileDisks::new(Quirks::default());
    let first = file.open(&[]);
    let path = file.path();
    assert_eq!(disks.open(&path, OpenMode::ReadWrite).err(), Some(DiskError::Busy));
    let reader = disks.open(&path, OpenMode::ReadOnly).unwrap();
    assert_eq!(reader.write_at(0, &[0; 512], IoClass::SyncWrite), Err(DiskError::ReadOnly));
    assert_eq!(reader.discard(0, 4096), Err(DiskError::ReadOnly));
    drop(first);
    drop(disks.open(&path, OpenMode::ReadWrite).unwrap());
    assert_eq!(disks.open("/no/such/disk", OpenMode::ReadOnly).err(), Some(DiskError::NotFound));
    let dir = file.0.to_str().unwrap();
    assert_eq!(disks.open(dir, OpenMode::ReadOnly).err(), Some(DiskError::Unsupported));
    assert_eq!(disks.list(dir).unwrap(), [path]);
}

#[test]
fn discarded_file_ranges_read_as_zeros() {
    let file = TempFile::new("discard", 1 << 20);
    let disk = file.open(&[]);
    disk.write_at(0, &pattern(65536, 5), IoClass::SyncWrite).unwrap();
    match disk.discard(4096, 8192) {
        Err(DiskError::Unsupported) => return,
        result => result.unwrap(),
    }
    let mut back = AlignedBuf::zeroed(16384);
    disk.read_at(0, &mut back, IoClass::SyncRead).unwrap();
    assert!(back[4096..12288].iter().all(|&b| b == 0));
    assert_eq!(back[12288..], pattern(65536, 5)[12288..16384]);
    assert_eq!(disk.discard(1 << 20, 1), Err(DiskError::OutOfRange));
}

/// Which file systems are known is not for a test to say: whether this one is, it says itself.
#[test]
fn holes_of_a_file_are_what_was_never_written() {
    let file = TempFile::new("holes", 1 << 20);
    let disk = file.open(&[]);
    if !disk.places_on_write() {
        assert_eq!(disk.hole(0, 1 << 20), None);
        return;
    }
    assert_eq!(disk.hole(4096, 8192), Some((4096, 8192)));
    disk.write_at(64 << 10, &pattern(64 << 10, 1), IoClass::Scrub).unwrap();
    assert_eq!(disk.hole(0, 1 << 20), Some((0, 64 << 10)));
    assert_eq!(disk.hole(64 << 10, 1 << 20), Some((128 << 10, 896 << 10)), "no further than the file");
    assert_eq!(disk.hole(70 << 10, 1000), None);
    disk.discard(64 << 10, 64 << 10).unwrap();
    assert_eq!(disk.hole(0, 1 << 20), Some((0, 1 << 20)));
}
