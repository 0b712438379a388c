//! Properties of what is received: those that come with the stream, below them those that the
//! receive was given (`-o`), and those that are to be inherited whatever comes (`-x`).
//!
//! How blocks are written has to be known before the first comes; how much there may be, when all
//! of it is there. A dataset that exists keeps its own until the end: until then its hidden clone
//! has what concerns blocks.
//!
//! Source: module/zfs/zfs_ioctl.c (`zfs_ioc_recv_impl`, `extract_delay_props`).

use std::sync::Arc;

use api_types::DatasetKind;
use dmu::Tx;
use ondisk::objset::ObjsetType;
use ondisk::prop::{SUFFIX_INHERIT, SUFFIX_RECEIVED};
use refusal::Action;

use super::{Target, action, kind_of};
use crate::Result;
use crate::dsl::task::SyncCx;
use crate::dsl::{Dir, Dsl};
use crate::prop::{AUTO, Checker, RawProps, RawValue};

/// Properties that a dataset gets when it is complete.
const DELAYED: [&str; 2] = ["refquota", "refreservation"];
/// Those that say how blocks are written.
const OF_BLOCKS: [&str; 7] =
    ["checksum", "compression", "copies", "dedup", "dnodesize", "recordsize", "redundant_metadata"];

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetProps {
    /// As the stream has them; `None`: it has none of any dataset.
    pub received: Option<Vec<(String, RawValue)>>,
    /// Those of the snapshot.
    pub snapshot: Vec<(String, RawValue)>,
    /// User properties that the snapshot is given here.
    pub marks: Vec<(String, String)>,
    /// To be set, as they were given.
    pub local: Vec<(String, String)>,
    pub inherited: Vec<String>,
}

impl TargetProps {
    fn received(&self) -> &[(String, RawValue)] {
        self.received.as_deref().unwrap_or_default()
    }
}

/// Those to be set, as they are stored; refused if they cannot be.
fn local(dsl: &Dsl, target: &Target) -> Result<RawProps> {
    let has_feature = |feature: &str| dsl.features().is_enabled(feature);
    let of = match kind_of(&target.begin)? {
        ObjsetType::Zvol => DatasetKind::Volume,
        _ => DatasetKind::Filesystem,
    };
    let stream = action(&target.begin, target.origin.is_some());
    let action = Action::Receive { stream };
    let checker = Checker { action, of, creating: false, version: dsl.version(), has_feature: &has_feature };
    checker.all(&target.props.local)
}

pub(super) fn check(dsl: &Dsl, target: &Target) -> Result<()> {
    local(dsl, target).map(drop)
}

/// Of a new dataset, before its first block comes.
pub(super) fn begin(dsl: &Dsl, dir: &Arc<Dir>, target: &Target, tx: &Tx) -> Result<()> {
    let is_now = |name: &str| !DELAYED.contains(&name);
    if target.props.received.is_some() {
        let now = target.props.received().iter().filter(|(name, _)| is_now(name));
        dsl.write_received(dir, &now.cloned().collect::<Vec<_>>(), tx)?;
    }
    write_own(dsl, dir, target, &is_now, tx)
}

/// Of the hidden clone of a dataset, which has some of its own that count for more than what comes.
pub(super) fn begin_hidden(dsl: &Dsl, clone: &Arc<Dir>, of: &Dir, target: &Target, tx: &Tx) -> Result<()> {
    let is_wanted = |name: &str| OF_BLOCKS.contains(&name);
    let own = of.phys().props_zapobj;
    for (name, value) in target.props.received().iter().filter(|(name, _)| is_wanted(name)) {
        let is_own = dsl.mos.find_value(own, name)?.is_some()
            || dsl.mos.find_value(own, &format!("{name}{SUFFIX_INHERIT}"))?.is_some()
            || target.props.inherited.contains(name);
        if !is_own {
            dsl.write_prop(clone, name, Some(value), tx)?;
        }
    }
    for (name, value) in local(dsl, target)?.local.iter().filter(|(name, _)| is_wanted(name)) {
        dsl.write_prop(clone, name, Some(value), tx)?;
    }
    Ok(())
}

/// Of a dataset that is complete, and of its new snapshot.
pub(super) fn finish(dsl: &Dsl, dir: &Arc<Dir>, snapshot: u64, target: &Target, tx: &Tx) -> Result<()> {
    for (name, value) in &target.props.snapshot {
        dsl.write_snapshot_prop(snapshot, &format!("{name}{SUFFIX_RECEIVED}"), Some(value), tx)?;
    }
    for (name, value) in &target.props.marks {
        dsl.write_snapshot_prop(snapshot, name, Some(&RawValue::Text(value.clone())), tx)?;
    }
    if target.props.received.is_some() {
        dsl.write_received(dir, target.props.received(), tx)?;
    }
    write_own(dsl, dir, target, &|_| true, tx)
}

fn write_own(
    dsl: &Dsl,
    dir: &Arc<Dir>,
    target: &Target,
    is_wanted: &dyn Fn(&str) -> bool,
    tx: &Tx,
) -> Result<()> {
    for (name, value) in local(dsl, target)?.local.iter().filter(|(name, _)| is_wanted(name)) {
        match (name.as_str(), value.number()) {
            ("refreservation", Some(AUTO)) => {
                let whole = dsl.reservation_of(dir.phys().head_dataset_obj)?;
                dsl.write_prop(dir, name, Some(&RawValue::Number(whole)), tx)?;
            }
            _ => dsl.write_prop(dir, name, Some(value), tx)?,
        }
    }
    for name in target.props.inherited.iter().filter(|name| is_wanted(name)) {
        dsl.write_prop(dir, name, None, tx)?;
    }
    Ok(())
}

/// What a stream says of a snapshot, in place of what streams said before.
pub(super) fn describe(cx: &SyncCx<'_>, snapshot: &str, props: &[(String, RawValue)]) -> Result<()> {
    let found = cx.dsl.find(snapshot)?;
    let received = |name: &str| format!("{name}{SUFFIX_RECEIVED}");
    let zap = found.phys.props_obj;
    let before = if zap == 0 { Vec::new() } else { cx.dsl.mos.entries(zap)? };
    for (stored, _) in before.iter().filter(|(stored, _)| stored.ends_with(SUFFIX_RECEIVED)) {
        if !props.iter().any(|(name, _)| received(name) == *stored) {
            cx.dsl.write_snapshot_prop(found.object, stored, None, cx.tx)?;
        }
    }
    for (name, value) in props {
        cx.dsl.write_snapshot_prop(found.object, &received(name), Some(value), cx.tx)?;
    }
    Ok(())
}
