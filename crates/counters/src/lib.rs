//! Numbers that are cheap enough for the hot path: sums, histograms, and tables of sums by who
//! caused them.
//!
//! Whoever counts adds with relaxed atomics, takes no lock and allocates nothing. A reading that is
//! taken while others count is not a consistent cut: it has every addition that had ended when it
//! began, and may have some that ended later.
//!
//! Invariant: nothing that was counted is lost. What a table has no place for is summed with the
//! rest ([`table`]), so all of its parts together are exact.

mod histogram;
mod sums;
mod table;

pub use histogram::{Histogram, Times, TimesSeen};
pub use sums::{Counter, Sums};
pub use table::{Seen, Table};
