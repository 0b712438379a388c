//! Quotas of users, groups and projects as an administrator has them: set like properties, listed
//! by dataset.
//!
//! They are no properties of a dataset: its file system keeps them itself, and sets them in open
//! context. A change that has some of both is done in two steps, properties first; all values are
//! judged before the first.
//!
//! Sources: lib/libzfs/libzfs_dataset.c (`zfs_valid_proplist`, `zfs_userspace`),
//! `zfs_prop_set_userquota` in module/zfs/zfs_ioctl.c.

use std::collections::BTreeMap;

use engine_api::{Change, Error, PropertyChange, Result, SpaceUse, Spender};
use ondisk::prop::UserspaceProp;
use refusal::{Action, PropertyFault, Reason, Refused};
use stdx::number;

use super::convert::{api_error, spender};
use super::pool::LocalPool;
use crate::zpl;

/// A limit to set.
pub(super) struct Limit {
    quota: UserspaceProp,
    id: u64,
    /// 0: none.
    limit: u64,
}

/// The limits in a change, and the change without them; `None` where nothing else is left. Values
/// make sense.
pub(super) fn split(change: &Change) -> Result<(Vec<Limit>, Option<Change>)> {
    let (name, action, props) = match change {
        Change::SetProperties { name, props } => (name, Action::SetProperty { name: name.clone() }, props),
        Change::CreateFilesystem { name, props, .. } | Change::Clone { name, props, .. } => {
            (name, Action::Create { name: name.clone() }, props)
        }
        _ => return Ok((Vec::new(), Some(change.clone()))),
    };
    let refuse = |fault: PropertyFault| Refused::new(action.clone(), fault);
    let (limits, rest) = take(props).map_err(refuse)?;
    if name.contains('@') && !limits.is_empty() {
        return Err(refuse(PropertyFault::NotOfSnapshots).into());
    }
    if limits.is_empty() {
        return Ok((limits, Some(change.clone())));
    }
    if rest.is_empty() && matches!(change, Change::SetProperties { .. }) {
        return Ok((limits, None));
    }
    let mut change = change.clone();
    if let Change::SetProperties { props, .. }
    | Change::CreateFilesystem { props, .. }
    | Change::Clone { props, .. } = &mut change
    {
        *props = rest;
    }
    Ok((limits, Some(change)))
}

/// The limits among properties, and the others; `Err` says what makes no sense.
pub(super) fn take(
    props: &[PropertyChange],
) -> std::result::Result<(Vec<Limit>, Vec<PropertyChange>), PropertyFault> {
    let (mut limits, mut rest) = (Vec::new(), Vec::new());
    for one in props {
        match UserspaceProp::parse(&one.name) {
            None => rest.push(one.clone()),
            Some((quota, who)) => limits.push(limit(quota, who, one)?),
        }
    }
    Ok((limits, rest))
}

/// Names are the client's to resolve: here an id is a number.
fn limit(quota: UserspaceProp, who: &str, set: &PropertyChange) -> std::result::Result<Limit, PropertyFault> {
    let property = || set.name.clone();
    let id: u32 = who.parse().map_err(|_| PropertyFault::NoSuchPrincipal { property: property() })?;
    if !quota.quota {
        return Err(PropertyFault::ReadOnly { property: property() });
    }
    let limit = match set.value.as_str() {
        "none" => 0,
        value => number::parse(value).map_err(|message| PropertyFault::Number { message })?,
    };
    Ok(Limit { quota, id: id.into(), limit })
}

impl LocalPool {
    /// Sets limits in a dataset's file system; the transaction group that has the last.
    pub(super) fn set_limits(&self, name: &str, limits: &[Limit]) -> Result<u64> {
        let fs = self.mount(name)?.fs.clone();
        let mut newest = 0;
        for Limit { quota, id, limit } in limits {
            newest = fs.set_quota(*quota, *id, *limit).map_err(|error| match error {
                Error::Unsupported(_) => {
                    Refused::new(Action::SetProperty { name: name.to_owned() }, PropertyFault::TooOld).into()
                }
                error => error,
            })?;
        }
        self.inner().core().txgs.wait_synced(newest).map_err(|error| api_error(error.into()))?;
        Ok(newest)
    }

    /// What all users, groups or projects use and may use, by id. A number that nobody counts is
    /// `None`.
    pub(super) fn space_use(&self, name: &str, of: Spender) -> Result<Vec<SpaceUse>> {
        let refuse = |reason: Reason| Refused::new(Action::GetSpace { name: name.to_owned() }, reason);
        let failed = |error: ::pool::PoolError| match error {
            ::pool::PoolError::Unsupported(_) => refuse(Reason::NotApplicable).into(),
            error => api_error(error),
        };
        let dataset = self.inner().dsl.open_dataset(name).map_err(api_error)?;
        if dataset.objset().kind() != ondisk::objset::ObjsetType::Zfs {
            return Err(refuse(Reason::NotOfFilesystems).into());
        }
        let mut found: BTreeMap<u64, SpaceUse> = BTreeMap::new();
        for (objects, quota) in [(false, false), (false, true), (true, false), (true, true)] {
            let prop = UserspaceProp { of: spender(of), objects, quota };
            let numbers = match zpl::everybody(dataset.objset(), prop) {
                Err(dmu::DmuError::Unsupported(_)) if objects || of == Spender::Project => Vec::new(),
                numbers => numbers.map_err(|error| failed(error.into()))?,
            };
            for (id, number) in numbers {
                let one = found.entry(id).or_insert_with(|| SpaceUse { id, ..SpaceUse::default() });
                let (used, limit) = match objects {
                    false => (&mut one.used, &mut one.quota),
                    true => (&mut one.objects_used, &mut one.objects_quota),
                };
                let (this, other) = if quota { (limit, used) } else { (used, limit) };
                *this = Some(number);
                other.get_or_insert(0);
            }
        }
        Ok(found.into_values().collect())
    }
}
