//! Datasets in core: an object set, what its blocks cost, and what it may still take.
//!
//! While an object set is written, each block that is born or given up is only added up
//! ([`Pending`]); when it is written, the sums go to the dataset, its directory and the directories
//! above at once. That gives the same numbers as block by block, because both reservations count by
//! the larger of two sums.
//!
//! A block born after the previous snapshot is freed at once; an older one goes to the dead list,
//! for the snapshot still has it. The head of a clone notes both comings and goings in its
//! livelist, if it has one.
//!
//! A dataset in core is unique. Its numbers are written to the meta object set as they change, in
//! syncing context. Locks: `state`, then `pending` or a directory's. Source:
//! module/zfs/dsl_dataset.c.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use dmu::{Admission, BlockOwner, DmuError, Holds, LostBlock, Objset, ReadOnlyAdmission, SyncTx, Tx, TxHold};
use env::lock;
use ondisk::dsl_dataset::{DslDatasetPhys, FLAG_INCONSISTENT};
use ondisk::feature;
use ondisk::objset::{FLAG_PROJECTQUOTA_COMPLETE, FLAG_USEROBJACCOUNTING_COMPLETE};
use ondisk::version;
use ondisk::zbookmark::Zbookmark;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};
use storage::metaslab::DEFER_TXGS;

use super::Dsl;
use super::bookmark::{self, Counting};
use super::deadlist::Deadlist;
use super::dir::{Dir, HeadLimits, NoRoom, Reserved, Used};
use super::livelist::Livelist;
use crate::Result;
use crate::ddt;
use crate::resume::Point;
use crate::sums::{Sums, sums_of};
use crate::zil::{self, Zil};

/// Blocks above this size are a feature's.
const OLD_MAX_BLOCK: u64 = 128 << 10;
/// What a block of metadata is taken for in an estimate.
const META_ESTIMATE: u64 = 16 << 10;
/// Copies: no block takes more than so many times its size in whole sectors.
const INFLATION: u64 = 3;
/// Blocks for a list kept in memory before they are written down.
const BATCH: usize = 1 << 16;

/// An open dataset. `Arc`; unique for its object.
pub struct Dataset {
    pub(crate) core: Arc<Core>,
    objset: Arc<Objset>,
    /// Where it can be written.
    zil: Option<Arc<Zil>>,
    forgotten: AtomicBool,
    /// How many [`LongHold`](super::LongHold)s there are.
    pub(super) long_holds: AtomicU64,
}

/// The part that the object set knows as its owner and gate.
pub(crate) struct Core {
    pub object: u64,
    pub dir: Arc<Dir>,
    pub is_snapshot: bool,
    dsl: Weak<Dsl>,
    state: Mutex<State>,
    pending: Mutex<Pending>,
    /// How far a resumable receive has come, by group.
    received: Mutex<BTreeMap<u64, Point>>,
    /// What went wrong while blocks were counted; told when they are settled.
    failed: Mutex<Option<crate::PoolError>>,
    readonly: OnceLock<&'static str>,
    /// The last group in which a transaction might have given space back.
    freeing: AtomicU64,
    /// What is written is looked up in tables of deduplication.
    dedups: AtomicBool,
}

pub(crate) struct State {
    pub phys: DslDatasetPhys,
    /// Per-dataset features in use, by name.
    pub features: Vec<&'static str>,
    pub deadlist: Option<Deadlist>,
    /// The one that `around` names, once something was noted in it.
    pub livelist: Option<Livelist>,
    /// `refquota` and `refreservation`, 0 without.
    pub quota: u64,
    pub reserved: u64,
    pub around: Around,
}

/// What a dataset in core knows of others: changed by [`Dsl::refresh_heads`], and where its
/// livelist is given up.
pub(crate) struct Around {
    /// The previous snapshot's own `(prev_snap_txg, next_snap_obj)`.
    pub prev: Option<(u64, u64)>,
    pub bookmarks: Vec<Counting>,
    /// Blocks born up to here belong to the origin of a clone.
    pub origin_txg: u64,
    pub livelist: Option<u64>,
}

