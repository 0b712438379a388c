//! One disk: where its partition lies, how it is doing, what has been done to it.
//!
//! A leaf is *usable* while it is open and neither offline nor faulted. A disk that has vanished is
//! given up in [`crate::flight`], which knows if the pool can do without it; whether one that errs
//! is, is decided above this crate by how often it does ([`super::report`]). Here errors are only
//! counted.
//!
//! A leaf that missed a write is *behind* rather than *whole*, whatever its state: it is written as
//! before, but read only when nobody else has the bytes, and gets no uberblock any more. Only a
//! resilver makes it whole again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use env::{Disk, DiskError, Env, OpenMode};
use ondisk::label;

use super::dtl::Dtl;
use super::status::{LeafIo, VdevState};
use crate::counters::Counters;
use crate::labels;
use crate::leaf_queue::shared_flush::SharedFlush;
use crate::leaf_queue::{LeafQueue, Workers};

/// An I/O that starts within so many bytes of the last one's end costs less than a seek.
const NEAR: u64 = 1 << 20;
/// What a read from a disk that is behind costs more than any from one that is whole.
pub(crate) const BEHIND: u64 = 1 << 40;

/// An open disk of the pool, for whoever writes labels.
#[derive(Clone)]
pub struct LeafHandle {
    pub guid: u64,
    /// Number of the top-level vdev it belongs to, and that one's ashift.
    pub top: u32,
    pub ashift: u32,
    /// Whether that one holds intent logs.
    pub is_log: bool,
    pub device: labels::Device,
    /// Neither offline nor faulted.
    pub usable: bool,
    /// And not behind.
    pub whole: bool,
}

impl LeafHandle {
    /// A handle, if the leaf is open.
    pub fn new(leaf: &Leaf, ashift: u32, is_log: bool) -> Option<LeafHandle> {
        let device = leaf.device()?;
        let (usable, whole) = (leaf.is_usable(), leaf.is_whole());
        Some(LeafHandle { guid: leaf.guid, top: leaf.top, ashift, is_log, device, usable, whole })
    }
}

/// One disk of the pool. Clones share the disk, its state and its counts.
#[derive(Clone)]
pub struct Leaf {
    pub guid: u64,
    pub path: String,
    /// Number of the top-level vdev it belongs to.
    pub top: u32,
    /// The device, the partition on it, and its queue; `None` if it could not be opened.
    device: Option<Arc<Device>>,
    state: Arc<AtomicU8>,
    /// Lacks writes that others have.
    behind: Arc<AtomicBool>,
    /// Gave wrong bytes too often: it is used as before, and shown as degraded.
    worn: Arc<AtomicBool>,
    pub counters: Arc<Counters>,
    /// What it lacks.
    pub dtl: Arc<Dtl>,
}

struct Device {
    disk: Arc<SharedFlush>,
    queue: Arc<LeafQueue>,
    /// Stops the queue's workers when the leaf goes.
    _workers: Workers,
    /// Bytes before the partition.
    base: u64,
    /// Bytes of the partition. It may grow.
    size: AtomicU64,
}

impl Leaf {
    /// A leaf on an open device.
    pub fn open(env: &Env, guid: u64, path: &str, top: u32, device: labels::Device) -> Leaf {
        let labels::Device { disk, base, size } = device;
        let mut leaf = Leaf::absent(guid, path, top, VdevState::Online);
        let disk = Arc::new(SharedFlush::new(env.clone(), disk, leaf.counters.clone()));
        let queue = Arc::new(LeafQueue::new(disk.clone(), env.clock.clone(), leaf.counters.clone()));
        let workers = Workers::spawn(env, &queue);
        let size = AtomicU64::new(size);
        leaf.device = Some(Arc::new(Device { disk, queue, _workers: workers, base, size }));
        leaf
    }

    /// A leaf without device.
    pub fn absent(guid: u64, path: &str, top: u32, state: VdevState) -> Leaf {
        Leaf {
            guid,
            path: path.to_owned(),
            top,
            device: None,
            state: Arc::new(AtomicU8::new(state as u8)),
            behind: Arc::default(),
            worn: Arc::default(),
            counters: Arc::default(),
            dtl: Arc::default(),
        }
    }

    /// The same disk, state and counts under another guid: as when a mirror's last side takes the
    /// mirror's place.
    pub fn renamed(&self, guid: u64) -> Leaf {
        Leaf { guid, ..self.clone() }
    }

    pub fn state(&self) -> VdevState {
        VdevState::from_raw(self.state.load(Relaxed))
    }

    /// Takes effect for I/O issued from now on.
    pub fn set_state(&self, state: VdevState) {
        self.state.store(state as u8, Relaxed);
    }

    /// Whether it has a device, however that is.
    pub fn is_open(&self) -> bool {
        self.device.is_some()
    }

    pub fn is_usable(&self) -> bool {
        self.device.is_some() && self.state() == VdevState::Online
    }

    /// Usable, and has taken every write.
    pub fn is_whole(&self) -> bool {
        self.is_usable() && !self.is_behind()
    }

    /// Whether it lacks writes that others have.
    pub fn is_behind(&self) -> bool {
        self.behind.load(Relaxed)
    }

    /// Takes effect for I/O issued from now on.
    pub fn set_behind(&self, behind: bool) {
        self.behind.store(behind, Relaxed);
    }

    /// Whether it gave wrong bytes too often.
    pub fn is_worn(&self) -> bool {
        self.worn.load(Relaxed)
    }

    /// What an operator sees: one that gave wrong bytes too often is not called online.
    pub fn shown_state(&self) -> VdevState {
        match self.state() {
            VdevState::Online if self.is_worn() => VdevState::Degraded,
            state => state,
        }
    }

