//! Disks that take the time a known device would: a wrapper over any [`Disks`], for benchmarks and
//! demonstrations.
//!
//! A [`DeviceModel`] says how a device behaves; [`crate::model_disk::timeline`] turns requests and
//! the clock into the moment each is done; the wrapper does the transfer on the disk below and then
//! sleeps until that moment. So a set-up of spinning disks and log devices can be measured on a
//! machine that has none, in real time, and a test with a clock of its own computes the same times
//! in none.
//!
//! Invariants:
//! - Only time is added: data, results and errors are those of the disk below.
//! - The moments depend on the requests and the clock alone: nothing is random.
//! - What a device is doing belongs to its path, not to a handle: opening it again finds the arm
//!   where it was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::clock::{Clock, Nanos};
use crate::disk::{Disk, DiskError, DiskIo, Disks, OpenMode, SectorSize};
use crate::lock;

mod timeline;

use timeline::Timeline;

/// How a device behaves. Times are spans, rates bytes a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeviceModel {
    /// Commands it works on at the same time. What moves an arm or the medium is done one by one
    /// all the same.
    pub lanes: usize,
    /// From the command to the first byte of a read, without positioning.
    pub read_latency: Nanos,
    /// From the command to its acknowledgement, for a write that the write cache takes, without the
    /// transfer.
    pub write_latency: Nanos,
    /// Between host and the device's memory.
    pub link_rate: u64,
    /// To and from the medium.
    pub media_rate: u64,
    /// What it takes to get to any place but the one right under the head: seek and rotation. Zero:
    /// no arm.
    pub positioning: Nanos,
    /// Unwritten data that the volatile cache holds, in bytes and in separate runs. A write beyond
    /// waits for the medium.
    pub cache_bytes: u64,
    pub cache_runs: usize,
    /// What a flush takes on top of writing the cache out, when there was anything to write.
    pub flush_latency: Nanos,
    /// What was acknowledged survives a power cut: a flush has nothing to do.
    pub keeps_cache: bool,
    /// Bytes behind the last ones read that the device still has in its memory; it reads on into
    /// them by itself.
    pub read_buffer: u64,
}

impl DeviceModel {
    /// A desktop disk of 7,200 revolutions a minute with its write cache on: 8.33 ms for a
    /// revolution, which is also what an average seek and half a revolution take; 100 MB/s. So one
    /// writer who flushes each write gets 120 a second, so do random reads and random writes, and a
    /// flush of many neighbouring writes takes one revolution.
    pub const fn sata_disk() -> DeviceModel {
        DeviceModel {
            lanes: 32,
            read_latency: Nanos::from_micros(50),
            write_latency: Nanos::from_micros(50),
            link_rate: 300_000_000,
            media_rate: 100_000_000,
            positioning: Nanos::from_micros(8_333),
            cache_bytes: 32 << 20,
            cache_runs: 64,
            flush_latency: Nanos(0),
            keeps_cache: false,
            read_buffer: 8 << 20,
        }
    }

    /// A consumer SATA SSD without power-loss protection: 10,000 random reads a second for one
    /// reader, 80,000 for many, 500 MB/s, and 1.5 ms for a flush that has something to make
    /// durable.
    pub const fn consumer_ssd() -> DeviceModel {
        DeviceModel {
            lanes: 8,
            read_latency: Nanos::from_micros(92),
            write_latency: Nanos::from_micros(30),
            link_rate: 550_000_000,
            media_rate: 500_000_000,
            positioning: Nanos(0),
            cache_bytes: 256 << 20,
            cache_runs: usize::MAX,
            flush_latency: Nanos::from_micros(1_500),
            keeps_cache: false,
            read_buffer: 0,
        }
    }

    /// Takes no time for anything.
    pub const fn instant() -> DeviceModel {
        DeviceModel {
            lanes: 1024,
            read_latency: Nanos(0),
            write_latency: Nanos(0),
            link_rate: u64::MAX,
            media_rate: u64::MAX,
            positioning: Nanos(0),
            cache_bytes: u64::MAX,
            cache_runs: usize::MAX,
            flush_latency: Nanos(0),
            keeps_cache: true,
            read_buffer: 0,
        }
    }

