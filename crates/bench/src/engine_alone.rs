//! The engine without a network, beside what fio writes to the same image, and beside memory.
//!
//! Each measurement is a process of its own, so that none inherits another's memory:
//! `bench engine WORK IMAGE`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::facade::{LocalEngine, Options};
use engine_api::{Engine, Error, PoolSpec, PropertyChange, VdevSpec};
use env::Env;
use load::{Fail, Outcome, machine_time};

use crate::options;
use crate::peers::write_image;
use crate::pool_file::{Noise, PoolFile};
use crate::process::ended;
use crate::results::{Cell, Figure, Results, Row, median};

pub const PART: &str = "engine";

const CALL: usize = 1 << 20;
const READ: usize = 128 << 10;
const IMAGE_SIZE: u64 = 4 << 30;
const WRITE_SIZE: u64 = 2 << 30;
/// A file that fits the cache, and the cache.
const CACHED_SIZE: u64 = 128 << 20;
const CACHE: usize = 256 << 20;

pub fn measure(options: &options::Options, about: &str) -> Result<Results, Fail> {
    let image = options.dir.join("disks/engine.img");
    write_image(&image, IMAGE_SIZE)?;
    let mut results = Results {
        part: PART.to_owned(),
        title: "The engine in a process of its own".to_owned(),
        about: about.to_owned(),
        ..Results::default()
    };
    eprintln!("bench: {PART}: write");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        match fio(&image) {
            Ok(cell) => theirs.push(cell),
            Err(error) => results.notes = vec![format!("fio is left out: {error}")],
        }
        ours.push(Cell::parse(&child("write", &image)?)?);
    }
    results.rows.push(Row {
        name: "sequential write, 1 MiB, incompressible".to_owned(),
        unit: "MB/s".to_owned(),
        goal: Some(0.85),
        cells: vec![
            ("Cistern".to_owned(), Cell::median(&ours)),
            ("fio, O_DIRECT".to_owned(), Cell::median(&theirs)),
        ],
    });
    for (work, name, goal) in [
        ("cached", "cached reads of 128 KiB, one core, every byte copied out", "5 GB/s"),
        ("shared", "the same as the NFS server reads: slices of the cache, no copy", ""),
    ] {
        eprintln!("bench: {PART}: {work}");
        let mut rounds = Vec::new();
        for _ in 0..options.rounds {
            rounds.push(child(work, &image)?.trim().parse::<f64>()?);
        }
        let value = format!("{:.1} GB/s", median(rounds).unwrap_or_default());
        results.figures.push(Figure { name: name.to_owned(), value, goal: goal.to_owned() });
    }
    Ok(results)
}

fn child(work: &str, image: &Path) -> Result<String, Fail> {
    ended(Command::new(std::env::current_exe()?).args(["engine", work]).arg(image))
}

/// What fio writes to the image with O_DIRECT.
fn fio(image: &Path) -> Result<Cell, Fail> {
    let before = machine_time();
    let words = "--name=w --rw=write --bs=1M --direct=1 --ioengine=io_uring --iodepth=16 --end_fsync=1 \
                 --output-format=terse --terse-version=3";
    let mut command = Command::new("fio");
    command.args(words.split_whitespace()).arg(format!("--size={WRITE_SIZE}"));
    let said = ended(command.arg(format!("--filename={}", image.display())))?;
    let cpu = machine_time().saturating_sub(before);
    fio_cell(&said, cpu).ok_or_else(|| "fio says nothing that is understood".into())
}

/// Field 48 of terse output, version 3, is the bandwidth of writes in KiB/s; percentiles are
/// `99.000000%=MICROSECONDS`, first those of reads, which are all zero.
fn fio_cell(said: &str, cpu: Duration) -> Option<Cell> {
    let fields: Vec<&str> = said.lines().find(|line| line.starts_with("3;"))?.split(';').collect();
    let percentile =
        |name: &str| fields.iter().rev().find_map(|field| field.strip_prefix(name)?.parse::<f64>().ok());
    Some(Cell {
        rate: fields.get(47)?.parse::<f64>().ok()? * 1024.0 / 1e6,
        latencies: [percentile("50.000000%=")?, percentile("99.000000%=")?, percentile("99.900000%=")?],
        cpu: cpu.as_secs_f64() * 1e6 / (WRITE_SIZE / CALL as u64) as f64,
    })
}

