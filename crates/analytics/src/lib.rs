//! What clients ask for, request by request, for whoever looks.
//!
//! A server makes a record of each request at one place ([`Observer::begin`]), and whoever looks is
//! given it when the request is over: a trace ([`Ring`]), which keeps the records that it wants
//! until they are taken, or a drill-down ([`DrillDown`]), which sums what it wants to know of them.
//!
//! ```text
//!   server ── begin ──▶ Live: queue, protocol, engine, disk, log, group, reply ── dropped ──▶ Seen
//!                                                                                      ├─▶ trace
//!                                                                                      └─▶ drill-down
//! ```
//! Invariants:
//! - Where nobody looks, a request pays one relaxed load, and nothing is allocated for it.
//! - Threads do not wait for each other where they note requests for a drill-down: each has its
//!   lane.
//! - The stages of a record are its time: together they are exactly what it took.
//! - Nobody who looks makes a request wait for him. What is kept for him has a bound in bytes, and
//!   what is missing he is told.
//! - Whoever looks is forgotten when he has gone, or his time is over: there is nothing to be
//!   switched off.

mod drill;
mod filter;
mod key;
mod lane;
mod live;
mod observer;
mod pending;
mod places;
mod ring;
mod seen;
mod sums;

pub use api_types::Protocol;
pub use drill::{Cost, DrillDown, Found};
pub use filter::Filter;
pub use key::{Key, RANGE, Value};
pub use live::{Live, working};
pub use observer::{Look, Looks, Observer};
pub use places::Place;
pub use ring::{Ring, Taken};
pub use seen::{STAGES, Seen, Stage};
pub use sums::{BUCKETS, Row, Sum, begin_of};

#[cfg(test)]
mod tests;
