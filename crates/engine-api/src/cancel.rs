//! How whoever asked for something that takes long takes it back.
//!
//! A request carries a [`Cancel`], and whoever asked keeps a copy. What carries the request out
//! looks at it between two steps, or has itself called where it waits in the middle of one. That
//! something was cancelled means that it is not wanted any more, not that it was not done.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// See the module. All copies of one are cancelled together, once and for good.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_cancelled: AtomicBool,
    heed: Mutex<Option<Heed>>,
}

type Heed = Box<dyn Fn() + Send>;

impl Cancel {
    pub fn cancel(&self) {
        let heed = self.heed();
        self.0.is_cancelled.store(true, SeqCst);
        if let Some(heed) = &*heed {
            heed();
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(SeqCst)
    }

    /// `heed` is called when this is cancelled; at once, where it was before. It may not wait. It
    /// takes the place of one that was given earlier.
    pub fn on_cancel(&self, heed: impl Fn() + Send + 'static) {
        let mut slot = self.heed();
        if self.is_cancelled() {
            heed();
        }
        *slot = Some(Box::new(heed));
    }

    fn heed(&self) -> MutexGuard<'_, Option<Heed>> {
        // A panic in what is called leaves it as it was.
        self.0.heed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests;
