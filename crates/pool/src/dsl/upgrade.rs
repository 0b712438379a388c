//! A pool grows out of its version: what the new one needs is made in the group that has it first.
//! A file system's version is its content's affair (`FsFormat`).
//!
//! Sources: module/zfs/spa.c (`spa_sync_version`, `spa_sync_upgrades`), dsl_pool.c
//! (`dsl_pool_upgrade_clones`, `dsl_pool_upgrade_dir_clones`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dmu::Tx;
use ondisk::object_type::pool_directory;
use ondisk::version;

use super::{Dir, Dsl};
use crate::{PoolError, Result};

impl Dsl {
    /// The pool's version.
    pub fn version(&self) -> u64 {
        self.parts.version()
    }

    /// Makes the pool one of a newer version. Syncing context.
    pub(crate) fn upgrade(&self, to: u64, tx: &Tx) -> Result<()> {
        let from = self.version();
        if to <= from {
            return Ok(());
        }
        let comes = |version: u64| from < version && to >= version;
        // The next configuration has the version, whatever fails after this.
        tx.touch();
        self.parts.version.store(to, Ordering::Release);
        if comes(version::DEFLATE) && !self.parts.store().has_parity() {
            self.mos.set_root(pool_directory::DEFLATE, 1, tx)?;
            self.parts.store().set_net_of_parity(true);
        }
        let root = self.root()?;
        if comes(version::ORIGIN) {
            self.create_origin(&root, tx)?;
            for dir in self.dirs_below(&root)? {
                self.list_origin(&dir, tx)?;
            }
        }
        if comes(version::DEADLISTS) {
            self.create_free_dir(tx)?;
            for dir in self.dirs_below(&root)? {
                let phys = dir.phys();
                if phys.origin_obj != 0 && phys.head_dataset_obj != 0 {
                    let origin_dir = self.dir(self.mos.dataset(phys.origin_obj)?.dir_obj)?;
                    self.list_clone(&origin_dir, phys.head_dataset_obj, tx)?;
                }
            }
        }
        if comes(version::FEATURES) {
            self.features().create(self.mos.random(), tx)?;
        }
        self.refresh_heads()?;
        self.refresh_all_policies()?;
        self.note_pool("set", &format!("version={to}"), tx);
        Ok(())
    }

    /// Where a directory's chain of snapshots begins: lists it with the snapshot before, which is
    /// the pool's empty one where there was none (`upgrade_clones_cb` in module/zfs/dsl_pool.c).
    fn list_origin(&self, dir: &Arc<Dir>, tx: &Tx) -> Result<()> {
        let mut first = dir.phys().head_dataset_obj;
        if first == 0 {
            return Ok(());
        }
        loop {
            let previous = self.mos.dataset(first)?.prev_snap_obj;
            if previous == 0 {
                break;
            }
            if self.mos.dataset(previous)?.next_snap_obj != first {
                return self.list_next(previous, first, tx);
            }
            first = previous;
        }
        let origin = self.origin_snap().ok_or(PoolError::NotFound)?;
        let group = self.mos.dataset(origin)?.creation_txg;
        self.edit_dataset(first, tx, |phys| (phys.prev_snap_obj, phys.prev_snap_txg) = (origin, group))?;
        dir.edit(&self.mos, tx, |phys| phys.origin_obj = origin)?;
        self.edit_dataset(origin, tx, |phys| phys.num_children += 1)?;
        self.list_next(origin, first, tx)
    }

    /// The version of a file system.
    pub(crate) fn file_system_version(&self, object: u64) -> Result<u64> {
        let open = self.open_object(object)?;
        let props = self.parts.fs_format.props(open.objset())?;
        Ok(props.iter().find(|(name, _)| *name == "version").map_or(0, |(_, version)| *version))
    }

    /// What is written from now on may use features that the pool has got. Syncing context.
    pub(crate) fn refresh_all_policies(&self) -> Result<()> {
        self.mos.objset.set_policy(self.features().mos_policy(self.version()));
        self.refresh_policies(&self.parts.name())
    }
}
