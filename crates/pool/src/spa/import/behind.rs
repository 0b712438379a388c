//! Sides of mirrors that missed writes, found at import.
//!
//! Until a resilver is built, such a side is never made whole: it is read last, so that what its siblings have is
//! believed first, and gets no uberblock. Two things tell it:
//! - Its newest uberblock is older than its siblings'. A crash between the uberblocks of one group leaves a side one
//!   behind that has all of the data, so one is forgiven; a side left out of a group is left out of all that follow.
//! - OpenZFS has noted in the MOS which groups it lacks, in its dirty time log (module/zfs/vdev.c, `vdev_dtl_load`).

use std::sync::Arc;

use dmu::Objset;
use ondisk::spacemap::SpaceMapPhys;
use storage::{Storage, VdevConfig};

use super::super::labels::FoundPool;
use crate::Result;

/// Object number of a leaf's dirty time log, in its configuration.
const DTL: &str = "DTL";

/// Tells storage of every side that is behind.
pub fn mark(mos: &Arc<Objset>, storage: &Storage, tree: &VdevConfig, found: &FoundPool) {
    for top in &tree.children {
        let mut leaves = Vec::new();
        top.visit(&mut |vdev| {
            if vdev.kind.is_leaf() {
                leaves.push((vdev.guid, vdev.pairs.u64(DTL).unwrap_or(0)));
            }
        });
        let txgs: Vec<(u64, Vec<u64>)> =
            leaves.iter().map(|(guid, _)| (*guid, txgs_of(found, *guid))).collect();
        for (guid, dtl) in leaves {
            let lacks = is_old(guid, &txgs) || has_entries(mos, dtl).unwrap_or(true);
            if lacks && !storage.mark_behind(guid) {
                tracing::warn!(guid, "a disk lacks writes, and no other has them all");
            }
        }
    }
}

/// Groups whose uberblock the disk has.
fn txgs_of(found: &FoundPool, guid: u64) -> Vec<u64> {
    let device = found.devices.iter().find(|device| device.guid == guid);
    device.map_or_else(Vec::new, |device| device.uberblocks.iter().map(|uberblock| uberblock.txg).collect())
}

/// Whether a sibling has at least two uberblocks that are newer than all of this disk's.
fn is_old(guid: u64, txgs: &[(u64, Vec<u64>)]) -> bool {
    let Some((_, own)) = txgs.iter().find(|(leaf, _)| *leaf == guid) else { return false };
    let newest = own.iter().max().copied().unwrap_or(0);
    let is_older = |theirs: &Vec<u64>| {
        let newer: std::collections::BTreeSet<u64> =
            theirs.iter().copied().filter(|txg| *txg > newest).collect();
        newer.len() > 1
    };
    txgs.iter().any(|(leaf, theirs)| *leaf != guid && is_older(theirs))
}

fn has_entries(mos: &Arc<Objset>, dtl: u64) -> Result<bool> {
    if dtl == 0 {
        return Ok(false);
    }
    let bonus = mos.hold(dtl)?.bonus();
    Ok(SpaceMapPhys::decode(&bonus.bytes, bonus.endian)?.alloc != 0)
}

#[cfg(test)]
mod tests;
