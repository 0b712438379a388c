//! Renaming a dataset within its pool, with everything below it.

use super::create::make_parents;
use super::{SyncCx, missing};
use crate::dsl::Dsl;
use crate::dsl::names::{MAX_NAME, check_filesystem, parent_of};
use crate::{PoolError, Result};

fn prefix(from: &str) -> String {
    format!("cannot rename '{from}'")
}

fn refuse(from: &str, why: &str) -> PoolError {
    PoolError::Refused(format!("{}: {why}", prefix(from)))
}

pub(super) fn check(dsl: &Dsl, from: &str, to: &str, parents: bool) -> Result<()> {
    let refuse_to = |why: &str| PoolError::Refused(format!("cannot create '{to}': {why}"));
    check_filesystem(to).map_err(|why| refuse_to(&why))?;
    if from.contains('@') {
        return Err(PoolError::Unsupported("renaming snapshots".into()));
    }
    let found = dsl.find(from).map_err(missing(&format!("cannot open '{from}'")))?;
    if found.dir.parent().is_none() {
        return Err(refuse(from, "operation not applicable to the root of a pool"));
    }
    if from.split('/').next() != to.split('/').next() {
        return Err(refuse_to("datasets must be within same pool"));
    }
    if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
        return Err(refuse_to("New dataset name cannot be a descendant of current dataset name"));
    }
    match dsl.find_dir(to) {
        Ok(_) => return Err(refuse(from, "dataset already exists")),
        Err(PoolError::NotFound) => {}
        Err(error) => return Err(error),
    }
    let parent = parent_of(to).ok_or_else(|| refuse_to("missing dataset name"))?;
    match dsl.find_dir(parent) {
        Ok(dir) => check_room(dsl, from, &found.dir, &dir)?,
        Err(PoolError::NotFound) if parents => {}
        Err(PoolError::NotFound) => return Err(refuse_to("parent does not exist")),
        Err(error) => return Err(error),
    }
    check_lengths(dsl, from, to, &found.dir)
}

/// No name below may become too long.
fn check_lengths(dsl: &Dsl, from: &str, to: &str, dir: &std::sync::Arc<crate::dsl::Dir>) -> Result<()> {
    let names = dsl.names_below(dir)?;
    let longest = names.iter().map(String::len).max().unwrap_or(0);
    if longest - from.len() + to.len() > MAX_NAME {
        return Err(refuse(from, "child name is too long"));
    }
    Ok(())
}

/// What moves must fit under the new parent's quotas.
fn check_room(
    dsl: &Dsl,
    from: &str,
    dir: &std::sync::Arc<crate::dsl::Dir>,
    to: &std::sync::Arc<crate::dsl::Dir>,
) -> Result<()> {
    let phys = dir.phys();
    let space = phys.used_bytes.max(phys.reserved);
    let common = common_ancestor(dir, to);
    let without = common.map(|ancestor| (ancestor, space));
    if to.available(dsl.pool_size(), without, false) < space {
        return Err(refuse(from, "out of space"));
    }
    Ok(())
}

fn common_ancestor(
    one: &std::sync::Arc<crate::dsl::Dir>,
    other: &std::sync::Arc<crate::dsl::Dir>,
) -> Option<u64> {
    let mut above = Vec::new();
    let mut dir = one.parent();
    while let Some(this) = dir {
        above.push(this.object);
        dir = this.parent();
    }
    let mut dir = Some(other.clone());
    while let Some(this) = dir {
        if above.contains(&this.object) {
            return Some(this.object);
        }
        dir = this.parent();
    }
    None
}

pub(super) fn sync(cx: &SyncCx<'_>, from: &str, to: &str, parents: bool) -> Result<()> {
    let parent_name = parent_of(to).ok_or_else(|| refuse(from, "missing dataset name"))?;
    if parents {
        make_parents(cx, parent_name)?;
    }
    let found = cx.dsl.find(from)?;
    let parent = cx.dsl.find_dir(parent_name)?;
    let last = to.rsplit('/').next().unwrap_or(to);
    cx.dsl.move_dir(&found.dir, &parent, last, cx.tx)?;
    // Under the old name, as OpenZFS logs it before it renames (dsl_dir.c, `dsl_dir_rename_sync`).
    cx.note("rename", from, found.object, &format!("-> {to}"))?;
    cx.dsl.refresh_policies(to)
}
