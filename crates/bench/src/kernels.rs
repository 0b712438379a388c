//! Parity and checksums on one processor, beside the fastest other implementation that this machine
//! can run.
//!
//! Parity: what `raidz_test -B` (OpenZFS's own test program) reports of its implementations, in
//! stripes of eight data columns. It times each of them for a minute and more, the slowest longest,
//! and no option makes that less. So a copy of the program is run in which the names of those are
//! spoilt that another beats, for it passes over a name that it does not know, and which generates
//! parity of a sixteenth of the bytes each time. Checksums: OpenZFS's library for fletcher4
//! ([`crate::openzfs`]), what `openssl speed` reports, and the crate `blake3`, which is also ours.
//!
//! Rates are bytes of data (parity not counted) by the clock: they mean something on a machine at
//! rest only.

use std::fs::{self, Permissions};
use std::hint::black_box;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use codec::raidz::{Column, MAX_PARITY, Method};
use load::Fail;

use crate::openzfs;
use crate::options::Options;
use crate::pool_file::Noise;
use crate::process::ended;
use crate::results::{Results, Row, median};

pub const PART: &str = "kernels";

const OTHER: &str = "fastest other";
const UNIT: &str = "MB/s";
/// As long as each of ours is timed.
const SPAN: Duration = Duration::from_millis(100);
/// Bytes that are summed at a time.
const BLOCK: usize = 128 << 10;
const COLUMNS: usize = 8;
/// Bytes of data in a stripe, and how a row calls them.
const STRIPES: [(usize, &str); 2] = [(128 << 10, "128 KiB"), (1 << 20, "1 MiB")];

/// What is timed of parity.
#[derive(Clone, Copy)]
enum Sum {
    /// Of so many parities.
    Generate(usize),
    /// From these parities, of as many columns.
    Reconstruct([bool; MAX_PARITY]),
}

/// By `raidz_test`'s name and ours.
const SUMS: [(&str, &str, Sum); 10] = [
    ("gen_p", "P", Sum::Generate(1)),
    ("gen_pq", "P and Q", Sum::Generate(2)),
    ("gen_pqr", "P, Q and R", Sum::Generate(3)),
    ("rec_p", "one column from P", Sum::Reconstruct([true, false, false])),
    ("rec_q", "one from Q", Sum::Reconstruct([false, true, false])),
    ("rec_r", "one from R", Sum::Reconstruct([false, false, true])),
    ("rec_pq", "two from P and Q", Sum::Reconstruct([true, true, false])),
    ("rec_pr", "two from P and R", Sum::Reconstruct([true, false, true])),
    ("rec_qr", "two from Q and R", Sum::Reconstruct([false, true, true])),
    ("rec_pqr", "three from P, Q and R", Sum::Reconstruct([true, true, true])),
];

pub fn measure(options: &Options, about: &str) -> Result<Results, Fail> {
    let mut results = Results {
        part: PART.to_owned(),
        title: "Parity and checksums, one processor".to_owned(),
        about: about.to_owned(),
        ..Results::default()
    };
    parity(options, &mut results);
    let noise = Noise::new();
    let block = noise.at(0, BLOCK);
    let mut checksum = |name: &str, ours: f64, theirs: Result<f64, Fail>| match theirs {
        Ok(theirs) => results.rows.push(Row::beside(name, UNIT, Some(1.0), ours, (OTHER, theirs))),
        Err(error) => results.notes.push(format!("{name} is left out: {error}")),
    };
    let rounds = options.rounds;
    eprintln!("bench: {PART}: checksums");
    let fletcher4 =
        || codec::checksum(codec::table::Checksum::Fletcher4 as u8, black_box(block), None, false);
    let sha256 = || codec::checksum(codec::table::Checksum::Sha256 as u8, black_box(block), None, false);
    let salt = codec::Salt([7; 32]);
    let blake3 =
        || codec::checksum(codec::table::Checksum::Blake3 as u8, black_box(block), Some(&salt), false);
    let sum = fletcher4().map_err(|error| error.to_string())?;
    checksum(
        "fletcher4 of 128 KiB (OpenZFS's libzpool)",
        rate(BLOCK, rounds, fletcher4),
        openzfs::fletcher4(block, sum, &|f| rate(BLOCK, rounds, f)),
    );
    checksum("sha256 of 128 KiB (OpenSSL)", rate(BLOCK, rounds, sha256), openssl_sha256());
    checksum(
        "blake3 of 128 KiB (the crate blake3: ours is made of it)",
        rate(BLOCK, rounds, blake3),
        Ok(rate(BLOCK, rounds, || blake3::keyed_hash(&salt.0, black_box(block)))),
    );
    Ok(results)
}

/// MB of data a second: the median of so many rounds.
fn rate<T>(bytes: usize, rounds: usize, mut work: impl FnMut() -> T) -> f64 {
    let round = |_| {
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < SPAN {
            black_box(work());
            count += 1;
        }
        (count * bytes) as f64 / start.elapsed().as_secs_f64() / 1e6
    };
    median((0..rounds).map(round).collect()).unwrap_or_default()
}

