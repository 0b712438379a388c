//! Setting properties of the pool.

use ondisk::version;

use crate::dsl::task::SyncCx;
use crate::dsl::{DatasetKind, Dsl};
use crate::history::Record;
use crate::prop::{RawValue, parse_pool_value};
use crate::{PoolError, Result};

fn prefix(dsl: &Dsl) -> String {
    format!("cannot set property for '{}'", dsl.parts.name())
}

pub(super) fn check(dsl: &Dsl, props: &[(String, String)]) -> Result<()> {
    let prefix = prefix(dsl);
    for (name, value) in props {
        if let Some(feature) = name.strip_prefix("feature@") {
            check_feature(&prefix, feature, value)?;
            continue;
        }
        let (prop, raw) = parse_pool_value(name, value, &prefix)?;
        match prop.name {
            "version" => check_version(dsl, &prefix, &raw)?,
            "altroot" => {
                let why = "property 'altroot' can only be set during pool creation or import";
                return Err(PoolError::Refused(format!("{prefix}: {why}")));
            }
            "multihost" if raw.number() != Some(0) && dsl.parts.hostid == 0 => {
                return Err(PoolError::Refused(format!("{prefix}: requires a non-zero system hostid")));
            }
            "bootfs" if dsl.version() < version::BOOTFS => {
                let why = "pool must be upgraded to support 'bootfs' property";
                return Err(PoolError::Refused(format!("{prefix}: {why}")));
            }
            "bootfs" => {
                let name = raw.text().unwrap_or("");
                if !name.is_empty() {
                    check_bootfs(dsl, &prefix, name)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What is booted from is a file system, or a snapshot of one (module/zfs/spa.c,
/// `spa_prop_validate`).
fn check_bootfs(dsl: &Dsl, prefix: &str, name: &str) -> Result<()> {
    let invalid = |_| PoolError::Refused(format!("{prefix}: '{name}' is an invalid name"));
    dsl.find(name).map_err(invalid)?;
    let head = name.split('@').next().unwrap_or(name);
    match dsl.kind_of(&dsl.find(head).map_err(invalid)?)? {
        DatasetKind::Filesystem => Ok(()),
        _ => Err(PoolError::Refused(format!("{prefix}: operation not supported on this type of pool"))),
    }
}

fn check_version(dsl: &Dsl, prefix: &str, value: &RawValue) -> Result<()> {
    let number = value.number().unwrap_or(0);
    if number < dsl.version() || !version::is_known(number) {
        return Err(PoolError::Refused(format!("{prefix}: property 'version' number {number} is invalid.")));
    }
    Ok(())
}

fn check_feature(prefix: &str, name: &str, value: &str) -> Result<()> {
    let refuse = |why: String| Err(PoolError::Refused(format!("{prefix}: {why}")));
    let Some(feature) = ondisk::feature::by_name(name) else {
        return refuse(format!("invalid feature '{name}'"));
    };
    if value != "enabled" {
        return refuse(format!(
            "property 'feature@{name}' can only be set to 'enabled' or 'disabled' at creation time, then to 'enabled'"
        ));
    }
    if !crate::feature::is_allowed(feature) {
        return Err(PoolError::Unsupported(format!("feature {name}")));
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, props: &[(String, String)]) -> Result<()> {
    let prefix = prefix(cx.dsl);
    for (name, value) in props {
        if let Some(feature) = name.strip_prefix("feature@").and_then(ondisk::feature::by_name) {
            cx.dsl.upgrade(version::FEATURES, cx.tx)?;
            cx.dsl.features().enable(feature, cx.dsl.mos.random(), cx.tx)?;
            cx.dsl.refresh_all_policies()?;
            continue;
        }
        let (prop, raw) = parse_pool_value(name, value, &prefix)?;
        if prop.name == "version" {
            cx.dsl.upgrade(raw.number().unwrap_or(0), cx.tx)?;
            continue;
        }
        let raw = match (prop.name, &raw) {
            ("bootfs", RawValue::Text(name)) if name.is_empty() => RawValue::Number(0),
            ("bootfs", RawValue::Text(name)) => RawValue::Number(cx.dsl.find(name)?.object),
            _ => raw,
        };
        cx.dsl.write_pool_prop(prop.name, &raw, cx.tx)?;
        let record = Record::internal("set", &format!("{}={value}", prop.name), cx.tx.txg());
        cx.dsl.record(record, cx.tx);
    }
    Ok(())
}
