//! Cache devices: what falls out of memory is kept a while longer on a fast disk.
//!
//! ```text
//!   cold ends of the cache's lists ─feed─▶ ring on a device ─▶ index in memory
//!   miss in memory ─▶ index ─▶ device ─▶ checksum of the block pointer ─▶ reader
//!                       │ not there, or any failure
//!                       └─▶ pool
//! ```
//! One worker a pool ([`crate::zio::feed`]) writes: some bytes a second, from the blocks that will
//! be evicted next (metadata before data, MFU before MRU), in the form they have in the pool. Every
//! so many blocks it writes a log block that names them, so that after a restart [`rebuild`] finds
//! them again. The format is OpenZFS's: see `ondisk::l2arc`.
//!
//! Invariants:
//! - A device is never trusted: its bytes are judged by the block pointer the reader came with, and
//!   whatever fails is read from the pool instead. A name is DVA and birth, so space that was freed
//!   and used anew has another name.
//! - Losing a device, at any moment, loses speed only. One that errs again and again is given up.
//! - Without devices the only cost is a flag looked at on a miss.
//! - The lock `state` is never held during I/O, nor while a shard of the cache is locked.
//!
//! Source: module/zfs/arc.c, "Level 2 ARC".

mod device;
mod feed;
mod flight;
mod index;
mod rebuild;
mod ring;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use env::{DiskError, Env, Nanos, WorkerHandle, lock};
use ondisk::BlkPtr;
use ondisk::l2arc::{CONTENTS_METADATA, LIST_MFU, LIST_MFU_GHOST};

use super::stats::{L2Counts, add, sub};
use super::{Cache, Key};
use crate::policy::{Keep, is_metadata};
use crate::vdev::config::VdevConfig;
use crate::vdev::status::{VdevStat, VdevState};
use device::Device;
pub(crate) use feed::Pool;
use index::{ENTRY, Index, Name, Slot};
use ring::Ring;

/// How often devices are filled, and how far the writer looks; how much is a tunable. The defaults
/// are OpenZFS's.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// So many times what is written is looked at, of every list.
    pub headroom: u64,
    /// Between rounds; and after one that wrote more than half of what it may.
    pub interval: Duration,
    pub interval_min: Duration,
    /// Share of the memory cache that the index may take.
    pub index_percent: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            headroom: 8,
            interval: Duration::from_secs(1),
            interval_min: Duration::from_millis(200),
            index_percent: 33,
        }
    }
}

/// Fewest blocks the index may hold, however small the cache in memory.
const INDEX_MIN: usize = 4096;

/// What a cache device is opened as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheIntent {
    /// It gets a label and is empty.
    New,
    /// Its label must name it; what it holds is looked for in the background.
    Known,
}

/// A cache device as an operator sees it.
#[derive(Clone, Debug)]
pub struct CacheDevice {
    pub stat: VdevStat,
    pub ashift: u32,
    /// Bytes that hold something.
    pub allocated: u64,
    /// Bytes there are for blocks.
    pub size: u64,
}

/// The cache devices of one pool.
pub(crate) struct Level2 {
    env: Env,
    pool: u64,
    cache: Arc<Cache>,
    /// Whether any device can be read or written: all that others look at when there is none.
    active: AtomicBool,
    /// The last transaction group that is on disk. Blocks of later ones may still be written over
    /// in place.
    synced: AtomicU64,
    state: Mutex<State>,
    feeder: Mutex<Option<WorkerHandle>>,
}

#[derive(Default)]
struct State {
    limits: Limits,
    index: Index,
    devices: Vec<Device>,
    /// Numbers given to devices so far.
    numbers: u32,
    /// Whose turn it is to be written.
    turn: usize,
}

impl State {
    fn device(&mut self, number: u32) -> Option<&mut Device> {
        self.devices.iter_mut().find(|device| device.number == number)
    }
}

impl Level2 {
    pub fn new(env: Env, pool: u64, cache: Arc<Cache>) -> Level2 {
        Level2 {
            env,
            pool,
            cache,
            active: AtomicBool::new(false),
            synced: AtomicU64::new(0),
            state: Mutex::default(),
            feeder: Mutex::default(),
        }
    }

    fn counts(&self) -> &L2Counts {
        &self.cache.l2
    }

    pub fn is_active(&self) -> bool {
        self.active.load(Relaxed)
    }

    pub fn limits(&self) -> Limits {
        lock(&self.state).limits
    }

    pub fn set_limits(&self, limits: Limits) {
        lock(&self.state).limits = limits;
    }

    /// Blocks born up to `txg` stay as they are.
    pub fn sync_done(&self, txg: u64) {
        self.synced.fetch_max(txg, Relaxed);
    }

