//! Emptying log devices, so that their disks can change or go while the pool runs.
//!
//! What a log holds counts only until its transaction groups are durable. So a log is *emptied*
//! before its disks change: nothing more is placed there, all chains end, and what they held is
//! durable in the pool. Then there is nothing to copy, and a disk that was away has missed nothing.
//! Only a log that waits to be replayed cannot be emptied: then the change is refused. Source:
//! module/zfs/vdev_removal.c (`spa_vdev_remove_log`), vdev.c (`vdev_offline`).

use refusal::{Action, Refused, VdevFault};

use super::place::{Place, hole};
use super::{Core, Pool};
use crate::Result;

/// Groups that emptying a log may take.
const EMPTYING_GROUPS: usize = 8;

/// A log that nothing is placed on until this is dropped.
pub(super) struct Emptied<'a> {
    core: &'a Core,
    id: u32,
}

impl Drop for Emptied<'_> {
    fn drop(&mut self) {
        self.core.storage.use_log(self.id, true);
    }
}

impl Pool {
    /// Empties a log. `Refused` if something on it waits to be replayed.
    pub(super) fn empty_log(&self, id: u32, action: &Action) -> Result<Emptied<'_>> {
        let core = &*self.core;
        core.storage.use_log(id, false);
        let emptied = Emptied { core, id };
        for _ in 0..EMPTYING_GROUPS {
            self.dsl.retire_logs()?;
            if core.storage.vdev_space(id).is_none_or(|space| space.allocated == 0) {
                return Ok(emptied);
            }
            core.txgs.sync_empty()?;
        }
        // What is allocated there without a log that leads to it was lost with an earlier device.
        let datasets = self.dsl.logs_on(id)?;
        if datasets.is_empty() {
            return Ok(emptied);
        }
        Err(Refused::new(action.clone(), VdevFault::LogsNotReplayed { datasets }).into())
    }

    /// Removes a log vdev. What it held is durable elsewhere when nothing lists it any more.
    pub(super) fn remove_log(&self, place: &Place, action: &Action) -> Result<()> {
        let emptied = self.empty_log(place.id(), action)?;
        let top = place.top().clone();
        self.core.change_tree(Box::new(move |core, tx| {
            let id = top.id as usize;
            // What follows stays, whatever fails after it.
            tx.touch();
            core.storage.drop_metaslabs(top.id as u32);
            core.maps.remove_vdev(top.id as u32, &core.features, tx)?;
            core.free_vdev_objects(&top, tx)?;
            top.visit(&mut |vdev| core.see_off(vdev.guid, None));
            let mut tree = core.draft();
            if id + 1 == tree.children.len() {
                tree.children.pop();
            } else {
                tree.children[id] = hole(top.id);
            }
            core.put_tree(tree, &[], &[])
        }))?;
        drop(emptied);
        Ok(())
    }
}
