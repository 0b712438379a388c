//! How often somebody may try to prove who they are: some times at once, then once in a while. What
//! counts is where they come from, and that they fail; so guessing a secret takes as long from many
//! connections as from one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;

use sockets::{lock, place};

use crate::limits::{GUARDED, PENALTY, TRIES};

/// See the module: when all that was tried is forgiven, by place.
#[derive(Default)]
pub struct Guard(Mutex<BTreeMap<IpAddr, Instant>>);

impl Guard {
    /// Somebody tries; false: not now.
    pub fn admits(&self, from: IpAddr, now: Instant) -> bool {
        let mut forgiven = lock(&self.0);
        if forgiven.len() >= GUARDED {
            forgiven.retain(|_, until| *until > now);
        }
        let from = place(from);
        // Who has very many places may try from all of them; that is no reason to keep everybody
        // else out.
        if forgiven.len() >= GUARDED
            && !forgiven.contains_key(&from)
            && let Some(soonest) = forgiven.iter().min_by_key(|(_, until)| **until).map(|(place, _)| *place)
        {
            forgiven.remove(&soonest);
        }
        let until = forgiven.get(&from).copied().unwrap_or(now).max(now) + PENALTY;
        let admits = until <= now + PENALTY * TRIES;
        if admits {
            forgiven.insert(from, until);
        }
        admits
    }

    /// One of the tries was good.
    pub fn proved(&self, from: IpAddr) {
        if let Some(until) = lock(&self.0).get_mut(&place(from)) {
            *until -= PENALTY;
        }
    }
}
