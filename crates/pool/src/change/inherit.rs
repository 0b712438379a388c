//! Giving up a local value: back to what is inherited, received, or the default.

use api_types::{DatasetProperty, Edit, PropType};
use ondisk::prop::{SUFFIX_INHERIT, SUFFIX_RECEIVED, is_user_prop};
use refusal::{Action, PropertyFault, Refused};

use super::missing;
use crate::Result;
use crate::dsl::Dsl;
use crate::dsl::task::SyncCx;

pub(super) fn check(dsl: &Dsl, name: &str, property: &str) -> Result<()> {
    let action = || Action::InheritProperty { name: name.to_owned() };
    let refuse = |fault: PropertyFault| Err(Refused::new(action(), fault).into());
    let found = dsl.find(name).map_err(missing(action()))?;
    if is_user_prop(property) {
        return Ok(());
    }
    let Some(prop) = DatasetProperty::named(property) else {
        return refuse(PropertyFault::Unknown { property: property.to_owned() });
    };
    let row = prop.row();
    let property = row.name.to_owned();
    if found.is_snapshot() {
        return refuse(PropertyFault::NotOfThisType { property });
    }
    if row.edit() != Edit::Always || prop == DatasetProperty::Version {
        return refuse(PropertyFault::InheritReadOnly { property });
    }
    if !row.is_inherited() && prop != DatasetProperty::Canmount {
        // A limit of space, not of a count.
        let can_be_none = row.kind == PropType::Limit(0);
        return refuse(PropertyFault::NotInherited { property, can_be_none });
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, name: &str, property: &str, received: bool) -> Result<()> {
    let found = cx.dsl.find(name)?;
    let property = DatasetProperty::named(property).map_or(property, |prop| prop.row().name);
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
