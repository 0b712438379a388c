//! Who uses how much: bytes and objects by user, group and project.
//!
//! The sums are three ZAPs whose dnodes lie in the object set's own block: name is the id in
//! hexadecimal (with the prefix `obj-` for counts of objects), value the sum. A sync takes what
//! each changed object counted for before away and adds what it counts for now: 512 bytes for the
//! dnode and `used` for its blocks. Flags in the dnode say what it has been counted in, so that
//! accounting can begin in the middle of a file system's life.
//!
//! Sources: `userquota_updates_task` and what it calls in module/zfs/dmu_objset.c, `dnode_sync` in
//! dnode_sync.c.

use std::collections::BTreeMap;
use std::sync::Arc;

use env::IoClass;
use ondisk::dnode::{DnodePhys, FLAG_USEROBJUSED_ACCOUNTED, FLAG_USERUSED_ACCOUNTED, SLOT_SIZE};
use ondisk::object_type::ObjectType;
use ondisk::objset::{
    FLAG_PROJECTQUOTA_COMPLETE, FLAG_USERACCOUNTING_COMPLETE, FLAG_USEROBJACCOUNTING_COMPLETE,
    OBJACCT_PREFIX, ObjsetType,
};

use crate::dnode::{Dnode, ObjectSpec};
use crate::policy::ObjsetPolicy;
use crate::store::Keep;
use crate::sync::{Cx, Job};
use crate::tx::Tx;
use crate::zap::{Zap, ZapParams};
use crate::{DmuError, SyncError};

/// Whom an object belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub user: u64,
    pub group: u64,
    /// 0 without a project of its own.
    pub project: u64,
}

/// How a file system finds the owner in an object's bonus; implemented by whoever knows what a
/// bonus means.
pub trait OwnerOf: Send + Sync {
    /// `None` for objects that belong to nobody. Where the bonus is empty and there is a spill
    /// block, `bonus` is that.
    fn owner_of(&self, object_type: ObjectType, bonus_type: ObjectType, bonus: &[u8]) -> Option<Owner>;
}

/// The flags of an object set in which all that is counted is complete, as it is in a new one.
pub(crate) fn flags_of_new(kind: ObjsetType, policy: &ObjsetPolicy) -> u64 {
    if kind != ObjsetType::Zfs || !policy.account_space {
        return 0;
    }
    let objects = if policy.account_objects { FLAG_USEROBJACCOUNTING_COMPLETE } else { 0 };
    let projects = if policy.account_projects { FLAG_PROJECTQUOTA_COMPLETE } else { 0 };
    FLAG_USERACCOUNTING_COMPLETE | objects | projects
}

/// Changes of the sums in one ZAP.
type Deltas = BTreeMap<String, i64>;

/// Applies what the jobs changed to the sums in these objects, of which some may have to be made,
/// and marks the jobs' dnodes as counted.
pub(crate) fn settle(
    cx: &Cx<'_>,
    owner_of: &dyn OwnerOf,
    sums_in: &[Arc<Dnode>; 3],
    jobs: &mut [Job],
) -> Result<(), SyncError> {
    let policy = cx.core.policy();
    if !policy.account_space {
        return Ok(());
    }
    let mut sums: [Deltas; 3] = Default::default();
    for job in jobs.iter_mut() {
        if let Some(old) = &job.previous {
            let owner = owner(cx, owner_of, old, None)?;
            count(&mut sums, old, owner, -1);
        }
        if job.is_freed() {
            continue;
        }
        job.tree.phys.flags |= FLAG_USERUSED_ACCOUNTED;
        if policy.account_objects {
            job.tree.phys.flags |= FLAG_USEROBJUSED_ACCOUNTED;
        }
        let spill = job.spill.as_ref().map(|block| &block[..]);
        let owner = owner(cx, owner_of, &job.tree.phys, spill)?;
        count(&mut sums, &job.tree.phys, owner, 1);
    }
    let zaps = if policy.account_projects { 3 } else { 2 };
    let tx = Tx::syncing(cx.tx.txg);
    for (dnode, deltas) in sums_in.iter().zip(sums).take(zaps) {
        let zap = if dnode.exists() {
            Zap::of(dnode.clone())?
        } else {
            let spec = ObjectSpec::new(ObjectType::USERGROUP_USED);
            // Ids are not names an outsider chooses: any salt will do, as long as it is not 0.
            let params = ZapParams::salted(tx.txg() << 8 ^ dnode.object() | 1);
            dnode.claim(spec, &tx)?;
            let zap = Zap::of(dnode.clone())?;
            zap.format(params, &tx)?;
            zap
        };
        for (name, delta) in deltas.into_iter().filter(|(_, delta)| *delta != 0) {
            zap.increment(name.as_bytes(), delta, &tx)?;
        }
    }
    Ok(())
}

fn owner(
    cx: &Cx<'_>,
    owner_of: &dyn OwnerOf,
    dnode: &DnodePhys,
    spill: Option<&[u8]>,
) -> Result<Option<Owner>, DmuError> {
    let ask = |content: &[u8]| owner_of.owner_of(dnode.object_type, dnode.bonus_type, content);
    if !dnode.bonus.is_empty() || dnode.bonus_type != ObjectType::SA {
        return Ok(ask(&dnode.bonus));
    }
    match (spill, &dnode.spill) {
        (Some(spill), _) => Ok(ask(spill)),
        (None, Some(bp)) if !bp.is_hole() => {
            let block = cx.core.store.read(bp, IoClass::SyncRead, Keep::ALL).map_err(|_| DmuError::Io)?;
            Ok(ask(&block))
        }
        _ => Ok(None),
    }
}

/// Adds (or takes away) what a dnode counts for.
fn count(sums: &mut [Deltas; 3], dnode: &DnodePhys, owner: Option<Owner>, sign: i64) {
    let Some(Owner { user, group, project }) = owner else { return };
    // Sums of what dnodes say of themselves: a hostile one spoils the sum, and no more.
    let bytes = (dnode.used_bytes() as i64).wrapping_add(SLOT_SIZE as i64).wrapping_mul(sign);
    for (sums, id) in sums.iter_mut().zip([user, group, project]) {
        if dnode.flags & FLAG_USERUSED_ACCOUNTED != 0 {
            let sum = sums.entry(format!("{id:x}")).or_default();
            *sum = sum.wrapping_add(bytes);
        }
        if dnode.flags & FLAG_USEROBJUSED_ACCOUNTED != 0 {
            *sums.entry(format!("{OBJACCT_PREFIX}{id:x}")).or_default() += sign;
        }
    }
}

#[cfg(test)]
mod tests;
