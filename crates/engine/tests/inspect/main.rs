//! `cistern inspect` on pools that OpenZFS made and on pools made here, whole and damaged.

mod fixtures;
mod support;
