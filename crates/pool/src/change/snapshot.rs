//! Taking snapshots, all of them in one group or none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api_types::DatasetKind;
use dmu::SyncTx;
use ondisk::dsl_dataset::FLAG_INCONSISTENT;
use refusal::{Action, Reason, Refused};
use stdx::names::is_at_or_below;

use super::{Props, missing, open, reason};
use crate::dsl::counts::Counted;
use crate::dsl::names::Found;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dir, Dsl};
use crate::namecheck::check_point;
use crate::prop::{Checker, RawProps};
use crate::{PoolError, Result};

fn action(name: &str) -> Action {
    Action::CreateSnapshot { name: name.to_owned() }
}

/// Heads and the names their snapshots get; with `recursive`, of all heads below too.
pub(super) fn targets(dsl: &Dsl, names: &[String], recursive: bool) -> Result<Vec<(Found, String)>> {
    let mut heads = Vec::new();
    for name in names {
        check_point(name, '@').map_err(|fault| Refused::new(action(name), fault))?;
        let (head, snapshot) = name.split_once('@').unwrap_or((name, ""));
        let found = dsl.find(head).map_err(missing(open(head)))?;
        match recursive {
            true => below(dsl, &found.dir, snapshot, &mut heads)?,
            false => heads.push((found, snapshot.to_owned())),
        }
    }
    Ok(heads)
}

/// Passes over what is being received, with all below.
fn below(dsl: &Dsl, dir: &Arc<Dir>, snapshot: &str, heads: &mut Vec<(Found, String)>) -> Result<()> {
    if let Some(head) = dsl.head_of(dir)? {
        if head.phys.flags & FLAG_INCONSISTENT != 0 {
            return Ok(());
        }
        heads.push((head, snapshot.to_owned()));
    }
    for (name, object) in dsl.children(dir)? {
        below(dsl, &dsl.child_dir(dir, &name, object)?, snapshot, heads)?;
    }
    Ok(())
}

fn raw_props(dsl: &Dsl, name: &str, props: &Props) -> Result<RawProps> {
    let has_feature = |feature: &str| dsl.features().is_enabled(feature);
    let (action, of, version) = (action(name), DatasetKind::Snapshot, dsl.version());
    Checker { action, of, creating: false, version, has_feature: &has_feature }.of_snapshot(props)
}

pub(super) fn check(
    dsl: &Dsl,
    names: &[String],
    recursive: bool,
    props: &Props,
    group: Option<u64>,
) -> Result<()> {
    let targets = targets(dsl, names, recursive)?;
    let mut heads = BTreeSet::new();
    if !targets.iter().all(|(head, _)| heads.insert(head.object)) {
        return Err(Refused::new(Action::CreateSnapshots, Reason::SeveralSnapshotsOfOne).into());
    }
    let mut refused = BTreeMap::new();
    for (head, snapshot) in &targets {
        let name = format!("{}@{snapshot}", head.dir.name());
        raw_props(dsl, &name, props)?;
        check_point(&name, '@').map_err(|fault| Refused::new(action(&name), fault))?;
        if dsl.mos.find(head.phys.snapnames_zapobj, snapshot)?.is_some() {
            refused.insert(name, Reason::DatasetExists);
            continue;
        }
        match dsl.check_snapshot(head, group) {
            Err(PoolError::Again) => return Err(PoolError::Again),
            Err(error) => drop(refused.insert(name, reason(error)?)),
            Ok(()) => {}
        }
    }
    for (name, more) in new_at_each(&targets) {
        let dir = dsl.find_dir(&name)?;
        if dsl.is_count_full(&dir, Counted::Snapshots, more, dir.parent().map(|parent| parent.object))? {
            let target = targets.iter().find(|(head, _)| is_at_or_below(&head.dir.name(), &name));
            let first =
                target.map_or(name.clone(), |(head, snapshot)| format!("{}@{snapshot}", head.dir.name()));
            refused.insert(first, Reason::NoSpace);
        }
    }
    if refused.is_empty() {
        return Ok(());
    }
    let each = |(name, reason)| Refused::new(Action::CreateSnapshot { name }, reason);
    Err(Refused::several(refused.into_iter().map(each).collect()).into())
}

/// How many of the snapshots each dataset, and each above, is to count.
fn new_at_each(targets: &[(Found, String)]) -> BTreeMap<String, u64> {
    let mut more = BTreeMap::new();
    for (head, _) in targets {
        head.dir.and_above().for_each(|dir| *more.entry(dir.name()).or_default() += 1);
    }
    more
}

pub(super) fn sync(cx: &SyncCx<'_>, names: &[String], recursive: bool, props: &Props) -> Result<()> {
    // What earlier changes of this group made belongs into the snapshots, too.
    cx.dsl.sync_datasets(&SyncTx { txg: cx.tx.touch(), pass: 1, rewrite: false })?;
    for (head, snapshot) in targets(cx.dsl, names, recursive)? {
        let name = format!("{}@{snapshot}", head.dir.name());
        let object = cx.dsl.take_snapshot(&head, &snapshot, cx.tx)?;
        for (property, value) in raw_props(cx.dsl, &name, props)?.local {
            cx.dsl.write_snapshot_prop(object, &property, Some(&value), cx.tx)?;
        }
        cx.note("snapshot", &name, object, " ");
    }
    cx.dsl.refresh_heads()
}
