//! One pool's blocks: the struct that joins vdevs, allocation and cache. What is done with blocks
//! is in [`crate::zio`]. [`ahead`], [`dedup`] and [`moved`] hold what `zio` keeps of a pool between
//! two calls.

pub(crate) mod ahead;
mod commit;
pub(crate) mod dedup;
mod flush;
pub(crate) mod moved;
mod resume;
mod swap;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock, RwLock};

use codec::Salt;
use env::waits::Waits;
use env::watch::Watch;
use env::{Env, WorkerHandle};
use ondisk::{BlkPtr, Dva};

use crate::arc::l2::{CacheDevice, Level2, Limits as L2Limits};
use crate::arc::{Cache, Foresight};
use crate::attached::Attached;
use crate::flight::fault_bad_disks;
use crate::leash::Leash;
use crate::metaslab::{
    Classes, EpochGuard, GroupSpec, MetaslabSummary, SpaceChange, SpaceMapSource, SpaceStat,
};
use crate::range_tree::Segment;
use crate::suspend::Suspension;
use crate::turns::Turns;
use crate::unflushed::Unflushed;
use crate::vdev::Kind;
use crate::vdev::config::{Bias, VdevConfig, VdevKind};
use crate::vdev::leaf::{Leaf, LeafHandle};
use crate::vdev::open::{self, OpenIntent, Tolerated, Top, Tree};
use crate::vdev::report::Reports;
use crate::vdev::status::{TopVdevInfo, VdevStat, VdevState};
use crate::{OpenError, WriteError};

use ahead::Ahead;
use dedup::DedupSource;
use moved::Moved;
pub use swap::{OpenedLeaf, Roll};

/// Freed block buffers kept for the next writes, in bytes.
const SPARE_MIN: usize = 16 << 20;
const SPARE_MAX: usize = 1 << 30;

/// The blocks of one pool.
pub struct Storage {
    env: Env,
    cache: Arc<Cache>,
    level2: Level2,
    pool_guid: u64,
    /// Guids that the pool has had since: labels may say any of them, until the group that changed
    /// it is durable.
    guids: RwLock<BTreeSet<u64>>,
    salt: RwLock<Option<Salt>>,
    /// Parity is no part of the space that is counted: true of all but the oldest pools.
    net_of_parity: AtomicBool,
    /// Of the tree that is open. Held while that is swapped: who needs both locks this one first,
    /// and has the two of one shape.
    config: RwLock<VdevConfig>,
    tree: RwLock<Arc<Tree>>,
    classes: Classes,
    moved: Moved,
    known: Attached<dyn DedupSource>,
    pub(crate) turns: Turns,
    /// See [`Storage::set_checkpoint`].
    pub(crate) checkpoint: AtomicU64,
    /// Reads that somebody waited for because memory did not have all of it.
    pub(crate) read_waits: Waits,
    read_only: AtomicBool,
    suspension: Suspension,
    /// Steps of workers that are under way.
    watch: Arc<Watch>,
    /// Of the import.
    leash: OnceLock<Arc<Leash>>,
    pub(crate) unflushed: Unflushed,
    reports: Arc<Reports>,
    ahead: Ahead,
    /// Writes ahead for logs.
    pub(crate) stocker: OnceLock<WorkerHandle>,
}

const POISON: &str = "another thread panicked while holding this lock";

impl Storage {
    /// A pool without vdevs and without workers. [`Storage::new`], in `zio::ahead`, starts those
    /// that read ahead.
    pub(crate) fn without_workers(env: Env, cache: Arc<Cache>, pool_guid: u64) -> Storage {
        // Somebody may have read late from the pool when it was closed before.
        cache.forget_pool(pool_guid);
        Storage {
            level2: Level2::new(env.clone(), pool_guid, cache.clone()),
            suspension: Suspension::new(env.clone()),
            watch: Arc::default(),
            leash: OnceLock::new(),
            unflushed: Unflushed::default(),
            reports: Arc::default(),
            env,
            cache,
            pool_guid,
            guids: RwLock::new(BTreeSet::from([pool_guid])),
            salt: RwLock::default(),
            net_of_parity: AtomicBool::new(true),
            config: RwLock::new(VdevConfig::new(VdevKind::Root, 0, pool_guid)),
            tree: RwLock::default(),
            classes: Classes::default(),
            moved: Moved::default(),
            known: Attached::default(),
            turns: Turns::default(),
            checkpoint: AtomicU64::new(0),
            read_waits: Waits::default(),
            read_only: AtomicBool::new(true),
            ahead: Ahead::default(),
            stocker: OnceLock::new(),
        }
    }