/// What changed since the last settling.
#[derive(Default)]
struct Pending {
    /// All references that came and went.
    references: Sums,
    /// Of these, what only this dataset had.
    unique: Sums,
    dead: Vec<BlkPtr>,
    /// For the livelist: blocks that were born, or with `true` are gone, in the order of that.
    live: Vec<(BlkPtr, bool)>,
    /// Bytes that only the previous snapshot has now.
    prev_unique: i64,
    /// Bytes that only snapshots of this dataset have now.
    to_snap: i64,
    /// What each of the bookmarks saw.
    bookmarks: Vec<Sums>,
    features: Vec<&'static str>,
    changed: bool,
}

impl Dataset {
    pub(crate) fn new(core: Arc<Core>, objset: Arc<Objset>) -> Arc<Dataset> {
        let dsl = core.dsl().ok().filter(|_| core.readonly.get().is_none() && !core.is_snapshot);
        let zil = dsl.map(|dsl| {
            Zil::new(zil::Parts {
                env: dsl.parts.env.clone(),
                storage: dsl.parts.store().clone(),
                txgs: dsl.parts.txgs.clone(),
                objset: objset.clone(),
                dataset: core.object,
                stats: dsl.parts.zil_stats.clone(),
                // A snapshot with the head of a log in it would mislead programs of that time.
                may_begin: {
                    let version = dsl.parts.version.clone();
                    Arc::new(move || version.load(Ordering::Acquire) >= version::FAST_SNAPSHOTS)
                },
                pool_can_spare: {
                    let dsl = core.dsl.clone();
                    Arc::new(move |size| dsl.upgrade().is_some_and(|dsl| dsl.can_spare(size)))
                },
            })
        });
        Arc::new(Dataset {
            core,
            objset,
            zil,
            forgotten: AtomicBool::new(false),
            long_holds: AtomicU64::new(0),
        })
    }

    /// It was destroyed, or became another one's: its number leads to nothing, or to what has to be
    /// opened anew.
    pub fn is_forgotten(&self) -> bool {
        self.forgotten.load(Ordering::Acquire)
    }

    pub(super) fn forget(&self) {
        self.forgotten.store(true, Ordering::Release);
    }

    /// Somebody uses it.
    pub(crate) fn has_long_holds(&self) -> bool {
        self.long_holds.load(Ordering::Acquire) > 0
    }

    /// Somebody uses it, or it has an intent log that must be written first: it stays what it is.
    pub(crate) fn is_busy(&self) -> bool {
        self.has_long_holds() || self.zil().is_some_and(|zil| zil.has_chain())
    }

    /// Its intent log; `None` where it cannot be written.
    pub fn zil(&self) -> Option<&Arc<Zil>> {
        self.zil.as_ref()
    }

    /// Something in memory is not on disk, or what is on disk is not known there.
    pub(crate) fn is_in_use(&self) -> bool {
        self.is_dirty() || self.zil().is_some_and(|zil| zil.has_chain())
    }

    pub fn objset(&self) -> &Arc<Objset> {
        &self.objset
    }

    /// Its object in the meta object set; `objsetid` to users.
    pub fn object(&self) -> u64 {
        self.core.object
    }

    pub fn guid(&self) -> u64 {
        lock(&self.core.state).phys.guid
    }

    /// The number that file handles and `statvfs` carry.
    pub fn fsid(&self) -> u64 {
        lock(&self.core.state).phys.fsid_guid
    }

    pub fn is_snapshot(&self) -> bool {
        self.core.is_snapshot
    }

    /// `pool/fs`, or `pool/fs@snap`.
    pub fn name(&self) -> Result<String> {
        self.core.dsl()?.dataset_name(self.core.object)
    }

    /// A receive into it has not finished.
    pub fn is_inconsistent(&self) -> bool {
        lock(&self.core.state).phys.flags & FLAG_INCONSISTENT != 0
    }

