//! What is done to datasets: many snapshots, what destroying them gives back, snapshots of a file system that is written to,
//! and what compression costs and brings.
//!
//! Snapshots are measured on a pool on disks in memory, so that the figures are the engine's own; compression on an image on
//! the disk that is measured elsewhere, since what it saves is the disk's work.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::facade::{LocalEngine, Options};
use engine_api::{
    Change, DatasetFilter, DatasetKind, DestroyQuery, Engine, Error, Pool, PoolSpec, PropertyChange, VdevSpec,
};
use env::{Env, MemDisks, SectorSize};
use load::Fail;

use crate::options;
use crate::peers::write_image;
use crate::pool_file::{Noise, PoolFile};
use crate::results::{Figure, Results, Row, median};

pub const PART: &str = "datasets";

const POOL: &str = "bench";
const DISK: &str = "/datasets";
const DISK_SIZE: u64 = 4 << 30;
const CACHE: usize = 512 << 20;
const FILE_SYSTEMS: usize = 1_000;
/// Of each file system, by one command after the other.
const SNAPSHOTS: usize = 100;
/// Commands that make 10,000 snapshots.
const FIRST: usize = 10;
/// Blocks that only a snapshot has, and their size.
const HELD: u64 = 1_000_000;
const HELD_BLOCK: u64 = 512;
const CALL: usize = 1 << 20;
/// As long as a file system is written to, and how often a snapshot is taken of it meanwhile.
const BUSY: Duration = Duration::from_secs(6);
const EVERY: Duration = Duration::from_millis(100);
/// Bytes written with and without compression.
const COMPRESSED: u64 = 1 << 30;
const IMAGE_SIZE: u64 = 4 << 30;
const RECORD: usize = 128 << 10;
/// How the raw value of a pointer names zstd.
const ZSTD: u8 = 16;

pub fn measure(options: &options::Options, about: &str) -> Result<Results, Fail> {
    env::memory::use_small_pages();
    let mut results = Results {
        part: PART.to_owned(),
        title: "Datasets: snapshots and compression".to_owned(),
        about: about.to_owned(),
        ..Results::default()
    };
    many_snapshots(&mut results)?;
    giving_back(&mut results)?;
    busy(&mut results)?;
    compression(options, &mut results)?;
    Ok(results)
}

fn step(what: &str) {
    eprintln!("bench: {PART}: {what}");
}

fn figure(results: &mut Results, name: &str, value: String, goal: &str) {
    results.figures.push(Figure { name: name.to_owned(), value, goal: goal.to_owned() });
}

/// A pool on this disk; nobody else has it.
struct Bench {
    engine: Arc<LocalEngine>,
    pool: Arc<dyn Pool>,
}

impl Bench {
    fn new(env: Env, disk: &str) -> Result<Bench, Fail> {
        let options = Options { search: Vec::new(), cache: CACHE, dirty: 256 << 20, ..Options::default() };
        let engine = LocalEngine::new(env, options);
        let spec = PoolSpec {
            name: POOL.into(),
            vdevs: vec![VdevSpec::Leaf(disk.into())],
            fs_props: vec![PropertyChange { name: "mountpoint".into(), value: "none".into() }],
            force: true,
            ..PoolSpec::default()
        };
        let pool = engine.create(&spec)?;
        Ok(Bench { engine, pool })
    }

    fn in_memory() -> Result<Bench, Fail> {
        let disks = MemDisks::new();
        disks.add_with_sectors(DISK, DISK_SIZE, SectorSize { logical: 512, physical: 512 });
        Bench::new(Env { disks: Arc::new(disks), ..Env::real() }, DISK)
    }

    fn snapshot(&self, name: String, recursive: bool) -> Result<(), Error> {
        self.pool.commit(&Change::Snapshot { names: vec![name], recursive, props: Vec::new() }, "").map(drop)
    }

    fn destroy(&self, name: &str, recursive: bool) -> Result<(), Error> {
        let query = DestroyQuery { name: name.to_owned(), recursive, clones: false, defer: false };
        let names = self.pool.plan_destroy(&query)?.names;
        self.pool.commit(&Change::Destroy { names, force: false, defer: false }, "").map(drop)
    }

