//! Many snapshots: made, listed, destroyed; and what destroying one gives back.
//!
//! On disks in memory, so that the figures are the engine's own.

use std::time::Instant;

use engine_api::{Change, DatasetFilter, DatasetKind};
use load::Fail;

use super::{Bench, POOL, figure, fill, seconds};
use crate::pool_file::Noise;
use crate::results::Results;

const FILE_SYSTEMS: usize = 1_000;
/// Of each file system, by one command after the other.
const SNAPSHOTS: usize = 100;
/// Commands that make 10,000 snapshots.
const FIRST: usize = 10;
/// Blocks that only a snapshot has, and their size.
const HELD: u64 = 1_000_000;
const HELD_BLOCK: u64 = 512;

pub fn many(results: &mut Results) -> Result<(), Fail> {
    let bench = Bench::in_memory(4)?;
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

pub fn giving_back(results: &mut Results) -> Result<(), Fail> {
    let bench = Bench::in_memory(4)?;
    let props = [("recordsize", "512"), ("compression", "off"), ("redundant_metadata", "some")];
    let file = bench.file(&format!("{POOL}/fs"), &props)?;
    fill(&file, &Noise::new(), HELD * HELD_BLOCK)?;
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