fn parity(options: &Options, results: &mut Results) {
    eprintln!("bench: {PART}: raidz_test -B");
    let theirs = match raidz_test(&options.dir) {
        Ok(theirs) => theirs,
        Err(error) => return results.notes.push(format!("parity is left out: raidz_test: {error}")),
    };
    eprintln!("bench: {PART}: parity");
    let begun = Instant::now();
    let method = Method::fastest(&mut || begun.elapsed().as_nanos() as u64);
    let mut fastest: Vec<&str> = Vec::new();
    for (stripe, size) in STRIPES {
        for (name, shown, sum) in SUMS {
            let of_it = theirs.iter().filter(|line| line.sum == name && line.stripe == stripe);
            let Some(best) = of_it.max_by(|a, b| a.rate.total_cmp(&b.rate)) else { continue };
            if !fastest.contains(&best.implementation.as_str()) {
                fastest.push(&best.implementation);
            }
            let ours = time(method, sum, stripe, options.rounds);
            let name = format!("{shown}, stripe of {size}");
            results.rows.push(Row::beside(&name, UNIT, Some(1.0), ours, (OTHER, best.rate)));
        }
    }
    results.notes.push(format!(
        "Of parity ours picked {}; raidz_test's fastest were {}",
        method.name(),
        fastest.join(", ")
    ));
}

fn time(method: Method, sum: Sum, stripe: usize, rounds: usize) -> f64 {
    let len = stripe / COLUMNS;
    let mut data: Vec<Vec<u8>> = (0..COLUMNS).map(|n| vec![n as u8 + 37; len]).collect();
    let mut parity = vec![vec![0; len]; MAX_PARITY];
    match sum {
        Sum::Generate(level) => {
            let columns: Vec<&[u8]> = data.iter().map(|column| &column[..]).collect();
            let mut into: Vec<&mut [u8]> = parity[..level].iter_mut().map(|column| &mut column[..]).collect();
            rate(stripe, rounds, || method.generate(black_box(&mut into), &columns))
        }
        Sum::Reconstruct(used) => {
            let known: Vec<Option<&[u8]>> =
                parity.iter().zip(used).map(|(column, used)| used.then_some(&column[..])).collect();
            let lost = used.iter().filter(|used| **used).count();
            let (gone, left) = data.split_at_mut(lost);
            let mut columns: Vec<Column<'_>> = gone.iter_mut().map(|column| Column::Lost(column)).collect();
            columns.extend(left.iter().map(|column| Column::Known(column)));
            rate(stripe, rounds, || {
                method.reconstruct(black_box(&known), &mut columns).expect("as many are lost as are known");
            })
        }
    }
}

/// A line of `raidz_test -B`.
#[derive(Debug, PartialEq)]
pub struct Line {
    implementation: String,
    sum: String,
    stripe: usize,
    /// MB of data a second.
    rate: f64,
}

/// `implementation, sum, data columns, bytes of data, MiB/s of one column, …`
pub fn raidz_test_line(line: &str) -> Option<Line> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [implementation, sum, columns, stripe, of_one, ..] = fields[..] else { return None };
    let (columns, of_one): (f64, f64) = (columns.parse().ok()?, of_one.parse().ok()?);
    Some(Line {
        implementation: implementation.to_owned(),
        sum: sum.to_owned(),
        stripe: stripe.parse().ok()?,
        rate: columns * of_one * f64::from(1 << 20) / 1e6,
    })
}

/// Implementations that avx2 or avx512bw beat wherever they run.
const BEATEN: [&str; 5] = ["original", "scalar", "sse2", "ssse3", "avx512f"];

/// What it reports of the others.
fn raidz_test(dir: &Path) -> Result<Vec<Line>, Fail> {
    let found = ended(Command::new("sh").args(["-c", "command -v raidz_test"]))?;
    let mut program = fs::read(found.trim())?;
    BEATEN.iter().for_each(|name| spoil(&mut program, name));
    shorten(&mut program);
    let copy = dir.join("raidz_test");
    fs::write(&copy, program)?;
    fs::set_permissions(&copy, Permissions::from_mode(0o700))?;
    let said = ended(Command::new(&copy).arg("-B"));
    fs::remove_file(&copy)?;
    let lines: Vec<Line> = said?.lines().filter_map(raidz_test_line).collect();
    if lines.is_empty() { Err("it has nothing quick for this processor".into()) } else { Ok(lines) }
}

/// Spoils a name that stands alone in a program.
fn spoil(program: &mut [u8], name: &str) {
    let alone: Vec<u8> = [b"\0", name.as_bytes(), b"\0"].concat();
    let at = program.windows(alone.len()).position(|bytes| bytes == alone);
    at.into_iter().for_each(|at| program[at + 1] = b'?');
}

/// Where x86-64 loads the 4 GiB that parity is generated of each time, 256 MiB are put; another
/// program takes its time.
fn shorten(program: &mut [u8]) {
    const LOAD: [u8; 2] = [0x48, 0xb8]; // movabs $…, %rax
    let load = |bytes: u64| [&LOAD[..], &bytes.to_le_bytes()].concat();
    let (long, short) = (load(4 << 30), load(256 << 20));
    for at in 0..program.len().saturating_sub(long.len()) {
        if program[at..].starts_with(&long) {
            program[at..at + short.len()].copy_from_slice(&short);
        }
    }
}

fn openssl_sha256() -> Result<f64, Fail> {
    let words = format!("speed -seconds 1 -bytes {BLOCK} -evp sha256");
    let said = ended(Command::new("openssl").args(words.split(' ')))?;
    openssl_rate(&said).ok_or_else(|| "it says nothing that is understood".into())
}

/// The last line is `sha256` and thousands of bytes a second, with a `k` behind.
pub fn openssl_rate(said: &str) -> Option<f64> {
    let line = said.lines().rev().find(|line| line.to_ascii_lowercase().starts_with("sha256"))?;
    let thousands: f64 = line.split_whitespace().nth(1)?.strip_suffix('k')?.parse().ok()?;
    Some(thousands / 1e3)
}
