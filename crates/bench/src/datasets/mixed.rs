//! What compression saves of a mixed tree: text, a program and noise in turns, so that blocks which
//! do not compress lie between those which do. Beside it what `zstd -b` and `gzip` make of the same
//! bytes, cut as records are.
//!
//! Ours can be a little less: a block has to save an eighth, and ends at a sector. Told in percent
//! of what is stored.

use std::fs;
use std::path::Path;
use std::process::Command;

use engine_api::{DatasetFilter, Error};
use load::Fail;

use super::compression::compressible;
use super::{Bench, POOL};
use crate::options::Options;
use crate::pool_file::Noise;
use crate::process::ended;
use crate::results::{Results, Row};

const RECORD: usize = 128 << 10;
/// Of each kind of data at a time: a few records.
const STRETCH: usize = 1 << 20;
const STRETCHES: usize = 8;
const ZSTD_LEVELS: [u8; 4] = [1, 3, 9, 19];
const GZIP_LEVELS: [u8; 3] = [1, 6, 9];
/// Of what the peer saves.
const GOAL: f64 = 0.95;

/// The data, as a program that runs everywhere this one does can make it: the program is this one.
fn mixed() -> Result<Vec<u8>, Fail> {
    let (text, noise) = (compressible(), Noise::new());
    let program = fs::read(std::env::current_exe()?)?;
    let mut data = Vec::new();
    for at in (0..STRETCHES).map(|i| i * STRETCH) {
        data.extend_from_slice(&text[at..at + STRETCH]);
        data.extend_from_slice(noise.at(at as u64, STRETCH));
        let from = at % (program.len() - STRETCH);
        data.extend_from_slice(&program[from..from + STRETCH]);
    }
    Ok(data)
}

/// What the pool says it saved: bytes before by bytes after.
fn ours(bench: &Bench, compression: &str, data: &[u8]) -> Result<f64, Error> {
    let dataset = format!("{POOL}/{compression}");
    let file = bench.file(&dataset, &[("compression", compression)])?;
    for (i, record) in data.chunks(RECORD).enumerate() {
        file.write((i * RECORD) as u64, record)?;
    }
    file.sync()?;
    bench.pool.sync()?;
    let value = |name: &str| -> Result<f64, Error> {
        let filter = DatasetFilter {
            roots: vec![dataset.clone()],
            depth: Some(0),
            props: vec![name.into()],
            ..DatasetFilter::default()
        };
        let found = bench.pool.datasets(&filter)?;
        let value = found.first().and_then(|dataset| dataset.props.first()).map(|prop| prop.value.parse());
        Ok(value.and_then(Result::ok).unwrap_or_default())
    };
    // The property itself has two digits only.
    let ratio = value("logicalreferenced")? / value("referenced")?;
    bench.destroy(&dataset, false)?;
    Ok(ratio)
}

/// What `zstd -b` says, "(x1.234)".
fn zstd(file: &Path, level: u8) -> Result<f64, Fail> {
    let said = ended(Command::new("zstd").args([&format!("-b{level}"), "-i1", "-B128KiB"]).arg(file))?;
    let ratio = said.rsplit_once("(x").and_then(|(_, rest)| rest.split_once(')'));
    Ok(ratio.and_then(|(ratio, _)| ratio.parse().ok()).ok_or("zstd -b told no ratio")?)
}

fn gzip(file: &Path, bytes: usize, level: u8) -> Result<f64, Fail> {
    let packed = Command::new("gzip").args(["-c", &format!("-{level}")]).arg(file).output()?;
    Ok(bytes as f64 / packed.stdout.len() as f64)
}

pub fn measure(options: &Options, results: &mut Results) -> Result<(), Fail> {
    let data = mixed()?;
    let file = options.dir.join("mixed");
    fs::write(&file, &data)?;
    let bench = Bench::in_memory(1)?;
    let mut row = |compression: String, peer: &str, theirs: f64| -> Result<(), Fail> {
        let name = format!("mixed data, compression={compression}, beside {peer}");
        let ours = ours(&bench, &compression, &data)?;
        let percent = |ratio: f64| ratio * 100.0;
        results.rows.push(Row::beside(&name, "%", Some(GOAL), percent(ours), (peer, percent(theirs))));
        Ok(())
    };
    for level in ZSTD_LEVELS {
        row(format!("zstd-{level}"), "zstd -b", zstd(&file, level)?)?;
    }
    for level in GZIP_LEVELS {
        row(format!("gzip-{level}"), "gzip", gzip(&file, data.len(), level)?)?;
    }
    drop(bench);
    Ok(fs::remove_file(&file)?)
}
