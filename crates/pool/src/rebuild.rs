//! Sequential rebuild: a disk that joined a mirror is given all that is allocated, in the order of
//! places, without knowing what it is (`zpool attach -s`, `zpool replace -s`). Quicker than a
//! resilver where blocks are small, but nothing is verified: so a scrub follows by itself.
//!
//! Each top-level vdev has a rebuild of its own, and remembers it in its ZAP, so that it goes on
//! after a crash, here or in OpenZFS; feature `device_rebuild` is active meanwhile. While any runs
//! no resilver begins.
//!
//! ```text
//!   attach -s ──group──▶ active ──worker: all maps are gone through──▶ group: complete ──▶ scrub
//!                         │  ▲└──another disk joins so: from the start──┘
//!                         └──nobody lacks anything any more, or everybody──▶ canceled
//! ```
//! Two parties share the work, as of scans: the worker `rebuild` copies, and the groups write down
//! how far it is; what it has copied before a group is on disk with it. It takes what is in use
//! from the space maps of the last durable group, and an epoch keeps that as it is for the time of
//! a step. It begins when the last group whose blocks may have been written before the disk joined
//! is durable.
//!
//! A stretch that could not be copied leaves the disks' dirty time logs as they are, and so does a
//! disk that was not there all the time: a resilver follows. It also does what no rebuild can where
//! every disk lacks something: it can tell what is good.
//!
//! Source: module/zfs/vdev_rebuild.c.

mod worker;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use dmu::Tx;
use dmu::zap::Zap;
use env::lock;
use ondisk::label::config::key;
use ondisk::rebuild::{REBUILD, RebuildPhys, STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE};

use crate::spa::events::Resilver;
use crate::spa::{Core, Pool};
use crate::state::rebuild::{Progress, Rebuilds};
use crate::{PoolError, Result};

pub use crate::state::rebuild::RebuildReport;

impl Rebuilds {
    /// Goes on with what is active in a pool that is written.
    pub(crate) fn start(&self, pool: &Arc<Pool>) {
        let pool = Arc::downgrade(pool);
        self.start_with(Box::new(move || {
            let pool = pool.upgrade()?;
            Some(pool.core.storage.spawn(Box::new(worker::Rebuilder::new(&pool))))
        }));
    }
}

impl Core {
    /// The guids of the disks of a top-level vdev.
    fn disks_in(&self, top: u32) -> BTreeSet<u64> {
        let mut disks = BTreeSet::new();
        if let Some(top) = lock(&self.config).tree.children.get(top as usize) {
            top.visit(&mut |vdev| disks.extend(vdev.kind.is_leaf().then_some(vdev.guid)));
        }
        disks
    }

    /// Those of them that are here and lack something that others there have.
    fn behind_in(&self, top: u32) -> BTreeSet<u64> {
        let mut disks = self.disks_in(top);
        disks.retain(|guid| self.storage.is_usable(*guid) && !self.storage.is_working(*guid));
        disks
    }

    /// After an import: the disks that rebuilds are about need not have been there all the time for
    /// what they are given.
    pub(crate) fn resume_rebuilds(&self) {
        for top in self.rebuilds.active() {
            let max = lock(&self.rebuilds.tops)[&top].phys.max_txg;
            self.dtl.begin_rebuild(&self.behind_in(top), max);
        }
    }

    /// A disk is no newcomer any more once it lacks nothing.
    fn forget_newcomers(&self) {
        let mut config = lock(&self.config);
        config.tree.visit_mut(&mut |vdev| {
            if vdev.pairs.get(key::REBUILD_TXG).is_some() && self.dtl.is_empty(vdev.guid) {
                vdev.pairs.remove(key::REBUILD_TXG);
                self.config_dirty.store(true, SeqCst);
            }
        });
    }
}

impl Pool {
    /// How the rebuild of a top-level vdev is, or the last one was; `None`: there never was one.
    pub fn rebuild_report(&self, top: u32) -> Option<RebuildReport> {
        let now = self.core.env.clock.now();
        let progress = lock(&self.core.rebuilds.tops).get(&top).copied()?;
        Some(RebuildReport {
            phys: progress.phys,
            pass_ms: progress.pass_ms(now),
            pass_scanned: progress.pass.scanned,
            pass_issued: progress.pass.issued,
        })
    }

