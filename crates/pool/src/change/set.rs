//! Setting properties of a dataset, all of them or none.

use api_types::{DatasetKind, DatasetProperty};
use refusal::{Action, PropertyFault, Reason, Refused};

use super::{Props, missing};
use crate::dsl::Dsl;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::prop::{AUTO, Checker, RawProps, RawValue, exact};
use crate::{PoolError, Result};

fn action(name: &str) -> Action {
    Action::SetProperty { name: name.to_owned() }
}

fn refuse(name: &str, reason: impl Into<Reason>) -> PoolError {
    Refused::new(action(name), reason).into()
}

fn raw_props(dsl: &Dsl, name: &str, found: &Found, props: &Props) -> Result<RawProps> {
    let has_feature = |feature: &str| dsl.features().is_enabled(feature);
    let kind = dsl.kind_of(found)?;
    let (action, version) = (action(name), dsl.version());
    let checker = Checker { action, of: kind, creating: false, version, has_feature: &has_feature };
    let mut raw = match kind {
        DatasetKind::Snapshot => checker.of_snapshot(props)?,
        _ => checker.all(props)?,
    };
    if kind == DatasetKind::Volume {
        follow_size(dsl, name, found, &mut raw)?;
    }
    Ok(raw)
}

/// A volume's reservation goes with its size, where it did before or is to
/// (`zfs_add_synthetic_resv`, `zfs_fix_auto_resv` in lib/libzfs/libzfs_dataset.c).
fn follow_size(dsl: &Dsl, name: &str, found: &Found, raw: &mut RawProps) -> Result<()> {
    let (now, block) = dsl.volume_shape(found.object)?;
    let size = raw.number("volsize");
    if size == Some(0) {
        return Err(refuse(name, PropertyFault::VolumeSizeZero));
    }
    if size.is_some_and(|size| size % block != 0 || i64::try_from(size).is_err()) {
        let block = if block < 1024 { format!("{block}B") } else { format!("{}K", block >> 10) };
        return Err(refuse(name, PropertyFault::VolumeSizeUneven { block }));
    }
    let limit = dsl.volume_limit();
    let whole = || RawValue::Number(dsl.volume_reservation(size.unwrap_or(now), block, 1));
    match raw.local.iter_mut().find(|(name, _)| name == limit) {
        Some((_, value)) if value.number() == Some(AUTO) => *value = whole(),
        None if size.is_some() && dsl.has_auto_reservation(&found.dir, now, block)? => {
            raw.local.push((limit.into(), whole()));
        }
        _ => {}
    }
    Ok(())
}

fn target(dsl: &Dsl, name: &str) -> Result<Found> {
    dsl.find(name).map_err(missing(action(name)))
}

pub(super) fn check(dsl: &Dsl, name: &str, props: &Props) -> Result<()> {
    let found = target(dsl, name)?;
    let raw = raw_props(dsl, name, &found, props)?;
    for (property, number) in &raw.creation {
        let now = dsl.file_system_version(found.object)?;
        if *property == "version" && *number < now {
            return Err(refuse(name, PropertyFault::Downgrade { now }));
        }
    }
    for (property, value) in raw.local {
        if let Some(number) = value.number() {
            check_limit(dsl, name, &found, &property, number)?;
        }
    }
    Ok(())
}

/// Limits below what is used, and reservations of what is not there.
fn check_limit(dsl: &Dsl, name: &str, found: &Found, property: &str, number: u64) -> Result<()> {
    let dir = found.dir.phys();
    let room = || found.dir.available(dsl.pool_size(), None, false);
    let refuse_if = |is: bool, reason: Reason| if is { Err(refuse(name, reason)) } else { Ok(()) };
    match property {
        "quota" if number != 0 => {
            refuse_if(number < dir.reserved || number < dir.used_bytes, Reason::TooSmall)
        }
        "refquota" if number != 0 => {
            let reserved = dsl.local_number(&found.dir, "refreservation")?;
            let too_small = number < found.phys.referenced_bytes || number < reserved;
            refuse_if(too_small, Reason::TooSmall)
        }
        "reservation" => {
            let more = number.max(dir.used_bytes).saturating_sub(dir.reserved.max(dir.used_bytes));
            let over_quota = dir.quota != 0 && number > dir.quota;
            let available =
                found.dir.parent().map_or_else(room, |parent| parent.available(dsl.pool_size(), None, false));
            refuse_if(more > 0 && (more > available || over_quota), Reason::TooLarge)
        }
        "refreservation" => {
            let unique = found.phys.unique_bytes;
            let before = dsl.local_number(&found.dir, "refreservation")?;
            let more = number.max(unique).saturating_sub(before.max(unique));
            let over_quota = dir.quota != 0 && number > dir.quota;
            refuse_if(more > 0 && (more > room() || over_quota), Reason::TooLarge)
        }
        _ => Ok(()),
    }
}

pub(super) fn sync(cx: &SyncCx<'_>, name: &str, props: &Props) -> Result<()> {
    let found = target(cx.dsl, name)?;
    for (property, value) in raw_props(cx.dsl, name, &found, props)?.local {
        match (property.as_str(), value.number()) {
            ("volsize", Some(size)) => cx.dsl.set_volume_size(found.object, size, cx.tx)?,
            _ if found.is_snapshot() => {
                cx.dsl.write_snapshot_prop(found.object, &property, Some(&value), cx.tx)?;
            }
            _ => cx.dsl.write_prop(&found.dir, &property, Some(&value), cx.tx)?,
        }
        cx.note("set", name, found.object, &format!("{property}={}", shown(&property, &value)));
    }
    cx.dsl.refresh_policies(name)
}

/// As the history has it: numbers for native properties.
fn shown(property: &str, value: &RawValue) -> String {
    match (value, DatasetProperty::named(property)) {
        (RawValue::Number(number), _) => number.to_string(),
        (value, Some(prop)) => exact(prop.row(), value),
        (RawValue::Text(text), None) => text.clone(),
    }
}
