//! Destroying datasets, all of them or none.

use std::collections::BTreeSet;

use super::{SyncCx, missing};
use crate::dsl::Dsl;
use crate::{PoolError, Result};

fn prefix(name: &str) -> String {
    format!("cannot destroy '{name}'")
}

/// Children that are destroyed by the same change do not stand in the way, if they come first.
pub(super) fn check(dsl: &Dsl, names: &[String]) -> Result<()> {
    let mut gone = BTreeSet::new();
    for name in names {
        let found = dsl.find(name).map_err(missing(&prefix(name)))?;
        if !found.is_snapshot() {
            let children = dsl.children(&found.dir)?;
            let left = children.iter().any(|(child, _)| !gone.contains(&format!("{name}/{child}")));
            if left {
                return Err(PoolError::Refused(format!("{}: filesystem has children", prefix(name))));
            }
        }
        dsl.check_destroy(&found, name)?;
        gone.insert(name.clone());
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, names: &[String]) -> Result<()> {
    for name in names {
        let found = cx.dsl.find(name)?;
        let text = format!("(bptree, mintxg={})", found.phys.prev_snap_txg);
        cx.note("destroy", name, found.object, &text)?;
        cx.dsl.destroy_head(&found, cx.tx)?;
    }
    Ok(())
}
