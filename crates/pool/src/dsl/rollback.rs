//! Rolling back: a head becomes its last snapshot again. It changes contents with a clone of that
//! snapshot, which is then destroyed; so nothing waits for its old blocks to be freed. Nobody may
//! use the file system meanwhile.
//!
//! Source: module/zfs/dsl_dataset.c (`dsl_dataset_rollback_sync`).

use dmu::Tx;

use super::Dsl;
use super::names::Found;
use crate::Result;

/// The clone's name, for as long as it lives.
const CLONE: &str = "%rollback";

impl Dsl {
    /// See the module. The head is not in use, and its last snapshot is of an earlier group.
    /// Syncing context.
    pub(crate) fn rollback(&self, found: &Found, tx: &Tx) -> Result<()> {
        let dir = self.create_dir(Some(&found.dir), CLONE, tx)?;
        let object = self.create_clone(&dir, found.phys.prev_snap_obj, tx)?;
        let clone = Found { dir, object, phys: self.mos.dataset(object)? };
        self.swap_contents(&clone, found, tx)?;
        self.destroy_head(&clone, tx)?;
        self.open_without_log(found.object, tx)
    }
}
