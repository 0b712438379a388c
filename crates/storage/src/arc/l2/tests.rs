use std::time::Duration;

use env::{FaultKind, FaultOp, FaultRule, IoClass, OpenMode};
use ondisk::eck::label_verifier;
use ondisk::l2arc::DeviceHeader;
use ondisk::{ChecksumKind, CompressKind, label};

use super::*;
use crate::arc::{L2Stats, Scope};
use crate::testing::*;
use crate::{Block, VdevKind, WritePolicy};

const CACHE: &str = "cache";
const GUID: u64 = 77;
const BLOCK: usize = 64 << 10;

/// A pool on four disks with a cache of a mebibyte, and a cache device of the smallest size that
/// keeps log blocks.
struct Bench {
    rig: Rig,
    config: VdevConfig,
}

impl Bench {
    fn new() -> Bench {
        let rig = rig_with_cache(&[1; 4], 1 << 20);
        let slow = Duration::from_secs(3600);
        // Rounds happen when a test asks for them, and a device of any size keeps log blocks.
        let limits = Limits { interval: slow, interval_min: slow, ..Limits::default() };
        rig.storage.env().tunables.set(env::Tunable::L2arcRebuildBlocksMinL2size, 0);
        rig.storage.set_cache_limits(limits);
        rig.disks.add(CACHE, DISK);
        let mut config = VdevConfig::new(VdevKind::File, 0, GUID);
        config.path = Some(CACHE.into());
        rig.storage.add_cache(&mut config, CacheIntent::New).unwrap();
        Bench { rig, config }
    }

    fn l2(&self) -> &Level2 {
        self.rig.storage.level2()
    }

    fn counts(&self) -> L2Stats {
        self.rig.storage.cache().stats().l2
    }

    /// Writes blocks one by one, and lets the device have each before it is evicted.
    fn write(&self, seeds: std::ops::Range<u64>, policy: WritePolicy) -> Vec<(BlkPtr, Arc<Block>)> {
        self.rig.storage.sync_done(4);
        let made = seeds.map(|seed| {
            let block = noise(BLOCK, seed);
            let bp = self.rig.write_one(&block, policy);
            if seed % 8 == 7 {
                self.feed();
            }
            (bp, block)
        });
        let made: Vec<_> = made.collect();
        self.feed();
        made
    }

    fn feed(&self) {
        while self.l2().feed(&*self.rig.storage).0 > 0 {}
    }

    /// Everything reads back right; blocks that memory still has are dropped before.
    fn check(&self, blocks: &[(BlkPtr, Arc<Block>)]) {
        for (bp, block) in blocks {
            self.rig.storage.cache().remove(&Key::of(7, bp).unwrap());
            assert_eq!(self.rig.read(bp).unwrap()[..], block[..]);
        }
    }

    fn held(&self, blocks: &[(BlkPtr, Arc<Block>)]) -> usize {
        blocks.iter().filter(|(bp, _)| self.l2().has(&Key::of(7, bp).unwrap())).count()
    }

    fn fail(&self, op: FaultOp, kind: FaultKind) {
        self.rig.faults.inject(on(CACHE, op, kind));
    }

    fn state(&self) -> VdevState {
        self.rig.storage.cache_devices()[0].stat.state
    }

    /// Closes the device and opens it again, as a restart does.
    fn reopen(&mut self) {
        assert!(self.rig.storage.remove_cache(GUID));
        self.rig.storage.add_cache(&mut self.config, CacheIntent::Known).unwrap();
        self.rebuilt();
    }

    /// Waits until the contents are known.
    fn rebuilt(&self) {
        while lock(&self.l2().state).devices.iter().any(|device| device.rebuild.is_some()) {
            std::thread::yield_now();
        }
    }

