use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::clock::WallTime;
use crate::disk::IoClass;
use crate::mem_disk::MemDisks;

/// A clock that only sleeping moves.
#[derive(Default)]
struct Virtual(AtomicU64);

impl Clock for Virtual {
    fn now(&self) -> Nanos {
        Nanos(self.0.load(Ordering::Relaxed))
    }
    fn wall(&self) -> WallTime {
        WallTime::default()
    }
    fn sleep(&self, span: Nanos) {
        self.0.fetch_add(span.0, Ordering::Relaxed);
    }
}

const PATH: &str = "/dev/model";
const SIZE: u64 = 256 << 20;

struct Bench {
    clock: Arc<Virtual>,
    disks: ModelDisks,
    disk: Arc<dyn Disk>,
}

impl Bench {
    fn new(model: DeviceModel) -> Bench {
        let memory = MemDisks::new();
        memory.add(PATH, SIZE);
        let clock = Arc::new(Virtual::default());
        let disks = ModelDisks::new(Arc::new(memory), clock.clone());
        disks.set(PATH, model);
        let disk = disks.open(PATH, OpenMode::ReadWrite).unwrap();
        Bench { clock, disks, disk }
    }

    /// Seconds that `work` takes.
    fn time(&self, work: impl FnOnce(&dyn Disk)) -> f64 {
        let start = self.clock.now();
        work(&*self.disk);
        self.clock.now().since(start).as_secs_f64()
    }

    fn write(&self, offset: u64, len: usize) {
        self.disk.write_at(offset, &vec![7; len], IoClass::SyncWrite).unwrap();
    }
}

/// Places that no short way connects, within the disk.
fn scattered(n: u64) -> impl Iterator<Item = u64> {
    (0..n).map(|i| (i * 7_919 % 251) << 20)
}

#[test]
fn a_lone_synchronous_writer_gets_one_write_a_revolution() {
    let bench = Bench::new(DeviceModel::sata_disk());
    let seconds = bench.time(|disk| {
        for i in 0..120 {
            bench.write(i * 4096, 4096);
            disk.flush().unwrap();
        }
    });
    assert!((0.98..1.03).contains(&seconds), "120 writes took {seconds} s");
}

#[test]
fn a_flush_of_many_neighbouring_writes_takes_one_revolution() {
    let bench = Bench::new(DeviceModel::sata_disk());
    let seconds = bench.time(|disk| {
        let data = [3; 512];
        let mut batch: Vec<DiskIo<'_>> =
            (0..200).map(|i| DiskIo::write((1 << 20) + i * 512, &data, IoClass::SyncWrite)).collect();
        disk.submit(&mut batch);
        assert!(batch.iter().all(|io| io.result.is_ok()));
        disk.flush().unwrap();
    });
    // 100 KiB at 100 MB/s are another millisecond.
    assert!((0.0083..0.0100).contains(&seconds), "took {seconds} s");
    assert_eq!(bench.disks.counts(PATH).positionings, 1);
}

#[test]
fn a_flush_with_nothing_cached_costs_nothing() {
    let bench = Bench::new(DeviceModel::sata_disk());
    bench.write(0, 512);
    bench.disk.flush().unwrap();
    assert_eq!(bench.time(|disk| disk.flush().unwrap()), 0.0);
}

#[test]
fn sequential_transfers_run_at_the_rate_of_the_medium() {
    let bench = Bench::new(DeviceModel::sata_disk());
    let written = bench.time(|disk| {
        (0..200).for_each(|i| bench.write(i << 20, 1 << 20));
        disk.flush().unwrap();
    });
    assert!((2.09..2.15).contains(&written), "200 MiB were written in {written} s");
    let read = bench.time(|disk| {
        let mut buf = vec![0; 1 << 20];
        (0..200).for_each(|i| disk.read_at(i << 20, &mut buf, IoClass::SyncRead).unwrap());
    });
    assert!((2.09..2.15).contains(&read), "200 MiB were read in {read} s");
}

#[test]
fn reading_two_streams_in_turns_of_one_region_needs_no_positioning() {
    let bench = Bench::new(DeviceModel::sata_disk());
    let mut buf = vec![0; 128 << 10];
    for i in [0, 2, 1, 3, 5, 4, 6] {
        bench.disk.read_at(i * (128 << 10), &mut buf, IoClass::AsyncRead).unwrap();
    }
    assert_eq!(bench.disks.counts(PATH).positionings, 1);
}

#[test]
fn random_reads_and_random_writes_come_at_120_a_second() {
    let bench = Bench::new(DeviceModel::sata_disk());
    let mut buf = [0; 4096];
    let reads = bench.time(|disk| {
        scattered(240).for_each(|at| disk.read_at(at, &mut buf, IoClass::SyncRead).unwrap());
    });
    assert!((1.98..2.05).contains(&reads), "240 random reads took {reads} s");
    let writes = bench.time(|disk| {
        scattered(240).for_each(|at| bench.write(at, 4096));
        disk.flush().unwrap();
    });
    assert!((1.9..2.05).contains(&writes), "240 random writes took {writes} s");
}

