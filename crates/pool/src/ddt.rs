//! The tables of deduplication: which blocks are stored, where, and how many pointers lead to each.
//!
//! A table is up to three ZAPs of the meta object set for each checksum, one for each class of
//! entries ([`ondisk::ddt`]). What a transaction group asks for is taken out of the ZAPs into
//! memory (*live*), changed there, and put back once, at the end of the group's first pass: all
//! that comes or goes of deduplicated blocks does so in that pass. Only then a block that nothing
//! leads to any more gives its space back; until then it can be found again.
//!
//! A table may be as large as it likes. What a batch of writes or frees needs of it is read
//! together; a dataset's dirty blocks count with the leafs they are going to change ([`LEAF`]), and
//! a group takes away references in a bounded number of leafs: the rest waits on the list of
//! deferred frees ([`crate::deferred`]), whose space counts as not free yet. References go in the
//! order of their checksums, which is the tables', so that those in one leaf go together.
//!
//! Everything here is the syncing thread's, but for [`Ddt::report`].
//!
//! Sources: module/zfs/ddt.c (`ddt_lookup`, `ddt_sync_flush_entry`, `ddt_sync_update_stats`),
//! ddt_zap.c, ddt_stats.c, zio.c (`zio_ddt_free`). Tables with a log (feature `fast_dedup`) are not
//! built.

pub(crate) mod durable;
mod table;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dmu::Objset;
use dmu::zap::{Zap, ZapParams};
use dmu::{ObjectSpec, Tx};
use env::{Env, Nanos, Quirk, lock};
use ondisk::ddt::{BLOCK_SHIFT, Class, DdtKey, Histogram, Slot, Slots};
use ondisk::object_type::{ObjectType, pool_directory};
use ondisk::{BlkPtr, ChecksumKind};
use stdx::mark::mark;
use storage::{DedupName, DedupSource, Found, Storage};

use crate::Result;
use table::Table;

/// Bytes of a table that a block changes, as far as memory is concerned: entries lie wherever their
/// checksums say.
pub(crate) const LEAF: u64 = 1 << BLOCK_SHIFT;
/// References that one group takes away, and leafs it changes for them: its memory is bounded by
/// both.
const RELEASES: usize = 1 << 17;
const LEAFS: usize = 8192;
/// References under `Quirk::SmallTxg`.
const FEW_RELEASES: usize = 8;
/// The time a group may take for it.
const RELEASE_TIME: Nanos = Nanos::from_millis(500);
/// References that are looked up together.
const TOGETHER: usize = 256;

/// Checksums that tables can be of.
const CHECKSUMS: [ChecksumKind; 5] = [
    ChecksumKind::Sha256,
    ChecksumKind::Sha512,
    ChecksumKind::Skein,
    ChecksumKind::EdonR,
    ChecksumKind::Blake3,
];

/// The tables of one pool.
pub struct Ddt {
    env: Env,
    mos: Arc<Objset>,
    storage: Arc<Storage>,
    state: Mutex<State>,
    shown: Mutex<Shown>,
}

/// What reports are made of, so that nobody who asks waits for the syncing thread.
#[derive(Default)]
struct Shown {
    histogram: Histogram,
    zaps: Vec<Zap>,
}

#[derive(Default)]
struct State {
    tables: BTreeMap<ChecksumKind, Table>,
    /// The ZAP of the histograms; 0 before there is one.
    statistics: u64,
    allowance: Option<Allowance>,
    is_behind: bool,
}

/// What a group may still take away.
struct Allowance {
    references: usize,
    leafs: usize,
    until: Nanos,
}

/// What there is in all tables together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DdtReport {
    pub histogram: Histogram,
    pub entries: u64,
    /// Bytes on disk, all copies counted.
    pub on_disk: u64,
    /// Bytes if all of it were in memory.
    pub in_core: u64,
}

impl DdtReport {
    /// Bytes that pointers see, beyond those that are there.
    pub fn saved(&self) -> u64 {
        saved(&self.histogram)
    }

    /// In hundredths.
    pub fn ratio(&self) -> u64 {
        let total = self.histogram.total();
        total.ref_dsize.saturating_mul(100).checked_div(total.dsize).unwrap_or(100)
    }
}

fn saved(histogram: &Histogram) -> u64 {
    let total = histogram.total();
    total.ref_dsize.saturating_sub(total.dsize)
}

