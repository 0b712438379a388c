//! Renaming a dataset within its pool, with everything below it; and snapshots within their
//! dataset.

use std::sync::Arc;

use api_types::DatasetKind;
use env::Tunable;
use refusal::{Action, Reason, Refused};

use super::create::{self, make_parents};
use super::{missing, open};
use crate::dsl::counts::Counted;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dir, Dsl};
use crate::error::if_there;
use crate::namecheck::{MAX_NAME, check_point, check_spelling, last_of, parent_of};
use crate::{PoolError, Result};

fn refuse(from: &str, reason: impl Into<Reason>) -> PoolError {
    Refused::new(Action::Rename { name: from.to_owned() }, reason).into()
}

pub(super) fn check(dsl: &Dsl, from: &str, to: &str, parents: bool) -> Result<()> {
    let refuse_to = |reason: Reason| create::refuse(to, reason);
    check_spelling(from).map_err(|fault| refuse(from, fault))?;
    check_spelling(to).map_err(|fault| refuse_to(fault.into()))?;
    let found = dsl.find(from).map_err(missing(open(from)))?;
    if found.dir.parent().is_none() {
        return Err(refuse(from, Reason::NotOfPoolRoot));
    }
    if from.split('/').next() != to.split('/').next() {
        return Err(refuse_to(Reason::LeavesPool));
    }
    if to.strip_prefix(from).is_some_and(|rest| rest.starts_with('/')) {
        return Err(refuse_to(Reason::BelowItself));
    }
    if if_there(dsl.find_dir(to))?.is_some() {
        return Err(refuse(from, Reason::DatasetExists));
    }
    let parent = parent_of(to).ok_or_else(|| refuse_to(Reason::NameMissing))?;
    match dsl.find_dir(parent) {
        Ok(_) if dsl.kind_of(&dsl.find(parent)?)? != DatasetKind::Filesystem => {
            return Err(refuse_to(Reason::ParentNotFilesystem));
        }
        // What stays below the same parent takes nothing from anybody.
        Ok(dir) if found.dir.parent().is_some_and(|parent| parent.object == dir.object) => {}
        Ok(dir) => check_room(dsl, from, &found.dir, &dir)?,
        Err(PoolError::NotFound) if parents => {}
        Err(PoolError::NotFound) => return Err(refuse_to(Reason::NoParent)),
        Err(error) => return Err(error),
    }
    check_lengths(dsl, from, to, &found.dir)
}

/// No name below, snapshots' included, may become too long; nor too deep, unless it was as deep
/// before (`dsl_valid_rename` in module/zfs/dsl_dir.c).
fn check_lengths(dsl: &Dsl, from: &str, to: &str, dir: &Arc<Dir>) -> Result<()> {
    let levels = |name: &str| name.split('/').count();
    let most = usize::try_from(dsl.parts.env.tunable(Tunable::MaxDatasetNesting)).unwrap_or(usize::MAX);
    let deeper = levels(to).saturating_sub(levels(from));
    for name in dsl.names_below(dir)? {
        let mut longest = name.len();
        // A name that gets no longer leaves those of its snapshots as they are.
        if to.len() > from.len() {
            let snapshots = dsl.mos.entries(dsl.find(&name)?.phys.snapnames_zapobj)?;
            let lengths = snapshots.iter().map(|(snapshot, _)| name.len() + 1 + snapshot.len());
            longest = lengths.fold(longest, usize::max);
        }
        let too_long = longest - from.len() + to.len() > MAX_NAME;
        if too_long || deeper > 0 && levels(&name) + deeper > most {
            return Err(refuse(from, Reason::NameTooLong));
        }
    }
    Ok(())
}

