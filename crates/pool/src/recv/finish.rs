//! The last step of a receive: what was received becomes visible, or goes.
//!
//! Source: module/zfs/dmu_recv.c (`dmu_recv_end_check`, `…_sync`), dsl_dataset.c
//! (`dsl_dataset_clone_swap_check_impl`).

use std::collections::HashSet;

use dmu::SyncTx;
use ondisk::dsl_dataset::FLAG_INCONSISTENT;
use refusal::{Action, Reason, ReceiveFault, Refused};

use super::{Failure, Received, Target, props};
use crate::dsl::Dsl;
use crate::dsl::counts::Counted;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::namecheck::RECEIVE_CLONE;
use crate::{PoolError, Result};

pub(super) fn check(dsl: &Dsl, target: &Target, object: u64, group: Option<u64>) -> Result<()> {
    let received = dsl.received(object)?;
    let head = match dsl.find(&target.dataset) {
        Err(PoolError::NotFound) => return Err(Failure::NotFound.into()),
        head => head?,
    };
    // It may have been renamed meanwhile.
    let dir = if received.is_hidden { received.found.dir.parent() } else { Some(received.found.dir.clone()) };
    if dir.is_none_or(|dir| dir.object != head.dir.object) {
        return Err(Failure::NotFound.into());
    }
    // Who lists datasets has them open for a moment: only in syncing context nobody does.
    let are_used = is_used(dsl, received.found.object) || is_used(dsl, head.object);
    if group.is_some() && are_used {
        return Err(PoolError::Busy);
    }
    if dsl.mos.find(head.phys.snapnames_zapobj, &target.snapshot)?.is_some() {
        return Err(Failure::Exists.into());
    }
    if received.is_hidden {
        check_swap(dsl, target, &received.found, &head)?;
    }
    // Others may have taken snapshots since it began.
    if dsl.is_count_full(&head.dir, Counted::Snapshots, 1, None)? {
        return Err(PoolError::Quota);
    }
    match dsl.check_snapshot(&head, group) {
        Err(PoolError::Busy) if !received.is_hidden => Ok(()),
        checked => checked,
    }
}

/// By how much one transaction may go beyond a quota, with the copies that redundancy asks for: the
/// source may have been filled up so (`refquota_slack` in `dsl_dataset_clone_swap_check_impl`,
/// which allows for `DMU_MAX_ACCESS` 24 times).
const ONE_TRANSACTION: u64 = 2 * (64 << 20);

fn check_swap(dsl: &Dsl, target: &Target, clone: &Found, head: &Found) -> Result<()> {
    let later = later_snapshots(dsl, clone, head)?;
    if !later.is_empty() && !target.force {
        return Err(Failure::NoSource.into());
    }
    for snapshot in &later {
        let name = dsl.dataset_name(snapshot.object)?;
        dsl.check_destroy_snapshot(snapshot, &name, false, &HashSet::new())?;
    }
    if !target.force && head.phys.prev_snap_obj != 0 {
        let from = dsl.mos.dataset(head.phys.prev_snap_obj)?;
        if dsl.is_modified_since(&head.phys.bp, &from.bp, from.creation_txg)? {
            return Err(Failure::Modified.into());
        }
    }
    let quota = dsl.local_number(&head.dir, "refquota")?;
    if quota != 0 && clone.phys.referenced_bytes > quota.saturating_add(ONE_TRANSACTION) {
        return Err(PoolError::Quota);
    }
    Ok(())
}

fn is_used(dsl: &Dsl, object: u64) -> bool {
    dsl.if_open(object).is_some_and(|open| open.is_busy())
}

/// The head's snapshots after the one that both have, newest first.
fn later_snapshots(dsl: &Dsl, clone: &Found, head: &Found) -> Result<Vec<Found>> {
    let mut later = Vec::new();
    let mut object = head.phys.prev_snap_obj;
    while object != clone.phys.prev_snap_obj && object != 0 {
        let phys = dsl.mos.dataset(object)?;
        if phys.dir_obj != head.dir.object {
            return Err(Failure::NoSource.into());
        }
        let previous = phys.prev_snap_obj;
        later.push(Found { dir: head.dir.clone(), object, phys });
        object = previous;
    }
    Ok(later)
}

