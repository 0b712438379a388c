//! `zpool upgrade`: which pools are of an old version or lack features, and bringing them up to
//! date.
//!
//! Source: cmd/zpool/zpool_main.c (`zpool_do_upgrade` and what it calls).

use super::pools;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, usage};
use crate::getopt;
use api_types::{Changed, FeatureInfo, PoolStatus, PropertiesSet, PropertyChange, Upgradable, routes};

/// The version of pools with feature flags.
pub const FEATURE_FLAGS: u64 = 5000;

const VERSIONS: &str = " 1   Initial ZFS version
 2   Ditto blocks (replicated metadata)
 3   Hot spares and double parity RAID-Z
 4   zpool history
 5   Compression using the gzip algorithm
 6   bootfs pool property
 7   Separate intent log devices
 8   Delegated administration
 9   refquota and refreservation properties
 10  Cache devices
 11  Improved scrub performance
 12  Snapshot properties
 13  snapused property
 14  passthrough-x aclinherit
 15  user/group space accounting
 16  stmf property support
 17  Triple-parity RAID-Z
 18  Snapshot user holds
 19  Log device removal
 20  Compression using zle (zero-length encoding)
 21  Deduplication
 22  Received properties
 23  Slim ZIL
 24  System attributes
 25  Improved scrub stats
 26  Improved snapshot deletion performance
 27  Improved snapshot creation performance
 28  Multiple vdev replacements
";

const OLDER: &str = "The following pools are formatted with legacy version numbers and can
be upgraded to use feature flags.  After being upgraded, these pools
will no longer be accessible by software that does not support feature
flags.

Note that setting a pool's 'compatibility' feature to 'legacy' will
inhibit upgrades.

VER  POOL
---  ------------
";

const DISABLED: &str = "
Some supported features are not enabled on the following pools. Once a
feature is enabled the pool may become incompatible with software
that does not support the feature. See zpool-features(7) for details.

Note that the pool 'compatibility' feature can be used to inhibit
feature upgrades.

Features marked with (*) are not applied automatically on upgrade, and
must be applied explicitly with zpool-set(7).

POOL  FEATURE
---------------
";

pub fn upgrade(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "avV:", &[])?;
    let names = &options.operands;
    let all = options.has("a");
    let wanted = options.value("V").map(version).transpose()?;
    if wanted.is_some() && !all && names.is_empty() {
        return usage("-V option is incompatible with other arguments");
    }
    if options.has("v") && (all || !names.is_empty()) {
        return usage("-v option is incompatible with other arguments");
    }
    if all && !names.is_empty() {
        return usage("-a option should not be used along with a pool name");
    }
    let version = wanted.unwrap_or(FEATURE_FLAGS);
    write!(cx.io.out, "This system supports ZFS pool feature flags.\n\n")?;
    if options.has("v") {
        return show_versions(cx);
    }
    if !all && names.is_empty() {
        return list(cx);
    }
    let (found, mut status) = pools(cx, names)?;
    let mut changed_any = false;
    for pool in &found {
        let state = upgradable(cx, pool)?;
        if !all && is_settled(cx, pool, &state, version)? {
            continue;
        }
        match bring_up(cx, pool, &state, version)? {
            Some(changed) => changed_any |= changed,
            None => status = 1,
        }
    }
    if all && !changed_any && status == 0 {
        if version == FEATURE_FLAGS {
            write!(
                cx.io.out,
                "All pools are already formatted using feature flags.\n\n\
                 Every feature flags pool already has all supported and requested features enabled.\n"
            )?;
        } else {
            writeln!(cx.io.out, "All pools are already formatted with version {version} or higher.")?;
        }
    }
    Ok(status)
}

fn version(text: &str) -> Result<u64, Stop> {
    match text.parse() {
        Ok(number @ (1..=28 | FEATURE_FLAGS)) => Ok(number),
        _ => usage(format!("invalid version '{text}'")),
    }
}

fn upgradable(cx: &mut Cx<'_>, pool: &PoolStatus) -> Result<Upgradable, Stop> {
    Ok(cx.client.get(&routes::at(routes::POOL_UPGRADE, &pool.name))?)
}

fn show_versions(cx: &mut Cx<'_>) -> Outcome {
    let features: Vec<FeatureInfo> = cx.client.get(routes::FEATURES)?;
    let out = &mut cx.io.out;
    write!(out, "The following features are supported:\n\nFEAT DESCRIPTION\n{}\n", "-".repeat(61))?;
    for feature in features {
        let note = if feature.readonly_compatible { " (read-only compatible)" } else { "" };
        write!(out, "{:<37}{note}\n     {}\n", feature.name, feature.description)?;
    }
    write!(
        out,
        "\nThe following legacy versions are also supported:\n\nVER  DESCRIPTION\n---  {}\n",
        "-".repeat(56)
    )?;
    write!(
        out,
        "{VERSIONS}\nFor more information on a particular version, including supported releases,\n\
         see the ZFS Administration Guide.\n\n"
    )?;
    Ok(0)
}