    /// Opens the disks of `root` (a vdev of kind root) in place of those open now, which are closed
    /// first. What is measured of new vdevs is in [`Storage::config`] afterwards. No top-level vdev
    /// may be missing.
    pub fn open_tree(&self, root: &VdevConfig, intent: OpenIntent) -> Result<(), OpenError> {
        self.open_tree_without(root, intent, Tolerated::default())
    }

    /// As [`Storage::open_tree`], but some top-level vdevs may be missing.
    pub fn open_tree_without(
        &self,
        root: &VdevConfig,
        intent: OpenIntent,
        tolerated: Tolerated,
    ) -> Result<(), OpenError> {
        *self.tree.write().expect(POISON) = Arc::default();
        let mut root = root.clone();
        let mut tree = open::open(&self.env, self.pool_guid, &mut root, intent, tolerated)?;
        tree.reports = self.reports.clone();
        self.read_only.store(intent == OpenIntent::ReadOnly, Relaxed);
        let mut config = self.config.write().expect(POISON);
        *self.tree.write().expect(POISON) = Arc::new(tree);
        *config = root;
        Ok(())
    }

    /// Whether the tree that is open lacks top-level vdevs that may not be missing.
    pub fn refuse_missing(&self, tolerated: Tolerated) -> Result<(), OpenError> {
        self.tree().refuse_missing(tolerated)
    }

    /// Closes all disks, once I/O under way is done. Waits for nobody else.
    pub fn close(&self) {
        self.level2.close();
        *self.tree.write().expect(POISON) = Arc::default();
        self.classes.detach_source();
        self.moved.source.detach();
        self.known.detach();
        self.cache.forget_pool(self.pool_guid);
    }

    fn guids(&self) -> Vec<u64> {
        self.guids.read().expect(POISON).iter().copied().collect()
    }

    pub fn pool_guid(&self) -> u64 {
        self.pool_guid
    }

    pub fn env(&self) -> &Env {
        &self.env
    }

    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Reads only as far as this allows. Once, before anything is read.
    pub fn heed(&self, leash: Arc<Leash>) {
        assert!(self.leash.set(leash).is_ok(), "a pool is imported once");
    }

    /// Whether so many blocks may be read.
    pub(crate) fn may_read(&self, blocks: usize) -> bool {
        self.leash.get().is_none_or(|leash| leash.take(blocks as u64))
    }

    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    pub(crate) fn level2(&self) -> &Level2 {
        &self.level2
    }

    pub(crate) fn classes(&self) -> &Classes {
        &self.classes
    }

    pub(crate) fn moved(&self) -> &Moved {
        &self.moved
    }

    pub(crate) fn known(&self) -> &Attached<dyn DedupSource> {
        &self.known
    }

    pub(crate) fn tree(&self) -> Arc<Tree> {
        self.tree.read().expect(POISON).clone()
    }

    /// The pool's salt, which skein, edonr and blake3 need.
    pub fn set_salt(&self, salt: Salt) {
        *self.salt.write().expect(POISON) = Some(salt);
    }

    /// The pool's salt, where it has one.
    pub fn salt(&self) -> Option<Salt> {
        self.salt.read().expect(POISON).clone()
    }

    /// Whether the pool counts space without what parity costs.
    pub fn is_net_of_parity(&self) -> bool {
        self.net_of_parity.load(Relaxed)
    }

    /// Whether some of its vdevs have parity, so that it makes a difference.
    pub fn has_parity(&self) -> bool {
        const SECTOR: u64 = 512;
        let tree = self.tree();
        let real = tree.tops.iter().filter(|top| top.vdev.kind != Kind::Hole);
        real.map(|top| top.deflate(SECTOR)).any(|worth| worth != SECTOR)
    }

    /// How the pool counts space.
    pub fn set_net_of_parity(&self, net: bool) {
        self.net_of_parity.store(net, Relaxed);
    }

    /// What so many bytes on a top-level vdev count for.
    fn worth(&self, top: &Top, asize: u64) -> u64 {
        if self.is_net_of_parity() { top.deflate(asize) } else { asize }
    }

    pub fn is_writable(&self) -> bool {
        !self.read_only.load(Relaxed)
    }