    /// The pointer itself, if a device may have this block; the cache remembers it with the block.
    pub fn source<'a>(&self, bp: &'a BlkPtr, keep: Keep) -> Option<&'a BlkPtr> {
        let fit = || keep.secondary.takes(is_metadata(bp)) && !bp.is_gang() && !bp.uses_crypt();
        (self.is_active() && fit()).then_some(bp)
    }

    /// Whether a device that is in use has the block now.
    pub fn has(&self, key: &Key) -> bool {
        self.is_active() && {
            let state = lock(&self.state);
            let number = state.index.device(&key.into());
            number.is_some_and(|number| {
                state.devices.iter().any(|device| device.number == number && device.ring.is_some())
            })
        }
    }

    // ── Devices ──

    /// Adds a device and starts to use it. Of a new one the configuration learns the ashift. A
    /// known one that cannot be opened, or is not the disk it should be, is listed all the same. If
    /// there is no writer yet, `start` starts it, and is given the moment when its first round is
    /// due.
    pub fn add(
        &self,
        config: &mut VdevConfig,
        intent: CacheIntent,
        start: impl FnOnce(Nanos) -> WorkerHandle,
    ) -> Result<(), DiskError> {
        let (number, limits) = {
            let mut state = lock(&self.state);
            state.numbers += 1;
            (state.numbers, state.limits)
        };
        let device = match Device::open(&self.env, self.pool, number, config, intent) {
            Ok(device) => device,
            Err(error) if intent == CacheIntent::New => return Err(error),
            Err(error) => {
                tracing::warn!(path = config.path, guid = config.guid, %error, "cannot open a cache device");
                Device::absent(number, config)
            }
        };
        lock(&self.state).devices.push(device);
        self.look_who_is_there();
        let mut feeder = lock(&self.feeder);
        match &*feeder {
            Some(feeder) => feeder.wake(),
            None => {
                let due = Nanos(self.env.clock.now().0 + limits.interval.as_nanos() as u64);
                *feeder = Some(start(due));
            }
        }
        Ok(())
    }

    /// Opens a known device once more, if it is not in use; `None` if there is none of this guid.
    pub fn reopen(&self, guid: u64) -> Option<Result<(), DiskError>> {
        let (number, mut config) = {
            let mut state = lock(&self.state);
            let device = state.devices.iter().find(|device| device.config.guid == guid)?;
            if device.ring.is_some() {
                return Some(Ok(()));
            }
            let config = device.config.clone();
            state.numbers += 1;
            (state.numbers, config)
        };
        // The old handle goes first: it holds the disk.
        self.replace(guid, Device::absent(number, &config))?;
        let opened = Device::open(&self.env, self.pool, number, &mut config, CacheIntent::Known);
        let done = opened.map(|device| {
            self.replace(guid, device);
        });
        self.look_who_is_there();
        self.wake();
        Some(done)
    }

    fn replace(&self, guid: u64, device: Device) -> Option<()> {
        let old = {
            let mut state = lock(&self.state);
            let at = state.devices.iter().position(|device| device.config.guid == guid)?;
            self.empty(&mut state, at);
            std::mem::replace(&mut state.devices[at], device)
        };
        drop(old); // Closes the disk, which may wait for its workers.
        Some(())
    }

    /// Stops using a device and closes it; `false` if there is none of this guid.
    pub fn remove(&self, guid: u64) -> bool {
        let taken = {
            let mut state = lock(&self.state);
            let Some(at) = state.devices.iter().position(|device| device.config.guid == guid) else {
                return false;
            };
            self.empty(&mut state, at);
            state.devices.remove(at)
        };
        self.look_who_is_there();
        drop(taken); // Closes the disk, which may wait for its workers.
        true
    }

    /// Takes a device out of use until it is opened again; `false` if there is none of this guid.
    /// What it holds is still counted, though nobody reads it: `l2_size` and its like go down where
    /// something is lost (`arc_kstat_update`).
    pub fn offline(&self, guid: u64) -> bool {
        let taken = {
            let mut state = lock(&self.state);
            let Some(at) = state.devices.iter().position(|device| device.config.guid == guid) else {
                return false;
            };
            let device = &mut state.devices[at];
            if let Some(mut ring) = device.ring.take() {
                self.forget_logs(&mut ring);
            }
            device.rebuild = None;
            device.drop_log();
            device.shut(VdevState::Offline)
        };
        self.look_who_is_there();
        drop(taken); // Closes the disk, which may wait for its workers.
        true
    }

    /// Stops the writer and closes all devices.
    pub fn close(&self) {
        let feeder = lock(&self.feeder).take();
        if let Some(feeder) = feeder {
            feeder.stop_and_join();
        }
        let devices = {
            let mut state = lock(&self.state);
            for at in 0..state.devices.len() {
                self.empty(&mut state, at);
            }
            std::mem::take(&mut state.devices)
        };
        self.active.store(false, Relaxed);
        drop(devices);
    }

    /// Wakes the writer, which sees what there is to do, or that it has nobody to work for any
    /// more.
    pub fn wake(&self) {
        if let Some(feeder) = &*lock(&self.feeder) {
            feeder.wake();
        }
    }

    pub fn devices(&self) -> Vec<CacheDevice> {
        lock(&self.state).devices.iter().map(Device::describe).collect()
    }

    pub fn clear_errors(&self, guid: Option<u64>) {
        let state = lock(&self.state);
        let wanted = state.devices.iter().filter(|device| guid.is_none_or(|guid| guid == device.leaf.guid));
        wanted.for_each(|device| device.leaf.clear_errors());
    }

    fn look_who_is_there(&self) {
        let any = lock(&self.state).devices.iter().any(|device| device.ring.is_some());
        self.active.store(any, Relaxed);
    }

    /// Gives a device up because of errors.
    fn lose(&self, number: u32) {
        {
            let mut state = lock(&self.state);
            let Some(at) = state.devices.iter().position(|device| device.number == number) else { return };
            if state.devices[at].ring.is_none() {
                return;
            }
            self.empty(&mut state, at);
            let device = &mut state.devices[at];
            (device.ring, device.rebuild) = (None, None);
            device.leaf.set_state(VdevState::Faulted);
            add(&self.counts().devices_lost, 1);
            tracing::error!(path = device.leaf.path, guid = device.leaf.guid, "cache device faulted");
        }
        self.look_who_is_there();
    }

    // ── The index; the caller holds `state` ──

    /// Forgets all that a device holds.
    fn empty(&self, state: &mut State, at: usize) {
        let State { index, devices, .. } = state;
        let device = &mut devices[at];
        while let Some(slot) = index.pop_oldest(device.number, &mut device.held, &|_| true) {
            self.uncount(device, &slot);
        }
        if let Some(ring) = &mut device.ring {
            self.forget_logs(ring);
        }
    }

    /// The device's log blocks are of no use any more.
    fn forget_logs(&self, ring: &mut Ring) {
        sub(&self.counts().log_count, ring.logs.len() as u64);
        sub(&self.counts().log_asize, ring.log_asize());
        ring.forget_logs();
    }

    fn count(&self, device: &mut Device, slot: &Slot) {
        device.allocated += device.round_up(slot.prop.psize());
        self.sums(device, slot).for_each(|(count, by)| add(count, by));
        self.cache.lend(ENTRY as i64);
    }

    fn uncount(&self, device: &mut Device, slot: &Slot) {
        device.allocated -= device.round_up(slot.prop.psize());
        self.sums(device, slot).for_each(|(count, by)| sub(count, by));
        self.cache.lend(-(ENTRY as i64));
    }

    /// What a block adds to.
    fn sums(&self, device: &Device, slot: &Slot) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let (counts, prop) = (self.counts(), slot.prop);
        let asize = device.round_up(prop.psize());
        let list = match prop.list() {
            _ if prop.was_prefetched() => &counts.prefetch_asize,
            LIST_MFU | LIST_MFU_GHOST => &counts.mfu_asize,
            _ => &counts.mru_asize,
        };
        let is_metadata = prop.contents() == CONTENTS_METADATA;
        let contents = if is_metadata { &counts.metadata_asize } else { &counts.data_asize };
        let sums = [
            (&counts.blocks, 1),
            (&counts.size, prop.lsize()),
            (&counts.psize, prop.psize()),
            (&counts.asize, asize),
            (list, asize),
            (contents, asize),
            (&counts.header_bytes, ENTRY),
        ];
        sums.into_iter()
    }

    /// Most blocks the index may hold.
    fn index_max(&self, limits: &Limits) -> usize {
        let share = self.cache.limit() as u64 / 100 * limits.index_percent / ENTRY;
        (share as usize).max(INDEX_MIN)
    }

    /// What was at this place is not to be had; whoever was overtaken by the writer forgets
    /// nothing.
    fn forget(&self, name: &Name, number: u32, address: u64) -> bool {
        let mut state = lock(&self.state);
        let State { index, devices, .. } = &mut *state;
        let Some(device) = devices.iter_mut().find(|device| device.number == number) else { return false };
        let here = index.device(name) == Some(number)
            && index.slot(name, &device.held).is_some_and(|slot| slot.address == address);
        if here && let Some(slot) = index.forget(name, &mut device.held) {
            self.uncount(device, &slot);
        }
        here
    }
}

#[cfg(test)]
mod tests;