    /// May not be written: a snapshot, a read-only pool, or a dataset whose bookkeeping is not
    /// built; says why.
    pub fn readonly(&self) -> Option<&'static str> {
        self.core.readonly.get().copied()
    }

    /// Its effective properties.
    pub fn props(&self) -> Result<crate::prop::FsProps> {
        self.core.dsl()?.fs_props(self.core.object)
    }

    /// What `statvfs` says: referenced bytes and bytes still to be had.
    pub fn space(&self) -> Result<(u64, u64)> {
        let dsl = self.core.dsl()?;
        let state = lock(&self.core.state);
        let (referenced, unique) = (state.phys.referenced_bytes, state.phys.unique_bytes);
        let (quota, reserved) = (state.quota, state.reserved);
        drop(state);
        let room = self.core.dir.available(dsl.pool_size(), None, false);
        Ok((referenced, available(room, referenced, unique, quota, reserved)))
    }

    pub(crate) fn is_dirty(&self) -> bool {
        let dsl = self.core.dsl();
        let open = dsl.map_or(0, |dsl| dsl.parts.txgs.open());
        (open.saturating_sub(2)..=open).any(|txg| self.objset.is_dirty(txg))
    }
}

/// `available` of a dataset in a directory with so much room.
pub(crate) fn available(room: u64, referenced: u64, unique: u64, quota: u64, reserved: u64) -> u64 {
    let room = room.saturating_add(reserved.saturating_sub(unique));
    if quota == 0 { room } else { room.min(quota.saturating_sub(referenced)) }
}

impl Core {
    pub fn new(dsl: &Arc<Dsl>, object: u64, dir: Arc<Dir>, state: State) -> Arc<Core> {
        Arc::new(Core {
            object,
            dir,
            is_snapshot: state.phys.is_snapshot(),
            dsl: Arc::downgrade(dsl),
            state: Mutex::new(state),
            pending: Mutex::default(),
            received: Mutex::default(),
            failed: Mutex::new(None),
            readonly: OnceLock::new(),
            freeing: AtomicU64::new(0),
            dedups: AtomicBool::new(false),
        })
    }

    pub fn dsl(&self) -> Result<Arc<Dsl>> {
        self.dsl.upgrade().ok_or(crate::PoolError::Suspended)
    }

