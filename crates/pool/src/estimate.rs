//! What deduplication would bring, before it is turned on: every block of data, by the checksum
//! that it has.
//!
//! No table of all blocks need fit: kept are those whose checksum, scrambled, ends in so many zero
//! bits; when they become too many, one bit more is asked for. As a block is kept or not with all
//! of its references, the sums over those that are kept, times what was left out, are those of all.
//!
//! Blocks are met as the last durable group has them, a snapshot's where it differs from the one
//! before. While a dataset is walked, space freed is not used again.
//!
//! Source: cmd/zdb/zdb.c (`dump_simulated_ddt`).

use std::collections::HashMap;

use api_types::{DatasetFilter, DatasetKind};
use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use ondisk::ChecksumKind;
use ondisk::ddt::{DdtKey, Histogram, Stat};

use crate::Result;
use crate::spa::Pool;
use crate::undeciphered::Undeciphered;
use storage::Storage;

/// Blocks kept, at a hundred bytes each.
const KEPT_MAX: usize = 1 << 20;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Estimate {
    /// Of all blocks, those left out made up for.
    pub histogram: Histogram,
    /// One block in so many was looked at.
    pub sampled: u64,
    /// Blocks without a checksum, of which nothing can be said.
    pub unknown: u64,
}

/// Of a dataset and all below it, with their snapshots; the pool's name stands for all of it.
pub fn estimate(pool: &Pool, name: &str) -> Result<Estimate> {
    let mut counting = Counting::new(&pool.core().storage, KEPT_MAX);
    let kinds = vec![DatasetKind::Filesystem, DatasetKind::Volume, DatasetKind::Snapshot];
    let filter = DatasetFilter { roots: vec![name.to_owned()], kinds, ..DatasetFilter::default() };
    for one in pool.dsl.list(&filter)? {
        // It may be gone by now.
        let Ok(found) = pool.dsl.find(&one.name) else { continue };
        let _epoch = pool.core().storage.epoch();
        let since = found.phys.prev_snap_txg;
        traverse(&Undeciphered(&pool.core().storage), &found.phys.bp, since, &mut counting);
    }
    Ok(counting.estimate())
}

struct Counting<'a> {
    storage: &'a Storage,
    max: usize,
    /// Of a block: logical, stored and allocated bytes, and how often it was met.
    kept: HashMap<DdtKey, ([u64; 3], u64)>,
    /// Zero bits asked for.
    bits: u32,
    unknown: u64,
}

impl Counting<'_> {
    fn new(storage: &Storage, max: usize) -> Counting<'_> {
        Counting { storage, max, kept: HashMap::new(), bits: 0, unknown: 0 }
    }

    fn count(&mut self, key: DdtKey, sizes: [u64; 3]) {
        if !is_kept(&key, self.bits) {
            return;
        }
        self.kept.entry(key).or_insert((sizes, 0)).1 += 1;
        while self.kept.len() > self.max {
            self.bits += 1;
            let bits = self.bits;
            self.kept.retain(|key, _| is_kept(key, bits));
        }
    }

    fn estimate(self) -> Estimate {
        let mut histogram = Histogram::default();
        for (sizes, references) in self.kept.into_values() {
            if let Some(bucket) = histogram.bucket(references) {
                bucket.add(&Stat::new(sizes, references));
            }
        }
        let sampled = 1 << self.bits;
        histogram.0.iter_mut().for_each(|stat| *stat = stat.times(sampled));
        Estimate { histogram, sampled, unknown: self.unknown }
    }
}

/// Sums like fletcher4 have their randomness in some places only.
fn is_kept(key: &DdtKey, bits: u32) -> bool {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed =
        key.words().iter().fold(0_u64, |mixed, word| (mixed ^ word).wrapping_mul(ODD).rotate_left(29));
    mixed.wrapping_mul(ODD).leading_zeros() >= bits
}

impl Visitor for Counting<'_> {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        let bp = visit.bp;
        let is_data = matches!(visit.part, Part::Tree { level: 0, .. }) && !bp.object_type().is_metadata();
        if !is_data || bp.is_embedded() || bp.is_hole() {
            return Go::On;
        }
        match bp.checksum_kind() {
            Ok(ChecksumKind::Off | ChecksumKind::NoParity) | Err(_) => self.unknown += 1,
            Ok(_) => self.count(DdtKey::of(bp), [bp.lsize(), bp.psize(), self.storage.dsize(bp)]),
        }
        Go::On
    }

    fn unreadable(&mut self, _visit: &Visit<'_>, _error: dmu::DmuError) -> Go {
        self.unknown += 1;
        Go::Past
    }
}

#[cfg(test)]
mod tests {
    use storage::arc::Cache;

    use super::*;

    #[test]
    fn a_sample_stands_for_all() {
        let storage = Storage::new(env::Env::real(), Cache::new(0), 7);
        let mut counting = Counting::new(&storage, 500);
        for n in 0..40_000_u64 {
            // Half of them once, half twice; sums as small numbers have them.
            let key = DdtKey::new([n, 2 * n, 0, 0], 4096, 4096, 2);
            (0..=n % 2).for_each(|_| counting.count(key, [4096; 3]));
        }
        let estimate = counting.estimate();
        assert!(estimate.sampled >= 64, "{}", estimate.sampled);
        let near = |found: u64, wanted: u64| found.abs_diff(wanted) < wanted / 4;
        let [once, twice] = [0, 1].map(|bucket| estimate.histogram.0[bucket]);
        assert!(near(once.blocks, 20_000) && near(twice.blocks, 20_000), "{once:?} {twice:?}");
        assert_eq!(twice.ref_blocks, 2 * twice.blocks);
    }
}