    pub fn suspension(&self) -> &Suspension {
        &self.suspension
    }

    pub fn is_suspended(&self) -> bool {
        self.suspension.is_suspended()
    }

    /// Errors of disks, as they come.
    pub fn reports(&self) -> &Arc<Reports> {
        &self.reports
    }

    // ── Vdevs ──

    /// The top-level vdevs, by number.
    pub fn tops(&self) -> Vec<TopVdevInfo> {
        let config = self.config.read().expect(POISON);
        open::infos(&self.tree(), &config)
    }

    /// All open disks.
    pub fn leaves(&self) -> Vec<LeafHandle> {
        let tree = self.tree();
        let handle = |leaf: &Arc<Leaf>| {
            let top = tree.top(leaf.top)?;
            LeafHandle::new(leaf, top.ashift, top.is_log)
        };
        tree.leaves.iter().filter_map(handle).collect()
    }

    /// Takes a disk out of service because of errors; `false` if the pool cannot do without it.
    pub fn fault(&self, guid: u64) -> bool {
        self.set_leaf_state(guid, VdevState::Faulted)
    }

    /// Shows a disk as degraded: it gave wrong bytes too often. `false` if it is shown so already,
    /// or there is none.
    pub fn wear(&self, guid: u64) -> bool {
        let tree = self.tree();
        let leaf = tree.leaf(guid).filter(|leaf| !leaf.is_worn());
        leaf.inspect(|leaf| leaf.set_worn(true)).is_some()
    }

    /// The vdev tree as it should be written to the MOS; its top-level vdevs go into labels.
    pub fn config(&self) -> VdevConfig {
        self.config.read().expect(POISON).clone()
    }

    /// Changes what is written back: metaslab array and shift, ZAP objects, creation txg, paths.
    /// The tree's shape stays.
    pub fn update_config(&self, f: impl FnOnce(&mut VdevConfig)) {
        f(&mut self.config.write().expect(POISON));
    }

    /// States and counters, the root's first.
    pub fn status(&self) -> VdevStat {
        let config = self.config.read().expect(POISON);
        let tree = self.tree();
        let children = tree.tops.iter().zip(&config.children);
        let stat = |(top, config): (&Top, &VdevConfig)| {
            let stat = tree.stat(&top.vdev, config);
            VdevStat { size: if config.kind.is_leaf() { stat.size } else { top.asize }, ..stat }
        };
        let mut root = VdevStat { children: children.map(stat).collect(), ..VdevStat::blank(&config) };
        open::sum_children(&mut root);
        root
    }

    /// Sets a disk's state by guid; `false` if there is none or the pool cannot do without it.
    pub fn set_leaf_state(&self, guid: u64, state: VdevState) -> bool {
        let tree = self.tree();
        let index = tree.leaves.iter().position(|leaf| leaf.guid == guid);
        index.is_some_and(|index| tree.lose(index, state))
    }

    /// Looks which disks are there no more, though nobody has asked anything of them, and takes
    /// them out of use.
    pub fn notice_absent(&self) {
        let tree = self.tree();
        for leaf in tree.leaves.iter().filter(|leaf| leaf.is_usable()) {
            if leaf.device().is_some_and(|device| !device.disk.is_there()) {
                leaf.counters.gone.store(true, Relaxed);
            }
        }
        fault_bad_disks(&tree);
    }

    /// A disk that was behind has everything now.
    pub fn caught_up(&self, guid: u64) {
        if let Some(leaf) = self.tree().leaf(guid) {
            leaf.set_behind(false);
        }
    }

    /// Takes note that a disk lacks writes that others have: it is read last from now on, and gets
    /// no uberblock. `false` if there is none, or the others do not have everything either.
    pub fn mark_behind(&self, guid: u64) -> bool {
        let tree = self.tree();
        let Some(index) = tree.leaves.iter().position(|leaf| leaf.guid == guid) else { return false };
        tree.leaves[index].is_whole() && tree.set_behind(index)
    }

    /// What a block of one sector counts for, on the top-level vdev where that is most: no block
    /// counts for less, in each of its copies, and none of so many sectors for more than so many
    /// times this.
    pub fn largest_sector(&self) -> u64 {
        let tree = self.tree();
        let real = tree.tops.iter().filter(|top| top.vdev.kind != Kind::Hole && !top.is_log);
        real.map(|top| self.worth(top, top.asize_of(1 << top.ashift))).max().unwrap_or(512)
    }

