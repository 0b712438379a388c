//! Rolling back to a dataset's last snapshot. Who serves the dataset has closed it before.

use super::missing;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dsl, bookmark};
use crate::{PoolError, Result};

fn refuse(head: &str, why: &str) -> PoolError {
    PoolError::Refused(format!("cannot rollback '{head}': {why}"))
}

fn target(dsl: &Dsl, snapshot: &str) -> Result<(Found, Found)> {
    let head = snapshot.split_once('@').map_or(snapshot, |(head, _)| head);
    let found = dsl.find(head).map_err(missing(&format!("cannot open '{head}'")))?;
    let snap = dsl.find(snapshot).map_err(missing(&format!("cannot open '{snapshot}'")))?;
    Ok((found, snap))
}

pub(super) fn check(dsl: &Dsl, snapshot: &str, group: Option<u64>) -> Result<()> {
    let (found, snap) = target(dsl, snapshot)?;
    let head = found.dir.name();
    if !snap.is_snapshot() {
        return Err(refuse(&head, "operation not applicable to datasets of this type"));
    }
    if group.is_some_and(|txg| found.phys.prev_snap_txg >= txg) {
        return Err(PoolError::Again);
    }
    let latest = bookmark::all(dsl, found.object)?.last().map_or(0, |mark| mark.phys.creation_txg);
    if found.phys.prev_snap_obj != snap.object || latest > found.phys.prev_snap_txg {
        let why = format!("there is a snapshot or bookmark more recent than '{snapshot}'");
        return Err(refuse(&head, &why));
    }
    if crate::dsl::dataset::recorded_features(dsl, found.object)?.contains(&"encryption") {
        return Err(PoolError::Unsupported("rolling back encrypted datasets".into()));
    }
    if dsl.if_open(found.object).is_some_and(|open| open.is_busy()) {
        return Err(refuse(&head, "dataset is busy"));
    }
    let quota = dsl.local_number(&found.dir, "refquota")?;
    if quota != 0 && snap.phys.referenced_bytes > quota {
        return Err(refuse(&head, "out of space"));
    }
    let reserved = dsl.local_number(&found.dir, "refreservation")?.min(found.phys.unique_bytes);
    if reserved > found.dir.available(dsl.pool_size(), None, false) {
        return Err(refuse(&head, "out of space"));
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, snapshot: &str) -> Result<()> {
    let (found, _) = target(cx.dsl, snapshot)?;
    cx.dsl.rollback(&found, cx.tx)?;
    cx.note("rollback", &found.dir.name(), found.object, &format!("target={snapshot}"));
    cx.dsl.refresh_heads()
}
