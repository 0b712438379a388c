//! Who looks at requests, and how they are told.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use api_types::Protocol;
use stdx::trail::Trail;

use crate::live::{Ends, Live};
use crate::seen::{STAGES, Seen};

/// Somebody who looks at requests.
pub trait Look: Send + Sync {
    /// A request is over, now. The thread that worked on it does this: it is to be short, and to
    /// wait for nobody. False: he does not look any more.
    fn see(&self, seen: &Seen, now: Instant) -> bool;
}

/// See the module.
#[derive(Default)]
pub struct Observer {
    /// Whether anybody looks.
    is_looking: AtomicBool,
    looks: RwLock<Vec<Weak<dyn Look>>>,
}

impl Observer {
    /// A request has come, as a whole, just now. `None`: nobody looks.
    pub fn begin(
        self: &Arc<Self>,
        (protocol, operation): (Protocol, impl FnOnce() -> &'static str),
        client: &Arc<str>,
        account: Option<&Arc<str>>,
    ) -> Option<Box<Live>> {
        if !self.is_looking.load(Relaxed) {
            return None;
        }
        // A clock that is before 1970 is as good as one that is wrong otherwise.
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seen = Seen {
            time: time.as_micros() as u64,
            protocol,
            client: client.clone(),
            operation: operation(),
            account: account.cloned(),
            trail: Trail::default(),
            stages: [0; STAGES],
        };
        Some(Live::begin(self.clone(), seen))
    }

    /// Whether anybody looks.
    pub fn is_looking(&self) -> bool {
        self.is_looking.load(Relaxed)
    }

    /// Shows requests to somebody, as long as he is there.
    pub fn show(&self, look: &Arc<impl Look + 'static>) {
        let look: Weak<dyn Look> = Arc::<_>::downgrade(look) as Weak<dyn Look>;
        let mut looks = self.looks.write().unwrap_or_else(PoisonError::into_inner);
        looks.push(look);
        self.is_looking.store(true, Relaxed);
    }

    /// Forgets those who look no more.
    fn forget(&self, gone: &[Weak<dyn Look>]) {
        let mut looks = self.looks.write().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|look| !gone.iter().any(|gone| gone.ptr_eq(look)));
        self.is_looking.store(!looks.is_empty(), Relaxed);
    }
}

impl Ends for Observer {
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