    /// What so many blocks of `size` bytes count for, where that is most: on a vdev with parity,
    /// blocks that fill its rows badly count for more than they hold (`volsize_from_vdevs` in
    /// lib/libzfs/libzfs_dataset.c).
    pub fn largest_volume(&self, blocks: u64, size: u64) -> u64 {
        const USUAL_BLOCK: u64 = 128 << 10;
        let tree = self.tree();
        let raidz = tree.tops.iter().filter(|top| matches!(top.vdev.kind, Kind::Raidz(_)));
        let worth = raidz.map(|top| {
            let usual = u128::from(top.asize_of(USUAL_BLOCK) >> 9);
            let taken = u128::from(blocks) * u128::from(top.asize_of(size)) / usual;
            u64::try_from(taken * u128::from(USUAL_BLOCK >> 9)).unwrap_or(u64::MAX)
        });
        worth.max().filter(|worth| *worth > 0).unwrap_or_else(|| blocks.saturating_mul(size))
    }

    /// Disks that do not have everything that was written, others of their top-level vdev having
    /// it: absent, faulted or behind.
    pub fn behind(&self) -> Vec<u64> {
        let tree = self.tree();
        let redundant = tree.tops.iter().filter(|top| !matches!(top.vdev.kind, Kind::Leaf(_)));
        let leaves = redundant.flat_map(|top| top.vdev.leaves()).map(|leaf| &tree.leaves[leaf]);
        leaves.filter(|leaf| !leaf.is_whole()).map(|leaf| leaf.guid).collect()
    }

    /// Sets the error counters of one disk or cache device to zero, or of all.
    pub fn clear_errors_of(&self, guid: Option<u64>) {
        let tree = self.tree();
        let wanted = tree.leaves.iter().filter(|leaf| guid.is_none_or(|guid| guid == leaf.guid));
        wanted.for_each(|leaf| leaf.clear_errors());
        self.level2.clear_errors(guid);
    }

    // ── Cache devices ──

    /// Takes a cache device out of use and closes it; `false` if there is none of this guid.
    pub fn remove_cache(&self, guid: u64) -> bool {
        self.level2.remove(guid)
    }

    /// Opens a known cache device once more; `None` if there is none of this guid.
    pub fn reopen_cache(&self, guid: u64) -> Option<Result<(), env::DiskError>> {
        self.level2.reopen(guid)
    }

    /// Takes a cache device out of use until it is opened again; `false` if there is none of this
    /// guid.
    pub fn offline_cache(&self, guid: u64) -> bool {
        self.level2.offline(guid)
    }

    /// All of them, in the order they were added.
    pub fn cache_devices(&self) -> Vec<CacheDevice> {
        self.level2.devices()
    }

    /// How fast cache devices are filled. Takes effect with the next round.
    pub fn set_cache_limits(&self, limits: L2Limits) {
        self.level2.set_limits(limits);
    }

    // ── Reading and writing: see zio ──

    pub(crate) fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// A read was, or was not, what its object's earlier ones led to expect.
    pub fn foresaw(&self, what: Foresight) {
        self.cache.ahead.saw(what);
    }

    /// While it lives, no block that could be read when it was taken is overwritten.
    pub fn epoch(&self) -> EpochGuard {
        self.classes.epoch()
    }

    pub(crate) fn flush_on(&self, tree: &Tree, tops: &[u32]) -> Result<(), WriteError> {
        let flushed = flush::flush(&self.env, tree, tops);
        if flushed.iter().all(|(_, durable)| *durable) { Ok(()) } else { Err(WriteError::Io) }
    }

    /// What counts as used: asize less what parity costs, in ZFS's fixed ratio
    /// (`bp_get_dsize_sync`). For disks and mirrors that is asize; a DVA on no known vdev counts
    /// nothing.
    pub fn dsize(&self, bp: &BlkPtr) -> u64 {
        let tree = self.tree();
        let worth = |dva: &Dva| tree.top(dva.vdev).map_or(0, |top| self.worth(top, dva.asize));
        bp.dvas().iter().map(worth).sum()
    }

    /// What can be allocated now for anything but logs, parity left out.
    pub fn deflated_free(&self) -> u64 {
        let tree = self.tree();
        let tops = tree.tops.iter().filter(|top| !top.is_log && !self.classes.is_apart(top.id));
        let free = |id| {
            let space = self.vdev_space(id)?;
            Some(space.capacity.saturating_sub(space.allocated).saturating_sub(space.deferred))
        };
        tops.filter_map(|top| Some(self.worth(top, free(top.id)?))).sum()
    }

