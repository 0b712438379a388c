//! How many file systems and snapshots there are below a directory, and how many there may be.
//!
//! Counting begins with the first limit: it counts the directory that gets it, and all below. From
//! then on every new directory has counts, so what is counted is a tree that reaches down to the
//! leaves, and upwards ends below the first directory without counts. A directory counts what is
//! below it, and the snapshots of its own dataset.
//!
//! Whoever may change a limit may exceed it: it binds none but users with delegated rights, and of
//! these not who was given the limit itself. It binds whatever brings more: creating, cloning,
//! snapshots, receiving, renaming, promoting.
//!
//! Source: module/zfs/dsl_dir.c (`dsl_dir_init_fs_ss_count`, `dsl_fs_ss_limit_check`,
//! `dsl_fs_ss_count_adjust`, `dsl_enforce_ds_ss_limits`), `dsl_dataset_create_sync` in
//! dsl_dataset.c.

use std::sync::Arc;

use dmu::Tx;
use ondisk::dsl_dir::{FIELD_FILESYSTEM_COUNT, FIELD_SNAPSHOT_COUNT};

use super::Dsl;
use super::dir::Dir;
use crate::Result;
use crate::namecheck::is_hidden;

const FEATURE: &str = "filesystem_limits";

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counted {
    Filesystems,
    Snapshots,
}

impl Counted {
    /// The field that has the count, and the property that limits it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Counted::Filesystems => (FIELD_FILESYSTEM_COUNT, "filesystem_limit"),
            Counted::Snapshots => (FIELD_SNAPSHOT_COUNT, "snapshot_limit"),
        }
    }
}

impl Dsl {
    /// What a directory counts; `None` where it does not.
    pub(crate) fn count_of(&self, dir: &Dir, what: Counted) -> Result<Option<u64>> {
        Ok(self.mos.field(dir.object, what.names().0)?)
    }

    /// So many more, or fewer, at this directory and above. Syncing context.
    pub(crate) fn count(&self, dir: &Arc<Dir>, what: Counted, delta: i64, tx: &Tx) -> Result<()> {
        for dir in dir.and_above() {
            let Some(count) = self.count_of(&dir, what)? else { return Ok(()) };
            self.mos.set(dir.object, what.names().0, count.saturating_add_signed(delta), tx)?;
        }
        Ok(())
    }

    /// Whether a limit forbids whom this thread works for so many more at a directory; limits at
    /// `common` and above do not matter.
    pub(crate) fn is_count_full(
        &self,
        dir: &Arc<Dir>,
        what: Counted,
        more: u64,
        common: Option<u64>,
    ) -> Result<bool> {
        let caller = stdx::behalf::actor();
        if caller.is_administrator() || more == 0 {
            return Ok(false);
        }
        let (_, limit) = what.names();
        for dir in dir.and_above().take_while(|dir| common != Some(dir.object)) {
            let Some(count) = self.count_of(&dir, what)? else { return Ok(false) };
            let is_over = count.saturating_add(more) > self.local_number(&dir, limit)?;
            if is_over && !self.may_at(&dir, limit, &caller)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Counts a directory and all below, where nobody has yet, for it has got a limit. Syncing
    /// context.
    pub(crate) fn begin_counting(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        if !self.features().is_enabled(FEATURE) {
            return Ok(());
        }
        if !self.features().is_active(FEATURE) {
            self.features().increment(FEATURE, tx)?;
        }
        self.count_below(dir, tx).map(drop)
    }

    /// The file systems and snapshots that a directory counts, counted if need be.
    fn count_below(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<(u64, u64)> {
        let known = |what| self.count_of(dir, what);
        if let (Some(filesystems), Some(snapshots)) =
            (known(Counted::Filesystems)?, known(Counted::Snapshots)?)
        {
            return Ok((filesystems, snapshots));
        }
        let (mut filesystems, mut snapshots) = (0, 0);
        for (name, object) in self.mos.sorted(dir.phys().child_dir_zapobj)? {
            // What is being received into a dataset is not counted, but counts itself.
            if !name.starts_with('$') {
                let below = self.count_below(&self.child_dir(dir, &name, object)?, tx)?;
                filesystems += below.0 + u64::from(!is_hidden(&name));
                snapshots += below.1;
            }
        }
        if let Some(head) = self.head_of(dir)? {
            let names = self.mos.entries(head.phys.snapnames_zapobj)?;
            snapshots += names.iter().filter(|(name, _)| !is_hidden(name)).count() as u64;
        }
        self.zapify(dir.object, tx)?;
        self.mos.set(dir.object, FIELD_FILESYSTEM_COUNT, filesystems, tx)?;
        self.mos.set(dir.object, FIELD_SNAPSHOT_COUNT, snapshots, tx)?;
        Ok((filesystems, snapshots))
    }

    /// A new directory with its first dataset counts from the start where anybody counts. Syncing
    /// context.
    pub(crate) fn count_new(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        if self.features().is_active(FEATURE) { self.count_below(dir, tx).map(drop) } else { Ok(()) }
    }

    /// What moves along with a directory, it included: file systems and snapshots.
    pub(crate) fn counts_to_move(&self, dir: &Arc<Dir>) -> Result<(u64, u64)> {
        let mut snapshots = 0;
        let names = self.names_below(dir)?;
        for name in &names {
            if let Some(head) = self.head_of(&self.find_dir(name)?)? {
                snapshots += self.mos.count(head.phys.snapnames_zapobj)?;
            }
        }
        Ok((names.len() as u64, snapshots))
    }

    /// A directory goes from one parent to another, which is to count what is below it. Syncing
    /// context.
    pub(crate) fn move_counts(&self, dir: &Arc<Dir>, from: &Arc<Dir>, to: &Arc<Dir>, tx: &Tx) -> Result<()> {
        if !self.features().is_active(FEATURE) {
            return Ok(());
        }
        let (filesystems, snapshots) = self.count_below(dir, tx)?;
        for (what, number) in [(Counted::Filesystems, filesystems + 1), (Counted::Snapshots, snapshots)] {
            self.count(from, what, -(number as i64), tx)?;
            self.count(to, what, number as i64, tx)?;
        }
        Ok(())
    }
}
