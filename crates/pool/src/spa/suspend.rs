//! Standing by for what happens to disks while a pool is in use: it may be suspended, resumed and
//! given up.
//!
//! What suspension means is [`storage::Suspension`]'s; here an operator's `zpool clear` ends it.
//! Source: module/zfs/zfs_ioctl.c (`zfs_ioc_clear`).

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use env::lock;
use refusal::{Action, Reason, Refused};
use storage::{Cause, WriteError};

use super::Pool;
use crate::{PoolError, Result};

impl Pool {
    /// Once a pool is in use: from now on what fails waits for an operator, disks are judged by how
    /// often they err, and other hosts see that it is.
    pub(super) fn stand_by(&self) {
        let core = &self.core;
        core.txgs.heed(&core.storage);
        let of_pool = Arc::downgrade(core);
        core.storage.suspension().listen(Box::new(move |begun| {
            let Some(core) = of_pool.upgrade() else { return };
            if begun == Some(Cause::Fault) {
                core.txgs.fail();
            }
            core.txgs.reconsider();
            core.scan.wake();
            if let Some(cause) = begun {
                core.suspension_ereport(cause);
            }
        }));
        core.storage.suspension().be_patient();
        core.judge_anew();
        core.tell_states();
        core.watch_disks();
        core.show_life();
    }

    /// Forgets the errors of one vdev or of all, takes those into use again that were given up for
    /// them, and lets a suspended pool go on. Gives the group that has it on disk.
    pub fn clear_errors(&self, guid: Option<u64>, history: &str) -> Result<u64> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        self.resume(guid)?;
        self.core.scan.try_again();
        if guid.is_none() {
            lock(&self.core.lost_logs).clear();
        }
        self.to_clear(guid)?.into_iter().for_each(|disk| self.revive(disk));
        // Labels are written anew, and an event tells of it, whether there was something to forget
        // or not (`spa_vdev_state_exit`).
        self.core.config_dirty.store(true, SeqCst);
        self.list_vdevs(history)
    }

    /// What [`Pool::clear_errors`] does without waiting for a transaction group: disks are opened
    /// anew, and a suspended pool goes on. `Refused` if it still lacks disks.
    pub fn resume(&self, guid: Option<u64>) -> Result<()> {
        let core = &self.core;
        for disk in self.to_clear(guid)? {
            core.storage.clear_errors_of(disk);
            for leaf in core.storage.reopen(disk) {
                core.vdev_sysevent("vdev_clear", leaf);
            }
            core.acquit(disk);
        }
        core.tell_states();
        if !core.storage.is_suspended() {
            return Ok(());
        }
        Ok(core.storage.resume().map_err(|error| match error {
            WriteError::Suspended => Refused::because(Reason::Suspended),
            _ => Refused::new(Action::ClearErrors { name: self.name() }, Reason::Io),
        })?)
    }

    /// The disks at and below a vdev; without one all, which is a `None`. A spare that waits has no
    /// errors to be forgotten, a cache device may have (`zpool_clear`).
    fn to_clear(&self, guid: Option<u64>) -> Result<Vec<Option<u64>>> {
        let Some(vdev) = guid else { return Ok(vec![None]) };
        if let Some((_, false)) = self.core.extras.name_of(vdev) {
            return Ok(vec![guid]);
        }
        let place = self.core.place(vdev, &|name| Action::ClearErrors { name })?;
        let mut disks = Vec::new();
        place.vdev().visit(&mut |vdev| disks.extend(vdev.kind.is_leaf().then_some(Some(vdev.guid))));
        Ok(disks)
    }

    /// Gives up a pool that waits for its disks: nobody waits any more, and it can be closed. What
    /// was not durable is lost.
    pub fn give_up(&self) {
        self.core.storage.give_up();
    }
}
