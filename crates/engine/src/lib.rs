//! File systems over pools: the one implementation of `engine-api`.

pub mod zpl;