    pub fn state<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut lock(&self.state))
    }

    /// Nobody may write it, because …
    pub fn refuse_writes(&self, why: &'static str) {
        let _ = self.readonly.set(why);
    }

    pub fn admission(self: &Arc<Core>) -> Arc<dyn Admission> {
        if self.readonly.get().is_some() { ReadOnlyAdmission::shared() } else { self.clone() }
    }

    pub(super) fn set_dedups(&self, dedups: bool) {
        self.dedups.store(dedups, Relaxed);
    }

    /// Numbers changed by others are taken over.
    pub fn reload(&self, phys: &DslDatasetPhys) {
        lock(&self.state).phys = phys.clone();
    }

    /// A resumable receive has come so far, with what it wrote in this group.
    pub fn received(&self, point: Point, txg: u64) {
        lock(&self.received).insert(txg, point);
    }

    /// Counts what has been pending, with the object set's new root if it has one.
    pub fn settle(&self, dsl: &Dsl, root: Option<BlkPtr>, tx: &Tx) -> Result<()> {
        let pending = std::mem::take(&mut *lock(&self.pending));
        if let Some(error) = lock(&self.failed).take() {
            return Err(error);
        }
        let received = lock(&self.received).remove(&tx.touch());
        if let Some(point) = received {
            dsl.put_point(self.object, point, tx)?;
        }
        if !pending.changed && root.is_none() {
            return Ok(());
        }
        self.bury(dsl, &pending.dead, tx)?;
        self.track(dsl, &pending.live, tx)?;
        let (phys, delta) = {
            let mut state = lock(&self.state);
            let delta = state.reserve_delta(pending.unique.used);
            state.add(&pending);
            if let Some(root) = root {
                state.phys.bp = root;
            }
            (state.phys.clone(), delta)
        };
        dsl.mos.put_dataset(self.object, &phys, tx)?;
        let up = Sums { used: delta, ..pending.unique };
        self.dir.used_moving(&dsl.mos, up, pending.unique.used, (Used::RefReserve, Used::Head), tx)?;
        self.dir.transfer(&dsl.mos, pending.to_snap, (Used::Head, Used::Snap), tx)?;
        if pending.prev_unique != 0 {
            dsl.edit_dataset(phys.prev_snap_obj, tx, |prev| {
                prev.unique_bytes = prev.unique_bytes.wrapping_add_signed(pending.prev_unique);
            })?;
        }
        self.tell_bookmarks(dsl, &pending.bookmarks, tx)?;
        for name in pending.features {
            self.activate(dsl, name, tx)?;
        }
        let has_livelist = self.state(|state| state.around.livelist.is_some());
        if has_livelist && dsl.is_little_shared(&self.dir, phys.referenced_bytes) {
            dsl.remove_livelist(&self.dir, tx)?;
        }
        Ok(())
    }

    fn bury(&self, dsl: &Dsl, dead: &[BlkPtr], tx: &Tx) -> Result<()> {
        if dead.is_empty() {
            return Ok(());
        }
        let mut state = lock(&self.state);
        let object = state.phys.deadlist_obj;
        if state.deadlist.is_none() {
            state.deadlist = Some(Deadlist::open(dsl, object)?);
        }
        state.deadlist.as_mut().map_or(Ok(()), |deadlist| deadlist.insert(dsl, dead, tx))
    }

    fn track(&self, dsl: &Dsl, changes: &[(BlkPtr, bool)], tx: &Tx) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.state(|state| match state.livelist(dsl)? {
            Some(livelist) => livelist.record(dsl, changes, tx),
            None => Ok(()),
        })
    }

    /// What a livelist has to know of a block that comes or goes, written down when there is much
    /// of it.
    fn live(&self, dsl: &Dsl, bp: &BlkPtr, gone: bool, txg: u64) {
        let (is_kept, origin_txg) =
            self.state(|state| (state.around.livelist.is_some(), state.around.origin_txg));
        if !is_kept || bp.birth() <= origin_txg || bp.is_embedded() {
            return;
        }
        let mut pending = lock(&self.pending);
        pending.live.push((*bp, gone));
        if pending.live.len() >= BATCH {
            let live = std::mem::take(&mut pending.live);
            drop(pending);
            self.note_failure(self.track(dsl, &live, &Tx::syncing(txg)));
        }
    }

    /// What fails while blocks are counted is told when they are settled.
    fn note_failure(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            *lock(&self.failed) = Some(error);
        }
    }

    fn tell_bookmarks(&self, dsl: &Dsl, freed: &[Sums], tx: &Tx) -> Result<()> {
        if freed.is_empty() {
            return Ok(());
        }
        let Some(zap) = bookmark::object(dsl, self.object)? else { return Ok(()) };
        let mut state = lock(&self.state);
        for (bookmark, freed) in state.around.bookmarks.iter_mut().zip(freed) {
            if *freed != Sums::default() {
                bookmark.add(dsl, zap, *freed, tx)?;
            }
        }
        Ok(())
    }

    /// The dataset uses a feature from now on: recorded in its ZAP and in the pool's count.
    pub fn activate(&self, dsl: &Dsl, name: &'static str, tx: &Tx) -> Result<()> {
        if self.is_snapshot || lock(&self.state).features.contains(&name) || !dsl.features().is_enabled(name)
        {
            return Ok(());
        }
        dsl.activate_feature(self.object, name, tx)?;
        lock(&self.state).features.push(name);
        Ok(())
    }

    /// Asks the dataset's own limits; what they mean for its directory. While something may yet be
    /// given back, whoever is over the limit waits for that (`dsl_dataset_check_quota`).
    fn head_limits(&self, bytes: u64, netfree: bool, synced: u64) -> std::result::Result<HeadLimits, NoRoom> {
        let in_flight = self.dir.to_write();
        let state = lock(&self.state);
        let mut limits = HeadLimits::default();
        if state.reserved > state.phys.unique_bytes {
            limits.unused_reserve = state.reserved - state.phys.unique_bytes;
            let delta = state.reserve_delta((bytes + in_flight) as i64);
            limits.from_reserve = bytes - bytes.min(delta.max(0) as u64);
        }
        if !netfree
            && state.quota != 0
            && state.phys.referenced_bytes.saturating_add(in_flight) >= state.quota
        {
            let is_settled = in_flight == 0 && self.freeing.load(Ordering::Relaxed) <= synced;
            let full = is_settled && state.phys.referenced_bytes >= state.quota;
            return Err(if full { NoRoom::Full(DmuError::Quota) } else { NoRoom::Wait });
        }
        Ok(limits)
    }

    fn reserve(
        &self,
        dsl: &Dsl,
        bytes: u64,
        netfree: bool,
        txg: u64,
    ) -> std::result::Result<Reserved, NoRoom> {
        let head = self.head_limits(bytes, netfree, dsl.parts.txgs.synced())?;
        let reserved = self.dir.reserve(bytes, netfree, head, dsl.pool_room(netfree), txg)?;
        if netfree {
            self.freeing.fetch_max(txg, Ordering::Relaxed);
        }
        Ok(reserved)
    }
}