impl Cell {
    /// As `in_this_process` prints it.
    fn parse(text: &str) -> Result<Cell, Fail> {
        let numbers = text.split_whitespace().map(str::parse::<f64>).collect::<Result<Vec<_>, _>>()?;
        let [rate, p50, p99, p999, cpu] = numbers[..] else { return Err("five figures are expected".into()) };
        Ok(Cell { rate, latencies: [p50, p99, p999], cpu })
    }
}

/// `write`: MB/s until all of it is stable, three percentiles of the calls, processor time of a
/// call. `cached`, `shared`: GB/s by one thread.
pub fn in_this_process(work: &str, image: &Path) -> Result<(), Fail> {
    env::memory::use_small_pages();
    let bench = Bench::new(image)?;
    match work {
        "write" => {
            let before = machine_time();
            let outcome = bench.write(WRITE_SIZE)?;
            let cpu = machine_time().saturating_sub(before);
            let Cell { rate, latencies: [p50, p99, p999], cpu } =
                Cell::new(&outcome, true, cpu.as_secs_f64());
            println!("{rate} {p50} {p99} {p999} {cpu}");
        }
        "cached" | "shared" => {
            bench.write(CACHED_SIZE)?;
            println!("{}", bench.cached(CACHED_SIZE, work == "cached")? / 1e9);
        }
        _ => return Err(format!("{work} is no work").into()),
    }
    Ok(())
}

struct Bench {
    engine: Arc<LocalEngine>,
    file: PoolFile,
}

impl Bench {
    /// A pool on the image, whatever is there; the image has to have its size.
    fn new(image: &Path) -> Result<Bench, Fail> {
        if !image.exists() {
            File::create(image)?.set_len(IMAGE_SIZE)?;
        }
        let image: PathBuf = image.canonicalize()?;
        let options = Options { cache: CACHE, dirty: 256 << 20, ..Options::default() };
        let engine = LocalEngine::new(Env::real(), options);
        let spec = PoolSpec {
            name: "bench".into(),
            vdevs: vec![VdevSpec::Leaf(image.display().to_string())],
            fs_props: vec![PropertyChange { name: "compression".into(), value: "lz4".into() }],
            force: true,
            ..PoolSpec::default()
        };
        let pool = engine.create(&spec)?;
        let file = PoolFile::make(&*pool, "bench/fs", &[])?;
        Ok(Bench { engine, file })
    }

    /// Until `size` bytes are stable.
    fn write(&self, size: u64) -> Result<Outcome, Error> {
        let source = Noise::new();
        let (start, mut latencies) = (Instant::now(), Vec::new());
        for at in (0..size).step_by(CALL) {
            let begun = Instant::now();
            self.file.write(at, source.at(at, CALL))?;
            latencies.push(begun.elapsed());
        }
        self.file.sync()?;
        Ok(Outcome::new(size, start.elapsed(), latencies))
    }

    /// Bytes a second from the cache.
    fn cached(&self, size: u64, copy: bool) -> Result<f64, Error> {
        let mut buffer = vec![0; READ];
        let mut sum = 0u64;
        let mut start = Instant::now();
        // The first round warms up.
        for round in 0.. {
            for at in (0..size).step_by(READ) {
                let mut len = 0;
                sum += self.file.read(at, READ, &mut |bytes| {
                    if copy {
                        buffer[len..len + bytes.len()].copy_from_slice(bytes);
                    }
                    len += bytes.len();
                })? as u64;
            }
            if round == 0 {
                (start, sum) = (Instant::now(), 0);
            } else if start.elapsed() > Duration::from_secs(2) {
                break;
            }
        }
        std::hint::black_box(&buffer);
        Ok(sum as f64 / start.elapsed().as_secs_f64())
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // Nothing of the pool is needed any more; a failure to end it well shows in nothing
        // measured.
        drop(self.engine.destroy("bench", true));
    }
}
