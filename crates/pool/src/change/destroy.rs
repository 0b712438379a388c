//! Destroying datasets, snapshots and bookmarks, all of them or none.

use std::collections::HashSet;

use refusal::{Action, Reason, Refused};

use super::missing;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dsl, bookmark};
use crate::error::if_there;
use crate::{PoolError, Result};

fn action(name: &str) -> Action {
    Action::Destroy { name: name.to_owned() }
}

/// What is destroyed by the same change does not stand in the way, if it comes first. A snapshot
/// that is gone already is passed over.
pub(super) fn check(dsl: &Dsl, names: &[String], defer: bool) -> Result<()> {
    let mut gone = HashSet::new();
    for name in names {
        if let Some((head, mark)) = name.split_once('#') {
            check_bookmark(dsl, name, head, mark)?;
            continue;
        }
        let found = match dsl.find(name) {
            Err(PoolError::NotFound) if name.contains('@') => continue,
            found => found.map_err(missing(action(name)))?,
        };
        if found.is_snapshot() {
            dsl.check_destroy_snapshot(&found, name, defer, &gone)?;
            if dsl.is_kept(&found.phys, &gone)? {
                continue; // It is put off: a head that has it cannot go.
            }
        } else {
            check_children(dsl, name, &found, &gone)?;
            dsl.check_destroy(&found, name)?;
        }
        gone.insert(found.object);
    }
    Ok(())
}

fn check_children(dsl: &Dsl, name: &str, found: &Found, gone: &HashSet<u64>) -> Result<()> {
    let refuse = || Err(Refused::new(action(name), Reason::HasChildren).into());
    for (child, object) in dsl.children(&found.dir)? {
        if !gone.contains(&dsl.child_dir(&found.dir, &child, object)?.phys().head_dataset_obj) {
            return refuse();
        }
    }
    let snapshots = dsl.mos.entries(found.phys.snapnames_zapobj)?;
    if snapshots.iter().all(|(_, value)| gone.contains(&value.first())) { Ok(()) } else { refuse() }
}

fn check_bookmark(dsl: &Dsl, name: &str, head: &str, mark: &str) -> Result<()> {
    let head = dsl.find(head).map_err(missing(action(name)))?;
    match bookmark::find(dsl, head.object, mark)? {
        Some(_) => Ok(()),
        None => Err(Refused::new(action(name), Reason::NoBookmark { name: name.to_owned() }).into()),
    }
}

pub(super) fn sync(cx: &SyncCx<'_>, names: &[String], defer: bool) -> Result<()> {
    for name in names {
        if let Some((head, mark)) = name.split_once('#') {
            destroy_bookmark(cx, head, mark)?;
            continue;
        }
        // It was there when this was checked, and went with another: a snapshot with the last of
        // its clones, what a receive left with its dataset, what is named twice.
        let Some(found) = if_there(cx.dsl.find(name))? else { continue };
        if found.is_snapshot() {
            cx.dsl.destroy_snapshot(found.object, name, defer, cx.tx)?;
            continue;
        }
        cx.note("destroy", name, found.object, &cx.dsl.how_destroyed(&found)?);
        cx.dsl.destroy_head(&found, cx.tx)?;
    }
    cx.dsl.refresh_heads()
}

fn destroy_bookmark(cx: &SyncCx<'_>, head: &str, mark: &str) -> Result<()> {
    let found = cx.dsl.find(head)?;
    let Some(known) = bookmark::find(cx.dsl, found.object, mark)? else { return Ok(()) };
    bookmark::destroy(cx.dsl, found.object, &known, cx.tx)?;
    cx.note("remove bookmark", head, found.object, &format!("name={mark}"));
    Ok(())
}