impl Ddt {
    /// Of a new pool.
    pub(crate) fn none(env: &Env, mos: &Arc<Objset>, storage: &Arc<Storage>) -> Arc<Ddt> {
        let ddt = Arc::new(Ddt {
            env: env.clone(),
            mos: mos.clone(),
            storage: storage.clone(),
            state: Mutex::default(),
            shown: Mutex::default(),
        });
        storage.attach_dedup(ddt.clone());
        ddt
    }

    /// Opens the tables that a pool has, and has storage ask for them.
    pub(crate) fn open(
        env: &Env,
        mos: &Arc<Objset>,
        storage: &Arc<Storage>,
        directory: &Zap,
    ) -> Result<Arc<Ddt>> {
        let ddt = Ddt::none(env, mos, storage);
        if let Some(statistics) = directory.find_u64(pool_directory::DDT_STATS)? {
            let mut state = lock(&ddt.state);
            state.statistics = statistics;
            let statistics = Zap::open(mos, statistics)?;
            for checksum in CHECKSUMS {
                if let Some(table) = Table::open(mos, directory, &statistics, checksum)? {
                    state.tables.insert(checksum, table);
                }
            }
            *lock(&ddt.shown) = state.shown();
        }
        Ok(ddt)
    }

    /// As of the last group.
    pub fn report(&self) -> DdtReport {
        let (histogram, zaps) = {
            let shown = lock(&self.shown);
            (shown.histogram.clone(), shown.zaps.clone())
        };
        let mut report = DdtReport { histogram, ..DdtReport::default() };
        for zap in zaps {
            let phys = zap.dnode().phys();
            let blocks: u64 = phys.blkptrs.iter().map(BlkPtr::fill).sum();
            // One that was just given up has none.
            report.entries += zap.count().unwrap_or(0);
            report.on_disk += phys.used_bytes();
            report.in_core += blocks * u64::from(zap.dnode().block_size());
        }
        report
    }

    /// Reads all of the tables, so that memory has them as far as it can.
    pub fn prefetch(&self) -> Result<()> {
        let zaps = lock(&self.shown).zaps.clone();
        for zap in zaps {
            zap.iter().try_for_each(|entry| entry.map(drop))?;
        }
        Ok(())
    }

    /// [`DdtReport::saved`], quickly.
    pub(crate) fn saved(&self) -> u64 {
        saved(&lock(&self.shown).histogram)
    }

    /// Takes away the references that these pointers are, as far as this group may; gives back
    /// those that stay, in the order of the tables.
    pub(crate) fn release(&self, mut bps: Vec<BlkPtr>) -> Vec<BlkPtr> {
        bps.sort_by_cached_key(|bp| bp.checksum()[0]);
        let mut state = lock(&self.state);
        let (mut stay, mut rest) = (Vec::new(), &bps[..]);
        while !rest.is_empty() {
            let allowed = self.allowed(&mut state).min(rest.len());
            if allowed == 0 {
                mark("dedup references wait for the next group");
                state.is_behind = true;
                stay.extend_from_slice(rest);
                break;
            }
            let (together, later) = rest.split_at(allowed);
            self.release_together(&mut state, together, &mut stay);
            rest = later;
        }
        stay
    }

    /// What cannot be looked up stays.
    fn release_together(&self, state: &mut State, bps: &[BlkPtr], stay: &mut Vec<BlkPtr>) {
        let name = |bp: &BlkPtr| Some((bp.checksum_kind().ok()?, DdtKey::of(bp)));
        let leafs = self.load(state, bps.iter().filter_map(name));
        if let Some(allowance) = &mut state.allowance {
            allowance.references -= bps.len();
            allowance.leafs = allowance.leafs.saturating_sub(leafs);
        }
        for bp in bps {
            let Some((checksum, key)) = name(bp) else { continue };
            match state.tables.get_mut(&checksum).and_then(|table| table.live.get_mut(&key)) {
                None => stay.push(*bp),
                Some(entry) => {
                    if !entry.release(bp) {
                        tracing::error!(?bp, "a block that no table knows is not freed: its space is lost");
                    }
                }
            }
        }
    }

    /// References that may be taken away together now.
    fn allowed(&self, state: &mut State) -> usize {
        let small = self.env.quirk(Quirk::SmallTxg);
        let now = self.env.clock.now();
        let allowance = state.allowance.get_or_insert_with(|| Allowance {
            references: if small { FEW_RELEASES } else { RELEASES },
            leafs: LEAFS,
            until: now + RELEASE_TIME,
        });
        let has_time = now < allowance.until && allowance.leafs > 0;
        if has_time { allowance.references.min(TOGETHER) } else { 0 }
    }

