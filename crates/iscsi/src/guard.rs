//! How often somebody may try to prove who they are: some times at once, then once in a while. What counts is where they come
//! from, and that they fail; so guessing a secret takes as long from many connections as from one.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::limits::{GUARDED, PENALTY, TRIES};

/// See the module.
#[derive(Default)]
pub struct Guard(Mutex<BTreeMap<IpAddr, Instant>>);

/// Who has an IPv6 address has many: 64 bits say where it is.
fn place(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() >> 64 << 64).into()),
        ip => ip,
    }
}

impl Guard {
    /// When all that was tried is forgiven, by place.
    fn forgiven(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody tries; false: not now.
    pub fn admits(&self, from: IpAddr, now: Instant) -> bool {
        let mut forgiven = self.forgiven();
        if forgiven.len() >= GUARDED {
            forgiven.retain(|_, until| *until > now);
        }
        let from = place(from);
        let until = forgiven.get(&from).copied().unwrap_or(now).max(now) + PENALTY;
        // Where too many places are remembered, one that is not has to wait.
        let admits = until <= now + PENALTY * TRIES && forgiven.len() < GUARDED;
        if admits {
            forgiven.insert(from, until);
        }
        admits
    }

    /// One of the tries was good.
    pub fn proved(&self, from: IpAddr) {
        if let Some(until) = self.forgiven().get_mut(&place(from)) {
            *until -= PENALTY;
        }
    }
}
