//! Putting tags on snapshots and taking them off; on all snapshots named or none. And snapshots
//! that last as long as a temporary tag is on them.
//!
//! Source: module/zfs/dsl_userhold.c, `dsl_dataset_snapshot_tmp_sync` in dsl_dataset.c.

use api_types::lock;
use ondisk::version;
use refusal::{Action, LockFault, Reason, Refused, Upgrade};

use super::{Change, destroy, missing, open, snapshot};
use crate::dsl::Dsl;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::error::if_there;
use crate::{PoolError, Result};

/// Longest tag, in bytes.
const TAG_MAX: usize = 255;

fn hold(name: &str) -> Action {
    Action::HoldSnapshot { name: name.to_owned() }
}

fn release(name: &str) -> Action {
    Action::ReleaseHold { name: name.to_owned() }
}

/// The snapshots meant, with their names; with `recursive`, those of the same name below, too,
/// where there are any.
fn targets(
    dsl: &Dsl,
    names: &[String],
    recursive: bool,
    action: fn(&str) -> Action,
) -> Result<Vec<(Found, String)>> {
    let mut found = Vec::new();
    for name in names {
        let none = || PoolError::from(Refused::new(action(name), Reason::NoDataset));
        let (head, snapshot) = name.split_once('@').ok_or_else(none)?;
        let dir = dsl.find_dir(head).map_err(missing(open(head)))?;
        let heads = if recursive { dsl.names_below(&dir)? } else { vec![head.to_owned()] };
        let before = found.len();
        for head in heads {
            let name = format!("{head}@{snapshot}");
            found.extend(if_there(dsl.find(&name))?.map(|one| (one, name)));
        }
        if found.len() == before {
            return Err(none());
        }
    }
    Ok(found)
}

/// The names of the snapshots meant.
pub(super) fn named(dsl: &Dsl, names: &[String], recursive: bool) -> Result<Vec<String>> {
    Ok(targets(dsl, names, recursive, hold)?.into_iter().map(|(_, name)| name).collect())
}

pub(super) fn check(dsl: &Dsl, names: &[String], tag: &str, recursive: bool) -> Result<()> {
    if dsl.version() < version::HOLDS {
        return Err(Refused::new(Action::HoldSnapshots, Reason::PoolTooOld(Upgrade::This)).into());
    }
    for (found, name) in targets(dsl, names, recursive, hold)? {
        if tag.len() > TAG_MAX {
            return Err(Refused::new(hold(&name), Reason::TagTooLong).into());
        }
        // No ZAP takes it as a name.
        if tag.is_empty() || tag.contains('\0') {
            return Err(Refused::new(hold(&name), Reason::InvalidTag).into());
        }
        if dsl.has_hold(&found.phys, tag)? {
            return Err(Refused::new(hold(&name), Reason::TagExists).into());
        }
        if lock::is_meant(tag) {
            check_lock(dsl, &found, &name, tag)?;
        }
    }
    Ok(())
}

/// A lock ends later than any that the snapshot has, and not too late.
fn check_lock(dsl: &Dsl, found: &Found, name: &str, tag: &str) -> Result<()> {
    let refuse = |reason: Reason| Err(Refused::new(hold(name), reason).into());
    let now = dsl.lock_time();
    let until = lock::until(tag).filter(|until| (1..=lock::LONGEST).contains(&until.saturating_sub(now)));
    let Some(until) = until else { return refuse(LockFault::Time.into()) };
    if dsl.features().is_active("zpool_checkpoint") {
        // To go back to it would undo the lock.
        return refuse(Reason::HasCheckpoint);
    }
    let longer = dsl
        .locks(&found.phys)?
        .into_iter()
        .find(|known| lock::locked_until(known, now).is_some_and(|known| known >= until));
    match longer {
        Some(tag) => refuse(LockFault::Locked { until: tag[lock::PREFIX.len()..].to_owned() }.into()),
        None => Ok(()),
    }
}

pub(super) fn sync(cx: &SyncCx<'_>, names: &[String], tag: &str, recursive: bool) -> Result<()> {
    for (found, name) in targets(cx.dsl, names, recursive, hold)? {
        let locks = if lock::is_meant(tag) { cx.dsl.locks(&found.phys)? } else { Vec::new() };
        cx.dsl.hold(&found, tag, cx.tx)?;
        for shorter in locks {
            cx.dsl.prolonged(&found, &shorter, cx.tx)?;
        }
        let refs = cx.dsl.holds_on(&cx.dsl.find(&name)?.phys)?;
        cx.note("hold", &name, found.object, &format!("tag={tag} temp=0 refs={refs}"));
    }
    Ok(())
}

pub(super) fn check_release(dsl: &Dsl, names: &[String], tag: &str, recursive: bool) -> Result<()> {
    for name in names {
        let mut held = false;
        for (found, _) in targets(dsl, std::slice::from_ref(name), recursive, release)? {
            let has_it = dsl.has_hold(&found.phys, tag)?;
            if has_it && lock::locked_until(tag, dsl.lock_time()).is_some() {
                let until = tag[lock::PREFIX.len()..].to_owned();
                return Err(Refused::new(release(name), LockFault::Locked { until }).into());
            }
            held |= has_it;
        }
        if !held {
            return Err(Refused::new(release(name), Reason::NoTag).into());
        }
    }
    Ok(())
}

pub(super) fn sync_release(cx: &SyncCx<'_>, names: &[String], tag: &str, recursive: bool) -> Result<()> {
    for (found, name) in targets(cx.dsl, names, recursive, release)? {
        if cx.dsl.has_hold(&found.phys, tag)? {
            cx.dsl.release(&found, &name, tag, cx.tx)?;
        }
    }
    cx.dsl.refresh_heads()
}

pub(super) fn check_temporary(dsl: &Dsl, name: &str, group: Option<u64>) -> Result<()> {
    if dsl.version() < version::HOLDS {
        return Err(Refused::new(hold(name), Reason::PoolTooOld(Upgrade::This)).into());
    }
    snapshot::check(dsl, &[name.to_owned()], false, &[], group)
}

/// It is to be destroyed as soon as nothing keeps it, and kept by the tag.
pub(super) fn sync_temporary(cx: &SyncCx<'_>, name: &str, tag: &str) -> Result<()> {
    let names = [name.to_owned()];
    snapshot::sync(cx, &names, false, &[])?;
    let found = cx.dsl.find(name)?;
    cx.dsl.hold_for_now(&found, tag, cx.tx)?;
    cx.note("hold", name, found.object, &format!("tag={tag} temp=1 refs=1"));
    destroy::sync(cx, &names, true)
}

pub(super) fn sync_release_temporary(cx: &SyncCx<'_>) -> Result<()> {
    for (object, tag) in cx.dsl.temporary_holds()? {
        cx.dsl.forget_temporary(object, &tag, cx.tx)?;
        let Some(name) = if_there(cx.dsl.dataset_name(object))? else { continue };
        let found = cx.dsl.find(&name)?;
        if cx.dsl.has_hold(&found.phys, &tag)? {
            cx.dsl.release(&found, &name, &tag, cx.tx)?;
        }
    }
    cx.dsl.refresh_heads()
}

impl Dsl {
    /// Takes off what temporary tags there are: who put them is gone. Snapshots that were to go
    /// with them go.
    pub fn release_temporary(&self) -> Result<()> {
        let is_held = {
            let _config = self.reading();
            !self.temporary_holds()?.is_empty()
        };
        if is_held { self.commit(Change::ReleaseTemporary, "").map(drop) } else { Ok(()) }
    }
}
