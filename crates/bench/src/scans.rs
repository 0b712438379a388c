//! How quickly everything is read, and a new disk filled, beside what the disks can do; and what
//! reading costs without some of them.
//!
//! Pools on modelled 7,200-rpm SATA disks in memory ([`crate::lab`]), filled as fast as memory is
//! and then slowed down. A scrub or resilver counts from the command until the pool says that it
//! has ended. Each row is measured once: the devices take the same time whenever they are asked.

use std::time::{Duration, Instant};

use engine_api::Error;
use env::DeviceModel;
use load::Fail;
use stdx::prng::Prng;

use crate::lab::{Lab, Shape};
use crate::pool_file::{Noise, PoolFile};
use crate::results::{Results, Row};

pub const PART: &str = "scrub";

const MIB: u64 = 1 << 20;
const FILE: u64 = 1 << 30;
/// Over the four data disks of the raidz2, each of which holds as much of it as a side of the
/// mirror does of its file: what it takes to start and end a scan is to be as little of it.
const WIDE_FILE: u64 = 4 << 30;
/// Of a stream.
const CALL: u64 = MIB;
/// Small records, and the file made of them.
const RECORD: u64 = 8 << 10;
const SMALL_FILE: u64 = 192 * MIB;
/// Groups that it is written in, each with records from all over it: so neighbours in the file are
/// none on the disk.
const GROUPS: u64 = 16;
/// As long as readers read.
const SPAN: Duration = Duration::from_secs(3);
const READERS: usize = 16;

const MIRROR: Shape = Shape::Mirror(2);
const RAIDZ2: Shape = Shape::Raidz { parity: 2, width: 6 };

const OTHER: &str = "beside it";
const OF_DISKS: Option<f64> = Some(0.85);

pub fn measure(about: &str) -> Result<Results, Fail> {
    env::memory::use_small_pages();
    let mut results = Results {
        part: PART.to_owned(),
        title: "Scrub, resilver and degraded reads on modelled 7,200-rpm disks".to_owned(),
        about: about.to_owned(),
        notes: vec!["MB/s of scrub and resilver are of each disk".to_owned()],
        ..Results::default()
    };
    let noise = Noise::new();
    mirror(&noise, &mut results.rows)?;
    raidz(&noise, &mut results.rows)?;
    small_records(&noise, &mut results.rows)?;
    Ok(results)
}

fn step(what: &str) {
    eprintln!("bench: {PART}: {what}");
}

fn mirror(noise: &Noise, rows: &mut Vec<Row>) -> Result<(), Fail> {
    step("mirror");
    let lab = filled(MIRROR, FILE, noise, Some(DeviceModel::sata_disk()))?;
    let both = (stream(&lab.file)?, at_random(&lab.file, FILE, READERS)?);
    scans(&lab, "a mirror of two", rows)?;
    lab.take_offline(1)?;
    let one = (stream(&lab.file)?, at_random(&lab.file, FILE, READERS)?);
    rows.push(Row::beside("stream, mirror of two beside one side", "MB/s", None, both.0, (OTHER, one.0)));
    let name = "random reads, 16 readers, mirror of two beside one side";
    rows.push(Row::beside(name, "/s", None, both.1, (OTHER, one.1)));
    drop(lab);
    let lab = filled(MIRROR, FILE, noise, Some(DeviceModel::sata_disk()))?;
    let (disk, took) = (lab.disk_rate()?, lab.rebuild()?);
    rows.push(beside_disk(&lab, "sequential resilver of a mirror of two", took, disk));
    Ok(())
}

fn raidz(noise: &Noise, rows: &mut Vec<Row>) -> Result<(), Fail> {
    step("raidz2");
    let lab = filled(RAIDZ2, WIDE_FILE, noise, Some(DeviceModel::sata_disk()))?;
    scans(&lab, "a raidz2 of six", rows)?;
    degraded(&lab, "stream, raidz2 of six without two disks, beside all", rows)?;
    drop(lab);
    let lab = filled(RAIDZ2, FILE, noise, None)?;
    degraded(&lab, "the same in memory: the processors' part", rows)
}

