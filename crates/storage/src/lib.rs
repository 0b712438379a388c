//! Reads, writes, allocates and repairs blocks. It does not know what a block means.
//!
//! A [`Storage`] is the block layer of one pool. A read goes cache → copies → verify → repair →
//! decompress. A write goes transform → place → issue. The parts:
//! - [`vdev`] maps a block to bytes of disks. Its cursors do no I/O.
//! - [`leaf_queue`] orders the I/O of one disk.
//! - [`metaslab`] allocates and frees space.
//! - [`arc`] caches blocks that were read.
//! - [`labels`] reads and writes vdev labels. It reads them before there is a tree of vdevs.
//! - [`zio`] combines the parts. Apart from `labels`, cache devices and the opening of vdevs, it
//!   alone does I/O.
//!
//! Invariants:
//! - No object, no dataset, no transaction: a block pointer is all this crate sees.
//! - Bytes that do not match their checksum never leave it.
//! - Any block pointer, however forged, gives bytes or a [`ReadError`].

pub mod arc;
mod block;
mod counters;
mod error;
mod flight;
pub mod keeper;
pub mod labels;
pub mod leaf_queue;
mod leash;
pub mod metaslab;
mod payload;
mod policy;
mod range_tree;
mod storage;
mod suspend;
#[cfg(test)]
mod testing;
mod turns;
mod unflushed;
pub mod vdev;
pub mod zio;

pub use block::{Block, Packed};
pub use codec::Salt;
pub use counters::tally::Tally;
pub use env::IoClass;
pub use error::{IoError, OpenError, ReadError, WriteError};
pub use leash::Leash;
pub use metaslab::{EpochGuard, SpaceMapSource};
pub use payload::Payload;
pub use policy::{Dedup, WriteItem, WritePolicy};
pub use range_tree::Segment;
pub use storage::dedup::{DedupName, DedupSource, Found};
pub use storage::moved::MovedSource;
pub use storage::{OpenedLeaf, Roll, Storage};
pub use suspend::{Cause, FailMode, Refusal, Suspension, insisting};
pub use vdev::config::{Bias, VdevConfig, VdevKind};
pub use vdev::leaf::LeafHandle;
pub use vdev::open::{OpenIntent, Tolerated};
pub use vdev::report::{DiskReport, Reports, What};
pub use vdev::status::{LeafIo, TopVdevInfo, VdevStat, VdevState};
pub use zio::heal::{HealFlight, Healer, Missed, Patient};
pub use zio::log::{LogBlock, LogTimes};
pub use zio::rebuild::Rebuilt;
pub use zio::shelf::Shelf;
pub use zio::survey::Survey;
pub use zio::sweep::{Sweep, SweepError, Swept};
