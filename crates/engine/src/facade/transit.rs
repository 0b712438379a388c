//! Pools that come and go: one at a time by a name or guid, while all others come, go and serve as
//! they like.
//!
//! An import takes as long as its pool makes it take, so nobody else waits for one, and it can be
//! cancelled: by exporting the pool that is to come, and by the end of the program.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};

use env::{Env, lock};
use storage::Leash;

/// See the module.
#[derive(Default)]
pub struct Transits {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// No pool comes any more.
    is_closed: bool,
    under_way: BTreeMap<String, Moving>,
}

struct Moving {
    guid: u64,
    /// Of a pool that comes.
    leash: Option<Arc<Leash>>,
}

/// A pool on its way; ends with the value.
pub struct Transit {
    of: Arc<Transits>,
    name: String,
}

impl Transits {
    /// A pool comes, and can be cancelled by its leash. `None` if one of this name or guid is on
    /// its way, or none may come.
    pub fn come(self: &Arc<Transits>, name: &str, guid: u64, leash: Arc<Leash>) -> Option<Transit> {
        self.begin(name, Moving { guid, leash: Some(leash) })
    }

    /// A pool is made, or goes. `None` if one of this name or guid is on its way.
    pub fn go(self: &Arc<Transits>, name: &str, guid: u64) -> Option<Transit> {
        self.begin(name, Moving { guid, leash: None })
    }

    fn begin(self: &Arc<Transits>, name: &str, moving: Moving) -> Option<Transit> {
        let mut state = lock(&self.state);
        let is_same = |(other, it): (&String, &Moving)| other == name || it.guid == moving.guid;
        if state.under_way.iter().any(is_same) || state.is_closed && moving.leash.is_some() {
            return None;
        }
        state.under_way.insert(name.to_owned(), moving);
        Some(Transit { of: self.clone(), name: name.to_owned() })
    }

    /// Whether a pool of this name comes.
    pub fn is_coming(&self, name: &str) -> bool {
        lock(&self.state).under_way.get(name).is_some_and(|moving| moving.leash.is_some())
    }

    /// Cancels a pool that comes, and waits until it has given up; false if none does by this name.
    pub fn cancel(&self, env: &Env, name: &str) -> bool {
        let state = lock(&self.state);
        let Some(leash) = state.under_way.get(name).and_then(|moving| moving.leash.as_ref()) else {
            return false;
        };
        leash.cancel();
        let mut is_over = |state: &mut State| !state.under_way.contains_key(name);
        drop(env.wait(&self.state, state, &self.changed, &mut is_over));
        true
    }

    /// Cancels all that come; no more do.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.under_way.values().filter_map(|moving| moving.leash.as_ref()).for_each(|leash| leash.cancel());
    }

    /// Waits until no pool is on its way.
    pub fn settle(&self, env: &Env) {
        let state = lock(&self.state);
        drop(env.wait(&self.state, state, &self.changed, &mut |state| state.under_way.is_empty()));
    }
}

impl Drop for Transit {
    fn drop(&mut self) {
        lock(&self.of.state).under_way.remove(&self.name);
        self.of.changed.notify_all();
    }
}