    /// Changes bytes on the device behind everybody's back.
    fn scribble(&self, at: u64) {
        let disk = self.rig.disks.clone();
        let disk = env::Disks::open(&disk, CACHE, OpenMode::ReadOnly).unwrap();
        let mut sector = env::AlignedBuf::zeroed(512);
        disk.read_at(at, &mut sector, IoClass::SyncRead).unwrap();
        sector.iter_mut().for_each(|byte| *byte ^= 0x5a);
        drop(disk);
        let disk = env::Disks::open(&self.rig.disks, CACHE, OpenMode::ReadWrite).unwrap();
        disk.write_at(at, &sector, IoClass::SyncWrite).unwrap();
    }

    fn ring(&self) -> Ring {
        lock(&self.l2().state).devices[0].ring.clone().unwrap()
    }
}

#[test]
fn what_memory_evicts_is_read_from_the_device_as_the_pool_has_it() {
    let bench = Bench::new();
    let mut blocks = bench.write(0..100, plain());
    blocks.extend(bench.write(100..140, with(ChecksumKind::Sha256, CompressKind::Lz4)));
    let packed: Vec<_> = (0..40)
        .map(|seed| {
            let block = text(BLOCK, seed);
            let kind = if seed % 2 == 0 { CompressKind::Lz4 } else { CompressKind::Zstd };
            let bp = bench.rig.write_one(&block, with(ChecksumKind::Fletcher4, kind));
            bench.feed();
            (bp, block)
        })
        .collect();
    assert_eq!(bench.held(&blocks) + bench.held(&packed), 180);
    let (before, reads) = (bench.counts(), bench.rig.storage.status().io.reads);
    bench.check(&blocks);
    bench.check(&packed);
    let after = bench.counts();
    assert_eq!(after.hits - before.hits, 180);
    assert_eq!(bench.rig.storage.status().io.reads, reads, "the pool was left alone");
    assert_eq!((after.blocks, after.checksum_errors, after.reread), (180, 0, 0));
    assert!(after.psize < after.size && after.asize == after.psize);
    assert_eq!((after.data_asize, after.metadata_asize, after.prefetch_asize), (after.asize, 0, 0));
    assert_eq!(after.mru_asize + after.mfu_asize, after.asize);
    assert!(bench.rig.storage.cache().stats().evicted_l2_cached > 0);
    let device = bench.rig.storage.cache_devices().remove(0);
    assert_eq!(device.allocated, after.asize + after.log_asize);
    assert!(device.stat.io.reads > 0 && device.stat.io.writes > 0 && device.size < DISK);
}

#[test]
fn what_was_used_once_is_left_out_where_it_is_to_be() {
    let bench = Bench::new();
    bench.rig.storage.env().tunables.set(env::Tunable::L2arcMfuonly, 1);
    let blocks = bench.write(0..8, plain());
    assert_eq!(bench.held(&blocks), 0);
    bench.rig.storage.env().tunables.set(env::Tunable::L2arcMfuonly, 0);
    bench.feed();
    assert_eq!((bench.held(&blocks), bench.counts().mfu_asize), (8, 0));
}

#[test]
fn what_was_compressed_otherwise_is_read_from_the_pool_once() {
    let bench = Bench::new();
    bench.rig.storage.sync_done(4);
    let policy = WritePolicy { complevel: 12, ..with(ChecksumKind::Fletcher4, CompressKind::Zstd) };
    let mut mixed = Block::zeroed(BLOCK);
    for (n, byte) in mixed.iter_mut().enumerate() {
        *byte = (n * n / 977 % 61) as u8;
    }
    let block = Arc::new(mixed);
    let bp = bench.rig.write_one(&block, policy);
    bench.feed();
    assert_eq!(bench.counts().reread, 1);
    bench.check(&[(bp, block)]);
    assert_eq!((bench.counts().hits, bench.counts().checksum_errors), (1, 0));
}

