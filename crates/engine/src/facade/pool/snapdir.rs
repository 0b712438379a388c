//! Snapshots made, renamed and destroyed by making, renaming and removing directories in
//! `.zfs/snapshot`, where `zfs_admin_snapshot` is on. It is a change as any other, for whom the
//! directory's caller is: it takes what `zfs` would take.
//!
//! Source: module/os/linux/zfs/zfs_ctldir.c (`zfsctl_snapdir_mkdir`, `zfsctl_snapdir_remove`,
//! `zfsctl_snapdir_rename`).

use std::sync::Arc;

use engine_api::{Change, Cred, Error, Result};
use env::Tunable;
use stdx::behalf::{Actor, Rank, Way, on_behalf_of};

use super::super::convert::api_error;
use super::LocalPool;

/// The snapshots of a dataset, as a directory.
pub(super) struct SnapDir<'a> {
    pub pool: &'a LocalPool,
    pub dataset: u64,
}

impl SnapDir<'_> {
    /// Whether anything may be changed in any of these.
    pub fn is_open(&self) -> bool {
        self.pool.env.tunable(Tunable::AdminSnapshot) != 0
    }

    fn name(&self, snapshot: &[u8]) -> Result<String> {
        let snapshot = std::str::from_utf8(snapshot).map_err(|_| Error::Invalid("a name".into()))?;
        if snapshot.contains(['@', '/', '#']) {
            return Err(Error::Invalid("a name".into()));
        }
        let head = self.pool.inner().dsl.dataset_name(self.dataset).map_err(api_error)?;
        Ok(format!("{head}@{snapshot}"))
    }

    fn commit(&self, cred: &Cred, change: &Change) -> Result<()> {
        if !self.is_open() {
            return Err(Error::Denied);
        }
        let groups = std::iter::once(cred.gid).chain(cred.groups.iter().copied()).collect();
        let rank = if cred.uid == 0 { Rank::Administrator } else { Rank::Guest };
        let actor = Actor { user: cred.uid, groups, rank, within: None, way: Way::SnapshotDirectory };
        on_behalf_of(Arc::new(actor), || self.pool.make_change(change, "").map(drop))
    }

    pub fn make(&self, cred: &Cred, name: &[u8]) -> Result<()> {
        let names = vec![self.name(name)?];
        self.commit(cred, &Change::Snapshot { names, recursive: false, props: Vec::new() })
    }

    pub fn remove(&self, cred: &Cred, name: &[u8]) -> Result<()> {
        self.commit(cred, &Change::Destroy { names: vec![self.name(name)?], defer: false })
    }

    pub fn rename(&self, cred: &Cred, from: &[u8], to: &[u8]) -> Result<()> {
        if from == to {
            return Ok(());
        }
        let (from, to) = (self.name(from)?, self.name(to)?);
        self.commit(cred, &Change::Rename { from, to, parents: false, recursive: false })
    }
}