/// What moves must fit under the new parent's quotas.
fn check_room(dsl: &Dsl, from: &str, dir: &Arc<Dir>, to: &Arc<Dir>) -> Result<()> {
    let phys = dir.phys();
    let space = phys.used_bytes.max(phys.reserved);
    let common = dir.parent().and_then(|parent| parent.common_ancestor(to));
    let without = common.map(|ancestor| (ancestor, space));
    if to.available(dsl.pool_size(), without, false) < space {
        return Err(refuse(from, Reason::NoSpace));
    }
    let (filesystems, snapshots) = dsl.counts_to_move(dir)?;
    for (what, number) in [(Counted::Filesystems, filesystems), (Counted::Snapshots, snapshots)] {
        if dsl.is_count_full(to, what, number, common)? {
            return Err(refuse(from, Reason::NoSpace));
        }
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, from: &str, to: &str, parents: bool) -> Result<()> {
    let parent_name = parent_of(to).ok_or_else(|| refuse(from, Reason::NameMissing))?;
    if parents {
        make_parents(cx, parent_name)?;
    }
    let found = cx.dsl.find(from)?;
    let parent = cx.dsl.find_dir(parent_name)?;
    cx.dsl.move_dir(&found.dir, &parent, last_of(to), cx.tx)?;
    // Under the old name, as OpenZFS logs it before it renames (dsl_dir.c, `dsl_dir_rename_sync`).
    cx.note("rename", from, found.object, &format!("-> {to}"));
    cx.dsl.refresh_policies(to)
}

/// Heads at and below `head` that have a snapshot of this name.
fn heads_with(dsl: &Dsl, head: &str, snapshot: &str, recursive: bool) -> Result<Vec<String>> {
    let dir = dsl.find_dir(head)?;
    let heads = if recursive { dsl.names_below(&dir)? } else { vec![head.to_owned()] };
    let mut with = Vec::new();
    for head in heads {
        with.extend(if_there(dsl.find(&format!("{head}@{snapshot}")))?.map(|_| head));
    }
    Ok(with)
}

/// `fs@before` and `fs@after`: the dataset, and the two names.
fn parts<'a>(from: &'a str, to: &'a str) -> Result<(&'a str, &'a str, &'a str)> {
    let (head, before) = from.split_once('@').unwrap_or((from, ""));
    let after = match to.split_once('@') {
        Some(("", after)) => after,
        Some((other, after)) if other == head => after,
        Some(_) => return Err(create::refuse(to, Reason::OtherDataset)),
        None => to,
    };
    Ok((head, before, after))
}

pub(super) fn check_snapshot(dsl: &Dsl, from: &str, to: &str, recursive: bool) -> Result<()> {
    let (head, before, after) = parts(from, to)?;
    let full = format!("{head}@{after}");
    check_point(&full, '@').map_err(|fault| create::refuse(&full, fault))?;
    dsl.find(from).map_err(missing(open(from)))?;
    for head in heads_with(dsl, head, before, recursive)? {
        if dsl.find(&format!("{head}@{after}")).is_ok() {
            let reason = if recursive { Reason::NewNameTaken } else { Reason::DatasetExists };
            return Err(refuse(from, reason));
        }
        if head.len() + 1 + after.len() > MAX_NAME {
            return Err(refuse(from, Reason::NameTooLong));
        }
    }
    Ok(())
}

pub(super) fn sync_snapshot(cx: &SyncCx<'_>, from: &str, to: &str, recursive: bool) -> Result<()> {
    let (head, before, after) = parts(from, to)?;
    for head in heads_with(cx.dsl, head, before, recursive)? {
        let names = cx.dsl.find(&head)?.phys.snapnames_zapobj;
        let name = format!("{head}@{before}");
        let found = cx.dsl.find(&name)?;
        cx.note("rename", &name, found.object, &format!("-> @{after}"));
        cx.dsl.mos.remove(names, before, cx.tx)?;
        cx.dsl.mos.set(names, after, found.object, cx.tx)?;
        cx.dsl.snapshots_changed(&found.dir, cx.tx)?;
    }
    Ok(())
}
