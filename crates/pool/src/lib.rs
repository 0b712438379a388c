//! The pool: the only crate that knows all layers.
//!
//! [`txg`] decides when, [`sync`] writes; [`dsl`] knows datasets, [`space`] the maps of free space,
//! [`feature`] the flags; [`spa`] brings a pool into memory and out of it again; [`zil`] remembers
//! what was promised before its group is durable, [`kept`] what was only answered.
//!
//! Each module imports only what stands below it, or to its right in the same line:
//!
//! ```text
//!   sync, verify, estimate                     a group is written; a pool is looked through
//!   change, recv, send                         what is done to datasets
//!   scan, rebuild, errlog, checkpoint          what is done to a pool as a whole
//!   spa                                        a pool, its vdevs and its labels
//!   dsl                                        datasets
//!   state, removed, space, ddt, deferred, zil  what a pool keeps in objects, or in logs
//!   mos, history, feature, sweep, prop, resume
//!   error, stream, namecheck, sums, zevent, frees, kept, txg, undeciphered
//! ```
//!
//! Invariants:
//! - `sync` is the only place that makes anything durable, but for log blocks. What it did not
//!   finish never was.
//! - The meta object set is changed in syncing context only.

pub mod change;
pub mod checkpoint;
pub mod ddt;
pub(crate) mod deferred;
pub mod dsl;
pub mod errlog;
mod error;
pub mod estimate;
pub mod feature;
pub mod frees;
pub mod history;
pub mod kept;
mod mos;
mod namecheck;
pub mod prop;
pub mod rebuild;
pub mod recv;
pub mod removed;
pub mod resume;
pub mod scan;
pub mod send;
pub mod spa;
pub mod space;
mod state;
pub mod stream;
mod sums;
pub mod sweep;
pub mod sync;
pub mod txg;
mod undeciphered;
pub mod verify;
pub mod zevent;
pub mod zil;

pub use error::{PoolError, Result};
pub use spa::Pool;
