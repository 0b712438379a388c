//! What nobody asks for: sessions that have nothing to see any more are asked to log out, and ended
//! where they do not; and whoever is logged in when the server stops hears of that.
//!
//! A session notices with its next command that it sees other units. One that is idle does not, so
//! a thread looks now and then whether anything has changed, and what that leaves of sessions.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use sockets::lock;

use crate::catalogue::Catalogue;
use crate::limits::LOOK_EVERY;
use crate::sessions::Sessions;

/// The thread that looks. See the module.
pub struct Watch {
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    stopping: Mutex<bool>,
    changed: Condvar,
}

impl State {
    /// Waits for a while; false: no longer.
    fn wait(&self) -> bool {
        let waited = self.changed.wait_timeout_while(lock(&self.stopping), LOOK_EVERY, |stopping| !*stopping);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Watch {
    pub fn start(catalogue: Arc<Catalogue>, sessions: Arc<Sessions>) -> std::io::Result<Watch> {
        let state = Arc::new(State::default());
        let own = state.clone();
        let look = move || {
            let (mut seen, mut unsettled) = (None, false);
            while own.wait() {
                catalogue.retry();
                let now = Some(catalogue.generation());
                if seen != now || unsettled {
                    unsettled = sessions.look();
                    seen = now;
                }
            }
        };
        let thread = thread::Builder::new().name("iscsi-watch".to_owned()).spawn(look)?;
        Ok(Watch { state, thread: Mutex::new(Some(thread)) })
    }

    /// Returns when it looks no more.
    pub fn stop(&self) {
        *lock(&self.state.stopping) = true;
        self.state.changed.notify_all();
        if let Some(thread) = lock(&self.thread).take() {
            drop(thread.join());
        }
    }
}