#[test]
fn the_cache_acknowledges_what_it_has_room_for() {
    let bench = Bench::new(DeviceModel::sata_disk());
    let few = bench.time(|_| scattered(60).for_each(|at| bench.write(at, 4096)));
    assert!(few < 0.005, "60 cached writes took {few} s");
    let cached_read = bench.time(|disk| {
        let last = scattered(60).last().unwrap();
        disk.read_at(last, &mut [0; 4096], IoClass::SyncRead).unwrap();
    });
    assert!(cached_read < 0.001, "reading what is in the cache took {cached_read} s");
}

#[test]
fn requests_of_different_threads_wait_for_the_same_arm() {
    let mut one = Timeline::new(DeviceModel::sata_disk());
    let now = Nanos::from_millis(1);
    let first = one.read(now, 10 << 20, 4096);
    let second = one.read(now, 90 << 20, 4096);
    let behind = second.since(first);
    assert!(behind >= DeviceModel::sata_disk().positioning, "{behind:?}");
}

#[test]
fn writes_that_come_while_the_arm_is_on_its_way_go_along() {
    let mut disk = Timeline::new(DeviceModel::sata_disk());
    disk.write(Nanos::from_millis(100), 1 << 20, 4096);
    let first = disk.flush(Nanos::from_micros(100_100));
    disk.write(Nanos::from_millis(104), (1 << 20) + 4096, 4096);
    let second = disk.flush(Nanos::from_micros(104_100));
    assert!(second.since(first) < Nanos::from_millis(1), "{first:?} {second:?}");
    // Once the arm stands still the place has to come around again.
    disk.write(second + Nanos::from_micros(100), (1 << 20) + 8192, 4096);
    let third = disk.flush(second + Nanos::from_micros(200));
    assert!(third.since(second) >= DeviceModel::sata_disk().positioning, "{second:?} {third:?}");
}

#[test]
fn an_ssd_reads_in_a_tenth_of_a_millisecond_and_pays_for_flushes() {
    let bench = Bench::new(DeviceModel::consumer_ssd());
    let reads = bench.time(|disk| {
        let mut buf = [0; 4096];
        scattered(100).for_each(|at| disk.read_at(at, &mut buf, IoClass::SyncRead).unwrap());
    });
    assert!((0.0099..0.0102).contains(&reads), "100 reads took {reads} s");
    let synced = bench.time(|disk| {
        bench.write(0, 4096);
        disk.flush().unwrap();
    });
    assert!((0.0015..0.0017).contains(&synced), "a synchronous write took {synced} s");
}

#[test]
fn an_ssd_serves_several_readers_at_a_time() {
    let mut ssd = Timeline::new(DeviceModel::consumer_ssd());
    let done = scattered(80).map(|at| ssd.read(Nanos(0), at, 4096)).max().unwrap();
    assert!(done < Nanos::from_micros(1_200), "{done:?}");
}

#[test]
fn a_ram_log_takes_twenty_microseconds_and_no_flush() {
    let bench = Bench::new(DeviceModel::ram_log());
    let seconds = bench.time(|disk| {
        for i in 0..1000 {
            bench.write(i * 4096, 4096);
            disk.flush().unwrap();
        }
    });
    assert!((0.024..0.0245).contains(&seconds), "1000 synchronous writes took {seconds} s");
    let stream = bench.time(|_| (0..100).for_each(|i| bench.write(i << 20, 1 << 20)));
    assert!((0.10..0.11).contains(&stream), "100 MiB took {stream} s");
}

#[test]
fn only_time_is_added() {
    let bench = Bench::new(DeviceModel::sata_disk());
    bench.write(4096, 512);
    let mut buf = [0; 512];
    bench.disk.read_at(4096, &mut buf, IoClass::SyncRead).unwrap();
    assert_eq!(buf, [7; 512]);
    let beyond = bench.disk.read_at(SIZE, &mut buf, IoClass::SyncRead);
    assert_eq!(beyond, Err(DiskError::OutOfRange));
    assert_eq!(bench.disk.size(), SIZE);
}

#[test]
fn the_arm_stays_where_it_is_when_the_disk_is_opened_again() {
    let bench = Bench::new(DeviceModel::sata_disk());
    bench.write(0, 4096);
    let Bench { clock, disks, disk } = bench;
    drop(disk);
    let disk = disks.open(PATH, OpenMode::ReadWrite).unwrap();
    let start = clock.now();
    disk.flush().unwrap();
    assert!(clock.now().since(start) > Nanos::from_millis(8));
}

#[test]
fn other_disks_are_as_fast_as_they_are() {
    let memory = MemDisks::new();
    memory.add("/dev/plain", 1 << 20);
    let clock = Arc::new(Virtual::default());
    let disks = ModelDisks::new(Arc::new(memory), clock.clone());
    let disk = disks.open("/dev/plain", OpenMode::ReadWrite).unwrap();
    disk.write_at(0, &[1; 512], IoClass::SyncWrite).unwrap();
    disk.flush().unwrap();
    assert_eq!(clock.now(), Nanos(0));
    assert_eq!(disks.counts("/dev/plain"), ModelCounts::default());
}
