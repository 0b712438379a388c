//! An object set's part in a sync: order its objects' trees, put the dnodes into the meta dnode,
//! write the root.

use std::sync::Arc;

use ondisk::dnode::{DnodePhys, SLOT_SIZE};
use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetSize;
use ondisk::{BlkPtr, CompressKind};

use super::{Objset, SLOTS};
use crate::dnode::Dnode;
use crate::owner::SyncTx;
use crate::policy::{BlockKind, ObjsetPolicy};
use crate::store::{Block, TXG_SIZE, Txg, WriteItem};
use crate::sync::{Cx, Job, settle, write, write_trees};
use crate::tx::Tx;
use crate::{DmuError, SyncError, accounting};

/// Blocks of dnodes brought into the cache at a time.
const WARM: usize = 256;

impl Objset {
    /// Something waits to be written in this txg.
    pub fn is_dirty(&self, txg: Txg) -> bool {
        if env::lock(&self.root).dirty[txg as usize % TXG_SIZE] {
            return true;
        }
        let list = env::lock(self.core.dirty_list(txg));
        list.values().any(|dnode| dnode.state().changes(txg).is_some_and(|c| c.pending))
    }

    /// Writes all that is dirty in this txg and answers with the new root. May be called again in
    /// later passes.
    pub fn sync(&self, tx: &SyncTx) -> Result<BlkPtr, SyncError> {
        let cx = Cx { core: &self.core, tx: *tx, policy: policy_of_pass(self.policy(), tx.pass) };
        let mut jobs = self.begin_jobs(tx.txg, |object| self.special(object).is_none());
        write_trees(&cx, &mut jobs)?;
        if let Some(owner_of) = self.owner_of() {
            accounting::settle(&cx, &*owner_of, self.accounting_dnodes(), &mut jobs)?;
        }
        self.store_dnodes(&jobs, tx)?;
        let mut changed = !jobs.is_empty();
        jobs.into_iter().for_each(Job::finish);

        // The accounting objects and the meta dnode hang from the root itself.
        let mut roots = self.begin_jobs(tx.txg, |object| self.special(object).is_some());
        write_trees(&cx, &mut roots)?;
        changed |= !roots.is_empty();
        for job in roots {
            self.store_root_dnode(&job);
            job.finish();
        }
        let dirty = std::mem::take(&mut env::lock(&self.root).dirty[tx.txg as usize % TXG_SIZE]);
        if changed || dirty { self.write_root(&cx) } else { Ok(self.root()) }
    }

    fn begin_jobs(&self, txg: Txg, wanted: impl Fn(u64) -> bool) -> Vec<Job> {
        let list = env::lock(self.core.dirty_list(txg));
        let dnodes: Vec<Arc<Dnode>> = list.values().filter(|d| wanted(d.object())).cloned().collect();
        drop(list);
        dnodes.iter().filter_map(|dnode| Job::begin(dnode, txg)).collect()
    }

    /// Puts the dnodes where they belong in the meta dnode's data, which this makes dirty in turn.
    fn store_dnodes(&self, jobs: &[Job], tx: &SyncTx) -> Result<(), DmuError> {
        // One that was made and freed between two passes has no place among the dnodes.
        let stored = |job: &&Job| !job.is_freed() || job.previous.is_some();
        let mut blocks: Vec<u64> = jobs.iter().filter(stored).map(|j| j.dnode.object() / SLOTS).collect();
        blocks.dedup();
        let open = Tx::syncing(tx.txg);
        let mut jobs = jobs.iter().filter(stored).peekable();
        for part in blocks.chunks(WARM) {
            self.meta.warm(part)?;
            for &block in part {
                let here = std::iter::from_fn(|| jobs.next_if(|job| job.dnode.object() / SLOTS == block));
                let here: Vec<(usize, Vec<u8>)> = here.map(slot_bytes).collect();
                self.meta.update_block(block, &open, |bytes| {
                    for (at, dnode) in here {
                        bytes[at..][..dnode.len()].copy_from_slice(&dnode);
                    }
                })?;
            }
        }
        Ok(())
    }

    fn store_root_dnode(&self, job: &Job) {
        let mut root = env::lock(&self.root);
        let object = job.dnode.object();
        let dnode = job.tree.phys.clone();
        match self.accounting.iter().position(|special| special.object() == object) {
            None => root.phys.meta_dnode = dnode,
            Some(0) => root.phys.userused_dnode = Some(dnode),
            Some(1) => root.phys.groupused_dnode = Some(dnode),
            Some(_) => root.phys.projectused_dnode = Some(dnode),
        }
    }

