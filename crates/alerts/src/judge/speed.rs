//! Slow disks: what an I/O of a disk takes, beside the others of its vdev.
//!
//! Between two looks each disk has done some I/O, which took some time. A disk whose I/Os take much
//! longer than those of the others is slow, whatever the load: the others bear the same.
//!
//! Invariant: a disk that had too little to do says nothing, neither that it is slow nor that it is
//! no more.

use std::collections::BTreeMap;

use api_types::{AlertKind, AlertSettings, ClearCause, IoCounters, PoolDisk, PoolStatus, Severity};

use super::pools::{disks, leaves};
use crate::book::Finding;

/// I/Os between two looks that say something.
const ENOUGH: u64 = 50;
/// Microseconds below which no disk is slow.
const QUICK: u64 = 20_000;

/// What the last look saw.
#[derive(Default)]
pub struct Speed {
    last: BTreeMap<u64, IoCounters>,
    /// Disks that had enough to do, at the last look.
    judged: Vec<u64>,
}

impl Speed {
    pub fn look(&mut self, pools: &[PoolStatus], settings: &AlertSettings) -> Vec<Finding> {
        let mut findings = Vec::new();
        self.judged.clear();
        for pool in pools {
            for top in &pool.root.children {
                let disks = leaves(top);
                let took: Vec<Option<u64>> =
                    disks.iter().map(|disk| self.micros(disk.guid, &disk.io)).collect();
                for (index, disk) in disks.iter().enumerate() {
                    let others: Vec<u64> = took
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| *at != index)
                        .filter_map(|(_, it)| *it)
                        .collect();
                    let named = PoolDisk {
                        pool: pool.name.clone(),
                        guid: disk.guid,
                        name: disk.path.clone().unwrap_or_else(|| disk.name.clone()),
                    };
                    let what = |micros, others| AlertKind::DiskSlow { disk: named.clone(), micros, others };
                    let (Some(micros), Some(others)) = (took[index], median(others)) else {
                        // Nothing is known of it.
                        continue;
                    };
                    self.judged.push(disk.guid);
                    let limit = (others.saturating_mul(u64::from(settings.slow_disk)) / 100).max(QUICK);
                    match micros {
                        micros if micros > limit => {
                            findings.push(Finding::new(Severity::Warning, what(micros, others)));
                        }
                        micros if micros > limit / 2 => {
                            findings.push(Finding::lingering(Severity::Warning, what(micros, others)));
                        }
                        _ => {}
                    }
                }
            }
        }
        let there: Vec<u64> = pools.iter().flat_map(disks).map(|disk| disk.guid).collect();
        self.last.retain(|guid, _| there.contains(guid));
        findings
    }

    /// Why a disk is not slow any more; `None`: it had too little to do to tell.
    pub fn cause(&self, pools: &[PoolStatus], what: &AlertKind) -> Option<ClearCause> {
        let AlertKind::DiskSlow { disk, .. } = what else { return None };
        let Some(pool) = pools.iter().find(|pool| pool.name == disk.pool) else {
            return Some(ClearCause::PoolGone);
        };
        if !disks(pool).iter().any(|it| it.guid == disk.guid) {
            return Some(ClearCause::LeftPool);
        }
        self.judged.contains(&disk.guid).then_some(ClearCause::WithinLimits)
    }

    /// Microseconds of an I/O since the last look, on average.
    fn micros(&mut self, guid: u64, now: &IoCounters) -> Option<u64> {
        let before = self.last.insert(guid, *now)?;
        let ops = |io: &IoCounters| io.read_ops + io.write_ops;
        let nanos = |io: &IoCounters| io.read_nanos + io.write_nanos;
        // Counters begin anew with an import.
        let done = ops(now).checked_sub(ops(&before))?;
        let took = nanos(now).checked_sub(nanos(&before))?;
        (done >= ENOUGH).then(|| took / done / 1_000)
    }
}

fn median(mut all: Vec<u64>) -> Option<u64> {
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests;
