//! Reads, writes, allocates and repairs blocks. It does not know what a block means.
//!
//! A [`Storage`] is the block layer of one pool. A read goes cache → copies → verify → repair →
//! decompress. A write goes transform → place → issue. The modules are layers: each imports only
//! modules that stand below it here.
//!
//! ```text
//!   zio                     what is done with blocks: read, write, free, heal, sweep, …
//!   keeper                  the workers of a pool
//!   storage                 one pool: its vdevs, space and cache; flush, commit, suspend, resume
//!   arc                     the cache of blocks that were read; the cache devices of a pool
//!   flight     unflushed    I/O on vdevs; writes that are not durable yet
//!   vdev                    a block as bytes of disks; the disks, from opening to closing
//!   leaf_queue   labels     the order of one disk's I/O; vdev labels, also without any vdev
//!   metaslab     turns      allocation of space; who uses a stretch of it now
//!   counters  range_tree  policy  payload  suspend  leash
//!   attached  block  error  what all of these work with
//! ```
//! Space ([`metaslab`]) and disks ([`vdev`] and what it uses) know nothing of each other: `storage`
//! brings them together.
//!
//! Which modules reach a disk:
//! - [`vdev`] opens, measures, flushes and closes disks. It transfers no block: its cursors say
//!   what they want, and `flight` puts that into the disks' queues.
//! - [`leaf_queue`] carries what is in its queue to the disk, and shares flushes between callers.
//! - [`labels`] reads and writes labels, uberblocks and headers of cache devices, past the queue.
//! - [`arc::l2`] opens cache devices and uses their queues.
//! - `storage` opens disks that are to join the tree, and asks whether disks are still there.
//! - [`zio`] calls disks to discard or fill space that no block has (`sweep`, `stock`). All else
//!   that it reads and writes goes by `flight` and `arc::l2`.
//!
//! Invariants:
//! - No object, no dataset, no transaction: a block pointer is all this crate sees.
//! - Bytes that do not match their checksum never leave it.
//! - Any block pointer, however forged, gives bytes or a [`ReadError`].

pub mod arc;
mod attached;
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

pub use self::counters::tally::Tally;
pub use block::{Block, Packed};
pub use codec::Salt;
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
