//! The world outside, behind one struct.
//!
//! Everything that is not a function of its inputs enters the program through [`Env`]: disks, the
//! clock, entropy, threads, and memory that outlives the program. No other crate of the engine
//! names the operating system, so a simulation that supplies its own parts runs a whole appliance
//! from one seed.
//!
//! Blocking is part of that: code that must wait for another thread calls [`Env::wait`] instead of
//! a condition variable, because in a simulation there is one thread only and waiting means "let
//! the others run" (see [`worker`] for the hook).
//!
//! Invariants:
//! - `env` is the only crate with file descriptors, threads, clocks or random numbers.
//! - A disk error is a value ([`DiskError`]); nothing here panics because of what a device says.
//! - A poisoned lock means a broken invariant elsewhere: [`lock`] passes the panic on.

pub mod aligned;
pub mod clock;
pub mod disk;
pub mod entropy;
pub mod fault;
pub mod file_disk;
pub mod files;
pub mod keepsake;
mod lock;
pub mod mem_disk;
pub mod memory;
pub mod model_disk;
pub mod quirk;
pub mod text;
pub mod threads;
pub mod tunable;
mod uring;
pub mod waits;
pub mod watch;
pub mod worker;

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

pub use aligned::AlignedBuf;
pub use clock::{Clock, Nanos, RealClock, WallTime};
pub use disk::{Disk, DiskError, DiskIo, DiskOp, Disks, IoClass, OpenMode, SectorSize};
pub use entropy::{Entropy, OsEntropy};
pub use fault::{FaultDisks, FaultKind, FaultOp, FaultRule, Injected, Spans};
pub use file_disk::FileDisks;
pub use keepsake::{Keepsake, MemKeepsake, MemoryFile};
pub use lock::lock;
pub use mem_disk::{DiskCounts, MemDisks};
pub use model_disk::{DeviceModel, ModelDisks};
pub use quirk::{Quirk, Quirks};
pub use threads::Threads;
pub use tunable::{TUNABLES, Tunable, TunableInfo, Tunables};
pub use worker::{Driver, Next, Worker, WorkerControl, WorkerHandle};

/// The doors to the world, the switches for rare paths, and what an operator may turn. Cheap to
/// clone.
#[derive(Clone)]
pub struct Env {
    pub disks: Arc<dyn Disks>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub driver: Arc<dyn Driver>,
    /// `None`: what is not durable dies with the program.
    pub keepsake: Option<Arc<dyn Keepsake>>,
    pub quirks: Quirks,
    pub tunables: Tunables,
}

impl Env {
    /// The real world: files and block devices, the machine's clock, its random numbers, its
    /// threads.
    pub fn real() -> Env {
        let quirks = Quirks::default();
        Env {
            disks: Arc::new(FileDisks::new(quirks.clone())),
            clock: Arc::new(RealClock::new()),
            entropy: Arc::new(OsEntropy),
            driver: Arc::new(Threads::new()),
            keepsake: None,
            quirks,
            tunables: Tunables::default(),
        }
    }

    /// What an operator has set, or the default.
    pub fn tunable(&self, tunable: Tunable) -> u64 {
        self.tunables.get(tunable)
    }

    /// Whether a rare path has been asked for. Always false in production.
    pub fn quirk(&self, quirk: Quirk) -> bool {
        self.quirks.is_on(quirk)
    }

    /// Blocks until `ready` holds, giving up the lock meanwhile; `guard` must be of `mutex`.
    ///
    /// Whoever makes `ready` true changes the state under `mutex` and then notifies `condvar`. The
    /// caller may hold no other lock: in a simulation the other workers run inside this call.
    /// Panics with "deadlock" in a simulation where nothing can ever make `ready` true.
    pub fn wait<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        condvar: &Condvar,
        ready: &mut dyn FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.wait_inner(mutex, guard, condvar, ready, (None, false)).0
    }

    /// As [`Env::wait`], for what no worker brings about: an operator's word. A worker's step may
    /// wait so, too.
    pub fn wait_outside<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        condvar: &Condvar,
        ready: &mut dyn FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.wait_inner(mutex, guard, condvar, ready, (None, true)).0
    }

    /// As [`Env::wait`], but gives up at `deadline` on [`Env::clock`]. The flag tells whether
    /// `ready` held.
    pub fn wait_until<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        condvar: &Condvar,
        deadline: Nanos,
        ready: &mut dyn FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'a, T>, bool) {
        self.wait_inner(mutex, guard, condvar, ready, (Some(deadline), false))
    }

    fn wait_inner<'a, T>(
        &self,
        mutex: &'a Mutex<T>,
        mut guard: MutexGuard<'a, T>,
        condvar: &Condvar,
        ready: &mut dyn FnMut(&mut T) -> bool,
        (deadline, outside): (Option<Nanos>, bool),
    ) -> (MutexGuard<'a, T>, bool) {
        const POISONED: &str = "another thread panicked while holding this lock";
        loop {
            if ready(&mut guard) {
                return (guard, true);
            }
            let left = deadline.map(|d| d.since(self.clock.now()));
            if left == Some(Nanos(0)) {
                return (guard, false);
            }
            guard = if self.driver.is_cooperative() {
                drop(guard);
                if outside {
                    self.driver.wait_outside();
                } else {
                    self.driver.wait_step(deadline);
                }
                lock(mutex)
            } else if let Some(left) = left {
                condvar.wait_timeout(guard, Duration::from_nanos(left.0)).expect(POISONED).0
            } else {
                condvar.wait(guard).expect(POISONED)
            };
        }
    }
}

#[cfg(test)]
mod tests;
