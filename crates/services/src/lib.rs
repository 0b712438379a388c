//! What services that look after the data do and when, as pure functions: facts in, a plan out.
//! Whoever calls reads the facts, carries the plan out as it stands, and says what came of it.
//!
//! Invariants: nothing here does I/O, reads a clock or draws a random number that it was not
//! handed. Each call does work in proportion to what it was handed, whatever times it was handed.
//! The same facts give the same plan: so what a service says that it will do is what it does.
//!
//! - [`schedule`]: when something is due.
//! - [`clock`]: what time it is believed to be.
//! - [`backoff`]: when a failure is tried again.
//! - [`autosnap`]: which snapshots are made, and which go.
//! - [`autosync`]: what is sent to replicas, and what goes.
//! - [`autotier`]: which files are copied or moved elsewhere.
//! - [`failover`]: who takes whose place.
//! - [`freshness`]: whether the newest snapshot is too old.
//! - [`upkeep`]: scrubs and trims.
//! - [`script`]: the user's own programs.
//! - [`instance`]: the states of a service.
//! - [`names`]: of datasets, hosts and users.
//! - [`property`]: services as their data keeps them.

pub mod autosnap;
pub mod autosync;
pub mod autotier;
pub mod backoff;
pub mod clock;
pub mod failover;
pub mod freshness;
pub mod instance;
pub mod names;
pub mod property;
pub mod schedule;
pub mod script;
pub mod time;
pub mod upkeep;
mod window;
