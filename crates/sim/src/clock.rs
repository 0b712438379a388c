//! The clock of a simulated machine: virtual time as the engine sees it.

use std::sync::Arc;

use env::{Clock, Driver, Nanos, WallTime};

use crate::driver::SimDriver;
use crate::time::Time;

/// [`Time`] as the engine sees it: sleeping lets the workers run.
pub struct SimClock {
    time: Time,
    driver: Arc<SimDriver>,
}

impl SimClock {
    pub fn new(time: Time, driver: Arc<SimDriver>) -> SimClock {
        SimClock { time, driver }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Nanos {
        self.time.now()
    }

    fn wall(&self) -> WallTime {
        self.time.wall()
    }

    fn sleep(&self, span: Nanos) {
        let until = self.now() + span;
        while self.now() < until {
            self.driver.wait_step(Some(until));
        }
    }
}
