//! Events: what happened to pools and their devices, for `zpool events` and whoever else watches.
//!
//! One ring for all pools of an engine, in memory. Each event has a number that only grows, so a
//! reader that was slow sees what it has missed. Classes and the names of what they hold are
//! OpenZFS's: `sysevent.fs.zfs.…` for what was done, `ereport.fs.zfs.…` for what went wrong,
//! `resource.fs.zfs.statechange` for what became of a device.
//!
//! Sources: module/zfs/zfs_fm.c, fm.c (`zfs_zevent_…`, the ring), include/sys/fm/fs/zfs.h,
//! include/sys/sysevent/eventdefs.h.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

use api_types::{Zevent, ZeventValue};
use env::{Env, Nanos, lock};

/// Events kept (`zfs_zevent_len_max` is 512); older ones go.
const KEPT: usize = 4096;

/// What an event holds, by name.
pub type Payload = Vec<(&'static str, ZeventValue)>;

/// The ring.
#[derive(Default)]
pub struct Zevents {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last: u64,
    /// Shared with readers, who copy them when the ring is free again.
    kept: VecDeque<Arc<Zevent>>,
}

impl Zevents {
    pub fn post(&self, env: &Env, class: &str, payload: Payload) {
        let payload = payload.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let mut state = lock(&self.state);
        state.last += 1;
        let (eid, now) = (state.last, env.clock.wall());
        let time = (now.secs, now.nanos);
        state.kept.push_back(Arc::new(Zevent { eid, time, class: class.to_owned(), payload }));
        if state.kept.len() > KEPT {
            state.kept.pop_front();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Events after number `eid`, oldest first; waits up to `patience` for the first.
    pub fn after(&self, env: &Env, eid: u64, patience: Nanos) -> Vec<Zevent> {
        let state = lock(&self.state);
        let deadline = env.clock.now() + patience;
        let mut some = |state: &mut State| state.kept.back().is_some_and(|event| event.eid > eid);
        let (state, _) = env.wait_until(&self.state, state, &self.changed, deadline, &mut some);
        let found: Vec<_> = state.kept.iter().filter(|event| event.eid > eid).cloned().collect();
        drop(state);
        found.into_iter().map(Arc::unwrap_or_clone).collect()
    }

    /// Forgets them all; says how many there were.
    pub fn clear(&self) -> u64 {
        std::mem::take(&mut lock(&self.state).kept).len() as u64
    }
}

#[cfg(test)]
mod tests;
