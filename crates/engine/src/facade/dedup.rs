//! Tables of deduplication as plain data, and whether they would pay.

use ::pool::ddt::DdtReport;
use engine_api::{DedupBucket, DedupEstimate, DedupTables, Result};
use ondisk::ddt::Histogram;

use super::convert::api_error;
use crate::advise::words::bytes;

/// What a pool's tables hold.
pub(super) fn tables(report: &DdtReport) -> DedupTables {
    DedupTables {
        entries: report.entries,
        on_disk: report.on_disk,
        in_core: report.in_core,
        buckets: buckets(&report.histogram),
    }
}

/// The buckets that are not empty.
pub(super) fn buckets(histogram: &Histogram) -> Vec<DedupBucket> {
    let filled = histogram.0.iter().enumerate().filter(|(_, stat)| stat.blocks > 0);
    let bucket = |(power, stat): (usize, &ondisk::ddt::Stat)| DedupBucket {
        references: 1 << power,
        blocks: stat.blocks,
        lsize: stat.lsize,
        psize: stat.psize,
        dsize: stat.dsize,
        ref_blocks: stat.ref_blocks,
        ref_lsize: stat.ref_lsize,
        ref_psize: stat.ref_psize,
        ref_dsize: stat.ref_dsize,
    };
    filled.map(bucket).collect()
}

/// Memory that an entry of a table takes: its share of a leaf that is as full as leafs are after
/// they have split.
const ENTRY: u64 = 208;
/// Tables are metadata of the pool, of which there are three copies.
const COPIES: u64 = 3;

/// What deduplication would bring to a dataset and all below it.
pub(super) fn estimate(pool: &::pool::Pool, dataset: &str) -> Result<DedupEstimate> {
    let found = ::pool::estimate::estimate(pool, dataset).map_err(api_error)?;
    let total = found.histogram.total();
    let table = total.blocks.saturating_mul(ENTRY);
    let saved = total.ref_dsize.saturating_sub(total.dsize);
    let cache = pool.core().storage.cache().limit() as u64;
    // A tenth saved at the least, and more than the table itself takes on disk.
    let would_pay = saved > COPIES * table && saved >= total.ref_dsize / 10;
    let verdict =
        verdict(&Seen { would_pay, saved, all: total.ref_dsize, entries: total.blocks, table, cache });
    Ok(DedupEstimate {
        buckets: buckets(&found.histogram),
        sampled: found.sampled,
        unknown: found.unknown,
        entries: total.blocks,
        table,
        saved,
        cache,
        would_pay,
        verdict,
    })
}

/// What the verdict rests on.
struct Seen {
    would_pay: bool,
    saved: u64,
    all: u64,
    entries: u64,
    table: u64,
    cache: u64,
}

fn verdict(seen: &Seen) -> String {
    let Seen { would_pay, saved, all, entries, table, cache } = *seen;
    if all == 0 {
        return "There is no data to deduplicate.".into();
    }
    let would = if would_pay { "would pay" } else { "would not pay" };
    let percent = saved as f64 * 100.0 / all as f64;
    let memory = if table <= cache / 4 {
        "well within"
    } else if table <= cache {
        "a large part of"
    } else {
        "more than"
    };
    format!(
        "Deduplication {would}: it would save {} of {} ({percent:.1}%). Its table would have {entries} entries and want \
         about {} of memory, {memory} the {} that the cache may use; what does not fit is read from disk with each \
         write and each free.",
        bytes(saved as f64),
        bytes(all as f64),
        bytes(table as f64),
        bytes(cache as f64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_says_what_it_rests_on() {
        let seen = Seen {
            would_pay: false,
            saved: 1 << 30,
            all: 100 << 30,
            entries: 1 << 20,
            table: 208 << 20,
            cache: 1 << 30,
        };
        let text = verdict(&seen);
        assert!(
            text.starts_with("Deduplication would not pay: it would save 1.00 GiB of 100 GiB (1.0%). "),
            "{text}"
        );
        assert!(
            text.contains("1048576 entries and want about 208 MiB of memory, well within the 1.00 GiB"),
            "{text}"
        );
        let pays = verdict(&Seen { would_pay: true, cache: 1 << 20, ..seen });
        assert!(pays.contains("would pay") && pays.contains("more than the 1.00 MiB"), "{pays}");
        assert_eq!(verdict(&Seen { all: 0, ..seen }), "There is no data to deduplicate.");
    }
}
