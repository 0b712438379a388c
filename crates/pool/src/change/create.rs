//! Creating a file system.

use std::sync::Arc;

use api_types::DatasetKind;
use refusal::{Action, Reason, Refused};

use super::{Props, missing};
use crate::dsl::counts::Counted;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dir, Dsl};
use crate::error::if_there;
use crate::namecheck::{check_filesystem, last_of, parent_of};
use crate::prop::{Checker, RawProps};
use crate::{PoolError, Result};

pub(super) fn create(name: &str) -> Action {
    Action::Create { name: name.to_owned() }
}

pub(super) fn refuse(name: &str, reason: impl Into<Reason>) -> PoolError {
    Refused::new(create(name), reason).into()
}

pub(super) fn raw_props(dsl: &Dsl, name: &str, props: &Props) -> Result<RawProps> {
    let has_feature = |feature: &str| dsl.features().is_enabled(feature);
    let (action, of, version) = (create(name), DatasetKind::Filesystem, dsl.version());
    Checker { action, of, creating: true, version, has_feature: &has_feature }.all(props)
}

pub(super) fn check(dsl: &Dsl, name: &str, parents: bool, props: &Props) -> Result<()> {
    check_filesystem(name).map_err(|fault| refuse(name, fault))?;
    let raw = raw_props(dsl, name, props)?;
    let Some(parent) = check_place(dsl, name, parents)? else { return Ok(()) };
    if parent.available(dsl.pool_size(), None, false) == 0 {
        return Err(refuse(name, Reason::NoSpace));
    }
    check_limits(dsl, name, &parent, &raw)
}

/// The directory that a new dataset of this name comes below, or with `parents` the nearest above
/// it; `None` where it is there already and that is as good.
pub(super) fn check_place(dsl: &Dsl, name: &str, parents: bool) -> Result<Option<Arc<Dir>>> {
    if if_there(dsl.find_dir(name))?.is_some() {
        return if parents { Ok(None) } else { Err(refuse(name, Reason::DatasetExists)) };
    }
    let parent = parent_of(name).ok_or_else(|| refuse(name, Reason::NameMissing))?;
    let parent = nearest(dsl, name, parent, parents)?;
    let Some(head) = dsl.head_of(&parent)? else { return Err(refuse(name, Reason::NoParent)) };
    if dsl.kind_of(&head)? != DatasetKind::Filesystem {
        return Err(refuse(name, Reason::ParentNotFilesystem));
    }
    if dsl.is_count_full(&parent, Counted::Filesystems, 1, None)? {
        return Err(refuse(name, Reason::NoSpace));
    }
    Ok(Some(parent))
}

/// A reservation must fit, and a quota must hold it.
pub(super) fn check_limits(dsl: &Dsl, name: &str, parent: &Arc<Dir>, props: &RawProps) -> Result<()> {
    let number = |name: &str| props.number(name).unwrap_or(0);
    let reserved = number("reservation").max(number("refreservation"));
    if reserved > parent.available(dsl.pool_size(), None, false) {
        return Err(refuse(name, Reason::TooLarge));
    }
    let quota = number("quota");
    if quota != 0 && reserved > quota {
        return Err(refuse(name, Reason::TooSmall));
    }
    Ok(())
}

/// The parent, or with `parents` the nearest ancestor that exists.
fn nearest(dsl: &Dsl, name: &str, parent: &str, parents: bool) -> Result<Arc<Dir>> {
    let mut parent = parent;
    loop {
        match (dsl.find_dir(parent), parent_of(parent)) {
            (Ok(dir), _) => return Ok(dir),
            (Err(PoolError::NotFound), Some(above)) if parents => parent = above,
            (Err(PoolError::NotFound), None) => return Err(refuse(name, Reason::NoPool)),
            (Err(PoolError::NotFound), _) => return Err(refuse(name, Reason::NoParent)),
            (Err(error), _) => return Err(error),
        }
    }
}

pub(super) fn sync(cx: &SyncCx<'_>, name: &str, parents: bool, props: &Props) -> Result<()> {
    if cx.dsl.find_dir(name).is_ok() {
        return Ok(());
    }
    let raw = raw_props(cx.dsl, name, props)?;
    let parent = above(cx, name, parents)?;
    make(cx, &parent, name, &raw)
}

/// The directory that a new dataset comes below; with `parents` it is made if need be.
pub(super) fn above(cx: &SyncCx<'_>, name: &str, parents: bool) -> Result<Arc<Dir>> {
    let above = parent_of(name).ok_or_else(|| refuse(name, Reason::NameMissing))?;
    if parents {
        make_parents(cx, above)?;
    }
    cx.dsl.find_dir(above).map_err(missing(create(name)))
}

/// Makes a name's missing ancestors, and itself, without properties.
pub(super) fn make_parents(cx: &SyncCx<'_>, name: &str) -> Result<()> {
    if cx.dsl.find_dir(name).is_ok() {
        return Ok(());
    }
    let above = parent_of(name).ok_or_else(|| refuse(name, Reason::NoPool))?;
    make_parents(cx, above)?;
    let parent = cx.dsl.find_dir(above)?;
    make(cx, &parent, name, &RawProps::default())
}

fn make(cx: &SyncCx<'_>, parent: &Arc<Dir>, name: &str, props: &RawProps) -> Result<()> {
    let dir = cx.dsl.create_dir(Some(parent), last_of(name), cx.tx)?;
    let mut props = props.clone();
    cx.dsl.inherit_creation(parent, &mut props)?;
    let dataset = cx.dsl.create_filesystem_in(&dir, &props, cx.tx)?;
    cx.note("create", name, dataset.object(), " ");
    Ok(())
}