impl State {
    /// The livelist, opened.
    pub(super) fn livelist(&mut self, dsl: &Dsl) -> Result<Option<&mut Livelist>> {
        let Some(object) = self.around.livelist else { return Ok(None) };
        if self.livelist.is_none() {
            self.livelist = Some(Livelist::open(dsl, object)?);
        }
        Ok(self.livelist.as_mut())
    }

    /// How much of a change in unique bytes the directory sees, the refreservation taken into
    /// account.
    fn reserve_delta(&self, delta: i64) -> i64 {
        let unique = self.phys.unique_bytes;
        let after = unique.saturating_add_signed(delta).max(self.reserved);
        after.wrapping_sub(unique.max(self.reserved)) as i64
    }

    fn add(&mut self, pending: &Pending) {
        let phys = &mut self.phys;
        phys.referenced_bytes = phys.referenced_bytes.wrapping_add_signed(pending.references.used);
        phys.compressed_bytes = phys.compressed_bytes.wrapping_add_signed(pending.references.comp);
        phys.uncompressed_bytes = phys.uncompressed_bytes.wrapping_add_signed(pending.references.uncomp);
        phys.unique_bytes = phys.unique_bytes.wrapping_add_signed(pending.unique.used);
    }
}

impl BlockOwner for Core {
    fn lost(&self, block: &LostBlock) {
        let Ok(dsl) = self.dsl() else { return };
        let place = Zbookmark::new(self.object, block.object, i64::from(block.level), block.blkid);
        dsl.parts.errlog.log(place, block.birth);
    }

    fn born(&self, bp: &BlkPtr, tx: &SyncTx) {
        if bp.is_hole() || bp.is_redacted() {
            return;
        }
        let Ok(dsl) = self.dsl() else { return };
        self.live(&dsl, bp, false, tx.txg);
        let sums = sums_of(bp, dsl.dsize(bp));
        let mut pending = lock(&self.pending);
        pending.changed = true;
        pending.references.add(sums);
        pending.unique.add(sums);
        for name in features_of(bp).into_iter().flatten() {
            if !pending.features.contains(&name) {
                pending.features.push(name);
            }
        }
    }

    fn kill(&self, bp: &BlkPtr, tx: &SyncTx) {
        if bp.is_hole() || bp.is_redacted() {
            return;
        }
        let Ok(dsl) = self.dsl() else { return };
        self.live(&dsl, bp, true, tx.txg);
        let sums = sums_of(bp, dsl.dsize(bp));
        let state = lock(&self.state);
        let around = &state.around;
        let (prev_txg, prev, origin_txg) = (state.phys.prev_snap_txg, around.prev, around.origin_txg);
        let mut pending = lock(&self.pending);
        pending.changed = true;
        pending.references.add(sums.negated());
        pending.bookmarks.resize(around.bookmarks.len(), Sums::default());
        for (bookmark, freed) in around.bookmarks.iter().zip(&mut pending.bookmarks) {
            if bookmark.saw(bp.birth()) {
                freed.add(sums);
            }
        }
        drop(state);
        if bp.birth() > prev_txg {
            pending.unique.add(sums.negated());
            drop(pending);
            dsl.parts.frees.free(bp);
            return;
        }
        pending.dead.push(*bp);
        if prev.is_some_and(|(before, next)| next == self.object && bp.birth() > before) {
            pending.prev_unique += sums.used;
        }
        if bp.birth() > origin_txg {
            pending.to_snap += sums.used;
        }
        if pending.dead.len() >= BATCH {
            let dead = std::mem::take(&mut pending.dead);
            drop(pending);
            self.note_failure(self.bury(&dsl, &dead, &Tx::syncing(tx.txg)));
        }
    }
}

