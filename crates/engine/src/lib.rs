//! File systems over pools: the one implementation of `engine-api`.

mod advise;
pub mod facade;
pub mod inspect;
mod readbuf;
mod rlock;
pub mod zpl;
mod zvol;

pub use advise::rehearsal;
pub use facade::{LocalEngine, Options};