    fn write_root(&self, cx: &Cx<'_>) -> Result<BlkPtr, SyncError> {
        let (phys, old) = {
            let mut root = env::lock(&self.root);
            root.phys.size = root.phys.size.max(cx.policy.objset_size);
            (root.phys.clone(), root.bp)
        };
        debug_assert!(phys.size > ObjsetSize::V1 || phys.userused_dnode.is_none());
        let what = BlockKind { object_type: ObjectType::OBJSET, level: 0, spill: false, own: (0, 0) };
        let fill = objects_below(&phys.meta_dnode);
        let mut policy = cx.policy.block(what, fill);
        if old.uses_crypt() {
            // Only the head of the log may differ, and that is under no MAC. Such a block is never
            // compressed (`dmu_objset_open_impl`), and the third DVA is not for DVAs here.
            policy.authenticated = true;
            policy.compression = CompressKind::Off;
            policy.copies = policy.copies.min(2);
        }
        let data = Arc::new(Block::from_slice(&phys.encode()));
        let item = WriteItem { data, policy, rewrite: cx.rewrite(&old), unless: None };
        let new = write(cx, vec![item])?[0];
        settle(cx, &old, &new);
        env::lock(&self.root).bp = new;
        Ok(new)
    }

    /// The uberblock that leads to this txg is written: its overlay is dropped, its roots are the
    /// clean ones.
    pub fn sync_done(&self, txg: Txg) {
        let list = std::mem::take(&mut *env::lock(self.core.dirty_list(txg)));
        let mut resized = Vec::new();
        for dnode in list.values().filter(|dnode| dnode.object() != super::META_OBJECT) {
            if done(dnode, txg) {
                resized.push(dnode.object());
            }
        }
        // From here on a look-up on disk finds what this group did; only now may its dnodes leave
        // the memory.
        done(&self.meta, txg);
        let mut taken = env::lock(&self.taken);
        for dnode in list.values().filter(|dnode| self.special(dnode.object()).is_none()) {
            let freed = !dnode.state().clean.attrs.exists;
            if freed {
                self.cache.remove(dnode);
            }
            taken.done(dnode.object(), txg, freed);
        }
        drop(taken);
        let count = list.len();
        // What was dirty is idle now.
        drop(list);
        (0..count).for_each(|_| self.core.store.decoded().make_room());
        if let Some(watcher) = self.watcher.get().filter(|_| !resized.is_empty()) {
            watcher(&resized);
        }
    }
}

/// From this pass on nothing is compressed: a block that changes its size from pass to pass cannot
/// be rewritten in place, and syncing would not come to an end (`zfs_sync_pass_dont_compress`).
const PASS_DONT_COMPRESS: u32 = 8;

fn policy_of_pass(policy: Arc<ObjsetPolicy>, pass: u32) -> Arc<ObjsetPolicy> {
    if pass < PASS_DONT_COMPRESS {
        return policy;
    }
    let off = CompressKind::Off;
    Arc::new(ObjsetPolicy { compression: off, metadata_compression: off, ..(*policy).clone() })
}

/// Whether the object takes another space now.
fn done(dnode: &Dnode, txg: Txg) -> bool {
    let mut state = dnode.state_mut();
    let before = state.clean.phys.used_bytes();
    if let Some(changes) = state.changes(txg) {
        assert!(!changes.pending, "object {} changed after the last pass of {txg}", dnode.object());
    }
    state.done(txg);
    state.clean.phys.used_bytes() != before
}

/// Where the dnode goes in its block, and its bytes; zeros where it was freed.
fn slot_bytes(job: &Job) -> (usize, Vec<u8>) {
    let at = (job.dnode.object() % SLOTS) as usize * SLOT_SIZE;
    let phys = &job.tree.phys;
    (at, if job.is_freed() { vec![0; phys.size()] } else { phys.encode() })
}

/// Objects in use; the root's fill count (`dmu_objset_write_ready` in module/zfs/dmu_objset.c).
pub(super) fn objects_below(meta: &DnodePhys) -> u64 {
    meta.blkptrs.iter().filter(|bp| !bp.is_hole()).map(BlkPtr::fill).sum()
}
