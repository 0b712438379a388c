//! What time it is believed to be.
//!
//! Time passes as the monotonic clock says. The wall clock is believed as long as it agrees with
//! that, to [`TOLERANCE`]. If it leaps, nothing follows but a dispute, and services go on by the
//! time that has passed, until one of these is so:
//!
//! | the wall clock | is believed |
//! |---|---|
//! | agrees again | at once |
//! | is at most [`LEAP`] off, either way, and has not leapt again | after [`PATIENCE`] |
//! | is further off, such as in 1970 or 2099 | when an administrator says so |
//!
//! While the machine is off no clock but the wall's goes on: after a boot it is believed at once up
//! to [`NAP`] ahead, and after [`PATIENCE`] up to [`ABSENCE`] ahead.
//!
//! Invariants: while there is no dispute, believed time never goes back. It goes back only where a
//! dispute is settled for a wall clock that is behind.

use api_types::ClockDispute;
use serde::{Deserialize, Serialize};

use crate::time::{DAY, Time};

/// Seconds by which clocks may differ between two readings: time servers move a clock a little.
pub const TOLERANCE: i64 = 120;
/// Seconds for which a wall clock that has leapt has to go on evenly.
pub const PATIENCE: u64 = 600;
/// The largest leap that is believed without an administrator: a virtual machine that slept.
pub const LEAP: i64 = 32 * DAY;
/// What a machine may have been off without a question.
pub const NAP: i64 = DAY;
/// What a machine may have been off without an administrator.
pub const ABSENCE: i64 = 400 * DAY;

/// What the machine's clocks say at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Another number after each boot.
    pub boot: u64,
    /// Seconds that have passed since then, those asleep among them.
    pub monotonic: u64,
    pub wall: Time,
}

/// What was seen so far: to be kept, and handed on over restarts. `Default`: nothing was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    seen: Option<Seen>,
}

/// Of the last reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    boot: u64,
    monotonic: u64,
    believed: Time,
    disputed: Option<Disputed>,
}

/// A wall clock that is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Disputed {
    /// Of the wall clock ahead of the monotonic one.
    ahead: i64,
    /// By the monotonic clock, and as believed.
    since: u64,
    since_believed: Time,
    /// Whether going on evenly for a while settles it.
    settles: bool,
}

/// What follows of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belief {
    pub now: Time,
    /// Where the wall clock says something else.
    pub dispute: Option<ClockDispute>,
}

impl Clock {
    /// Takes a reading in. To be called at least each minute.
    pub fn observe(&mut self, reading: Reading) -> Belief {
        let Some(seen) = self.seen.take() else {
            return self.agree(reading);
        };
        let booted = reading.boot != seen.boot || reading.monotonic < seen.monotonic;
        let passed = if booted { 0 } else { seconds(reading.monotonic - seen.monotonic) };
        let expected = seen.believed.saturating_add(passed);
        let drift = reading.wall.saturating_sub(expected);
        if (-TOLERANCE..=TOLERANCE).contains(&drift) || (booted && (0..=NAP).contains(&drift)) {
            return self.believe(reading, reading.wall.max(seen.believed), None);
        }
        let ahead = reading.wall.saturating_sub(seconds(reading.monotonic));
        let goes_on = seen.disputed.filter(|it| !booted && (it.ahead - ahead).abs() <= TOLERANCE);
        let disputed = goes_on.unwrap_or(Disputed {
            ahead,
            since: reading.monotonic,
            since_believed: expected,
            settles: (-LEAP..=if booted { ABSENCE } else { LEAP }).contains(&drift),
        });
        if disputed.settles && reading.monotonic - disputed.since >= PATIENCE {
            return self.agree(reading);
        }
        self.believe(reading, expected, Some(disputed))
    }

    /// An administrator says that the wall clock is right.
    pub fn agree(&mut self, reading: Reading) -> Belief {
        self.believe(reading, reading.wall, None)
    }

    fn believe(&mut self, reading: Reading, believed: Time, disputed: Option<Disputed>) -> Belief {
        let Reading { boot, monotonic, wall } = reading;
        self.seen = Some(Seen { boot, monotonic, believed, disputed });
        let dispute = disputed.map(|it| ClockDispute {
            wall,
            believed,
            since: it.since_believed,
            agrees_at: it.settles.then(|| it.since_believed.saturating_add(seconds(PATIENCE))),
        });
        Belief { now: believed, dispute }
    }
}

fn seconds(monotonic: u64) -> i64 {
    i64::try_from(monotonic).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
