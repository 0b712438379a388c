//! Who looks at requests, and how they are told.
//!
//! Each lane ([`crate::lane`]) has who looks for itself: a request writes to no word of memory that
//! those of other lanes write to.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Instant;

use api_types::Protocol;
use stdx::trail::Trail;

use crate::lane::{self, LANES};
use crate::live::{Ends, Live};
use crate::seen::{STAGES, Seen};

/// Who looks at the requests of a lane.
pub trait Look: Send + Sync {
    /// A request is over, now. The thread that worked on it does this: it is to be short, and to
    /// wait for nobody. False: he does not look any more.
    fn see(&self, seen: &Seen, now: Instant) -> bool;

    /// Whether he wants to know how long each stage of a request took.
    fn wants_stages(&self) -> bool;
}

/// Somebody who looks at requests.
pub trait Looks {
    /// Who does it for him in this lane, as long as he is there.
    fn of_lane(&self, lane: usize) -> Weak<dyn Look>;
}

/// See the module.
#[derive(Default)]
pub struct Observer {
    lanes: [Arc<Lane>; LANES],
}

#[derive(Default)]
#[repr(align(128))]
struct Lane {
    /// Whether anybody looks, and whether he wants the stages of requests.
    is_looking: AtomicBool,
    is_staged: AtomicBool,
    looks: RwLock<Vec<Weak<dyn Look>>>,
}

impl Observer {
    /// A request has come, as a whole, just now. `None`: nobody looks.
    pub fn begin(
        &self,
        (protocol, operation): (Protocol, impl FnOnce() -> &'static str),
        client: &Arc<str>,
        account: Option<&Arc<str>>,
    ) -> Option<Box<Live>> {
        let lane = &self.lanes[lane::mine()];
        if !lane.is_looking.load(Relaxed) {
            return None;
        }
        let now = Instant::now();
        let seen = Seen {
            time: lane::wall(now),
            protocol,
            client: client.clone(),
            operation: operation(),
            account: account.cloned(),
            trail: Trail { is_staged: lane.is_staged.load(Relaxed), ..Trail::default() },
            stages: [0; STAGES],
        };
        Some(Live::begin(lane.clone(), seen, now))
    }

    /// Shows requests to somebody, as long as he is there.
    pub fn show(&self, looks: &impl Looks) {
        for (number, lane) in self.lanes.iter().enumerate() {
            let mut all = lane.looks.write().unwrap_or_else(PoisonError::into_inner);
            // A lane without requests finds out by nothing else that somebody has gone.
            all.retain(|look| look.strong_count() > 0);
            all.push(looks.of_lane(number));
            lane.tell(&all);
        }
    }
}

impl Lane {
    /// Forgets those who look no more.
    fn forget(&self, gone: &[Weak<dyn Look>]) {
        let mut looks = self.looks.write().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|look| !gone.iter().any(|gone| gone.ptr_eq(look)));
        self.tell(&looks);
    }

    /// Who looks has changed.
    fn tell(&self, looks: &[Weak<dyn Look>]) {
        let wants = |look: &Weak<dyn Look>| look.upgrade().is_some_and(|look| look.wants_stages());
        self.is_staged.store(looks.iter().any(wants), Relaxed);
        self.is_looking.store(!looks.is_empty(), Relaxed);
    }
}

impl Ends for Lane {
    fn ended(&self, seen: &Seen, now: Instant) {
        let looks = self.looks.read().unwrap_or_else(PoisonError::into_inner);
        let looks_on = |look: &&Weak<dyn Look>| look.upgrade().is_some_and(|look| look.see(seen, now));
        let gone: Vec<Weak<dyn Look>> = looks.iter().filter(|look| !looks_on(look)).cloned().collect();
        drop(looks);
        if !gone.is_empty() {
            self.forget(&gone);
        }
    }
}
