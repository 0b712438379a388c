//! Deduplicated writes of blocks that are nowhere yet, with a table that memory is far too small
//! for, beside plain ones; on the disk that is measured elsewhere.

use engine_api::Error;
use load::Fail;

use super::{Bench, CALL, POOL, fill};
use crate::options::Options;
use crate::pool_file::{Noise, PoolFile};
use crate::results::{Results, Row, median};

/// Memory while the table is made, and how many times the table is as large as what there is
/// afterwards.
const AMPLE: usize = 2 << 30;
const TIMES: u64 = 10;
/// Blocks that the table knows, and their size.
const KNOWN: u64 = 800_000;
const SMALL: usize = 4 << 10;
const WRITTEN: u64 = 1 << 30;

pub fn measure(options: &Options, results: &mut Results) -> Result<(), Fail> {
    let mut bench = Bench::on_image(options)?;
    bench.reopen(AMPLE)?;
    let props = [("dedup", "on"), ("recordsize", "4K"), ("compression", "off")];
    unique(&bench.file(&format!("{POOL}/known"), &props)?, KNOWN * SMALL as u64)?;
    let table = bench.pool.status().dedup.in_core;
    bench.reopen((table / TIMES) as usize)?;
    let noise = Noise::new();
    let (mut plain, mut deduplicated) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        for (rates, dedup) in [(&mut plain, "off"), (&mut deduplicated, "on")] {
            let dataset = format!("{POOL}/{dedup}");
            rates.push(fill(&bench.file(&dataset, &[("dedup", dedup)])?, &noise, WRITTEN)?);
            bench.destroy(&dataset, false)?;
            bench.settle()?;
        }
    }
    let [plain, deduplicated] = [plain, deduplicated].map(|rates| median(rates).unwrap_or_default());
    let name = format!(
        "unique blocks deduplicated, a table of {} MB and {} MB of memory, beside plain writes",
        table / 1_000_000,
        table / TIMES / 1_000_000
    );
    results.rows.push(Row::beside(&name, "MB/s", Some(0.5), deduplicated, ("plain", plain)));
    Ok(())
}

/// Small blocks of which no two are the same.
fn unique(file: &PoolFile, bytes: u64) -> Result<(), Error> {
    let mut data = vec![0; CALL];
    for at in (0..bytes).step_by(CALL) {
        for (n, block) in data.chunks_exact_mut(SMALL).enumerate() {
            block[..8].copy_from_slice(&(at + n as u64 * SMALL as u64 + 1).to_le_bytes());
        }
        let len = CALL.min((bytes - at) as usize);
        file.write(at, &data[..len])?;
    }
    file.sync()
}
