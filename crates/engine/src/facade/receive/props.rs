//! Which properties a received dataset is given: what the stream has, and what the receive says
//! about that.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_setup_cmdline_props`).

use ::pool::prop::{RawValue, is_built};
use ::pool::recv::TargetProps;
use engine_api::{DatasetKind, DatasetProperty, Edit, PropType, Received, Result, Source};
use ondisk::objset::ObjsetType;
use ondisk::prop::is_user_prop;
use refusal::{ReceiveFault, Stream};

use super::super::family::{HEADS, below};
use super::super::pool::LocalPool;
use super::package::Listed;
use super::{One, refuse};

/// Properties that neither `-o` nor `-x` takes, beside those that nobody sets: the content has them
/// (`zfs_receive_checkprops`).
const OF_CONTENT: [DatasetProperty; 2] = [DatasetProperty::Version, DatasetProperty::Volsize];

/// The largest block without feature large_blocks (`SPA_OLD_MAXBLOCKSIZE`).
const OLD_MAX_BLOCK: u64 = 128 << 10;

/// Whether a property may be set or left out when something is received.
pub(super) fn can_be_given(name: &str) -> bool {
    match DatasetProperty::named(name) {
        None => is_user_prop(name),
        Some(DatasetProperty::Encryption) => true,
        Some(prop) => prop.row().edit() == Edit::Always && !OF_CONTENT.contains(&prop),
    }
}

fn proper(name: &str) -> &str {
    DatasetProperty::named(name).map_or(name, |prop| prop.row().name)
}

impl LocalPool {
    pub(super) fn props_of(
        &self,
        one: &One<'_>,
        snapshot: &str,
        listed: Listed,
        kind: Stream,
        received: &mut Received,
    ) -> Result<TargetProps> {
        let (request, dataset) = (one.request, snapshot.split('@').next().unwrap_or_default());
        let is_top = received.top.get_or_insert_with(|| dataset.to_owned()).as_str() == dataset;
        let is_recursive = one.package.is_some_and(|package| package.is_recursive);
        let is_volume = u64::from(one.begin.objset_type) == ObjsetType::Zvol.number();
        let of = if is_volume { DatasetKind::Volume } else { DatasetKind::Filesystem };
        let applies = |name: &str| DatasetProperty::named(name).is_none_or(|prop| prop.row().is_of(of));
        let warnings = &mut received.warnings;
        let large = self.pool.core().features.is_enabled("large_blocks");
        let notes = &mut received.notes;
        // A pool that lacks the feature keeps its own, and it is said (`zfs_check_settable` in
        // module/zfs/zfs_ioctl.c).
        let mut fits = |(name, value): &(String, RawValue)| {
            let fits =
                large || name != "recordsize" || value.number().is_none_or(|size| size <= OLD_MAX_BLOCK);
            if !fits {
                let why = "pool must be upgraded to set this property or value";
                notes.push(format!("cannot receive {name} property on {dataset}: {why}"));
            }
            fits
        };
        let sent = listed.props.map(|props| props.into_iter().filter(&mut fits).collect());
        let mut props = TargetProps {
            received: match sent {
                Some(props) => Some(self.permitted(judged(props, dataset, warnings), dataset, warnings)?),
                None => None,
            },
            snapshot: self.permitted(
                judged(listed.snapshot_props, snapshot, warnings),
                snapshot,
                warnings,
            )?,
            marks: request.marks.iter().map(|mark| (mark.name.clone(), mark.value.clone())).collect(),
            ..TargetProps::default()
        };
        for prop in &request.props {
            let name = proper(&prop.name).to_owned();
            // It is off in any case.
            if (name.as_str(), prop.value.as_str()) == ("encryption", "off") {
                continue;
            }
            match applies(&name) {
                true if is_top => props.local.push((name, prop.value.clone())),
                true => props.inherited.push(name),
                false if is_recursive => {}
                false => {
                    let fault = ReceiveFault::NotOfThisType { property: prop.name.clone() };
                    return Err(refuse(kind, fault));
                }
            }
        }
        for given in &request.exclude {
            let name = proper(given);
            if !applies(name) {
                let fault = ReceiveFault::NotOfThisType { property: given.clone() };
                received.notes.push(format!("Warning: {dataset}: {fault}"));
            } else if DatasetProperty::named(name).is_some_and(|prop| !prop.row().is_inherited()) {
                props.received.iter_mut().for_each(|received| received.retain(|(other, _)| other != name));
            } else if !self.has_own(dataset, name)? {
                props.inherited.push(name.to_owned());
            }
        }
        Ok(props)
    }

    /// What whom this thread works for may set of what was sent.
    pub(super) fn permitted(
        &self,
        props: Vec<(String, RawValue)>,
        target: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<(String, RawValue)>> {
        let (dataset, mut kept) = (target.split('@').next().unwrap_or_default(), Vec::new());
        for (name, value) in props {
            match self.may_set(dataset, &name)? {
                true => kept.push((name, value)),
                false => {
                    warnings.push(format!("cannot receive {name} property on {target}: permission denied"));
                }
            }
        }
        Ok(kept)
    }

    /// Whether a dataset that exists has set a property itself.
    fn has_own(&self, dataset: &str, name: &str) -> Result<bool> {
        let found = self.datasets_if_any(&below(dataset, Some(0), HEADS, &[name]))?;
        Ok(found.iter().flat_map(|info| &info.props).any(|prop| prop.source == Source::Local))
    }
}

/// What can be set of what was sent.
pub(super) fn judged(
    props: Vec<(String, RawValue)>,
    target: &str,
    warnings: &mut Vec<String>,
) -> Vec<(String, RawValue)> {
    let is_sound = |(name, value): &(String, RawValue)| {
        let fits = match DatasetProperty::named(name) {
            None => is_user_prop(name) && value.text().is_some(),
            Some(prop) if prop.row().edit() != Edit::Always || !is_built(prop, value) => false,
            Some(prop) => match prop.row().kind {
                PropType::Text(_) => value.text().is_some(),
                PropType::Choice(..) => {
                    value.number().is_some_and(|number| prop.row().word_of(number).is_some())
                }
                PropType::Number(_) | PropType::Limit(_) => value.number().is_some(),
            },
        };
        if !fits {
            warnings.push(format!("cannot receive {name} property on {target}: invalid property value"));
        }
        fits
    };
    props.into_iter().filter(is_sound).collect()
}
