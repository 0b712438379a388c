//! What is done with blocks: the methods of [`crate::Storage`] that read, write, free and repair
//! them.
//!
//! ```text
//!   write   transform ─▶ place ─▶ issue        (write.rs joins them, in chunks, so that CPU and disks overlap;
//!                                               dedup.rs: what is there already is not placed)
//!   log     place ─▶ issue ─▶ flush                         (log.rs: blocks of intent logs, durable at once)
//!   read    cache ─▶ copies ─▶ verify ─▶ repair ─▶ decode  (read.rs; ahead.rs and shelf.rs before anybody asks; gang.rs)
//! ```
//! Blocks on vdevs are read and written by a [`crate::flight::Flight`], those on cache devices by
//! [`crate::arc::l2`]. Only `sweep` and `stock`, which work on space that no block has, call disks
//! themselves. What is kept of a pool between two calls is in [`crate::Storage`].

pub(crate) mod ahead;
pub mod dedup;
mod feed;
pub(crate) mod free;
pub(crate) mod gang;
pub mod heal;
pub mod log;
pub mod mend;
pub mod moved;
pub mod on_disk;
pub(crate) mod read;
pub mod rebuild;
mod same;
pub(crate) mod shelf;
mod sides;
mod stock;
pub mod survey;
pub mod sweep;
pub(crate) mod transform;
pub(crate) mod write;