    /// Whether references stay that this group was not allowed to take away; asked once a group.
    pub(crate) fn was_behind(&self) -> bool {
        std::mem::take(&mut lock(&self.state).is_behind)
    }

    /// Puts back what is live. What nothing leads to any more goes to `free`; `rose` is told of
    /// blocks that one pointer led to, and more do now.
    pub(crate) fn flush(
        &self,
        free: &mut dyn FnMut(&BlkPtr),
        rose: &mut dyn FnMut(&BlkPtr),
        tx: &Tx,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        state.allowance = None;
        if state.tables.values().all(|table| table.live.is_empty()) {
            return Ok(());
        }
        let directory = Zap::open(&self.mos, pool_directory::OBJECT)?;
        let salt = || ZapParams::salted(self.env.entropy.u64());
        if state.statistics == 0 {
            let spec = ObjectSpec::new(ObjectType::DDT_STATS);
            state.statistics = Zap::create(&self.mos, spec, salt(), tx)?.object();
            directory.add(pool_directory::DDT_STATS, state.statistics, tx)?;
        }
        let cx = table::Cx {
            mos: &self.mos,
            storage: &self.storage,
            directory: &directory,
            statistics: &Zap::open(&self.mos, state.statistics)?,
            salt: &salt,
            tx,
        };
        for table in state.tables.values_mut().filter(|table| !table.live.is_empty()) {
            table.flush(&cx, free, rose)?;
        }
        state.tables.retain(|_, table| !table.is_gone());
        *lock(&self.shown) = state.shown();
        Ok(())
    }

    /// Every entry, as it is on disk.
    pub(crate) fn walk(&self, each: &mut dyn FnMut(ChecksumKind, Class, DdtKey, &Slots)) -> Result<()> {
        let state = lock(&self.state);
        state.tables.values().try_for_each(|table| table.walk(each))
    }

    /// Makes entries live; those that cannot be read do not become so. How many leafs they were
    /// looked for in.
    fn load(&self, state: &mut State, keys: impl Iterator<Item = (ChecksumKind, DdtKey)>) -> usize {
        let mut wanted: BTreeMap<ChecksumKind, Vec<DdtKey>> = BTreeMap::new();
        for (checksum, key) in keys.filter(|(checksum, _)| CHECKSUMS.contains(checksum)) {
            wanted.entry(checksum).or_default().push(key);
        }
        let mut leafs = 0;
        for (checksum, mut keys) in wanted {
            keys.sort_unstable();
            keys.dedup();
            let table = state.tables.entry(checksum).or_insert_with(|| Table::new(checksum));
            leafs += table.load(&self.storage, keys);
        }
        leafs
    }

    fn change(&self, name: &DedupName, change: impl FnOnce(&mut Slot)) {
        let mut state = lock(&self.state);
        let entry = state.tables.get_mut(&name.checksum).and_then(|table| table.live.get_mut(&name.key));
        let entry = entry.expect("it was asked for in this group");
        change(&mut entry.slots[usize::from(name.copies)]);
        entry.changed = true;
    }
}

impl State {
    fn shown(&self) -> Shown {
        let mut shown = Shown::default();
        for table in self.tables.values() {
            table.histograms().for_each(|histogram| shown.histogram.add(histogram));
            shown.zaps.extend(table.zaps().cloned());
        }
        shown
    }
}

impl DedupSource for Ddt {
    fn find(&self, names: &[DedupName]) -> Vec<Found> {
        let mut state = lock(&self.state);
        self.load(&mut state, names.iter().map(|name| (name.checksum, name.key)));
        let find = |name: &DedupName| {
            let entry = state.tables.get(&name.checksum).and_then(|table| table.live.get(&name.key));
            match entry.map(|entry| entry.slots[usize::from(name.copies)]) {
                None => Found::Unknown,
                Some(slot) if slot.is_empty() => Found::New,
                Some(slot) => Found::There(slot),
            }
        };
        names.iter().map(find).collect()
    }

    fn refer(&self, name: &DedupName, references: u64) {
        self.change(name, |slot| slot.references += references);
    }

    fn add(&self, name: &DedupName, bp: &BlkPtr, references: u64) {
        self.change(name, |slot| {
            *slot = Slot { dvas: bp.dvas(), references, birth: bp.physical_birth() };
        });
    }
}
