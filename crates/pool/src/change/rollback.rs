//! Rolling back to a dataset's last snapshot. Who serves the dataset has closed it before.

use refusal::{Action, Reason, Refused};

use super::{missing, open};
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dsl, bookmark};
use crate::{PoolError, Result};

fn refuse(head: &str, reason: Reason) -> PoolError {
    Refused::new(Action::Rollback { name: head.to_owned() }, reason).into()
}

fn target(dsl: &Dsl, snapshot: &str) -> Result<(Found, Found)> {
    let head = snapshot.split_once('@').map_or(snapshot, |(head, _)| head);
    let found = dsl.find(head).map_err(missing(open(head)))?;
    let snap = dsl.find(snapshot).map_err(missing(open(snapshot)))?;
    Ok((found, snap))
}

pub(super) fn check(dsl: &Dsl, snapshot: &str, group: Option<u64>) -> Result<()> {
    let (found, snap) = target(dsl, snapshot)?;
    let head = found.dir.name();
    if !snap.is_snapshot() {
        return Err(refuse(&head, Reason::NotOfThisType));
    }
    if group.is_some_and(|txg| found.phys.prev_snap_txg >= txg) {
        return Err(PoolError::Again);
    }
    let latest = bookmark::all(dsl, found.object)?.last().map_or(0, |mark| mark.phys.creation_txg);
    if found.phys.prev_snap_obj != snap.object || latest > found.phys.prev_snap_txg {
        return Err(refuse(&head, Reason::MoreRecent { than: snapshot.to_owned() }));
    }
    if crate::dsl::dataset::recorded_features(dsl, found.object)?.contains(&"encryption") {
        return Err(PoolError::Unsupported("rolling back encrypted datasets".into()));
    }
    if dsl.if_open(found.object).is_some_and(|open| open.is_busy()) {
        return Err(refuse(&head, Reason::DatasetBusy));
    }
    let quota = dsl.local_number(&found.dir, "refquota")?;
    if quota != 0 && snap.phys.referenced_bytes > quota {
        return Err(refuse(&head, Reason::NoSpace));
    }
    let reserved = dsl.local_number(&found.dir, "refreservation")?.min(found.phys.unique_bytes);
    if reserved > found.dir.available(dsl.pool_size(), None, false) {
        return Err(refuse(&head, Reason::NoSpace));
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, snapshot: &str) -> Result<()> {
    let (found, _) = target(cx.dsl, snapshot)?;
    cx.dsl.rollback(&found, cx.tx)?;
    cx.note("rollback", &found.dir.name(), found.object, &format!("target={snapshot}"));
    cx.dsl.refresh_heads()
}
