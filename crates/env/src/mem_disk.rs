//! Disks in memory, for unit tests: named buffers with counters.
//!
//! They never fail and forget nothing; [`crate::fault`] adds failures, the simulator has a disk of
//! its own that knows written from durable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::disk::{Disk, DiskError, DiskIo, DiskOp, Disks, OpenMode, SectorSize};
use crate::lock;

/// How often something was done to one disk.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DiskCounts {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub flushes: u64,
    pub discards: u64,
    /// Calls of `submit`.
    pub batches: u64,
}

/// A set of named disks in memory. Cloning shares them.
#[derive(Clone, Default)]
pub struct MemDisks(Arc<Mutex<BTreeMap<String, Arc<Platter>>>>);

struct Platter {
    bytes: Mutex<Vec<u8>>,
    counts: Mutex<DiskCounts>,
    /// Number of exclusive opens: 0 or 1.
    exclusive: AtomicU64,
    sector: SectorSize,
    /// Of a sparse disk: which chunks were written.
    placed: Option<Mutex<BTreeSet<u64>>>,
}

/// What a sparse disk gives a place at once.
const CHUNK: u64 = 4 << 10;

impl MemDisks {
    pub fn new() -> MemDisks {
        MemDisks::default()
    }

    /// Adds a zeroed disk with 512-byte sectors, replacing one of that name (open handles keep the
    /// old one).
    pub fn add(&self, path: &str, size: u64) {
        self.add_image(path, vec![0; size as usize]);
    }

    /// Adds a disk with these contents and 512-byte sectors.
    pub fn add_image(&self, path: &str, bytes: Vec<u8>) {
        self.insert(path, bytes, SectorSize { logical: 512, physical: 512 }, false);
    }

    /// Adds a zeroed disk with the given sectors. One that is sparse gives bytes their place when
    /// they are first written.
    pub fn add_with(&self, path: &str, size: u64, sector: SectorSize, is_sparse: bool) {
        self.insert(path, vec![0; size as usize], sector, is_sparse);
    }

    fn insert(&self, path: &str, bytes: Vec<u8>, sector: SectorSize, is_sparse: bool) {
        let platter = Platter {
            bytes: Mutex::new(bytes),
            counts: Mutex::default(),
            exclusive: AtomicU64::new(0),
            sector,
            placed: is_sparse.then(Mutex::default),
        };
        lock(&self.0).insert(path.to_owned(), Arc::new(platter));
    }

    /// Takes a disk away: it can be opened no more; open handles keep working.
    pub fn remove(&self, path: &str) {
        lock(&self.0).remove(path);
    }

    /// A copy of the contents. Panics if there is no such disk.
    pub fn image(&self, path: &str) -> Vec<u8> {
        lock(&self.platter(path).bytes).clone()
    }

    /// Changes contents behind the engine's back: damage, or a repair. Panics if there is no such
    /// disk.
    pub fn edit(&self, path: &str, f: impl FnOnce(&mut [u8])) {
        f(&mut lock(&self.platter(path).bytes));
    }

    /// What has been done to the disk so far. Panics if there is no such disk.
    pub fn counts(&self, path: &str) -> DiskCounts {
        *lock(&self.platter(path).counts)
    }

    fn platter(&self, path: &str) -> Arc<Platter> {
        lock(&self.0).get(path).unwrap_or_else(|| panic!("no disk {path}")).clone()
    }
}

impl Disks for MemDisks {
    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn Disk>, DiskError> {
        let platter = lock(&self.0).get(path).ok_or(DiskError::NotFound)?.clone();
        let size = lock(&platter.bytes).len() as u64;
        let read_only = mode == OpenMode::ReadOnly;
        if !read_only && platter.exclusive.swap(1, Ordering::AcqRel) != 0 {
            return Err(DiskError::Busy);
        }
        Ok(Arc::new(MemDisk { platter, size, read_only }))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, DiskError> {
        let prefix = format!("{}/", dir.trim_end_matches('/'));
        let in_dir = |path: &&String| path.strip_prefix(&prefix).is_some_and(|rest| !rest.contains('/'));
        Ok(lock(&self.0).keys().filter(in_dir).cloned().collect())
    }
}

struct MemDisk {
    platter: Arc<Platter>,
    size: u64,
    read_only: bool,
}

impl MemDisk {
    fn transfer(&self, io: &mut DiskIo<'_>) -> Result<(), DiskError> {
        io.check(self.size, self.read_only)?;
        let range = io.offset as usize..io.offset as usize + io.len();
        let mut bytes = lock(&self.platter.bytes);
        let mut counts = lock(&self.platter.counts);
        match &mut io.op {
            DiskOp::Read(buf) => {
                buf.copy_from_slice(&bytes[range]);
                counts.reads += 1;
                counts.read_bytes += buf.len() as u64;
            }
            write => {
                let data = write.payload();
                if let Some(placed) = self.platter.placed.as_ref().filter(|_| !range.is_empty()) {
                    lock(placed).extend(range.start as u64 / CHUNK..=(range.end as u64 - 1) / CHUNK);
                }
                bytes[range].copy_from_slice(&data);
                counts.writes += 1;
                counts.write_bytes += data.len() as u64;
            }
        }
        Ok(())
    }
}

impl Disk for MemDisk {
    fn size(&self) -> u64 {
        self.size
    }

    fn sector_size(&self) -> SectorSize {
        self.platter.sector
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        lock(&self.platter.counts).batches += 1;
        for io in batch {
            io.result = self.transfer(io);
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        if self.read_only {
            return Err(DiskError::ReadOnly);
        }
        lock(&self.platter.counts).flushes += 1;
        Ok(())
    }

    fn places_on_write(&self) -> bool {
        self.platter.placed.is_some()
    }

    fn hole(&self, offset: u64, len: u64) -> Option<(u64, u64)> {
        let placed = lock(self.platter.placed.as_ref()?);
        let end = offset.checked_add(len)?.min(self.size);
        let start = (offset / CHUNK..end.div_ceil(CHUNK)).find(|chunk| !placed.contains(chunk))?;
        let next = placed.range(start..).next().map_or(end, |chunk| end.min(chunk * CHUNK));
        let start = offset.max(start * CHUNK);
        Some((start, next - start))
    }

    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        if self.read_only {
            return Err(DiskError::ReadOnly);
        }
        let end = offset.checked_add(len).filter(|&end| end <= self.size).ok_or(DiskError::OutOfRange)?;
        lock(&self.platter.bytes)[offset as usize..end as usize].fill(0);
        lock(&self.platter.counts).discards += 1;
        Ok(())
    }
}

impl Drop for MemDisk {
    fn drop(&mut self) {
        if !self.read_only {
            self.platter.exclusive.store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests;
