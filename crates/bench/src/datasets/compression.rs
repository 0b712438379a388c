//! What compression costs and brings: beside none on the disk that is measured elsewhere, since
//! what it saves is the disk's work, and beside the library alone.

use std::time::{Duration, Instant};

use engine_api::Error;
use load::Fail;

use super::{Bench, CALL, POOL, rate};
use crate::options::Options;
use crate::pool_file::PoolFile;
use crate::results::{Results, Row, median};

/// Bytes written with and without compression.
const WRITTEN: u64 = 1 << 30;
const RECORD: usize = 128 << 10;
/// How the raw value of a pointer names zstd.
const ZSTD: u8 = 16;

/// Text as logs have it: about a third of it stays.
pub fn compressible() -> Vec<u8> {
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

/// Writes a file of so many bytes of the data, over and over, until all of it is stable.
pub fn write(file: &PoolFile, data: &[u8], bytes: u64) -> Result<(), Error> {
    for at in (0..bytes).step_by(CALL) {
        let from = at as usize % (data.len() - CALL);
        file.write(at, &data[from..from + CALL])?;
    }
    file.sync()
}

/// MB/s until `WRITTEN` bytes are stable.
fn written(bench: &Bench, compression: &str, data: &[u8]) -> Result<f64, Error> {
    let dataset = format!("{POOL}/{compression}");
    let file = bench.file(&dataset, &[("compression", compression)])?;
    let begun = Instant::now();
    write(&file, data, WRITTEN)?;
    let rate = rate(WRITTEN, begun);
    bench.destroy(&dataset, false)?;
    bench.settle()?;
    Ok(rate)
}

/// MB/s that the library compresses records of the data with, on all processors at once.
fn library(data: &[u8]) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let one = || {
        let (mut memory, mut bytes) = (Vec::new(), 0);
        for record in data.chunks_exact(RECORD).cycle() {
            if begun.elapsed() > Duration::from_secs(1) {
                break;
            }
            codec::compress(ZSTD, 3, record, &mut memory, RECORD - RECORD / 8).expect("zstd is built in");
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

pub fn measure(options: &Options, results: &mut Results) -> Result<(), Fail> {
    let data = compressible();
    let bench = Bench::on_image(options)?;
    let (mut off, mut lz4) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        off.push(written(&bench, "off", &data)?);
        lz4.push(written(&bench, "lz4", &data)?);
    }
    let middle = |rates| median(rates).unwrap_or_default();
    let name = "compressible data written with lz4, beside compression off";
    results.rows.push(Row::beside(name, "MB/s", Some(1.0), middle(lz4), ("off", middle(off))));
    drop(bench);
    let bench = Bench::in_memory(1)?;
    let (mut zstd, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        zstd.push(written(&bench, "zstd-3", &data)?);
        alone.push(library(&data));
    }
    let name = "the same with zstd-3 to disks in memory, beside the library on all processors";
    results.rows.push(Row::beside(name, "MB/s", Some(0.9), middle(zstd), ("library", middle(alone))));
    Ok(())
}
