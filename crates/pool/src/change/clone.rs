//! Cloning a snapshot, and promoting a clone.

use refusal::{Action, Reason, Refused};

use super::create::{above, check_limits, check_place, create, refuse};
use super::{Props, missing, open, reason};
use crate::dsl::Dsl;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::namecheck::{check_filesystem, last_of};
use crate::prop::{AUTO, Checker, RawProps, RawValue};
use crate::{PoolError, Result};

fn raw_props(dsl: &Dsl, from: &Found, name: &str, props: &Props) -> Result<RawProps> {
    let has_feature = |feature: &str| dsl.features().is_enabled(feature);
    let (action, of) = (create(name), dsl.head_kind(from.object, &from.phys)?);
    let checker = Checker { action, of, creating: false, version: dsl.version(), has_feature: &has_feature };
    let mut raw = checker.all(props)?;
    for (_, value) in raw.local.iter_mut().filter(|(name, _)| name == "refreservation") {
        if value.number() == Some(AUTO) {
            *value = RawValue::Number(dsl.reservation_of(from.object)?);
        }
    }
    Ok(raw)
}

fn origin(dsl: &Dsl, snapshot: &str) -> Result<Found> {
    let found = dsl.find(snapshot).map_err(missing(open(snapshot)))?;
    if found.is_snapshot() {
        Ok(found)
    } else {
        Err(PoolError::Invalid(format!("'{snapshot}' is no snapshot")))
    }
}

pub(super) fn check(dsl: &Dsl, snapshot: &str, name: &str, parents: bool, props: &Props) -> Result<()> {
    check_filesystem(name).map_err(|fault| refuse(name, fault))?;
    if snapshot.split(['/', '@']).next() != name.split('/').next() {
        return Err(refuse(name, Reason::OtherPool));
    }
    let from = origin(dsl, snapshot)?;
    let raw = raw_props(dsl, &from, name, props)?;
    if crate::dsl::dataset::recorded_features(dsl, from.object)?.contains(&"encryption") {
        return Err(PoolError::Unsupported("clones of encrypted datasets".into()));
    }
    match check_place(dsl, name, parents)? {
        Some(parent) => check_limits(dsl, name, &parent, &raw),
        None => Ok(()),
    }
}

pub(super) fn sync(cx: &SyncCx<'_>, snapshot: &str, name: &str, parents: bool, props: &Props) -> Result<()> {
    if cx.dsl.find_dir(name).is_ok() {
        return Ok(());
    }
    let from = origin(cx.dsl, snapshot)?;
    let raw = raw_props(cx.dsl, &from, name, props)?;
    let parent = above(cx, name, parents)?;
    let dir = cx.dsl.create_dir(Some(&parent), last_of(name), cx.tx)?;
    let object = cx.dsl.create_clone(&dir, from.object, cx.tx)?;
    cx.dsl.write_props(&dir, &raw, cx.tx)?;
    cx.note("clone", name, object, &format!("origin={snapshot} ({})", from.object));
    cx.dsl.refresh_heads()
}

pub(super) fn check_promote(dsl: &Dsl, name: &str) -> Result<()> {
    let refuse =
        |reason: Reason| PoolError::from(Refused::new(Action::Promote { name: name.to_owned() }, reason));
    check_filesystem(name.split('@').next().unwrap_or(name)).map_err(|fault| refuse(fault.into()))?;
    let found = dsl.find(name).map_err(missing(open(name)))?;
    if found.is_snapshot() {
        return Err(refuse(Reason::SnapshotNotPromoted));
    }
    let promotion = dsl.promotion(&found)?;
    if let Some(point) = dsl.promotion_conflicts(&found, &promotion)?.first() {
        let parent = dsl.dataset_name(found.dir.phys().origin_obj)?;
        let snapshot = point.trim_start_matches(['@', '#']).to_owned();
        return Err(refuse(Reason::Conflict { snapshot, parent }));
    }
    match dsl.check_promotion(&found, &promotion) {
        Ok(()) => Ok(()),
        Err(error) => Err(refuse(reason(error)?)),
    }
}

pub(super) fn sync_promote(cx: &SyncCx<'_>, name: &str) -> Result<()> {
    let found = cx.dsl.find(name)?;
    let promotion = cx.dsl.promotion(&found)?;
    cx.dsl.promote(&found, &promotion, cx.tx)?;
    cx.dsl.refresh_heads()
}