/// With a file of so many bytes written from front to back, on devices of this model from then on.
fn filled(shape: Shape, bytes: u64, noise: &Noise, model: Option<DeviceModel>) -> Result<Lab, Fail> {
    let mut lab = Lab::new(shape, &[])?;
    (0..bytes).step_by(CALL as usize).try_for_each(|at| lab.file.write(at, noise.at(at, CALL as usize)))?;
    lab.file.sync()?;
    lab.reopen(model)?;
    Ok(lab)
}

/// Of the scrub, and of a resilver of one new disk.
fn scans(lab: &Lab, of: &str, rows: &mut Vec<Row>) -> Result<(), Fail> {
    let disk = lab.disk_rate()?;
    for (what, took) in [("scrub", lab.scrub()?), ("resilver", lab.replace()?)] {
        rows.push(beside_disk(lab, &format!("{what} of {of}"), took, disk));
    }
    Ok(())
}

/// What took so long, with `disk` bytes a second of a disk.
fn beside_disk(lab: &Lab, what: &str, took: Duration, disk: f64) -> Row {
    let (name, rate) =
        (format!("{what}, beside a disk's own stream"), lab.used() as f64 / took.as_secs_f64());
    Row::beside(&name, "MB/s", OF_DISKS, rate / 1e6, (OTHER, disk / 1e6))
}

fn degraded(lab: &Lab, name: &str, rows: &mut Vec<Row>) -> Result<(), Fail> {
    let healthy = stream(&lab.file)?;
    // Two that hold data of the same blocks, parity of others.
    lab.take_offline(0)?;
    lab.take_offline(3)?;
    rows.push(Row::beside(name, "MB/s", Some(0.5), stream(&lab.file)?, (OTHER, healthy)));
    Ok(())
}

fn small_records(noise: &Noise, rows: &mut Vec<Row>) -> Result<(), Fail> {
    step("small records");
    let mut lab = Lab::new(MIRROR, &[("recordsize", "8K")])?;
    scatter(&lab.file, noise)?;
    lab.reopen(Some(DeviceModel::sata_disk()))?;
    let naive = at_random(&lab.file, SMALL_FILE, 1)?;
    let records = (SMALL_FILE / RECORD) as f64;
    for (what, took) in [("scrub", lab.scrub()?), ("resilver", lab.replace()?)] {
        let name = format!("{what} of scattered 8 KiB records, beside one by one");
        rows.push(Row::beside(&name, "/s", Some(4.0), records / took.as_secs_f64(), (OTHER, naive)));
    }
    Ok(())
}

/// Writes the file of small records so that they lie on the disk in another order.
fn scatter(file: &PoolFile, noise: &Noise) -> Result<(), Error> {
    let mut records: Vec<u64> = (0..SMALL_FILE / RECORD).collect();
    let mut random = Prng::new(1);
    for last in (1..records.len()).rev() {
        records.swap(last, random.below(last as u64 + 1) as usize);
    }
    for group in records.chunks(records.len() / GROUPS as usize) {
        for record in group {
            let at = record * RECORD;
            file.write(at, noise.at(at, RECORD as usize))?;
        }
        file.sync()?;
    }
    Ok(())
}

/// MB/s of one reader who reads a GiB of the file from front to back, again and again for so long
/// as there is time.
fn stream(file: &PoolFile) -> Result<f64, Error> {
    let (begun, mut bytes) = (Instant::now(), 0);
    while begun.elapsed() < SPAN {
        for at in (0..FILE).step_by(CALL as usize) {
            bytes += file.read(at, CALL as usize, &mut |_| {})?;
        }
    }
    Ok(bytes as f64 / begun.elapsed().as_secs_f64() / 1e6)
}

/// Small reads a second, anywhere in a file of this size.
fn at_random(file: &PoolFile, size: u64, readers: usize) -> Result<f64, Error> {
    let reader = |seed: usize| {
        let (mut random, begun, mut count) = (Prng::new(seed as u64), Instant::now(), 0);
        while begun.elapsed() < SPAN {
            let at = random.below(size / RECORD) * RECORD;
            file.read(at, RECORD as usize, &mut |_| {})?;
            count += 1;
        }
        Ok(f64::from(count) / begun.elapsed().as_secs_f64())
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..readers).map(|seed| scope.spawn(move || reader(seed))).collect();
        let rates = readers.into_iter().map(|reader| reader.join().expect("a reader does not panic"));
        rates.sum()
    })
}
