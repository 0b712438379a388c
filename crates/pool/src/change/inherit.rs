//! Giving up a local value: back to what is inherited, received, or the default.

use ondisk::prop::{SUFFIX_INHERIT, SUFFIX_RECEIVED, dataset_prop, is_user_prop};

use super::missing;
use crate::dsl::Dsl;
use crate::dsl::task::SyncCx;
use crate::{PoolError, Result};

fn prefix(name: &str) -> String {
    format!("cannot inherit property for '{name}'")
}

pub(super) fn check(dsl: &Dsl, name: &str, property: &str) -> Result<()> {
    let refuse = |why: String| Err(PoolError::Refused(why));
    let found = dsl.find(name).map_err(missing(&prefix(name)))?;
    if is_user_prop(property) {
        return Ok(());
    }
    let Some(prop) = dataset_prop(property) else {
        return refuse(format!("invalid property '{property}'"));
    };
    if found.is_snapshot() {
        return refuse(format!("'{}' does not apply to datasets of this type", prop.name));
    }
    if prop.is_readonly() || prop.is_once() || prop.name == "version" {
        return refuse(format!("{} property is read-only", prop.name));
    }
    if !prop.is_inherited() && matches!(prop.name, "quota" | "reservation" | "refquota" | "refreservation") {
        return refuse(format!(
            "'{}' property cannot be inherited\nuse 'zfs set {}=none' to clear",
            prop.name, prop.name
        ));
    }
    if !prop.is_inherited() && prop.name != "canmount" {
        return refuse(format!("'{}' property cannot be inherited", prop.name));
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, name: &str, property: &str, received: bool) -> Result<()> {
    let found = cx.dsl.find(name)?;
    let property = dataset_prop(property).map_or(property, |prop| prop.name);
    if found.is_snapshot() {
        cx.dsl.write_snapshot_prop(found.object, property, None, cx.tx)?;
        cx.note("inherit", name, found.object, property);
        return Ok(());
    }
    cx.dsl.write_prop(&found.dir, property, None, cx.tx)?;
    let zap = found.dir.phys().props_zapobj;
    if received && cx.dsl.mos.find_value(zap, &format!("{property}{SUFFIX_RECEIVED}"))?.is_some() {
        cx.dsl.mos.remove(zap, &format!("{property}{SUFFIX_INHERIT}"), cx.tx)?;
    }
    cx.note("inherit", name, found.object, property);
    cx.dsl.refresh_policies(name)
}
