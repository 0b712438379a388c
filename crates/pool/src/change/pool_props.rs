//! Setting properties of the pool.

use api_types::{DatasetKind, PoolProperty};
use ondisk::version;
use refusal::{Action, PropertyFault, Reason, Refused, Upgrade};

use super::Props;
use crate::dsl::Dsl;
use crate::dsl::task::SyncCx;
use crate::prop::{RawValue, parse_pool_value};
use crate::{PoolError, Result};

fn action(dsl: &Dsl) -> Action {
    Action::SetProperty { name: dsl.parts.name() }
}

fn refuse(dsl: &Dsl, reason: impl Into<Reason>) -> PoolError {
    Refused::new(action(dsl), reason).into()
}

pub(super) fn check(dsl: &Dsl, props: &Props) -> Result<()> {
    let action = action(dsl);
    for (name, value) in props {
        if let Some(feature) = name.strip_prefix("feature@") {
            check_feature(dsl, feature, value)?;
            continue;
        }
        let (prop, raw) = parse_pool_value(name, value, &action)?;
        match prop {
            PoolProperty::Version => check_version(dsl, &raw)?,
            PoolProperty::Altroot => return Err(refuse(dsl, PropertyFault::AltrootLater)),
            PoolProperty::Multihost if raw.number() != Some(0) && dsl.parts.hostid == 0 => {
                return Err(refuse(dsl, PropertyFault::NoHostid));
            }
            PoolProperty::Bootfs if dsl.version() < version::BOOTFS => {
                return Err(refuse(dsl, Reason::PoolTooOld(Upgrade::Bootfs)));
            }
            PoolProperty::Bootfs => check_bootfs(dsl, raw.text().unwrap_or(""))?,
            _ => {}
        }
    }
    Ok(())
}

/// What is booted from is a file system, or a snapshot of one; an empty name is none
/// (module/zfs/spa.c, `spa_prop_validate`).
fn check_bootfs(dsl: &Dsl, name: &str) -> Result<()> {
    if name.is_empty() {
        return Ok(());
    }
    let invalid = |_| refuse(dsl, PropertyFault::NoBootfs { name: name.to_owned() });
    dsl.find(name).map_err(invalid)?;
    let head = name.split('@').next().unwrap_or(name);
    match dsl.kind_of(&dsl.find(head).map_err(invalid)?)? {
        DatasetKind::Filesystem => Ok(()),
        _ => Err(refuse(dsl, Reason::NotByThisPool)),
    }
}

fn check_version(dsl: &Dsl, value: &RawValue) -> Result<()> {
    let version = value.number().unwrap_or(0);
    if version < dsl.version() || !version::is_known(version) {
        return Err(refuse(dsl, PropertyFault::NoVersion { version }));
    }
    Ok(())
}

fn check_feature(dsl: &Dsl, name: &str, value: &str) -> Result<()> {
    let Some(feature) = ondisk::feature::by_name(name) else {
        return Err(refuse(dsl, PropertyFault::UnknownFeature { feature: name.to_owned() }));
    };
    if value != "enabled" {
        let fault = PropertyFault::FeatureValue { feature: name.to_owned(), creating: false };
        return Err(refuse(dsl, fault));
    }
    if !crate::feature::is_allowed(feature) {
        return Err(PoolError::Unsupported(format!("feature {name}")));
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, props: &Props) -> Result<()> {
    let action = action(cx.dsl);
    for (name, value) in props {
        if let Some(feature) = name.strip_prefix("feature@").and_then(ondisk::feature::by_name) {
            cx.dsl.upgrade(version::FEATURES, cx.tx)?;
            cx.dsl.features().enable(feature, cx.dsl.mos.random(), cx.tx)?;
            cx.dsl.refresh_all_policies()?;
            continue;
        }
        let (prop, raw) = parse_pool_value(name, value, &action)?;
        if prop == PoolProperty::Version {
            cx.dsl.upgrade(raw.number().unwrap_or(0), cx.tx)?;
            continue;
        }
        let raw = match (prop, &raw) {
            (PoolProperty::Bootfs, RawValue::Text(name)) if name.is_empty() => RawValue::Number(0),
            (PoolProperty::Bootfs, RawValue::Text(name)) => RawValue::Number(cx.dsl.find(name)?.object),
            _ => raw,
        };
        let name = prop.row().name;
        cx.dsl.write_pool_prop(name, &raw, cx.tx)?;
        cx.dsl.note_pool("set", &format!("{name}={value}"), cx.tx);
    }
    Ok(())
}
