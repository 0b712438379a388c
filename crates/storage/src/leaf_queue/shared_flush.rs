//! One flush for many: a disk whose flushes are shared by all who want one at the same time.
//!
//! A flush makes durable what was written before it began, so one under way is of no use to whoever
//! has just written. The next one is, and everybody who comes while the first runs can share that:
//!
//! ```text
//!   device    |---- flush 1 ----||---- flush 2 ----|
//!   A  write ─┘ begins 1                             A waits for 1
//!   B         write ──┘ must have 2, begins it       B waits for 2
//!   C          write ─────┘ must have 2              C waits for 2, which B (or C) begins
//! ```
//! Flushes are numbered. A caller may rely on the first that is begun after it came. Whoever finds
//! none running and has not been served begins it; nobody waits for a thread of ours. A flush that
//! failed says nothing about what was lost: all later ones of this handle fail too (see
//! [`env::disk`]).
//!
//! Here, too, a device that went and came back gets its new handle, so that all who hold this one
//! need not care.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};

use env::{Disk, DiskError, DiskIo, Env, SectorSize, lock};

use crate::counters::Counters;

pub struct SharedFlush {
    env: Env,
    disk: RwLock<Arc<dyn Disk>>,
    counters: Arc<Counters>,
    state: Mutex<Tickets>,
    changed: Condvar,
}

#[derive(Default)]
struct Tickets {
    /// Number of the newest flush that was begun, and of the newest that is over.
    begun: u64,
    over: u64,
    failed: Option<DiskError>,
}

impl Tickets {
    fn is_running(&self) -> bool {
        self.begun > self.over
    }

    fn result(&self) -> Result<(), DiskError> {
        self.failed.map_or(Ok(()), Err)
    }
}

impl SharedFlush {
    pub fn new(env: Env, disk: Arc<dyn Disk>, counters: Arc<Counters>) -> SharedFlush {
        let disk = RwLock::new(disk);
        SharedFlush { env, disk, counters, state: Mutex::default(), changed: Condvar::new() }
    }

    fn disk(&self) -> Arc<dyn Disk> {
        self.disk.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets go of the device: whatever is asked of it fails until there is another handle.
    pub fn close(&self) {
        let old = self.disk();
        self.put(Arc::new(Closed { size: old.size(), sector: old.sector_size() }));
    }

    /// From now on this is the device. Failures of the handle before are forgotten.
    pub fn replace(&self, disk: Arc<dyn Disk>) {
        self.put(disk);
        lock(&self.state).failed = None;
    }

    fn put(&self, disk: Arc<dyn Disk>) {
        *self.disk.write().unwrap_or_else(PoisonError::into_inner) = disk;
    }
}

/// A device that was let go of.
struct Closed {
    size: u64,
    sector: SectorSize,
}

impl Disk for Closed {
    fn size(&self) -> u64 {
        self.size
    }

    fn sector_size(&self) -> SectorSize {
        self.sector
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        batch.iter_mut().for_each(|io| io.result = Err(DiskError::Gone));
    }

    fn flush(&self) -> Result<(), DiskError> {
        Err(DiskError::Gone)
    }

    fn discard(&self, _offset: u64, _len: u64) -> Result<(), DiskError> {
        Err(DiskError::Gone)
    }
}

impl Disk for SharedFlush {
    fn size(&self) -> u64 {
        self.disk().size()
    }

    fn refresh(&self) -> u64 {
        self.disk().refresh()
    }

    fn is_there(&self) -> bool {
        self.disk().is_there()
    }

    fn sector_size(&self) -> SectorSize {
        self.disk().sector_size()
    }

    fn places_on_write(&self) -> bool {
        self.disk().places_on_write()
    }

    fn hole(&self, offset: u64, len: u64) -> Option<(u64, u64)> {
        self.disk().hole(offset, len)
    }

    fn submit(&self, batch: &mut [DiskIo<'_>]) {
        self.disk().submit(batch);
        if batch.iter().any(|io| io.result == Err(DiskError::Gone)) {
            self.counters.gone.store(true, Relaxed);
        }
    }

    fn flush(&self) -> Result<(), DiskError> {
        let mut state = lock(&self.state);
        let needed = state.begun + 1;
        while state.over < needed {
            if state.is_running() {
                let ready = &mut |state: &mut Tickets| state.over >= needed || !state.is_running();
                state = self.env.wait(&self.state, state, &self.changed, ready);
                continue;
            }
            if state.failed.is_some() {
                return state.result();
            }
            state.begun += 1;
            drop(state);
            let disk = self.disk();
            let result = disk.flush();
            self.counters.flushes.add(1);
            state = lock(&self.state);
            state.over = state.begun;
            // What became of a handle that was replaced meanwhile concerns its callers alone.
            if Arc::ptr_eq(&disk, &self.disk()) {
                state.failed = state.failed.or(result.err());
                self.counters.lost_writes.fetch_or(result.is_err(), Relaxed);
            }
            self.changed.notify_all();
            return result.and(state.result());
        }
        self.counters.flushes_shared.add(1);
        state.result()
    }

    fn can_discard(&self) -> bool {
        self.disk().can_discard()
    }

    fn discard(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        self.disk().discard(offset, len)
    }
}

#[cfg(test)]
mod tests;
