//! File systems over pools: the one implementation of `engine-api`.

mod advise;
pub mod facade;
pub mod inspect;
mod readbuf;
mod rlock;
pub mod zpl;
mod zvol;

/// Bytes, of the memory that outlives the program, for what clients were answered.
pub use ::pool::kept::ANSWERS;
pub use advise::rehearsal;
pub use facade::{LocalEngine, Options};
