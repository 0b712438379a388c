//! What is done to datasets: snapshots, what destroying them gives back, clients meanwhile,
//! compression, streams and deduplication.

mod clients;
mod compression;
mod dedup;
mod mixed;
mod snapshots;
mod streams;

use std::sync::Arc;
use std::time::Instant;

use engine::facade::{LocalEngine, Options as EngineOptions};
use engine_api::{
    Change, DestroyQuery, Engine, Error, ImportOptions, Pool, PoolSpec, PropertyChange, VdevSpec,
};
use env::{Env, MemDisks, SectorSize};
use load::Fail;

use crate::options::Options;
use crate::peers::write_image;
use crate::pool_file::{Noise, PoolFile};
use crate::results::{Figure, Results};

pub const PART: &str = "datasets";

const POOL: &str = "bench";
const DISK: &str = "/datasets";
const PAGE: usize = 4 << 10;
const IMAGE_SIZE: u64 = 8 << 30;
const CACHE: usize = 512 << 20;
/// Of a stream.
const CALL: usize = 1 << 20;

pub fn measure(options: &Options, about: &str) -> Result<Results, Fail> {
    env::memory::use_small_pages();
    let mut results = Results {
        part: PART.to_owned(),
        title: "Datasets: snapshots, compression, streams and deduplication".to_owned(),
        about: about.to_owned(),
        ..Results::default()
    };
    let mut about = |what: &str, measure: &dyn Fn(&mut Results) -> Result<(), Fail>| {
        if !what.contains(&options.only) {
            return Ok(());
        }
        eprintln!("bench: {PART}: {what}");
        measure(&mut results)
    };
    about("many snapshots", &snapshots::many)?;
    about("giving back", &snapshots::giving_back)?;
    about("a busy file system", &clients::busy)?;
    about("destroying", &clients::destroying)?;
    about("compression", &|results| compression::measure(options, results))?;
    about("mixed data", &|results| mixed::measure(options, results))?;
    about("streams", &|results| streams::measure(options, results))?;
    about("deduplication", &|results| dedup::measure(options, results))?;
    Ok(results)
}

fn figure(results: &mut Results, name: &str, value: String, goal: &str) {
    results.figures.push(Figure { name: name.to_owned(), value, goal: goal.to_owned() });
}

/// A pool on this disk; nobody else has it.
struct Bench {
    env: Env,
    disk: String,
    engine: Arc<LocalEngine>,
    pool: Arc<dyn Pool>,
}

impl Bench {
    fn new(env: Env, disk: &str) -> Result<Bench, Fail> {
        let engine = start(&env, CACHE);
        let spec = PoolSpec {
            name: POOL.into(),
            vdevs: vec![VdevSpec::Leaf(disk.into())],
            fs_props: vec![PropertyChange { name: "mountpoint".into(), value: "none".into() }],
            force: true,
            ..PoolSpec::default()
        };
        let pool = engine.create(&spec)?;
        Ok(Bench { env, disk: disk.to_owned(), engine, pool })
    }

    /// On a disk in memory of so many GiB, which are there before anything is measured.
    fn in_memory(size: usize) -> Result<Bench, Fail> {
        let disks = MemDisks::new();
        disks.add_with(DISK, (size as u64) << 30, SectorSize { logical: 512, physical: 512 }, false);
        disks.edit(DISK, |bytes| {
            bytes.chunks_mut(PAGE).for_each(|page| page[0] = std::hint::black_box(0));
        });
        Bench::new(Env { disks: Arc::new(disks), ..Env::real() }, DISK)
    }

    /// On a file on the disk that is measured.
    fn on_image(options: &Options) -> Result<Bench, Fail> {
        let image = options.dir.join("disks/datasets.img");
        write_image(&image, IMAGE_SIZE)?;
        Bench::new(Env::real(), &image.canonicalize()?.display().to_string())
    }

    /// Opens the pool anew, with nothing of it in memory, and so many bytes for a cache.
    fn reopen(&mut self, cache: usize) -> Result<(), Fail> {
        self.engine.export(POOL, false)?;
        self.engine = start(&self.env, cache);
        let options =
            ImportOptions { search: vec![self.disk.clone()], force: true, ..ImportOptions::default() };
        self.pool = self.engine.import(POOL, &options)?;
        Ok(())
    }

    fn file(&self, dataset: &str, props: &[(&str, &str)]) -> Result<PoolFile, Error> {
        PoolFile::make(&*self.pool, dataset, props)
    }

    fn snapshot(&self, name: String, recursive: bool) -> Result<(), Error> {
        self.pool.commit(&Change::Snapshot { names: vec![name], recursive, props: Vec::new() }, "").map(drop)
    }

    fn destroy(&self, name: &str, recursive: bool) -> Result<(), Error> {
        let query = DestroyQuery { name: name.to_owned(), recursive, clones: false, defer: false };
        let names = self.pool.plan_destroy(&query)?.names;
        self.pool.commit(&Change::Destroy { names, defer: false }, "").map(drop)
    }

    /// Nothing is being given back in the background any more.
    fn settle(&self) -> Result<(), Error> {
        while self.pool.properties(&["freeing".into()])?[0].value != "0" {
            self.pool.sync()?;
        }
        Ok(())
    }

    /// No table knows a deduplicated block any more: references go some groups after their dataset.
    fn settle_tables(&self) -> Result<(), Error> {
        while self.pool.status().dedup.entries != 0 {
            self.pool.sync()?;
        }
        Ok(())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Nothing of the pool is needed any more; a failure to end it well shows in nothing
        // measured.
        drop(self.engine.destroy(POOL, true));
    }
}

fn start(env: &Env, cache: usize) -> Arc<LocalEngine> {
    let options = EngineOptions { search: Vec::new(), cache, dirty: 256 << 20, ..EngineOptions::default() };
    LocalEngine::new(env.clone(), options)
}

/// Writes a file of incompressible data from front to back, until all of it is stable; MB/s.
fn fill(file: &PoolFile, noise: &Noise, bytes: u64) -> Result<f64, Error> {
    let begun = Instant::now();
    for at in (0..bytes).step_by(CALL) {
        file.write(at, noise.at(at, CALL.min((bytes - at) as usize)))?;
    }
    file.sync()?;
    Ok(rate(bytes, begun))
}

/// MB/s
fn rate(bytes: u64, since: Instant) -> f64 {
    bytes as f64 / since.elapsed().as_secs_f64() / 1e6
}

fn seconds(since: Instant) -> String {
    format!("{:.2} s", since.elapsed().as_secs_f64())
}
