//! Range locks: readers of a file's or volume's bytes see each write whole, and writers of
//! different ranges go side by side.
//!
//! A range is shared (readers) or alone (writers; truncation takes the whole file). Who comes first
//! is served first among those that overlap, so a writer is not starved by readers. Source of the
//! idea: module/zfs/zfs_rlock.c.

use std::sync::{Condvar, Mutex};

use env::{Env, lock};

#[derive(Default)]
pub struct RangeLock {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next_ticket: u64,
    /// Those who have their range and those who wait, in order of arrival.
    ranges: Vec<Range>,
}

#[derive(Clone, Copy)]
struct Range {
    ticket: u64,
    start: u64,
    /// Exclusive.
    end: u64,
    alone: bool,
}

impl Range {
    fn conflicts(&self, other: &Range) -> bool {
        self.start < other.end && other.start < self.end && (self.alone || other.alone)
    }
}

/// A range held until this is dropped.
pub struct RangeGuard<'a> {
    owner: &'a RangeLock,
    ticket: u64,
}

impl RangeLock {
    /// Waits for all earlier holders that conflict.
    fn take(&self, env: &Env, start: u64, end: u64, alone: bool) -> RangeGuard<'_> {
        let mut state = lock(&self.state);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let mine = Range { ticket, start, end, alone };
        state.ranges.push(mine);
        let mut first = |state: &mut State| {
            let earlier = state.ranges.iter().take_while(|range| range.ticket != ticket);
            !earlier.into_iter().any(|range| range.conflicts(&mine))
        };
        if !first(&mut state) {
            drop(env.wait(&self.state, state, &self.changed, &mut first));
        }
        RangeGuard { owner: self, ticket }
    }

    /// For reading.
    pub fn shared(&self, env: &Env, offset: u64, len: u64) -> RangeGuard<'_> {
        self.take(env, offset, offset.saturating_add(len), false)
    }

    /// For writing.
    pub fn alone(&self, env: &Env, offset: u64, len: u64) -> RangeGuard<'_> {
        self.take(env, offset, offset.saturating_add(len), true)
    }

    /// All bytes, and the size.
    pub fn whole(&self, env: &Env) -> RangeGuard<'_> {
        self.take(env, 0, u64::MAX, true)
    }
}

impl Drop for RangeGuard<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.owner.state);
        state.ranges.retain(|range| range.ticket != self.ticket);
        // Whether anybody waits is cheaper to guess than to know.
        if !state.ranges.is_empty() {
            self.owner.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