    /// Ends the rebuilds that the worker is through with; whether a scrub is to follow. First pass
    /// only, before the tree of vdevs may change for it.
    pub(crate) fn turn_rebuilds(&self, tx: &Tx) -> Result<bool> {
        let core = &self.core;
        let through: Vec<(u32, RebuildPhys)> = lock(&core.rebuilds.tops)
            .iter()
            .filter(|(_, progress)| progress.phys.is_active() && progress.finished)
            .map(|(top, progress)| (*top, progress.phys))
            .collect();
        for (top, phys) in &through {
            if phys.errors == 0 {
                // Nothing is believed of what a disk has taken and may still lose.
                core.storage.flush_all().map_err(|_| PoolError::Suspended)?;
                let behind = core.behind_in(*top);
                core.dtl.excise(&core.storage, phys.max_txg, tx.touch(), &|guid| behind.contains(&guid));
                core.forget_newcomers();
            }
            self.end_rebuild(*top, STATE_COMPLETE, tx)?;
        }
        Ok(!through.is_empty() && !core.rebuilds.is_active())
    }

    /// Begins what is wanted, cancels what nobody needs any more, and writes down how far the
    /// others are. First pass only, when the tree of vdevs is as it is to be.
    pub(crate) fn sync_rebuilds(&self, tx: &Tx) -> Result<()> {
        let (core, now) = (&self.core, self.core.env.clock.now());
        for top in std::mem::take(&mut *lock(&core.rebuilds.wanted)) {
            self.begin_rebuild(top, tx)?;
        }
        for top in core.rebuilds.active() {
            let behind = core.behind_in(top);
            let has_source = core.disks_in(top).iter().any(|guid| core.dtl.is_empty(*guid));
            if !has_source || core.dtl.wanted(&core.storage, &|guid| behind.contains(&guid)).is_none() {
                self.end_rebuild(top, STATE_CANCELED, tx)?;
            }
        }
        let mut changed = Vec::new();
        for (top, progress) in lock(&core.rebuilds.tops).iter_mut().filter(|(_, progress)| progress.dirty) {
            progress.dirty = false;
            if progress.phys.is_active() {
                progress.phys.scan_time_ms = progress.pass.before_ms + progress.pass_ms(now);
            }
            changed.push((*top, progress.phys));
        }
        for (top, phys) in changed {
            if let Some(zap) = core.top_zap(top) {
                Zap::open(&core.mos, zap)?.update(REBUILD, phys.to_words().as_slice(), tx)?;
            }
        }
        Ok(())
    }

    fn begin_rebuild(&self, top: u32, tx: &Tx) -> Result<()> {
        let core = &self.core;
        let behind = core.behind_in(top);
        let (min_txg, max_txg) =
            core.dtl.wanted(&core.storage, &|guid| behind.contains(&guid)).unwrap_or_default();
        let phys = RebuildPhys {
            state: STATE_ACTIVE,
            min_txg,
            max_txg,
            start_time: self.dsl.now(),
            estimated: core.storage.vdev_space(top).map_or(0, |space| space.allocated),
            ..RebuildPhys::default()
        };
        let again = core.rebuilds.active().contains(&top);
        let progress = Progress { dirty: true, ..Progress::of(phys, core.env.clock.now()) };
        lock(&core.rebuilds.tops).insert(top, progress);
        core.storage.begin_scan();
        core.dtl.begin_rebuild(&behind, max_txg);
        core.rebuilds.wake();
        if again {
            self.note_rebuild(top, "reset", tx);
            return Ok(());
        }
        core.features.increment("device_rebuild", tx)?;
        core.resilver_sysevent("resilver_start", Resilver::Sequential);
        self.note_rebuild(top, "started", tx);
        Ok(())
    }

    fn end_rebuild(&self, top: u32, state: u64, tx: &Tx) -> Result<()> {
        let core = &self.core;
        if let Some(progress) = lock(&core.rebuilds.tops).get_mut(&top) {
            progress.end(state, self.dsl.now(), core.env.clock.now());
        }
        core.features.decrement("device_rebuild", tx)?;
        core.resilver_sysevent("resilver_finish", Resilver::Sequential);
        self.note_rebuild(top, if state == STATE_COMPLETE { "complete" } else { "canceled" }, tx);
        Ok(())
    }

    fn note_rebuild(&self, top: u32, what: &str, tx: &Tx) {
        let guid = lock(&self.core.config).tree.children.get(top as usize).map_or(0, |vdev| vdev.guid);
        let text = format!("vdev_id={top} vdev_guid={guid} {what}");
        self.dsl.note_pool("rebuild", &text, tx);
    }
}
