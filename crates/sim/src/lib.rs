//! The simulator: a whole pool on simulated disks, under one seed.
//!
//! One thread, a virtual clock, seeded random numbers, disks that know written from durable: a run is a function of its
//! seed, so a run that failed once fails again. [`disk`], [`clock`], [`driver`] and [`entropy`] are the four doors of
//! `env::Env`; [`machine`] puts an engine behind them; [`run`] lets workloads work on it, cuts the power, and holds
//! what comes back against what [`history`] says may come back.

pub mod clock;
pub mod disk;
pub mod driver;
pub mod entropy;
pub mod export;
pub mod history;
pub mod machine;
pub mod operator;
pub mod run;
pub mod swarm;
pub mod trace;
pub mod workload;
