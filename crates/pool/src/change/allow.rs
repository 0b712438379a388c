//! Delegating permissions, and taking them back.
//!
//! Sources: module/zfs/dsl_deleg.c (`dsl_deleg_set_sync`, `dsl_deleg_unset_sync`),
//! module/zcommon/zfs_deleg.c (`zfs_deleg_verify_nvlist`), lib/libzfs/libzfs_dataset.c
//! (`zfs_set_fsacl`).

use std::sync::Arc;

use api_types::{Grant, Grantee};
use ondisk::version;
use refusal::{Action, Reason, Refused, Upgrade};

use super::missing;
use crate::Result;
use crate::dsl::deleg::{canonical, keys};
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dir, Dsl};

fn action(name: &str) -> Action {
    Action::SetPermissions { name: name.to_owned() }
}

fn target(dsl: &Dsl, name: &str) -> Result<Found> {
    dsl.find(name).map_err(missing(action(name)))
}

pub(super) fn check(dsl: &Dsl, name: &str, grants: &[Grant]) -> Result<()> {
    let refuse = |reason: Reason| Err(Refused::new(action(name), reason).into());
    if target(dsl, name)?.is_snapshot() {
        return refuse(Reason::NotOfThisType);
    }
    if dsl.version() < version::DELEGATED_PERMS {
        return refuse(Reason::PoolTooOld(Upgrade::This));
    }
    let is_set = |name: &String| name.starts_with('@') && canonical(name).is_ok();
    let makes_sense = |grant: &Grant| {
        let is_who = !matches!(&grant.who, Grantee::Set(name) if !is_set(name));
        let permissions = grant.permissions.as_deref();
        let are_known = permissions.is_none_or(|names| names.iter().all(|name| canonical(name).is_ok()));
        let says_any = permissions.is_none_or(|names| !names.is_empty());
        is_who && are_known && says_any && !keys(grant, false).is_empty()
    };
    if grants.is_empty() || !grants.iter().all(makes_sense) {
        return refuse(Reason::InvalidPermission);
    }
    Ok(())
}

/// What a grant names, permissions apart from sets.
fn split(permissions: &[String]) -> Result<[(bool, Vec<String>); 2]> {
    let names: Vec<String> = permissions.iter().map(|name| canonical(name)).collect::<Result<_>>()?;
    let (sets, plain) = names.into_iter().partition(|name| name.starts_with('@'));
    Ok([(false, plain), (true, sets)])
}

pub(super) fn sync(cx: &SyncCx<'_>, name: &str, grants: &[Grant]) -> Result<()> {
    let found = target(cx.dsl, name)?;
    for grant in grants {
        for (of_sets, names) in split(grant.permissions.as_deref().unwrap_or_default())? {
            for key in keys(grant, of_sets).iter().filter(|_| !names.is_empty()) {
                cx.dsl.delegate(&found.dir, key, &names, cx.tx)?;
                for permission in &names {
                    cx.note("permission update", name, found.object, &format!("{key} {permission}"));
                }
            }
        }
    }
    Ok(())
}

pub(super) fn sync_unallow(cx: &SyncCx<'_>, name: &str, grants: &[Grant], recursive: bool) -> Result<()> {
    let dir = target(cx.dsl, name)?.dir;
    let below = if recursive { cx.dsl.dirs_below(&dir)? } else { vec![dir] };
    below.iter().try_for_each(|dir| grants.iter().try_for_each(|grant| unallow_at(cx, dir, grant)))
}

fn unallow_at(cx: &SyncCx<'_>, dir: &Arc<Dir>, grant: &Grant) -> Result<()> {
    let (name, head) = (dir.name(), dir.phys().head_dataset_obj);
    let Some(permissions) = &grant.permissions else {
        for key in [false, true].into_iter().flat_map(|of_sets| keys(grant, of_sets)) {
            if cx.dsl.take_back(dir, &key, None, cx.tx)? {
                cx.note("permission who remove", &name, head, &key.to_string());
            }
        }
        return Ok(());
    };
    for (of_sets, names) in split(permissions)? {
        for key in keys(grant, of_sets).iter().filter(|_| !names.is_empty()) {
            if cx.dsl.take_back(dir, key, Some(&names), cx.tx)? {
                for permission in &names {
                    cx.note("permission remove", &name, head, &format!("{key} {permission}"));
                }
            }
        }
    }
    Ok(())
}
