//! Growing: a top-level vdev whose smallest disk became larger gets more metaslabs at its end.
//!
//! That happens when the last small disk of a mirror or raidz has been replaced or detached
//! (`autoexpand`), or when disks grew themselves and an operator says so (`zpool online -e`).
//! Nothing is placed on the new space before the group is durable whose configuration has it:
//! before that, no import would find what was promised there.
//!
//! Sources: module/zfs/vdev.c (`vdev_open`, `vdev_expand`), spa.c (`spa_vdev_detach`).

use dmu::Tx;
use dmu::zap::Zap;
use env::lock;
use ondisk::object_type::pool_directory;
use refusal::{Action, Reason, Refused, VdevFault};
use storage::{VdevConfig, VdevState};

use super::spec::new_guid;
use super::{Core, Pool};
use crate::Result;

impl Core {
    /// Whether a property of the pool is on.
    pub(super) fn is_set(&self, property: &str) -> bool {
        let stored = || -> Result<bool> {
            let directory = Zap::open(&self.mos, pool_directory::OBJECT)?;
            let Some(props) = directory.find_u64(pool_directory::PROPS)? else { return Ok(false) };
            Ok(Zap::open(&self.mos, props)?.find_u64(property)? == Some(1))
        };
        stored().unwrap_or(false)
    }

    /// Uses what the disks of a top-level vdev have more than it. Syncing context.
    pub(super) fn expand(&self, id: u32, tx: &Tx) -> Result<()> {
        self.storage.refresh_sizes(id);
        let mut tree = self.draft();
        let Some(top) = tree.children.get_mut(id as usize) else { return Ok(()) };
        let (Some(shift), Some(before)) = (top.metaslab_shift.filter(|shift| *shift < 64), top.asize) else {
            return Ok(());
        };
        let measured = self.measured(id);
        if measured >> shift <= before >> shift {
            return Ok(());
        }
        tracing::info!(vdev = id, before, now = measured, txg = tx.txg(), "a vdev grows");
        top.asize = Some(measured);
        self.put_tree(tree, &[], &[])?;
        lock(&self.topology.grown).push((id, measured >> shift));
        Ok(())
    }

    /// Bytes, in whole metaslabs, that the disks of a top-level vdev have more than it uses.
    pub(super) fn expandable(&self, top: &VdevConfig) -> u64 {
        let shift = top.metaslab_shift.unwrap_or(0).min(63);
        let more = self.measured(top.id as u32).saturating_sub(top.asize.unwrap_or(0));
        more >> shift << shift
    }

    /// Bytes that could be allocated on a top-level vdev; 0 where its disks don't tell.
    fn measured(&self, id: u32) -> u64 {
        self.storage.measured().into_iter().find(|(top, _)| *top == id).map_or(0, |(_, asize)| asize)
    }

    /// The group is durable: new space may be used.
    pub(crate) fn use_grown_space(&self) {
        for (id, metaslabs) in std::mem::take(&mut *lock(&self.topology.grown)) {
            self.maps.grow_vdev(id, metaslabs);
            self.storage.grow_metaslabs(id, metaslabs);
        }
    }
}

impl Pool {
    /// Gives the pool another guid, so that a copy of its disks can be imported beside it. `None`:
    /// a new one.
    pub fn reguid(&self, guid: Option<u64>, history: &str) -> Result<u64> {
        let reguid = || Action::Reguid { pool: self.name() };
        let alone = self.core.alone()?;
        self.core.refuse_with_checkpoint(&reguid)?;
        let guid = guid.unwrap_or_else(|| new_guid(&self.core.env));
        if guid == 0 {
            return Err(Refused::new(reguid(), Reason::GuidZero).into());
        }
        // Disks that are away would be orphaned.
        if self.report().state != VdevState::Online || !self.core.storage.behind().is_empty() {
            return Err(Refused::new(reguid(), VdevFault::Unavailable).into());
        }
        self.core.change_tree(Box::new(move |core, _| {
            let mut tree = core.draft();
            tree.guid = guid;
            core.put_tree(tree, &[], &[])?;
            lock(&core.config).guid = guid;
            Ok(())
        }))?;
        self.core.sysevent("pool_reguid");
        drop(alone);
        self.list_vdevs(history)
    }
}
