//! Commits that wait, each on a bell of its own.
//!
//! Hundreds may wait at a time, and something moves many times a flush. Whoever moves it rings only
//! for those that are done, and for one that may lead: were all of them woken each time, most of
//! the processor would go into going to sleep again.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar};

use super::State;
use super::queue::Ticket;

/// Number of the ticket, then one that tells apart those who wait for the same.
pub(super) type Seat = (u64, u64);

#[derive(Default)]
pub(super) struct Waiters {
    /// With the group that would do as well.
    seats: BTreeMap<Seat, (u64, Arc<Condvar>)>,
    last: u64,
}

impl Waiters {
    /// Takes a seat; its bell rings when waiting may be over.
    pub fn sit(&mut self, ticket: &Ticket) -> (Seat, Arc<Condvar>) {
        self.last += 1;
        let (seat, bell) = ((ticket.number, self.last), Arc::new(Condvar::new()));
        self.seats.insert(seat, (ticket.txg, bell.clone()));
        (seat, bell)
    }

    /// Gives the seat back, whether its bell has rung or not.
    pub fn leave(&mut self, seat: Seat) {
        self.seats.remove(&seat);
    }

    /// Takes, for good, the bells of all records up to this number, and of all that this group
    /// covers.
    fn covered(&mut self, done: u64, synced: u64) -> Vec<Arc<Condvar>> {
        let waiting = self.seats.split_off(&(done.saturating_add(1), 0));
        let mut bells: Vec<_> = std::mem::replace(&mut self.seats, waiting).into_values().collect();
        let by_group = self.seats.extract_if(.., |_, (txg, _)| *txg <= synced);
        bells.extend(by_group.map(|(_, seat)| seat));
        bells.into_iter().map(|(_, bell)| bell).collect()
    }

    /// Everybody shall look; those who have to wait on keep their seats.
    fn all(&self) -> Vec<Arc<Condvar>> {
        self.seats.values().map(|(_, bell)| bell.clone()).collect()
    }

    fn first(&self) -> Option<Arc<Condvar>> {
        self.seats.first_key_value().map(|(_, (_, bell))| bell.clone())
    }
}

impl State {
    /// The bells to ring after something has moved, best with the lock given back.
    pub(super) fn bells(&mut self) -> Vec<Arc<Condvar>> {
        if !self.is_usable() || (self.queue.is_empty() && self.pipeline.is_idle()) {
            return self.waiters.all();
        }
        let mut bells = self.waiters.covered(self.pipeline.done(), self.pipeline.synced);
        if self.wants_leader() {
            bells.extend(self.waiters.first());
        }
        bells
    }
}

#[cfg(test)]
mod tests;