pub(super) fn sync(cx: &SyncCx<'_>, target: &Target, object: u64) -> Result<()> {
    let (dsl, tx) = (cx.dsl, cx.tx);
    dsl.sync_datasets(&SyncTx { txg: tx.touch(), pass: 1, rewrite: false })?;
    let Received { found, is_hidden } = dsl.received(object)?;
    let name = found.dir.name();
    cx.note("finish receiving", &name, found.object, &format!("snap={}", target.snapshot));
    dsl.end_receiving(found.object);
    let head = dsl.find(&target.dataset)?;
    if is_hidden {
        for snapshot in later_snapshots(dsl, &found, &head)? {
            let name = dsl.dataset_name(snapshot.object)?;
            dsl.destroy_snapshot(snapshot.object, &name, false, tx)?;
        }
        let (clone, head) = (again(dsl, &found)?, again(dsl, &head)?);
        dsl.swap_contents(&clone, &head, tx)?;
        take(cx, target, &again(dsl, &head)?)?;
        dsl.destroy_head(&again(dsl, &clone)?, tx)?;
    } else {
        dsl.end_resumable(head.object, tx)?;
        take(cx, target, &head)?;
    }
    dsl.refresh_heads()?;
    dsl.refresh_policies(&target.dataset)
}

/// As it is now.
fn again(dsl: &Dsl, found: &Found) -> Result<Found> {
    Ok(Found { phys: dsl.mos.dataset(found.object)?, ..found.clone() })
}

/// Takes the snapshot, and makes it the one that was sent.
fn take(cx: &SyncCx<'_>, target: &Target, head: &Found) -> Result<()> {
    let snapshot = cx.dsl.take_snapshot(head, &target.snapshot, cx.tx)?;
    cx.dsl.edit_dataset(snapshot, cx.tx, |phys| {
        phys.guid = target.begin.to_guid;
        phys.creation_time = target.begin.creation_time;
        phys.flags &= !FLAG_INCONSISTENT;
    })?;
    props::finish(cx.dsl, &head.dir, snapshot, target, cx.tx)?;
    cx.dsl.edit_dataset(head.object, cx.tx, |phys| phys.flags &= !FLAG_INCONSISTENT)
}

/// Destroys what was received, unless somebody has made children of it meanwhile.
pub(super) fn abandon(cx: &SyncCx<'_>, object: u64) -> Result<()> {
    let Received { found, .. } = cx.dsl.received(object)?;
    cx.dsl.end_receiving(object);
    destroy_childless(cx, &found)
}

/// What has children stays as it is, until they are gone and somebody destroys it.
fn destroy_childless(cx: &SyncCx<'_>, found: &Found) -> Result<()> {
    if cx.dsl.has_children(&found.dir)? {
        let name = found.dir.name();
        tracing::warn!(name, "it was not received whole, and stays: it has children");
        return Ok(());
    }
    cx.dsl.destroy_head(found, cx.tx)?;
    cx.dsl.refresh_heads()
}

/// As `zfs receive -A` (cmd/zfs/zfs_main.c, `zfs_do_receive`).
pub(super) fn check_abort(dsl: &Dsl, name: &str) -> Result<()> {
    let Received { found, is_hidden } = dsl.left_of(name)?;
    let is_left = found.phys.flags & FLAG_INCONSISTENT != 0 && dsl.resume_list(found.object)?.is_some();
    if !is_hidden && !is_left {
        return Err(Refused::because(ReceiveFault::NothingToAbort { dataset: name.to_owned() }).into());
    }
    let name = if is_hidden { format!("{name}/{RECEIVE_CLONE}") } else { name.to_owned() };
    let refuse = |name, reason: Reason| Err(Refused::new(Action::Destroy { name }, reason).into());
    if dsl.is_receiving(found.object) {
        return refuse(name, Reason::DatasetBusy);
    }
    if dsl.has_children(&found.dir)? {
        return refuse(name, Reason::HasChildren);
    }
    dsl.check_destroy(&found, &name)
}

pub(super) fn abort(cx: &SyncCx<'_>, name: &str) -> Result<()> {
    let Received { found, .. } = cx.dsl.left_of(name)?;
    cx.note("destroy", &found.dir.name(), found.object, &cx.dsl.how_destroyed(&found)?);
    cx.dsl.destroy_head(&found, cx.tx)?;
    cx.dsl.refresh_heads()
}

/// Destroys a dataset that was not received whole.
pub(super) fn sweep(cx: &SyncCx<'_>, name: &str) -> Result<()> {
    let found = cx.dsl.find(name)?;
    if cx.dsl.is_useless(&found)? { destroy_childless(cx, &found) } else { Ok(()) }
}
