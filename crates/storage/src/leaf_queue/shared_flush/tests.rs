use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use env::IoClass;

use super::*;

/// A disk that keeps nothing but what was written before a flush began.
#[derive(Default)]
struct Volatile {
    /// By offset.
    written: Mutex<BTreeMap<u64, Vec<u8>>>,
    durable: Mutex<BTreeMap<u64, Vec<u8>>>,
    flushes: AtomicU64,
    /// While set, a flush does not return.
    hold: AtomicBool,
    fail: AtomicBool,
}

impl Disk for Volatile {
    fn size(&self) -> u64 {
        1 << 30
    }

    fn sector_size(&self) -> SectorSize {
        SectorSize { logical: 512, physical: 512 }
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        for io in batch {
            if io.is_write() {
                lock(&self.written).insert(io.offset, io.op.payload().into_owned());
            }
            io.result = Ok(());
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        let before = lock(&self.written).clone();
        self.flushes.fetch_add(1, SeqCst);
        std::thread::yield_now();
        while self.hold.load(SeqCst) {
            std::thread::yield_now();
        }
        if self.fail.swap(false, SeqCst) {
            return Err(DiskError::Io(5));
        }
        lock(&self.durable).extend(before);
        Ok(())
    }

    fn discard(&self, _offset: u64, _len: u64) -> Result<(), DiskError> {
        Ok(())
    }
}

impl Volatile {
    fn wait_for_flush(&self, number: u64) {
        while self.flushes.load(SeqCst) < number {
            std::thread::yield_now();
        }
    }
}

fn shared() -> (Arc<Volatile>, SharedFlush) {
    let disk = Arc::new(Volatile::default());
    (disk.clone(), SharedFlush::new(Env::real(), disk, Arc::default()))
}

#[test]
fn whoever_returns_from_a_flush_has_its_bytes_durable() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 3000;
    let (disk, shared) = shared();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (disk, shared) = (&disk, &shared);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let bytes = round.to_le_bytes();
                    shared.write_at(thread * 512, &bytes, IoClass::SyncWrite).unwrap();
                    shared.flush().unwrap();
                    assert_eq!(lock(&disk.durable)[&(thread * 512)], bytes, "thread {thread}");
                }
            });
        }
    });
    let (flushed, spared) = (shared.counters.flushes.get(), shared.counters.flushes_shared.get());
    assert_eq!(flushed, disk.flushes.load(SeqCst));
    assert_eq!(flushed + spared, THREADS * ROUNDS, "each is either begun or shared");
}

#[test]
fn all_who_come_while_a_flush_runs_share_the_next() {
    let (disk, shared) = shared();
    disk.hold.store(true, SeqCst);
    let waiting = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| shared.flush().unwrap());
        disk.wait_for_flush(1);
        for _ in 0..5 {
            scope.spawn(|| {
                waiting.fetch_add(1, SeqCst);
                shared.flush().unwrap();
            });
        }
        // None of the five may be content with the first, which began before they came. They are
        // let in one by one.
        while waiting.load(SeqCst) < 5 {
            std::thread::yield_now();
        }
        disk.hold.store(false, SeqCst);
    });
    let flushes = disk.flushes.load(SeqCst);
    assert!((2..=6).contains(&flushes), "{flushes} flushes");
    assert_eq!(flushes + shared.counters.flushes_shared.get(), 6);
}

#[test]
fn after_a_flush_that_failed_all_fail() {
    let (disk, shared) = shared();
    shared.flush().unwrap();
    disk.fail.store(true, SeqCst);
    assert_eq!(shared.flush(), Err(DiskError::Io(5)));
    assert_eq!(shared.flush(), Err(DiskError::Io(5)), "what was lost is not known");
    assert_eq!(disk.flushes.load(SeqCst), 2, "the disk is not asked again");
}

#[test]
fn who_waits_for_a_flush_that_fails_hears_of_it() {
    let (disk, shared) = shared();
    disk.hold.store(true, SeqCst);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| shared.flush());
        disk.wait_for_flush(1);
        let second = scope.spawn(|| shared.flush());
        disk.fail.store(true, SeqCst);
        disk.hold.store(false, SeqCst);
        assert_eq!(first.join().unwrap(), Err(DiskError::Io(5)));
        assert_eq!(second.join().unwrap(), Err(DiskError::Io(5)));
    });
}
