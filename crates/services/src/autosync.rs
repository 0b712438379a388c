//! Replication of datasets: what is made, sent, kept and destroyed, on both sides.
//!
//! A service makes a snapshot of the source, sends it to the replica, from the newest snapshot or
//! bookmark that both have, and destroys what neither side is to keep. What both have is found by
//! guid. What a service owns, on either side, it knows by a [`stamp`] on the snapshot; a dataset is
//! its replica if it has the [`stamp::REPLICA`] of this service and this source. Names are never
//! looked at.
//!
//! Invariants:
//! - A snapshot is made only when the one before is on the replica. So however long the replica
//!   takes nothing, there is one at most that is not there.
//! - The base, which is the newest that both have, stays on both sides: on the source it is held.
//!   Where its space is too much for a replica that takes nothing, a bookmark takes its place,
//!   before it goes.
//! - Nothing is ever rolled back, and nothing received by force. A replica that has something of
//!   its own is left as it is, until somebody has decided what is worth more.
//!
//! The way of a look: the caller reads a dataset and its replica ([`view`]); [`plan`] says what to
//! do up to the next change that has to be seen; the caller does it, reads again, and is done when
//! there is nothing more to do. If something fails, [`plan::relieve`] says what the source keeps no
//! longer. [`memory`] has what came of it.

pub mod memory;
pub mod plan;
pub mod policy;
pub mod stamp;
pub mod view;