/// Features that only a block of this shape needs.
fn features_of(bp: &BlkPtr) -> [Option<&'static str>; 3] {
    let checksum = match bp.checksum_kind() {
        Ok(ChecksumKind::Sha512) => Some("sha512"),
        Ok(ChecksumKind::Skein) => Some("skein"),
        Ok(ChecksumKind::EdonR) => Some("edonr"),
        Ok(ChecksumKind::Blake3) => Some("blake3"),
        _ => None,
    };
    let zstd = matches!(bp.compression(), Ok(CompressKind::Zstd)).then_some("zstd_compress");
    [(bp.lsize() > OLD_MAX_BLOCK).then_some("large_blocks"), checksum, zstd]
}

/// Features that an object set uses by how it counts and by the size of its dnodes.
pub(crate) fn features_in_use(objset: &Objset) -> Vec<&'static str> {
    let flags = objset.flags();
    let uses = [
        ("userobj_accounting", flags & FLAG_USEROBJACCOUNTING_COMPLETE != 0),
        ("project_quota", flags & FLAG_PROJECTQUOTA_COMPLETE != 0),
        ("large_dnode", objset.policy().dnode_slots > 1),
    ];
    uses.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name).collect()
}

/// The per-dataset features recorded in a dataset's ZAP.
pub(crate) fn recorded_features(dsl: &Dsl, object: u64) -> Result<Vec<&'static str>> {
    if !dsl.mos.is_zapified(object)? {
        return Ok(Vec::new());
    }
    let fields = dsl.mos.entries(object)?;
    let features = fields.iter().filter_map(|(name, _)| feature::by_guid(name));
    Ok(features.filter(|feature| feature.is(feature::PER_DATASET)).map(|feature| feature.name).collect())
}

impl Admission for Core {
    fn assign(&self, want: &Holds, wait: bool) -> std::result::Result<TxHold, DmuError> {
        if self.readonly.get().is_some() {
            return Err(DmuError::ReadOnly);
        }
        let dsl = self.dsl.upgrade().ok_or(DmuError::Suspended)?;
        let sector = dsl.parts.store().largest_sector();
        let meta = META_ESTIMATE.next_multiple_of(sector) * want.meta_blocks;
        let blocks = want.write.div_ceil(want.block_size);
        let bytes = INFLATION * (blocks * want.block_size.next_multiple_of(sector) + meta);
        let mut put_off = 0;
        loop {
            let hold = dsl.parts.txgs.enter(wait)?;
            let txg = hold.txg();
            if bytes == 0 {
                return Ok(hold);
            }
            match self.reserve(&dsl, bytes, want.netfree, txg) {
                Ok(reserved) => {
                    return Ok(TxHold::new(txg, move || {
                        drop(reserved);
                        drop(hold);
                    }));
                }
                Err(NoRoom::Full(error)) => return Err(error),
                // Each group frees something for later itself: what was freed before the first try
                // has come back.
                Err(NoRoom::Soon) if put_off > DEFER_TXGS => return Err(DmuError::NoSpace),
                Err(NoRoom::Wait | NoRoom::Soon) if !wait => return Err(DmuError::Busy),
                Err(no_room) => {
                    put_off += u64::from(no_room == NoRoom::Soon);
                    drop(hold);
                    dsl.parts.txgs.wait_synced(txg)?;
                }
            }
        }
    }

    fn dirtied(&self, txg: u64, bytes: u64, changed: u64) {
        if let Some(dsl) = self.dsl.upgrade() {
            if bytes > 0 {
                let sector = dsl.parts.store().largest_sector();
                self.dir.dirtied(INFLATION * bytes.next_multiple_of(sector), txg);
            }
            // The group will hold a leaf of a table in memory for each block.
            let beside = if bytes > 0 && self.dedups.load(Relaxed) { ddt::LEAF } else { 0 };
            dsl.parts.txgs.dirtied(txg, bytes + beside, changed);
        }
    }

    fn written(&self, txg: u64, bytes: u64) {
        if let Some(dsl) = self.dsl.upgrade() {
            dsl.parts.txgs.written(txg, bytes);
        }
    }
}

#[cfg(test)]
mod tests;
