//! What users, groups and projects use, and how much they may.
//!
//! What is used is counted as a transaction group is written ([`dmu::accounting`]), so a limit is
//! met some seconds late, as it is in OpenZFS: what was not counted yet may still overrun it. A
//! limit is an entry of a ZAP that the master node names; file systems without such a ZAP pay
//! nothing for the question.
//!
//! Replay of the intent log asks nobody: what it does again was allowed when it was done.
//!
//! Sources: module/zfs/zfs_quota.c; `zfs_write` in zfs_vnops.c, `zfs_acl_ids_overquota` in
//! zfs_acl.c, `zfs_setattr`, `zfs_link` and `zfs_rename` in zfs_vnops_os.c.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use dmu::zap::ZapParams;
use dmu::{DmuError, Holds, ObjectSpec, Objset, Zap};
use engine_api::{Error, Result};
use ondisk::object_type::ObjectType;
use ondisk::objset::{
    FLAG_PROJECTQUOTA_COMPLETE, FLAG_USERACCOUNTING_COMPLETE, FLAG_USEROBJACCOUNTING_COMPLETE,
};
use ondisk::prop::{Spender, UserspaceProp};
use ondisk::znode;

use super::Zpl;
use super::attrs::Attrs;
use super::error::api_error;
use super::node::Node;
use super::project::DEFAULT_PROJECT;

/// Blocks that setting a quota may dirty: the master node and a ZAP.
const META_BLOCKS: u64 = 8;
/// Objects counted in one step.
const COUNT_STEP: usize = 1000;

/// The ZAPs of limits, by number; 0 where there is none. In the order of [`UserspaceProp::quotas`].
#[derive(Default)]
pub struct Quotas {
    objects: [AtomicU64; 6],
    /// Held while one is made.
    making: Mutex<()>,
}

impl Quotas {
    pub fn load(master: &Zap) -> std::result::Result<Quotas, DmuError> {
        let quotas = Quotas::default();
        for (object, prop) in quotas.objects.iter().zip(UserspaceProp::quotas()) {
            object.store(master.find_u64(prop.master_name())?.unwrap_or(0), Ordering::Relaxed);
        }
        Ok(quotas)
    }

    fn object(&self, quota: UserspaceProp) -> &AtomicU64 {
        &self.objects[quota.of as usize * 2 + usize::from(quota.objects)]
    }

    fn has_any(&self) -> bool {
        self.objects.iter().any(|object| object.load(Ordering::Relaxed) != 0)
    }
}

/// Whether an object set is counted so that a property's numbers can be believed.
fn is_counted(objset: &Objset, prop: UserspaceProp) -> bool {
    let objects = if prop.objects { FLAG_USEROBJACCOUNTING_COMPLETE } else { 0 };
    let project = if prop.of == Spender::Project { FLAG_PROJECTQUOTA_COMPLETE } else { 0 };
    let needed = FLAG_USERACCOUNTING_COMPLETE | objects | project;
    objset.flags() & needed == needed
}