    /// Nothing is being given back in the background any more.
    fn settle(&self) -> Result<(), Error> {
        while self.pool.properties(&["freeing".into()])?[0].value != "0" {
            self.pool.sync()?;
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Nothing of the pool is needed any more; a failure to end it well shows in nothing measured.
        drop(self.engine.destroy(POOL, true));
    }
}

fn seconds(since: Instant) -> String {
    format!("{:.2} s", since.elapsed().as_secs_f64())
}

fn many_snapshots(results: &mut Results) -> Result<(), Fail> {
    step("many snapshots");
    let bench = Bench::in_memory()?;
    for n in 0..FILE_SYSTEMS {
        let name = format!("{POOL}/fs{n}");
        bench.pool.commit(&Change::CreateFilesystem { name, parents: false, props: Vec::new() }, "")?;
    }
    let begun = Instant::now();
    (0..FIRST).try_for_each(|n| bench.snapshot(format!("{POOL}@s{n}"), true))?;
    figure(results, "10,000 snapshots, ten commands for 1,000 file systems each", seconds(begun), "< 60 s");
    (FIRST..SNAPSHOTS).try_for_each(|n| bench.snapshot(format!("{POOL}@s{n}"), true))?;
    let names = ["name"].map(str::to_owned).to_vec();
    let columns = ["name", "used", "available", "referenced", "mountpoint"].map(str::to_owned).to_vec();
    for (what, props) in [("by name", names), ("with zfs list's columns", columns)] {
        let filter = DatasetFilter { kinds: vec![DatasetKind::Snapshot], props, ..DatasetFilter::default() };
        let begun = Instant::now();
        let found = bench.pool.datasets(&filter)?.len();
        figure(results, &format!("100,000 snapshots listed {what}"), seconds(begun), "< 1 s");
        if found < FILE_SYSTEMS * SNAPSHOTS {
            return Err(format!("{found} snapshots are listed").into());
        }
    }
    let begun = Instant::now();
    bench.snapshot(format!("{POOL}/fs1@one"), false)?;
    figure(results, "one snapshot of one file system, 100,000 in the pool", seconds(begun), "");
    let begun = Instant::now();
    (0..FIRST).try_for_each(|n| bench.destroy(&format!("{POOL}@s{n}"), true))?;
    figure(results, "10,000 of them destroyed, ten commands", seconds(begun), "");
    Ok(())
}

fn giving_back(results: &mut Results) -> Result<(), Fail> {
    step("giving back");
    let bench = Bench::in_memory()?;
    let props = [("recordsize", "512"), ("compression", "off"), ("redundant_metadata", "some")];
    let file = PoolFile::make(&*bench.pool, &format!("{POOL}/fs"), &props)?;
    let noise = Noise::new();
    let size = HELD * HELD_BLOCK;
    for at in (0..size).step_by(CALL) {
        file.write(at, noise.at(at, CALL.min((size - at) as usize)))?;
    }
    file.sync()?;
    bench.snapshot(format!("{POOL}/fs@held"), false)?;
    file.truncate()?;
    bench.pool.sync()?;
    let begun = Instant::now();
    bench.destroy(&format!("{POOL}/fs@held"), false)?;
    bench.settle()?;
    let rate = HELD as f64 / begun.elapsed().as_secs_f64();
    let name = "blocks a second that destroying a snapshot gives back";
    figure(results, name, format!("{rate:.0}"), "500,000");
    Ok(())
}

fn busy(results: &mut Results) -> Result<(), Fail> {
    step("a busy file system");
    let bench = Bench::in_memory()?;
    let file = PoolFile::make(&*bench.pool, &format!("{POOL}/fs"), &[("compression", "off")])?;
    let noise = Noise::new();
    let (ends, mut alone) = (AtomicBool::new(false), Duration::ZERO);
    let write = |until: &dyn Fn() -> bool| -> Result<Vec<Duration>, Error> {
        let mut took = Vec::new();
        for turn in 0u64.. {
            if until() {
                break;
            }
            let at = turn % 512 * RECORD as u64;
            let begun = Instant::now();
            file.write(at, noise.at(at, RECORD))?;
            took.push(begun.elapsed());
            // As a client over a fast network does: not more than the pool can take.
            std::thread::sleep(Duration::from_micros(300));
        }
        took.sort();
        Ok(took)
    };
    let begun = Instant::now();
    let took = write(&|| begun.elapsed() > BUSY)?;
    alone = alone.max(took.last().copied().unwrap_or_default());
    let (writes, snapshots) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&|| ends.load(Ordering::Relaxed)));
        let mut took = Vec::new();
        let begun = Instant::now();
        let mut done = Ok(());
        for n in 0.. {
            if begun.elapsed() > BUSY || done.is_err() {
                break;
            }
            let one = Instant::now();
            done = bench.snapshot(format!("{POOL}/fs@s{n}"), false);
            took.push(one.elapsed());
            std::thread::sleep(EVERY.saturating_sub(one.elapsed()));
        }
        ends.store(true, Ordering::Relaxed);
        took.sort();
        let writes = writer.join().expect("a writer does not panic");
        done.and(writes).map(|writes| (writes, took))
    })?;
    let millis = |span: Duration| format!("{:.1} ms", span.as_secs_f64() * 1e3);
    let p99 = |took: &[Duration]| took.get(took.len() * 99 / 100).copied().unwrap_or_default();
    figure(results, "snapshot of a busy file system, ten a second, p99", millis(p99(&snapshots)), "< 20 ms");
    let longest = writes.last().copied().unwrap_or_default();
    figure(results, "longest write of 128 KiB meanwhile", millis(longest), "< 20 ms");
    figure(results, "longest write without snapshots", millis(alone), "");
    Ok(())
}

