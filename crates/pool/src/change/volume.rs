//! Creating a volume.

use api_types::{DEFAULT_VOLBLOCKSIZE, DatasetKind, VolumePlan};
use refusal::{PropertyFault, Reason};

use super::Props;
use super::create::{above, check_place, create, refuse};
use crate::Result;
use crate::dsl::Dsl;
use crate::dsl::task::SyncCx;
use crate::namecheck::{check_filesystem, last_of};
use crate::prop::{AUTO, Checker, RawProps, RawValue};

/// What the properties say, and OpenZFS's defaults where they say nothing; and the properties that
/// are to be stored.
pub(super) fn plan(dsl: &Dsl, name: &str, sparse: bool, props: &Props) -> Result<(VolumePlan, RawProps)> {
    let has_feature = |feature: &str| dsl.features().is_enabled(feature);
    let (action, of, version) = (create(name), DatasetKind::Volume, dsl.version());
    let mut props = Checker { action, of, creating: true, version, has_feature: &has_feature }.all(props)?;
    let mut take = |wanted: &str| {
        let at = props.local.iter().position(|(name, _)| name == wanted)?;
        props.local.remove(at).1.number()
    };
    let size = take("volsize").ok_or_else(|| refuse(name, PropertyFault::VolumeSizeMissing))?;
    let block = take("volblocksize").unwrap_or(DEFAULT_VOLBLOCKSIZE);
    let limit = dsl.volume_limit();
    let (reserved, copies) = (take(limit), take("copies"));
    if let Some(copies) = copies {
        props.local.push(("copies".into(), RawValue::Number(copies)));
    }
    let size = size.checked_next_multiple_of(block).filter(|size| i64::try_from(*size).is_ok());
    let size = size.ok_or_else(|| refuse(name, PropertyFault::VolumeSizeTooLarge))?;
    let whole = || dsl.volume_reservation(size, block, copies.unwrap_or(1));
    let reserved = match reserved {
        None if sparse => None,
        None | Some(AUTO) => Some(whole()),
        reserved => reserved,
    };
    // That nothing is kept is a value as others, where somebody says so.
    if let Some(reserved) = reserved {
        props.local.push((limit.into(), RawValue::Number(reserved)));
    }
    Ok((VolumePlan { size, block, limit: limit.to_owned(), reserved: reserved.unwrap_or(0) }, props))
}

pub(super) fn check(dsl: &Dsl, name: &str, parents: bool, sparse: bool, props: &Props) -> Result<()> {
    check_filesystem(name).map_err(|fault| refuse(name, fault))?;
    let (plan, props) = plan(dsl, name, sparse, props)?;
    if plan.size == 0 {
        return Err(refuse(name, PropertyFault::VolumeEmpty));
    }
    let Some(parent) = check_place(dsl, name, parents)? else { return Ok(()) };
    let available = parent.available(dsl.pool_size(), None, false);
    let reservation = props.number("reservation").unwrap_or(0);
    if available == 0 || plan.reserved.max(reservation) > available {
        return Err(refuse(name, Reason::NoSpace));
    }
    Ok(())
}

pub(super) fn sync(cx: &SyncCx<'_>, name: &str, parents: bool, sparse: bool, props: &Props) -> Result<()> {
    if cx.dsl.find_dir(name).is_ok() {
        return Ok(());
    }
    let (plan, props) = plan(cx.dsl, name, sparse, props)?;
    let parent = above(cx, name, parents)?;
    let dir = cx.dsl.create_dir(Some(&parent), last_of(name), cx.tx)?;
    let dataset = cx.dsl.create_volume_in(&dir, &props, (plan.size, plan.block), cx.tx)?;
    cx.note("create", name, dataset.object(), " ");
    Ok(())
}
