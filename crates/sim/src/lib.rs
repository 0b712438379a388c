//! The simulator: a whole pool on simulated disks, under one seed.
//!
//! One thread, a virtual clock, seeded random numbers, disks that know written from durable: a run
//! is a function of its seed, so a run that failed once fails again. [`disk`], [`clock`],
//! [`driver`], [`entropy`] and [`memory`] are the doors of `env::Env`; [`machine`] puts an engine
//! behind them; [`run`] lets workloads work on it, cuts the power, and holds what comes back
//! against what [`history`] says may come back; [`attrition`] records a pool whose disks come, go
//! and fail, and cuts the power at any write of the record; in [`lapses`] a disk misses writes and
//! catches up, then others leave; [`copies`] sends and receives trees of datasets; [`units`] has
//! several initiators at work on volumes, and [`callers`] change names, a [`crew`] each, in lives
//! that [`ends`] has end; [`writers`] wait for intent logs, on log devices that fail. [`rare`] has
//! the paths of the engine that all these runs have to take.

pub mod attrition;
pub mod callers;
pub mod clock;
pub mod copies;
pub mod crew;
pub mod disk;
pub mod driver;
pub mod ends;
pub mod entropy;
pub mod export;
pub mod history;
pub mod lapses;
pub mod machine;
pub mod memory;
pub mod operator;
pub mod promised;
pub mod rare;
pub mod relation;
pub mod run;
pub mod swarm;
pub mod time;
pub mod trace;
pub mod units;
pub mod workload;
pub mod writers;

/// As the daemon has it; buffers of all sizes come and go here, and the system's allocator is slow
/// at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs something, with a panic of the engine turned into words too.
pub fn caught<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    caught.unwrap_or_else(|panic| Err(format!("panic: {}", stdx::panics::text(&*panic).unwrap_or_default())))
}
