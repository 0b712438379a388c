//! File systems over pools: the one implementation of `engine-api`.

mod advise;
pub mod facade;
pub mod inspect;
pub mod zpl;

pub use facade::{LocalEngine, Options};
