//! The simulator: a whole pool on simulated disks, under one seed.
//!
//! One thread, a virtual clock, seeded random numbers, disks that know written from durable: a run is a function of its
//! seed, so a run that failed once fails again. [`disk`], [`clock`], [`driver`] and [`entropy`] are the four doors of
//! `env::Env`.

pub mod clock;
pub mod disk;
pub mod driver;
pub mod entropy;
pub mod trace;
