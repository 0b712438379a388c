//! One object's share of a sync pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use ondisk::BlkPtr;
use ondisk::dnode::{DnodePhys, MAX_LEVELS};

use super::tree::SyncTree;
use super::{Cx, free};
use crate::DmuError;
use crate::dnode::Dnode;
use crate::overlay::{Attrs, Clean, Early, Ranges, SpillChange};
use crate::policy::ObjsetPolicy;
use crate::store::{Block, Txg};

/// See the module.
pub struct Job {
    pub dnode: Arc<Dnode>,
    pub tree: SyncTree,
    pub attrs: Attrs,
    /// Dirty data blocks no pass has written, ascending.
    pub data: Vec<(u64, Arc<Block>)>,
    /// Those of `data` that are on disk already.
    pub early: BTreeMap<u64, BlkPtr>,
    /// Blocks written early that were changed afterwards.
    pub outdated: Vec<BlkPtr>,
    pub spill: Option<Arc<Block>>,
    /// The dnode as it was before this pass, if it was one at all.
    pub previous: Option<DnodePhys>,
    to_free: Ranges,
    txg: Txg,
}

impl Job {
    /// Takes over what is pending in this group; `None` if nothing is.
    pub fn begin(dnode: &Arc<Dnode>, txg: Txg) -> Option<Job> {
        let mut state = dnode.state_mut();
        let clean = state.clean.clone();
        let synced = state.synced.as_ref().filter(|(at, _)| *at == txg).map(|(_, synced)| synced);
        let last = synced.unwrap_or(&clean);
        let phys = last.phys.clone();
        let previous = last.attrs.exists.then(|| phys.clone());
        let changes = state.changes_mut(txg).filter(|c| c.pending)?;
        changes.pending = false;
        let (mut early, mut outdated) = (BTreeMap::new(), Vec::new());
        for (blkid, versions) in std::mem::take(&mut changes.early) {
            let dirty = changes.blocks.get(&blkid);
            for Early { block, bp } in versions {
                match dirty {
                    // Of two that came at once, one is enough.
                    Some(dirty) if Arc::ptr_eq(&dirty.block, &block) => {
                        outdated.extend(early.insert(blkid, bp));
                    }
                    _ => outdated.push(bp),
                }
            }
        }
        let unwritten = changes.blocks.iter().filter(|(_, dirty)| !dirty.written);
        let data = unwritten.map(|(&blkid, dirty)| (blkid, dirty.block.clone())).collect();
        let spill = match &changes.spill {
            SpillChange::Set(dirty) if !dirty.written => Some(dirty.block.clone()),
            _ => None,
        };
        let to_free = std::mem::take(&mut changes.to_free);
        let attrs = changes.attrs.clone();
        drop(state);
        let tree = SyncTree::new(dnode.object(), phys);
        let dnode = dnode.clone();
        Some(Job { dnode, tree, attrs, data, early, outdated, spill, previous, to_free, txg })
    }

    /// Nothing of the object remains.
    pub fn is_freed(&self) -> bool {
        !self.attrs.exists
    }

    /// Everything but blocks: geometry, frees, growth.
    pub fn apply_changes(&mut self, cx: &Cx<'_>) -> Result<(), DmuError> {
        for bp in std::mem::take(&mut self.outdated) {
            // Nobody refers to it: for its owner it comes and goes in this group.
            cx.core.owner.born(&bp, &cx.tx);
            cx.core.owner.kill(&bp, &cx.tx);
        }
        for (start, end) in std::mem::take(&mut self.to_free).iter() {
            free::free_range(cx, &mut self.tree, start..end)?;
        }
        if let Some(spill) = self.tree.phys.spill.filter(|_| !self.attrs.has_spill) {
            self.tree.phys.spill = None;
            if !spill.is_hole() {
                cx.kill(&mut self.tree, &spill);
            }
        }
        let phys = &mut self.tree.phys;
        phys.object_type = self.attrs.object_type;
        phys.datablkszsec = (self.attrs.block_size >> 9) as u16;
        phys.maxblkid = self.attrs.max_blkid;
        phys.bonus_type = self.attrs.bonus_type;
        phys.bonus = self.attrs.bonus.clone();
        phys.checksum = self.attrs.checksum;
        phys.compress = self.attrs.compress;
        let nlevels = levels_for(phys);
        if nlevels > MAX_LEVELS {
            return Err(DmuError::TooBig);
        }
        if nlevels > phys.nlevels {
            self.tree.grow(nlevels);
        }
        Ok(())
    }

    /// All blocks are written.
    pub fn complete(&mut self, policy: &ObjsetPolicy) {
        assert!(!self.tree.nodes.values().any(|node| node.dirty), "an indirect block was not written");
        self.tree.nodes.clear();
        let freed = self.is_freed();
        let phys = &mut self.tree.phys;
        assert!(
            !freed || phys.blkptrs.iter().all(ondisk::BlkPtr::is_hole),
            "a freed object still has blocks"
        );
        if phys.used == 0 {
            phys.set_used_bytes(0, policy.used_in_bytes);
        }
    }

    /// Hands the result to the dnode: it becomes the clean one when the group is done.
    pub fn finish(self) {
        let mut state = self.dnode.state_mut();
        let changes = state.changes_mut(self.txg).expect("the group is not done");
        for (blkid, block) in &self.data {
            if let Some(dirty) = changes.blocks.get_mut(blkid).filter(|d| Arc::ptr_eq(&d.block, block)) {
                dirty.written = true;
            }
        }
        if let SpillChange::Set(dirty) = &mut changes.spill {
            dirty.written = true;
        }
        let attrs = self.attrs;
        state.synced = Some((self.txg, Arc::new(Clean { phys: self.tree.phys, attrs })));
    }
}

/// Levels that the last block needs; never fewer than there are.
fn levels_for(phys: &DnodePhys) -> u8 {
    let mut levels = phys.nlevels;
    let mut capacity = phys.capacity_blocks();
    while capacity <= phys.maxblkid && levels <= MAX_LEVELS {
        levels += 1;
        capacity = capacity.saturating_mul(1 << phys.epbs());
    }
    levels
}
