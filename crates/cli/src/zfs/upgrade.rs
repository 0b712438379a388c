//! `zfs upgrade`: file systems of an old version, and bringing them up to date.
//!
//! Source: cmd/zfs/zfs_main.c (`zfs_do_upgrade` and what it calls), module/zcommon/zfs_comutil.c.

use super::props::set_one;
use super::select::{self, Selection};
use crate::command::Cx;
use crate::fail::{Outcome, Stop, usage};
use crate::getopt;
use api_types::{DatasetInfo, PropertiesSet, PropertyChange, Upgradable, routes};
use std::collections::BTreeMap;

/// The newest version.
const CURRENT: u64 = 5;

const VERSIONS: &str = "The following filesystem versions are supported:

VER  DESCRIPTION
---  --------------------------------------------------------
 1   Initial ZFS filesystem version
 2   Enhanced directory entries
 3   Case insensitive and filesystem user identifier (FUID)
 4   userquota, groupquota properties
 5   System attributes

For more information on a particular version, including supported releases,
see the ZFS Administration Guide.

";

const OUTDATED: &str = "The following filesystems are out of date, and can be upgraded.  After being
upgraded, these filesystems (and any 'zfs send' streams generated from
subsequent snapshots) will no longer be accessible by older software versions.


VER  FILESYSTEM
---  ------------
";

pub fn upgrade(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "rvV:a", &[])?;
    let (all, below) = (options.has("a"), options.has("r"));
    let named = !options.operands.is_empty();
    let wanted = options.value("V").map(version).transpose()?;
    let upgrades = all || named;
    let misused = !upgrades && (below || wanted.is_some())
        || options.has("v") && (below || upgrades || wanted.is_some())
        || all && named;
    if misused {
        return usage("");
    }
    if options.has("v") {
        write!(cx.io.out, "{VERSIONS}")?;
        return Ok(0);
    }
    let depth = if below || !named { None } else { Some(0) };
    let (operands, kinds) = (options.operands, vec!["filesystem"]);
    let (found, status) = select::select(
        cx,
        &Selection { operands, depth, kinds, props: "version".into(), ..Selection::default() },
    )?;
    if upgrades {
        return raise(cx, &found, wanted.unwrap_or(CURRENT)).map(|failed| status | failed);
    }
    write!(cx.io.out, "This system is currently running ZFS filesystem version {CURRENT}.\n\n")?;
    let old: Vec<&DatasetInfo> = found.iter().filter(|dataset| version_of(dataset) < CURRENT).collect();
    if old.is_empty() {
        writeln!(cx.io.out, "All filesystems are formatted with the current version.")?;
        return Ok(status);
    }
    write!(cx.io.out, "{OUTDATED}")?;
    for dataset in old {
        writeln!(cx.io.out, "{:2}   {}", version_of(dataset), dataset.name)?;
    }
    Ok(status)
}

fn version(text: &str) -> Result<u64, Stop> {
    match text {
        "current" => Ok(CURRENT),
        _ => match text.parse() {
            Ok(number @ 1..=CURRENT) => Ok(number),
            _ => usage(format!("invalid version {text}")),
        },
    }
}

fn version_of(dataset: &DatasetInfo) -> u64 {
    let prop = dataset.props.iter().find(|prop| prop.name == "version");
    prop.and_then(|prop| prop.value.parse().ok()).unwrap_or(CURRENT)
}

/// The pool version that file systems of this version need (`zfs_spa_version_map`).
fn needed(version: u64) -> u64 {
    match version {
        5.. => 24,
        4 => 15,
        3 => 9,
        _ => 1,
    }
}

/// Upgrades file systems; the exit status.
fn raise(cx: &mut Cx<'_>, found: &[DatasetInfo], version: u64) -> Outcome {
    let mut pools: BTreeMap<String, u64> = BTreeMap::new();
    let (mut raised, mut same, mut failed) = (0, 0, 0);
    for dataset in found {
        let name = &dataset.name;
        let pool = name.split('/').next().unwrap_or_default().to_owned();
        let pool_version = match pools.get(&pool) {
            Some(version) => *version,
            None => cx.client.get::<Upgradable>(&routes::at(routes::POOL_UPGRADE, &pool))?.version,
        };
        pools.insert(pool, pool_version);
        let now = version_of(dataset);
        if pool_version < needed(version) {
            write!(
                cx.io.out,
                "{name}: can not be upgraded; the pool version needs to first be upgraded\nto version {}\n\n",
                needed(version)
            )?;
            failed += 1;
        } else if now < version {
            let props = vec![PropertyChange { name: "version".into(), value: version.to_string() }];
            let request = PropertiesSet { props, no_mount: false, history: cx.history.clone() };
            match set_one(cx, name, &request)? {
                0 => raised += 1,
                _ => failed += 1,
            }
        } else if now > version {
            writeln!(cx.io.out, "{name}: can not be downgraded; it is already at version {now}")?;
            failed += 1;
        } else {
            same += 1;
        }
    }
    writeln!(cx.io.out, "{raised} filesystems upgraded")?;
    if same > 0 {
        writeln!(cx.io.out, "{same} filesystems already at this version")?;
    }
    Ok(i32::from(failed > 0))
}
