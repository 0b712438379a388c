//! `cistern inspect` on pools that OpenZFS made and on pools made here, whole and damaged.

mod damage;
mod fixtures;
mod garbage;
mod own;
mod support;
mod ztest;