/// Text as logs have it: about a third of it stays.
fn compressible() -> Vec<u8> {
    let mut text = String::new();
    for line in 0u64.. {
        if text.len() >= 16 << 20 {
            break;
        }
        let (a, b) = (line.wrapping_mul(0x9e37_79b9_7f4a_7c15), line.wrapping_mul(0xd1b5_4a32_d192_ed03));
        text += &format!(
            "2026-11-22T10:{:02}:{:02} host{} service[{}]: request {a:016x} took {} us, ok\n",
            line / 60 % 60,
            line % 60,
            b % 8,
            b >> 52,
            a >> 44
        );
    }
    text.into_bytes()
}

/// MB/s until `COMPRESSED` bytes are stable.
fn written(bench: &Bench, compression: &str, data: &[u8]) -> Result<f64, Error> {
    let dataset = format!("{POOL}/{compression}");
    let file = PoolFile::make(&*bench.pool, &dataset, &[("compression", compression)])?;
    let begun = Instant::now();
    for at in (0..COMPRESSED).step_by(CALL) {
        let from = at as usize % (data.len() - CALL);
        file.write(at, &data[from..from + CALL])?;
    }
    file.sync()?;
    let rate = COMPRESSED as f64 / begun.elapsed().as_secs_f64() / 1e6;
    bench.destroy(&dataset, false)?;
    bench.settle()?;
    Ok(rate)
}

/// MB/s that the library compresses records of the data with, on all processors at once.
fn library(data: &[u8]) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let one = || {
        let (mut out, mut bytes) = (Vec::new(), 0);
        for record in data.chunks_exact(RECORD).cycle() {
            if begun.elapsed() > Duration::from_secs(2) {
                break;
            }
            codec::compress(ZSTD, 3, record, &mut out, RECORD - RECORD / 8);
            bytes += record.len();
        }
        bytes
    };
    let bytes: usize = std::thread::scope(|scope| {
        let all: Vec<_> = (0..cores).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().expect("a compressor does not panic")).sum()
    });
    bytes as f64 / begun.elapsed().as_secs_f64() / 1e6
}

fn compression(options: &options::Options, results: &mut Results) -> Result<(), Fail> {
    step("compression");
    let data = compressible();
    let image = options.dir.join("disks/datasets.img");
    write_image(&image, IMAGE_SIZE)?;
    let image: &Path = &image.canonicalize()?;
    let bench = Bench::new(Env::real(), &image.display().to_string())?;
    let (mut off, mut lz4) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        off.push(written(&bench, "off", &data)?);
        lz4.push(written(&bench, "lz4", &data)?);
    }
    let middle = |rates| median(rates).unwrap_or_default();
    let name = "compressible data written with lz4, beside compression off";
    results.rows.push(Row::beside(name, "MB/s", Some(1.0), middle(lz4), ("off", middle(off))));
    drop(bench);
    let bench = Bench::in_memory()?;
    let zstd =
        (0..options.rounds).map(|_| written(&bench, "zstd-3", &data)).collect::<Result<Vec<_>, _>>()?;
    let name = "the same with zstd-3 to disks in memory, beside the library on all processors";
    results.rows.push(Row::beside(name, "MB/s", Some(0.9), middle(zstd), ("library", library(&data))));
    Ok(())
}