    /// Bytes that datasets can have, with what they have: the pool's space less what parity costs.
    /// Of devices set apart only what is in use: nobody can count on the rest
    /// (`spa_update_dspace`).
    pub fn deflated_capacity(&self) -> u64 {
        let tree = self.tree();
        let tops = tree.tops.iter().filter(|top| !top.is_log);
        let counts = |id| {
            let space = self.vdev_space(id)?;
            Some(if self.classes.is_apart(id) { space.allocated } else { space.capacity })
        };
        tops.filter_map(|top| Some(self.worth(top, counts(top.id)?))).sum()
    }

    // ── Space ──

    /// Who reads space maps. Allocation needs one.
    pub fn attach_space(&self, source: Arc<dyn SpaceMapSource>) {
        self.classes.attach_source(&source);
    }

    /// Opens a top-level vdev for allocation: of log blocks alone if the tree says that it is a
    /// log, of what it was set apart for if it was; not for holes. `known` may be shorter than
    /// `ms_count`: missing metaslabs are empty. Panics if there is no such vdev.
    pub fn init_metaslabs(&self, vdev: u32, ms_shift: u32, ms_count: u64, known: Vec<MetaslabSummary>) {
        let tree = self.tree();
        let top = tree.top(vdev).expect("a top-level vdev of the open tree");
        assert!(ms_count << ms_shift <= top.asize, "metaslabs beyond the end of the vdev");
        let (ashift, geometry) = (top.ashift, top.vdev.clone());
        let spec = GroupSpec {
            vdev,
            ashift,
            metaslab_shift: ms_shift,
            metaslab_count: ms_count,
            summaries: known,
            to_asize: Arc::new(move |psize| geometry.asize(ashift, psize)),
        };
        let bias = self.config.read().expect(POISON).children[vdev as usize].bias;
        let class = match bias {
            _ if top.is_log => &self.classes.log,
            Bias::None => &self.classes.normal,
            Bias::Special => &self.classes.special,
            Bias::Dedup => &self.classes.dedup,
        };
        class.add_group(spec);
    }

    /// What the space maps lack of groups up to `txg`, since the last call. A group after it may be
    /// open and have placed blocks of its intent log: those are told when its turn comes.
    pub fn take_changes(&self, txg: u64) -> Vec<SpaceChange> {
        self.classes.take_changes(txg)
    }

    /// All that is allocated in a metaslab but for changes not taken yet, for condensing; `None`
    /// when not loaded.
    pub fn allocated_segments(&self, vdev: u32, metaslab: u64) -> Option<Vec<Segment>> {
        self.classes.allocated_segments(vdev, metaslab)
    }

    /// After the uberblock of `txg`.
    pub fn sync_done(&self, txg: u64) {
        self.classes.sync_done(txg);
        self.level2.sync_done(txg);
    }

    /// How much memory of freed blocks may wait for the next writes: what the cache does not use,
    /// or what writers may still make dirty, for as it becomes clean the cache gives up as much.
    pub fn keep_spare(&self, for_writers: u64) {
        let wanted = self.cache.room().max(usize::try_from(for_writers).unwrap_or(SPARE_MAX));
        env::aligned::keep_spare(wanted.clamp(SPARE_MIN, SPARE_MAX));
    }

    /// Of the pool; logs do not count.
    pub fn space(&self) -> SpaceStat {
        self.classes.space()
    }

    /// Space of one top-level vdev, if it takes part in allocation.
    pub fn vdev_space(&self, vdev: u32) -> Option<SpaceStat> {
        self.classes.vdev_space(vdev)
    }

    /// Percent; of one top-level vdev or of the pool without its logs.
    pub fn fragmentation(&self, vdev: Option<u32>) -> Option<u8> {
        self.classes.fragmentation(vdev)
    }

    /// Whether freed space still waits for its time.
    pub fn has_deferred(&self) -> bool {
        self.classes.has_deferred()
    }
}

impl Drop for Storage {
    /// Lets workers see that they have nobody to work for. It may be one of them that drops: none
    /// is waited for.
    fn drop(&mut self) {
        self.ahead.wake();
        self.level2.wake();
        self.reports.wake();
        self.cache.ahead.end(self.ahead.waiting());
    }
}

#[cfg(test)]
mod tests;
