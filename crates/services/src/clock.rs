//! What time it is believed to be.

use api_types::ClockDispute;
use serde::{Deserialize, Serialize};

use crate::time::Time;

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
pub struct Clock {}

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
        todo!()
    }

    /// An administrator says that the wall clock is right.
    pub fn agree(&mut self, reading: Reading) -> Belief {
        todo!()
    }
}