    pub fn set_worn(&self, worn: bool) {
        self.worn.store(worn, Relaxed);
    }

    /// Whether only opening it anew could help.
    pub fn needs_reopening(&self) -> bool {
        let c = &self.counters;
        self.device.is_some() && (c.gone.load(Relaxed) || c.lost_writes.load(Relaxed))
    }

    /// Opens the device anew, under the path it had, in place of the handle that is open. Its
    /// labels must say one of the guids of `pools`; another disk of another size at this path is
    /// not taken. Who was faulted has missed writes.
    pub fn reopen(&self, env: &Env, pools: &[u64]) -> Result<(), DiskError> {
        let device = self.device.as_ref().ok_or(DiskError::Gone)?;
        // The old handle may have the device to itself.
        device.disk.close();
        let disk = env.disks.open(&self.path, OpenMode::ReadWrite)?;
        let found = labels::Device::locate(disk)?;
        if (found.base, found.size) != (device.base, self.size()) || !found.was_member(pools, self.guid) {
            return Err(DiskError::NotFound);
        }
        device.disk.replace(found.disk);
        self.counters.gone.store(false, Relaxed);
        self.counters.lost_writes.store(false, Relaxed);
        self.counters.was_away.fetch_or(!self.is_whole(), Relaxed);
        if self.state() == VdevState::Faulted {
            self.set_behind(true);
            self.set_state(VdevState::Online);
        }
        Ok(())
    }

    /// The first so many writes that it took, and that it refused, are settled.
    pub fn settle(&self, taken: u64, refused: u64) {
        self.counters.taken.settle(taken);
        self.counters.refused.settle(refused);
    }

    /// What came of a repair of `len` bytes of a block of this birth.
    pub fn note_repair(&self, birth: u64, len: u64, done: bool) {
        if done {
            self.counters.scan_processed.fetch_add(len, Relaxed);
        } else {
            self.dtl.note_unrepaired(birth);
        }
    }

    /// The partition, for its labels.
    pub fn device(&self) -> Option<labels::Device> {
        let device = self.device.as_ref()?;
        Some(labels::Device { disk: device.disk.clone(), base: device.base, size: self.size() })
    }

    /// Bytes of the partition; 0 if not open.
    pub fn size(&self) -> u64 {
        self.device.as_ref().map_or(0, |device| device.size.load(Relaxed))
    }

    /// Looks whether the device has grown; if so the labels at its old end count no more, and there
    /// are none at the new one.
    pub fn refresh(&self) -> bool {
        let Some(device) = &self.device else { return false };
        let before = self.size();
        device.disk.refresh();
        if let Ok(now) = labels::Device::locate(device.disk.clone())
            && now.base == device.base
        {
            device.size.fetch_max(now.size, Relaxed);
        }
        self.size() > before
    }

    /// Bytes that can be allocated.
    pub fn asize(&self) -> u64 {
        label::allocatable_size(self.size())
    }

    /// log2 of the sector that suits it best, at least 9; 0 if not open.
    pub fn ashift(&self) -> u64 {
        self.device.as_ref().map_or(0, |device| {
            let sector = device.disk.sector_size();
            u64::from(sector.physical.max(sector.logical).max(512).ilog2())
        })
    }

    /// The queue, and where `len` bytes at `offset` of the allocatable space lie on the device.
    pub fn locate(&self, offset: u64, len: u64) -> Result<(&Arc<LeafQueue>, u64), DiskError> {
        let device = self.device.as_ref().ok_or(DiskError::Gone)?;
        match offset.checked_add(len) {
            Some(end) if end <= self.asize() => Ok((&device.queue, device.base + label::START + offset)),
            _ => Err(DiskError::OutOfRange),
        }
    }

    pub fn queue(&self) -> Option<&Arc<LeafQueue>> {
        self.device.as_ref().map(|device| &device.queue)
    }

    /// What a read here would cost: I/Os before it, doubled, and one for a seek
    /// (`vdev_mirror_load`).
    pub fn load(&self, offset: u64) -> Option<u64> {
        let device = self.device.as_ref().filter(|_| self.is_usable())?;
        let last = self.counters.last_end.load(Relaxed);
        let target = (device.base + label::START).saturating_add(offset);
        let seek = u64::from(last.abs_diff(target) > NEAR);
        let behind = if self.is_whole() { 0 } else { BEHIND };
        Some(2 * self.counters.pending.load(Relaxed) + seek + behind)
    }

    /// Makes everything written durable; together with whoever wants that at the same time.
    pub fn flush(&self) -> Result<(), DiskError> {
        let device = self.device.as_ref().ok_or(DiskError::Gone)?;
        let result = device.disk.flush();
        if result.is_err() {
            self.counters.write_errors.fetch_add(1, Relaxed);
        }
        result
    }

    /// Sets the error counts to zero.
    pub fn clear_errors(&self) {
        let c = &self.counters;
        for count in [&c.read_errors, &c.write_errors, &c.checksum_errors, &c.in_a_row] {
            count.store(0, Relaxed);
        }
        self.set_worn(false);
    }

    /// What has been done so far.
    pub fn io(&self) -> LeafIo {
        let c = &self.counters;
        let mut tally = Box::new(c.tallies.snapshot());
        if let Some(queue) = self.queue() {
            (tally.waiting, tally.active) = queue.depths();
        }
        LeafIo {
            reads: c.reads.get(),
            writes: c.writes.get(),
            read_bytes: c.read_bytes.get(),
            write_bytes: c.write_bytes.get(),
            flushes: c.flushes.get(),
            flushes_shared: c.flushes_shared.get(),
            pending: c.pending.load(Relaxed),
            read_latency: c.read_latency.snapshot(),
            write_latency: c.write_latency.snapshot(),
            tally,
        }
    }
}
