//! `zfs diff`: between snapshots, or a snapshot and what is there now, of which a temporary
//! snapshot is taken. Source: lib/libzfs/libzfs_diff.c (`get_snapshot_names`,
//! `make_temp_snapshot`).

use ::pool::change::Change;
use engine_api::{DiffEntry, Error, Result};
use refusal::Action;

use super::convert::api_error;
use super::pool::LocalPool;
use crate::zpl::Differ;

impl LocalPool {
    /// `to` is a snapshot, or a file system as it is now.
    pub(super) fn run_diff(&self, from: &str, to: &str, tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        if to.contains('@') {
            return self.diff_snapshots(from, to, tell);
        }
        // Whoever compares at the same time has a name of his own.
        let unique = self.env.entropy.u64() >> 32;
        let (now, tag) = (format!("{to}@zfs-diff-{unique}"), format!("%zfs-diff-{unique}"));
        let commit = |change| self.inner().dsl.commit(change, "").map_err(api_error);
        commit(Change::TemporarySnapshot { name: now.clone(), tag: tag.clone() }).map_err(
            |error| match error {
                Error::Refused(refused) => {
                    refused.instead(Action::SnapshotForDiff { name: to.to_owned() }).into()
                }
                error => error,
            },
        )?;
        let done = self.diff_snapshots(from, &now, tell);
        let snapshots = vec![now];
        let release = Change::Release { snapshots: snapshots.clone(), tag, recursive: false };
        let gone = self.without(&snapshots, || commit(release));
        done.and(gone.map(drop))
    }

    fn diff_snapshots(&self, from: &str, to: &str, tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        let dsl = &self.inner().dsl;
        let open = |name: &str| dsl.open_dataset(name).map_err(api_error);
        let (earlier, later) = (open(from)?, open(to)?);
        let mut differ = Differ::new(earlier.objset(), later.objset())?;
        let mut failed = Ok(());
        let walked = dsl.changed_objects(from, to, &mut |span| {
            failed = differ.look_at(span, tell);
            failed.is_ok()
        });
        failed.and(walked.map_err(api_error))
    }
}
