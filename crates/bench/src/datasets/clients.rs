//! What clients see of snapshots and of large datasets that are destroyed: how long their writes
//! take meanwhile.
//!
//! On disks in memory, so that the figures are the engine's own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine_api::Error;
use load::Fail;

use super::{Bench, POOL, figure, fill};
use crate::pool_file::{Noise, PoolFile};
use crate::results::Results;

/// As long as a file system is written to, and how often a snapshot is taken of it meanwhile.
const BUSY: Duration = Duration::from_secs(6);
const EVERY: Duration = Duration::from_millis(100);
const RECORD: usize = 128 << 10;
/// Size of the blocks of a file system that is destroyed.
const SMALL: u64 = 512;

const SHORT: &str = "< 20 ms";

pub fn busy(results: &mut Results) -> Result<(), Fail> {
    let bench = Bench::in_memory(4)?;
    let client = Client::new(&bench)?;
    let (alone, ()) = client.during(|| {
        std::thread::sleep(BUSY);
        Ok(())
    })?;
    let (writes, mut snapshots) = client.during(|| {
        let (mut took, begun) = (Vec::new(), Instant::now());
        while begun.elapsed() < BUSY {
            let one = Instant::now();
            bench.snapshot(format!("{POOL}/client@s{}", took.len()), false)?;
            took.push(one.elapsed());
            std::thread::sleep(EVERY.saturating_sub(one.elapsed()));
        }
        Ok(took)
    })?;
    snapshots.sort();
    let p99 = snapshots.get(snapshots.len() * 99 / 100).copied().unwrap_or_default();
    figure(results, "snapshot of a busy file system, ten a second, p99", millis(p99), SHORT);
    figure(results, "longest write of 128 KiB meanwhile", millis(writes), SHORT);
    figure(results, "longest write without snapshots", millis(alone), "");
    Ok(())
}

pub fn destroying(results: &mut Results) -> Result<(), Fail> {
    for (what, blocks, dedup) in [("", 1_000_000, "off"), (" deduplicated", 200_000, "on")] {
        let bench = Bench::in_memory(2)?;
        let client = Client::new(&bench)?;
        let doomed = format!("{POOL}/doomed");
        let props = [("recordsize", "512"), ("compression", "off"), ("dedup", dedup)];
        fill(&bench.file(&doomed, &props)?, &Noise::new(), blocks * SMALL)?;
        let (longest, took) = client.during(|| {
            let begun = Instant::now();
            bench.destroy(&doomed, false)?;
            let command = begun.elapsed();
            bench.settle()?;
            bench.settle_tables()?;
            Ok((command, begun.elapsed()))
        })?;
        let name = format!("longest write while {blocks}{what} blocks are destroyed");
        figure(results, &name, millis(longest), SHORT);
        figure(results, &format!("{blocks}{what} blocks destroyed, the command"), millis(took.0), "");
        figure(
            results,
            &format!("{blocks}{what} blocks destroyed, until all space is back"),
            millis(took.1),
            "",
        );
    }
    Ok(())
}

/// Writes one record after the other.
struct Client {
    file: PoolFile,
    noise: Noise,
}

impl Client {
    fn new(bench: &Bench) -> Result<Client, Error> {
        let file = bench.file(&format!("{POOL}/client"), &[("compression", "off")])?;
        Ok(Client { file, noise: Noise::new() })
    }

    /// Writes while `work` goes on: the longest write, and what the work gave.
    fn during<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<(Duration, T), Error> {
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| self.write(&ends));
            let done = work();
            ends.store(true, Ordering::Relaxed);
            let longest = writer.join().expect("a writer does not panic")?;
            Ok((longest, done?))
        })
    }

    fn write(&self, ends: &AtomicBool) -> Result<Duration, Error> {
        let mut longest = Duration::ZERO;
        for turn in 0u64.. {
            if ends.load(Ordering::Relaxed) {
                break;
            }
            let at = turn % 512 * RECORD as u64;
            let begun = Instant::now();
            self.file.write(at, self.noise.at(at, RECORD))?;
            longest = longest.max(begun.elapsed());
            // As a client over a fast network does: not more than the pool can take.
            std::thread::sleep(Duration::from_micros(300));
        }
        Ok(longest)
    }
}

fn millis(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1e3)
}