    /// A battery-backed RAM drive as sold for logs: 20 µs a command, 1 GB/s, and nothing to flush.
    pub const fn ram_log() -> DeviceModel {
        DeviceModel {
            lanes: 8,
            read_latency: Nanos::from_micros(20),
            write_latency: Nanos::from_micros(20),
            link_rate: 1_000_000_000,
            media_rate: 1_000_000_000,
            ..DeviceModel::instant()
        }
    }
}

/// What a modelled device has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ModelCounts {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    /// Times the arm had to find a place.
    pub positionings: u64,
    /// Time in which arm or medium were at work.
    pub busy: Nanos,
}

/// Disks of which some are models. Cloning shares them.
#[derive(Clone)]
pub struct ModelDisks {
    inner: Arc<dyn Disks>,
    clock: Arc<dyn Clock>,
    devices: Arc<Mutex<BTreeMap<String, Arc<Mutex<Timeline>>>>>,
}

impl ModelDisks {
    /// Over these disks, with the time of `clock`, which should be the one of the same `Env`.
    pub fn new(inner: Arc<dyn Disks>, clock: Arc<dyn Clock>) -> ModelDisks {
        ModelDisks { inner, clock, devices: Arc::default() }
    }

    /// From its next opening on, the disk of this path behaves as `model`; all others are as fast
    /// as they are.
    pub fn set(&self, path: &str, model: DeviceModel) {
        lock(&self.devices).insert(path.to_owned(), Arc::new(Mutex::new(Timeline::new(model))));
    }

    /// What the device has done; zeros for a disk that is no model.
    pub fn counts(&self, path: &str) -> ModelCounts {
        lock(&self.devices).get(path).map(|device| lock(device).counts()).unwrap_or_default()
    }
}

impl Disks for ModelDisks {
    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError> {
        let inner = self.inner.open(path, mode)?;
        match lock(&self.devices).get(path) {
            None => Ok(inner),
            Some(device) => {
                Ok(Arc::new(ModelDisk { inner, clock: self.clock.clone(), device: device.clone() }))
            }
        }
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, DiskError> {
        self.inner.list(dir)
    }
}

struct ModelDisk {
    inner: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    device: Arc<Mutex<Timeline>>,
}

impl ModelDisk {
    fn sleep_until(&self, done: Nanos) {
        loop {
            let left = done.since(self.clock.now());
            if left == Nanos(0) {
                return;
            }
            self.clock.sleep(left);
        }
    }
}

impl Disk for ModelDisk {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn sector_size(&self) -> SectorSize {
        self.inner.sector_size()
    }

    fn places_on_write(&self) -> bool {
        self.inner.places_on_write()
    }

    fn hole(&self, offset: u64, len: u64) -> Option<(u64, u64)> {
        self.inner.hole(offset, len)
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        let now = self.clock.now();
        self.inner.submit(batch);
        // In the order of their places, as a device orders its queue.
        let mut good: Vec<(u64, u64, bool)> = batch
            .iter()
            .filter(|io| io.result.is_ok() && !io.is_empty())
            .map(|io| (io.offset, io.len() as u64, io.is_write()))
            .collect();
        good.sort_unstable();
        let mut device = lock(&self.device);
        let moment = |(offset, len, is_write)| {
            if is_write { device.write(now, offset, len) } else { device.read(now, offset, len) }
        };
        let done = good.into_iter().map(moment).max().unwrap_or(now);
        drop(device);
        self.sleep_until(done);
    }

    fn flush(&self) -> Result<(), DiskError> {
        let now = self.clock.now();
        self.inner.flush()?;
        let done = lock(&self.device).flush(now);
        self.sleep_until(done);
        Ok(())
    }

    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        self.inner.discard(offset, len)
    }
}

#[cfg(test)]
mod tests;