/// Which pools could be upgraded.
fn list(cx: &mut Cx<'_>) -> Outcome {
    let mut states = Vec::new();
    for pool in pools(cx, &[])?.0 {
        states.push((upgradable(cx, &pool)?, pool.name));
    }
    let (old, new): (Vec<_>, Vec<_>) =
        states.into_iter().partition(|(state, _)| state.version < FEATURE_FLAGS);
    if old.is_empty() {
        write!(cx.io.out, "All pools are formatted using feature flags.\n\n")?;
    } else {
        write!(cx.io.out, "{OLDER}")?;
        for (state, name) in &old {
            writeln!(cx.io.out, "{:2}   {name}", state.version)?;
        }
        write!(cx.io.out, "\nUse 'zpool upgrade -v' for a list of available legacy versions.\n")?;
    }
    let lacking: Vec<_> = new.iter().filter(|(state, _)| !state.disabled.is_empty()).collect();
    if lacking.is_empty() {
        writeln!(cx.io.out, "Every feature flags pool has all supported and requested features enabled.")?;
        return Ok(0);
    }
    write!(cx.io.out, "{DISABLED}")?;
    for (state, name) in lacking {
        writeln!(cx.io.out, "{name}")?;
        for feature in &state.disabled {
            writeln!(cx.io.out, "      {feature}")?;
        }
    }
    writeln!(cx.io.out)?;
    Ok(0)
}

/// Says of a pool that was named that it needs no upgrade.
fn is_settled(cx: &mut Cx<'_>, pool: &PoolStatus, state: &Upgradable, version: u64) -> Result<bool, Stop> {
    let name = &pool.name;
    if state.version > version {
        let now = state.version;
        write!(cx.io.out, "Pool '{name}' is already formatted using more current version '{now}'.\n\n")?;
        return Ok(true);
    }
    if state.version == version && version != FEATURE_FLAGS {
        write!(cx.io.out, "Pool '{name}' is already formatted using version {version}.\n\n")?;
        return Ok(true);
    }
    if state.version == version && state.requested.is_empty() {
        writeln!(cx.io.out, "Pool '{name}' already has all supported and requested features enabled.")?;
        return Ok(true);
    }
    Ok(false)
}

/// Upgrades a pool; whether anything changed. `None`: it was refused, which has been said.
fn bring_up(
    cx: &mut Cx<'_>,
    pool: &PoolStatus,
    state: &Upgradable,
    version: u64,
) -> Result<Option<bool>, Stop> {
    let name = &pool.name;
    let mut changed = false;
    if state.version < version {
        if state.stays_legacy {
            cx.complain("Upgrade not performed because 'compatibility' property set to 'legacy'.")?;
            return Ok(None);
        }
        if !set(cx, name, vec![prop("version", &version.to_string())])? {
            return Ok(None);
        }
        let to =
            if version == FEATURE_FLAGS { "feature flags".to_owned() } else { format!("version {version}") };
        writeln!(cx.io.out, "Successfully upgraded '{name}' from version {} to {to}.", state.version)?;
        changed = true;
    }
    if version == FEATURE_FLAGS && !state.requested.is_empty() {
        let props = state.requested.iter().map(|feature| prop(&format!("feature@{feature}"), "enabled"));
        if !set(cx, name, props.collect())? {
            return Ok(None);
        }
        writeln!(cx.io.out, "Enabled the following features on '{name}':")?;
        for feature in &state.requested {
            writeln!(cx.io.out, "  {feature}")?;
        }
        changed = true;
    }
    if changed {
        writeln!(cx.io.out)?;
    }
    Ok(Some(changed))
}

fn prop(name: &str, value: &str) -> PropertyChange {
    PropertyChange { name: name.to_owned(), value: value.to_owned() }
}

/// Whether the properties could be set; if not, it says why.
fn set(cx: &mut Cx<'_>, pool: &str, props: Vec<PropertyChange>) -> Result<bool, Stop> {
    let request = PropertiesSet { props, no_mount: false, history: cx.history.clone() };
    match cx.client.post::<Changed>(&routes::at(routes::POOL_PROPERTIES, pool), &request) {
        Ok(_) => Ok(true),
        Err(error) => {
            cx.refused(&format!("cannot set property for '{pool}'"), error, Noun::Pool)?;
            Ok(false)
        }
    }
}