#[test]
fn garbage_is_never_believed_and_too_much_of_it_ends_the_device() {
    let bench = Bench::new();
    let blocks = bench.write(0..150, plain());
    bench.fail(FaultOp::Read, FaultKind::Corrupt);
    bench.check(&blocks[..10]);
    let counts = bench.counts();
    assert_eq!((counts.checksum_errors, counts.hits, bench.state()), (10, 0, VdevState::Online));
    assert_eq!(bench.held(&blocks), 140, "what was bad is forgotten");
    bench.check(&blocks);
    assert_eq!((bench.state(), bench.held(&blocks)), (VdevState::Faulted, 0));
    assert_eq!(bench.counts().devices_lost, 1);
    assert!(!bench.l2().is_active());
    bench.check(&blocks);
}

#[test]
fn errors_and_a_device_that_goes_cost_nothing_but_the_device() {
    for (op, kind) in [
        (FaultOp::Read, FaultKind::Fail(DiskError::Io(5))),
        (FaultOp::Any, FaultKind::Fail(DiskError::Gone)),
        (FaultOp::Write, FaultKind::Fail(DiskError::Gone)),
    ] {
        let bench = Bench::new();
        let blocks = bench.write(0..40, plain());
        bench.fail(op, kind);
        let more = bench.write(40..80, plain());
        bench.check(&blocks);
        bench.check(&more);
        assert_eq!(bench.state(), VdevState::Faulted, "{op:?} {kind:?}");
        let counts = bench.counts();
        assert!(counts.read_errors + counts.write_errors > 0);
        assert_eq!((counts.blocks, counts.asize, counts.header_bytes, counts.log_count), (0, 0, 0, 0));
    }
}

#[test]
fn a_device_that_comes_back_is_used_again_with_what_it_holds() {
    let bench = Bench::new();
    let blocks = bench.write(0..60, plain());
    bench.fail(FaultOp::Any, FaultKind::Fail(DiskError::Gone));
    bench.check(&blocks);
    assert_eq!((bench.state(), bench.held(&blocks)), (VdevState::Faulted, 0));
    assert!(bench.rig.storage.reopen_cache(GUID).unwrap().is_err(), "it is still gone");
    assert_eq!(bench.state(), VdevState::Unavail);
    bench.rig.faults.clear();
    bench.rig.storage.reopen_cache(GUID).unwrap().unwrap();
    bench.rebuilt();
    assert_eq!((bench.state(), bench.held(&blocks)), (VdevState::Online, 60));
    let hits = bench.counts().hits;
    bench.check(&blocks);
    assert_eq!(bench.counts().hits, hits + 60);
    assert!(bench.rig.storage.reopen_cache(GUID).unwrap().is_ok(), "nothing to do");
    assert!(bench.rig.storage.reopen_cache(GUID + 1).is_none());
    // Out of use by an operator's word, and back.
    let size = bench.counts().size;
    assert!(bench.rig.storage.offline_cache(GUID) && !bench.rig.storage.offline_cache(GUID + 1));
    assert_eq!((bench.state(), bench.held(&blocks)), (VdevState::Offline, 0));
    assert!(size > 0 && bench.counts().size == size, "what it holds is counted all the same");
    bench.check(&blocks);
    assert!(bench.rig.storage.reopen_cache(GUID).unwrap().is_ok());
    bench.rebuilt();
    assert_eq!((bench.state(), bench.held(&blocks)), (VdevState::Online, 60));
    assert_eq!(bench.counts().size, size);
}

#[test]
fn one_failed_write_is_not_listed() {
    let bench = Bench::new();
    let blocks = bench.write(0..8, plain());
    let fault = FaultKind::Fail(DiskError::Io(5));
    let beyond = label::START + 4096..u64::MAX;
    let rule = on(CACHE, FaultOp::Write, fault);
    bench.rig.faults.inject(FaultRule { bytes: beyond.into(), times: 1, ..rule });
    bench.rig.write_one(&noise(BLOCK, 500), plain());
    let (wrote, _) = bench.l2().feed(&*bench.rig.storage);
    assert!(wrote > 0 && bench.counts().write_errors > 0);
    assert_eq!(bench.ring().logs.len(), 0, "the chain is broken");
    assert_eq!(bench.state(), VdevState::Online);
    bench.check(&blocks);
    assert_eq!(bench.counts().hits, 8, "what was there before is still good");
}

