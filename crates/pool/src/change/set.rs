//! Setting properties of a dataset, all of them or none.

use super::{SyncCx, missing};
use crate::dsl::Dsl;
use crate::dsl::names::Found;
use crate::prop::{Checker, RawProps, RawValue, exact};
use crate::{PoolError, Result};

fn prefix(name: &str) -> String {
    format!("cannot set property for '{name}'")
}

fn refuse(name: &str, why: &str) -> PoolError {
    PoolError::Refused(format!("{}: {why}", prefix(name)))
}

fn raw_props(dsl: &Dsl, name: &str, props: &[(String, String)]) -> Result<RawProps> {
    let has_feature = |feature: &str| dsl.features().is_enabled(feature);
    let checker =
        Checker { prefix: prefix(name), creating: false, version: dsl.version(), has_feature: &has_feature };
    if name.contains('@') { checker.of_snapshot(props) } else { checker.all(props) }
}

fn target(dsl: &Dsl, name: &str) -> Result<Found> {
    dsl.find(name).map_err(missing(&prefix(name)))
}

pub(super) fn check(dsl: &Dsl, name: &str, props: &[(String, String)]) -> Result<()> {
    let found = target(dsl, name)?;
    let raw = raw_props(dsl, name, props)?;
    for (property, number) in &raw.creation {
        if *property == "version" && *number < dsl.file_system_version(found.object)? {
            return Err(refuse(name, "Invalid argument"));
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
    const TOO_SMALL: &str = "size is less than current used or reserved space";
    const TOO_LARGE: &str = "size is greater than available space";
    let dir = found.dir.phys();
    let room = || found.dir.available(dsl.pool_size(), None, false);
    match property {
        "quota" if number != 0 && (number < dir.reserved || number < dir.used_bytes) => {
            Err(refuse(name, TOO_SMALL))
        }
        "refquota" if number != 0 => {
            let reserved = dsl.local_number(&found.dir, "refreservation")?;
            let too_small = number < found.phys.referenced_bytes || number < reserved;
            if too_small { Err(refuse(name, TOO_SMALL)) } else { Ok(()) }
        }
        "reservation" => {
            let more = number.max(dir.used_bytes).saturating_sub(dir.reserved.max(dir.used_bytes));
            let over_quota = dir.quota != 0 && number > dir.quota;
            let available =
                found.dir.parent().map_or_else(room, |parent| parent.available(dsl.pool_size(), None, false));
            if more > 0 && (more > available || over_quota) { Err(refuse(name, TOO_LARGE)) } else { Ok(()) }
        }
        "refreservation" => {
            let unique = found.phys.unique_bytes;
            let before = dsl.local_number(&found.dir, "refreservation")?;
            let more = number.max(unique).saturating_sub(before.max(unique));
            let over_quota = dir.quota != 0 && number > dir.quota;
            if more > 0 && (more > room() || over_quota) { Err(refuse(name, TOO_LARGE)) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

pub(super) fn sync(cx: &SyncCx<'_>, name: &str, props: &[(String, String)]) -> Result<()> {
    let found = target(cx.dsl, name)?;
    for (property, value) in raw_props(cx.dsl, name, props)?.local {
        match found.is_snapshot() {
            true => cx.dsl.write_snapshot_prop(found.object, &property, Some(&value), cx.tx)?,
            false => cx.dsl.write_prop(&found.dir, &property, Some(&value), cx.tx)?,
        }
        cx.note("set", name, found.object, &format!("{property}={}", shown(&property, &value)));
    }
    cx.dsl.refresh_policies(name)
}

/// As the history has it: numbers for native properties.
fn shown(property: &str, value: &RawValue) -> String {
    match (value, ondisk::prop::dataset_prop(property)) {
        (RawValue::Number(number), _) => number.to_string(),
        (value, Some(prop)) => exact(prop, value),
        (RawValue::Text(text), None) => text.clone(),
    }
}
