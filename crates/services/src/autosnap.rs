//! Automatic snapshots: which are made, and which go.
//!
//! What a service owns it knows by a [`stamp`], never by a name. What it may destroy is what it
//! owns and nothing else needs: not held, without clones, nobody's base, and not one of the newest
//! that its level keeps at least, which is one in any case. Of that goes, in this order:
//!
//! 1. what a level does not keep: by count, then by age;
//! 2. if there are too many: first those of levels that the policy no longer has, then the level
//!    that is due most often, the oldest first;
//! 3. if they take too much space: the oldest first, whatever its level, for what only old ones
//!    hold comes free from that end; an eighth of them at a time, until what is free can be seen.
//!
//! If all that may go is gone and it is still too much, a finding says what stands in the way. A
//! budget of snapshots is then held by making none; one of space is not.
//!
//! Times of snapshots are those of their stamps, as far as they agree with the order of their
//! transaction groups (see [`ledger`]): a clock that was wrong for a while makes nothing older.
//!
//! The way of a look: [`agenda`] says which datasets are due; the caller reads their [`view`]s;
//! [`plan`] says what to do; the caller does it, and [`state`] remembers what came of it.

pub mod agenda;
pub mod coverage;
pub mod forecast;
mod ledger;
mod look;
pub mod plan;
pub mod policy;
pub mod stamp;
pub mod state;
pub mod view;

#[cfg(test)]
mod testing;