#[test]
fn the_ring_turns_and_what_it_writes_over_is_forgotten() {
    let bench = Bench::new();
    let mut kept = Vec::new();
    for round in 0..6 {
        let blocks = bench.write(round * 400..(round + 1) * 400, plain());
        bench.check(&blocks[300..]);
        kept.extend(blocks);
    }
    let counts = bench.counts();
    assert!(counts.evicted > 1000 && counts.evictions > 0, "{counts:?}");
    assert!(!bench.ring().first_round);
    assert!(counts.blocks < 1000 && counts.log_count == bench.ring().logs.len() as u64);
    assert_eq!(counts.header_bytes, counts.blocks * ENTRY);
    bench.check(&kept);
    assert_eq!(bench.counts().checksum_errors, 0);
}

#[test]
fn contents_survive_a_restart() {
    for writes in [90, 2000] {
        let mut bench = Bench::new();
        let blocks = bench.write(0..writes, plain());
        let (held, ring) = (bench.held(&blocks), bench.ring());
        bench.reopen();
        let counts = bench.counts();
        assert_eq!((counts.rebuild_ok, counts.rebuild_failed), (1, 0));
        assert_eq!(counts.rebuild_logs, ring.logs.len() as u64);
        let again = bench.ring();
        assert_eq!((&again.logs, again.evict, again.newest), (&ring.logs, ring.evict, ring.newest));
        // Only what no log block lists yet is lost: fewer than a log block has entries.
        assert!(bench.held(&blocks) > held - 4 && held > 80, "{} of {held}", bench.held(&blocks));
        bench.check(&blocks);
        assert_eq!(bench.counts().checksum_errors, 0);
        let more = bench.write(5000..5040, plain());
        bench.check(&more);
        assert_eq!(bench.counts().checksum_errors, 0);
    }
}

#[test]
fn a_torn_log_block_ends_the_rebuild_and_a_torn_header_begins_anew() {
    let mut bench = Bench::new();
    let blocks = bench.write(0..90, plain());
    let logs = bench.ring().logs;
    assert_eq!(logs.len(), 30);
    bench.rig.storage.remove_cache(GUID);
    bench.scribble(logs[10].address);
    bench.rig.storage.add_cache(&mut bench.config, CacheIntent::Known).unwrap();
    bench.rebuilt();
    assert_eq!(bench.counts().rebuild_failed, 1);
    bench.reopen();
    assert_eq!(bench.held(&blocks), 19 * 3, "the newer ones are good");
    bench.check(&blocks);

    bench.rig.storage.remove_cache(GUID);
    bench.scribble(label::START);
    bench.rig.storage.add_cache(&mut bench.config, CacheIntent::Known).unwrap();
    assert_eq!(bench.held(&blocks), 0);
    assert_eq!(bench.ring().hand, bench.ring().start);
    bench.check(&blocks);
}

#[test]
fn the_header_on_disk_is_the_ring_in_memory() {
    let bench = Bench::new();
    bench.write(0..60, plain());
    let ring = bench.ring();
    bench.rig.storage.remove_cache(GUID);
    let disk = env::Disks::open(&bench.rig.disks, CACHE, OpenMode::ReadOnly).unwrap();
    let mut area = env::AlignedBuf::zeroed(1 << ring.ashift);
    disk.read_at(label::START, &mut area, IoClass::SyncRead).unwrap();
    let header = DeviceHeader::decode(&area).unwrap();
    assert_eq!(header, ring.header(7, GUID));
    let device = crate::labels::Device::locate(disk).unwrap();
    assert!(device.read_sealed(label::START, area.len()).is_some());
    assert!(device.read_sealed(label::START + 512, 512).is_none(), "{:?}", label_verifier(label::START));
}

