//! Writes and reads a file or device (first argument; its contents are lost) in batches of eight 1
//! MiB transfers for three seconds each, and prints the speed; to be compared with fio at the same
//! depth.

use std::time::{Duration, Instant};

use env::{AlignedBuf, Disk, DiskIo, Disks, FileDisks, IoClass, OpenMode, Quirks};

const BLOCK: usize = 1 << 20;
const DEPTH: usize = 8;

fn measure(what: &str, disk: &dyn Disk, mut batch_at: impl FnMut(u64)) {
    let (start, mut moved) = (Instant::now(), 0u64);
    while start.elapsed() < Duration::from_secs(3) {
        batch_at(moved % (disk.size() - disk.size() % (BLOCK * DEPTH) as u64));
        moved += (BLOCK * DEPTH) as u64;
    }
    println!("{what} {:.0} MB/s", moved as f64 / start.elapsed().as_secs_f64() / 1e6);
}

fn main() {
    let path = std::env::args().nth(1).expect("path of a file or device of at least 8 MiB");
    let disk = FileDisks::new(Quirks::default()).open(&path, OpenMode::ReadWrite).expect("disk opens");
    let mut bufs: Vec<AlignedBuf> =
        (0..DEPTH).map(|i| AlignedBuf::from_slice(&vec![i as u8; BLOCK])).collect();
    measure("write", &*disk, |at| {
        let place = |(i, buf)| DiskIo::write(at + (i * BLOCK) as u64, buf, IoClass::AsyncWrite);
        let mut batch: Vec<DiskIo<'_>> = bufs.iter().map(|buf| &**buf).enumerate().map(place).collect();
        disk.submit(&mut batch);
        assert!(batch.iter().all(|io| io.result.is_ok()));
    });
    disk.flush().expect("disk flushes");
    measure("read", &*disk, |at| {
        let place = |(i, buf)| DiskIo::read(at + (i * BLOCK) as u64, buf, IoClass::AsyncRead);
        let mut batch: Vec<DiskIo<'_>> =
            bufs.iter_mut().map(|buf| &mut **buf).enumerate().map(place).collect();
        disk.submit(&mut batch);
        assert!(batch.iter().all(|io| io.result.is_ok()));
    });
}
