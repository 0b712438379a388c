//! A pool grows out of its version: what the new one needs is made in the group that has it first. A file system's version
//! is its content's affair (`FsFormat`).
//!
//! Source: module/zfs/spa.c (`spa_sync_version`, `spa_sync_upgrades`).

use std::sync::atomic::Ordering;

use dmu::Tx;
use ondisk::version;

use super::Dsl;
use crate::Result;
use crate::history::{self, Record};

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
        if from < version::FEATURES && to >= version::FEATURES {
            self.features().create(self.mos.random(), tx)?;
        }
        self.parts.version.store(to, Ordering::Release);
        history::append(self, Record::internal("set", &format!("version={to}"), tx.txg()), tx);
        Ok(())
    }

    /// The version of a file system.
    pub(crate) fn file_system_version(&self, object: u64) -> Result<u64> {
        let open = self.open_object(object)?;
        let props = self.parts.fs_format.props(open.objset())?;
        Ok(props.iter().find(|(name, _)| *name == "version").map_or(0, |(_, version)| *version))
    }

    /// What is written from now on may use features that the pool has got. Syncing context.
    pub(crate) fn refresh_all_policies(&self) -> Result<()> {
        self.mos.objset.set_policy(self.features().mos_policy());
        self.refresh_policies(&self.parts.name())
    }
}