#[test]
fn a_device_that_is_missing_or_another_is_listed_and_not_used() {
    let mut bench = Bench::new();
    bench.rig.storage.remove_cache(GUID);
    let mut other = VdevConfig { guid: 78, ..bench.config.clone() };
    bench.rig.storage.add_cache(&mut other, CacheIntent::Known).unwrap();
    bench.config.path = Some("nowhere".into());
    bench.rig.storage.add_cache(&mut bench.config, CacheIntent::Known).unwrap();
    let states: Vec<_> = bench.rig.storage.cache_devices().iter().map(|device| device.stat.state).collect();
    assert_eq!(states, [VdevState::Unavail, VdevState::Unavail]);
    assert!(!bench.l2().is_active());
    let refused = bench.rig.storage.add_cache(&mut bench.config, CacheIntent::New);
    assert_eq!(refused, Err(DiskError::NotFound));
    assert!(bench.rig.storage.remove_cache(78) && !bench.rig.storage.remove_cache(78));
}

#[test]
fn datasets_say_what_is_kept_where() {
    let bench = Bench::new();
    bench.rig.storage.sync_done(4);
    let keep = |primary, secondary| WritePolicy { keep: Keep { primary, secondary }, ..plain() };
    let write = |seed, policy: WritePolicy| {
        let block = noise(BLOCK, seed);
        (bench.rig.write_one(&block, policy), block)
    };
    let all = write(1, keep(Scope::All, Scope::All));
    let not_second = write(2, keep(Scope::All, Scope::None));
    let metadata_only = write(3, keep(Scope::All, Scope::Metadata));
    let nowhere = write(4, keep(Scope::None, Scope::All));
    let indirect = write(5, WritePolicy { level: 1, ..keep(Scope::Metadata, Scope::Metadata) });
    bench.feed();
    let on_device = |(bp, _): &(BlkPtr, Arc<Block>)| bench.l2().has(&Key::of(7, bp).unwrap());
    let in_memory = |(bp, _): &(BlkPtr, Arc<Block>)| bench.rig.storage.cached(bp).is_some();
    let blocks = [all, not_second, metadata_only, nowhere, indirect];
    assert_eq!(blocks.each_ref().map(on_device), [true, false, false, false, true]);
    assert_eq!(blocks.each_ref().map(in_memory), [true, true, true, false, true]);
    let read = |keep| bench.rig.storage.read_many(&[blocks[3].0], IoClass::SyncRead, keep);
    drop(read(Keep { primary: Scope::Metadata, secondary: Scope::All }));
    assert!(!in_memory(&blocks[3]));
    drop(read(Keep { primary: Scope::All, secondary: Scope::None }));
    bench.feed();
    assert!(in_memory(&blocks[3]) && !on_device(&blocks[3]));
    // Now somebody who may keep it there has read it: it was in memory and is known by its pointer
    // from here on.
    drop(read(Keep::ALL));
    bench.feed();
    assert!(on_device(&blocks[3]));
}

#[test]
fn neither_groups_under_way_nor_unused_prefetches_are_written() {
    let bench = Bench::new();
    bench.rig.storage.sync_done(4);
    let block = noise(BLOCK, 1);
    let bp = bench.rig.write(std::slice::from_ref(&block), plain(), 5).remove(0).unwrap();
    let key = Key::of(7, &bp).unwrap();
    bench.feed();
    assert!(!bench.l2().has(&key), "group 5 may still write over it");
    bench.rig.storage.cache().remove(&key);
    bench.rig.storage.sync_done(5);
    bench.rig.storage.read_ahead(&[bp], Keep::ALL, false);
    bench.feed();
    assert!(!bench.l2().has(&key), "nobody has asked for it");
    assert_eq!(bench.rig.read(&bp).unwrap()[..], block[..]);
    bench.feed();
    assert!(bench.l2().has(&key));
    let stats = bench.rig.storage.cache().stats();
    assert_eq!((stats.missed.prefetch_data, stats.hits.demand_data), (1, 1));
}