/// The ZAP with a property's numbers, if there is one. `Unsupported` where nobody counts.
fn numbers(objset: &Objset, prop: UserspaceProp) -> std::result::Result<Option<Zap>, DmuError> {
    if !is_counted(objset, prop) {
        return Err(DmuError::Unsupported("space by user, group or project in this file system"));
    }
    let object = match prop.quota {
        false => prop.of.used_object(),
        true => match Zap::open(objset, znode::MASTER_NODE)?.find_u64(prop.master_name())? {
            Some(object) => object,
            None => return Ok(None),
        },
    };
    match Zap::open(objset, object) {
        Ok(zap) => Ok(Some(zap)),
        Err(DmuError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What somebody uses, or may use; 0 for nothing and for no limit.
pub fn spending(objset: &Objset, prop: UserspaceProp, id: u64) -> std::result::Result<u64, DmuError> {
    match numbers(objset, prop)? {
        Some(zap) => Ok(zap.find_u64(prop.entry(id))?.unwrap_or(0)),
        None => Ok(0),
    }
}

/// The same of everybody: ids and numbers.
pub fn everybody(objset: &Objset, prop: UserspaceProp) -> std::result::Result<Vec<(u64, u64)>, DmuError> {
    let Some(zap) = numbers(objset, prop)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in zap.iter() {
        let entry = entry?;
        if let Some(id) = entry.text().and_then(|name| prop.id_of(name)) {
            found.push((id, entry.value.first()));
        }
    }
    Ok(found)
}

impl Zpl {
    /// Gives somebody a limit, or with 0 none; the transaction group that has it.
    pub fn set_quota(&self, quota: UserspaceProp, id: u64, limit: u64) -> Result<u64> {
        if self.frozen {
            return Err(Error::ReadOnly);
        }
        let is_old = self.version() < znode::VERSION_USERSPACE;
        if is_old || quota.of == Spender::Project && !is_counted(&self.objset, quota) {
            return Err(api_error(DmuError::Unsupported("such quotas in this file system")));
        }
        let _one = env::lock(&self.quotas.making);
        let tx = self.objset.begin(Holds::new(0, META_BLOCKS)).map_err(api_error)?;
        self.changed.fetch_max(tx.txg(), Ordering::SeqCst);
        let object = self.quotas.object(quota);
        let zap = match object.load(Ordering::Relaxed) {
            0 => {
                let spec = ObjectSpec::new(ObjectType::USERGROUP_QUOTA);
                let params = ZapParams::salted(self.env.entropy.u64());
                let zap = Zap::create(&self.objset, spec, params, &tx).map_err(api_error)?;
                let master = Zap::open(&self.objset, znode::MASTER_NODE).map_err(api_error)?;
                master.add(quota.master_name(), zap.object(), &tx).map_err(api_error)?;
                object.store(zap.object(), Ordering::Relaxed);
                zap
            }
            known => Zap::open(&self.objset, known).map_err(api_error)?,
        };
        let done = match limit {
            0 => zap.remove(quota.entry(id), &tx),
            limit => zap.update(quota.entry(id), limit, &tx),
        };
        match done {
            Ok(()) | Err(DmuError::NotFound) => Ok(tx.txg()),
            Err(error) => Err(api_error(error)),
        }
    }

    /// What somebody who has a limit uses, and that limit.
    pub(super) fn used_of_limit(&self, of: Spender, objects: bool, id: u64) -> Result<Option<(u64, u64)>> {
        let quota = UserspaceProp { of, objects, quota: true };
        let object = self.quotas.object(quota).load(Ordering::Relaxed);
        if object == 0 || !is_counted(&self.objset, quota) {
            return Ok(None);
        }
        let ask = || {
            let Some(limit) = Zap::open(&self.objset, object)?.find_u64(quota.entry(id))? else {
                return Ok(None);
            };
            let used = spending(&self.objset, UserspaceProp { quota: false, ..quota }, id)?;
            Ok(Some((used, limit)))
        };
        ask().map_err(api_error)
    }

    fn is_over(&self, of: Spender, objects: bool, id: u64) -> Result<bool> {
        if self.replaying.load(Ordering::SeqCst) {
            return Ok(false);
        }
        Ok(self.used_of_limit(of, objects, id)?.is_some_and(|(used, limit)| used >= limit))
    }

    /// `Quota` where an owner of the node may not have another byte.
    pub(super) fn check_more_bytes(&self, node: &Node, attrs: &Attrs) -> Result<()> {
        if !self.quotas.has_any() {
            return Ok(());
        }
        let mut over = self.is_over(Spender::User, false, attrs.uid)?
            || self.is_over(Spender::Group, false, attrs.gid)?;
        let project = self.project_of(node, attrs)?;
        over |= project != DEFAULT_PROJECT && self.is_over(Spender::Project, false, project)?;
        if over { Err(Error::Quota) } else { Ok(()) }
    }

    /// `Quota` where one of these may not have another node. `None` is nobody, or who has it
    /// already.
    pub(super) fn check_more_nodes(
        &self,
        user: Option<u64>,
        group: Option<u64>,
        project: Option<u64>,
    ) -> Result<()> {
        if !self.quotas.has_any() {
            return Ok(());
        }
        let project = project.filter(|project| *project != DEFAULT_PROJECT);
        for (of, id) in Spender::ALL.into_iter().zip([user, group, project]) {
            if let Some(id) = id
                && (self.is_over(of, false, id)? || self.is_over(of, true, id)?)
            {
                return Err(Error::Quota);
            }
        }
        Ok(())
    }

    /// Older software did not count all that is counted now.
    pub fn lacks_accounting(&self) -> bool {
        !self.frozen && self.objset.lacks_accounting()
    }

    /// Counts some objects behind `after` that were not: the last of them, or `None` once all are,
    /// and the file system says so. `Busy` where that would have to wait. Interrupting it loses
    /// nothing.
    pub fn count_more(&self, after: u64) -> Result<Option<u64>> {
        let counted = self.objset.count_objects(after, COUNT_STEP).map_err(api_error)?;
        if counted.is_none() {
            let tx = self.objset.try_begin(Holds::new(0, 1)).map_err(api_error)?;
            self.objset.accounting_complete(&tx);
            let txg = tx.txg();
            self.changed.fetch_max(txg, Ordering::SeqCst);
            drop(tx);
            // The numbers are there with the group.
            self.wait_synced(txg)?;
        }
        Ok(counted)
    }
}
