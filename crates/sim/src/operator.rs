//! Somebody who looks after a pool: when it is suspended, the disks come back after a while, and
//! `zpool clear` follows, or the pool is given up.

use std::sync::{Arc, Weak};

use env::{Nanos, Next, Worker};
use pool::Pool;
use stdx::prng::Prng;

use crate::disk::SimDisks;

/// How often he looks.
const LOOK: Nanos = Nanos::from_millis(100);

/// See the module. Ends with the pool.
pub struct Operator {
    pool: Weak<Pool>,
    disks: SimDisks,
    prng: Prng,
    /// When the disks come back.
    until: Option<Nanos>,
    /// He gives the pool up when he finds it suspended: too late for this one.
    pub gives_up: bool,
}

impl Operator {
    pub fn new(pool: &Arc<Pool>, disks: &SimDisks, prng: Prng) -> Operator {
        Operator { pool: Arc::downgrade(pool), disks: disks.clone(), prng, until: None, gives_up: false }
    }
}

impl Worker for Operator {
    fn name(&self) -> &'static str {
        "operator"
    }

    fn step(&mut self, now: Nanos) -> Next {
        let Some(pool) = self.pool.upgrade() else { return Next::Stop };
        if !self.disks.is_on() {
            // The machine is off; who waits for disks must get out of the way.
            pool.give_up();
            return Next::Stop;
        }
        if !pool.core().storage.is_suspended() && !self.disks.is_out() {
            return Next::WaitUntil(now + LOOK);
        }
        let until = *self.until.get_or_insert(now + Nanos::from_millis(self.prng.below(20_000)));
        if now < until {
            // Too early, now and then: nothing may come of it.
            if self.prng.chance(1, 4) {
                assert!(
                    pool.resume(None).is_err() || !self.disks.is_out() || !pool.core().storage.is_suspended()
                );
            }
            return Next::WaitUntil(until);
        }
        self.until = None;
        self.disks.come_back();
        if self.gives_up {
            pool.give_up();
            return Next::Stop;
        }
        pool.resume(None).expect("the disks are back");
        Next::Again
    }
}
