//! Sides of mirrors that missed writes, found at import.
//!
//! Until a resilver is built, such a side is never made whole: it is read last, so that what its siblings have is
//! believed first, and gets no uberblock. OpenZFS notes in the MOS which groups a side lacks, in its dirty time log
//! (module/zfs/vdev.c, `vdev_dtl_load`). The age of a side's uberblocks says nothing: power cuts in the middle of commits
//! leave uberblocks on one side that lead to what all sides have.

use std::sync::Arc;

use dmu::Objset;
use ondisk::spacemap::SpaceMapPhys;
use storage::{Storage, VdevConfig};

use crate::Result;

/// Object number of a leaf's dirty time log, in its configuration.
const DTL: &str = "DTL";

/// Tells storage of every side that is behind.
pub fn mark(mos: &Arc<Objset>, storage: &Storage, tree: &VdevConfig) {
    for top in &tree.children {
        let mut leaves = Vec::new();
        top.visit(&mut |vdev| {
            if vdev.kind.is_leaf() {
                leaves.push((vdev.guid, vdev.pairs.u64(DTL).unwrap_or(0)));
            }
        });
        for (guid, dtl) in leaves {
            let lacks = has_entries(mos, dtl).unwrap_or(true);
            if lacks && !storage.mark_behind(guid) {
                tracing::warn!(guid, "a disk lacks writes, and no other has them all");
            }
        }
    }
}

fn has_entries(mos: &Arc<Objset>, dtl: u64) -> Result<bool> {
    if dtl == 0 {
        return Ok(false);
    }
    let bonus = mos.hold(dtl)?.bonus();
    Ok(SpaceMapPhys::decode(&bonus.bytes, bonus.endian)?.alloc != 0)
}
