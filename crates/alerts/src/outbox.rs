//! The outbox: what is still to be told, a lane for each route.
//!
//! A turn of an alert becomes a note in the lane of each route that is told of alerts as bad. A
//! lane gives what is to be sent now as one [`Batch`]; while it is under way, no other one of that
//! lane is. What could not be sent is sent again, later each time ([`pause`]). Notes that come
//! together go together: a lane waits [`SETTLE`] seconds for more, and many notes are one digest.
//!
//! Invariants:
//! - A note leaves its lane when it has arrived, when its route is removed, or when the lane is
//!   full; how many were lost so is told by the next batch.
//! - The lanes do not wait for each other.
//! - A route's own failure is told by the others alone.

use std::collections::{BTreeMap, VecDeque};

use api_types::{AlertKind, Severity};

use crate::book::Turn;

/// Notes that wait in a lane.
pub const MOST_NOTES: usize = 2_000;
/// Seconds for which a note waits for others.
pub const SETTLE: u64 = 2;
/// So many notes are sent one by one; more are one digest.
const APART: usize = 5;
/// Seconds between two tries, at the least and at the most.
const SHORTEST: u64 = 10;
const LONGEST: u64 = 60 * 60;

/// One turn of an alert that a route is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// By which the note is known where it is kept; `None`: it is kept nowhere.
    pub row: Option<u64>,
    pub turn: Turn,
}

/// What is sent at one time: a note, or several that become one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub notes: Vec<Note>,
    /// Notes that the lane had no room for.
    pub lost: u64,
    /// Which of the lane's settings it is sent by: how it went says nothing of later ones.
    pub round: u64,
}

/// What is told of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneState {
    pub queued: usize,
    /// Tries that have failed since the last message arrived, the wall clock at the last of them,
    /// and why it failed.
    pub tries: u32,
    pub failed: Option<(i64, String)>,
}

#[derive(Default)]
struct Lane {
    least: Severity,
    is_off: bool,
    notes: VecDeque<Note>,
    lost: u64,
    /// How many of the first notes are under way; 0: none.
    under_way: usize,
    /// How often the route was set.
    round: u64,
    /// How many of the lost ones the batch that is under way tells.
    telling: u64,
    /// When the next batch may go, by the steady clock.
    next: u64,
    tries: u32,
    failed: Option<(i64, String)>,
}

/// See the module.
#[derive(Default)]
pub struct Outbox {
    lanes: BTreeMap<String, Lane>,
}

impl Outbox {
    /// There is a route of this name from now on, or it is another one than it was. It is tried at
    /// once: what is under way the old way is waited for no more, and goes the new way, too.
    pub fn set(&mut self, route: &str, least: Severity, is_off: bool) {
        let lane = self.lanes.entry(route.to_owned()).or_default();
        (lane.least, lane.is_off, lane.next) = (least, is_off, 0);
        (lane.under_way, lane.telling, lane.round) = (0, 0, lane.round + 1);
        if is_off {
            lane.tries = 0;
            lane.failed = None;
        }
    }

    /// With all that waits.
    pub fn remove(&mut self, route: &str) {
        self.lanes.remove(route);
    }

    /// The routes that are told of a turn.
    pub fn whom(&self, turn: &Turn) -> Vec<String> {
        let about = match &turn.alert.what {
            Some(AlertKind::RouteFailing { route, .. }) => Some(route),
            _ => None,
        };
        let is_told = |(name, lane): &(&String, &Lane)| {
            !lane.is_off && lane.least <= turn.alert.severity && about != Some(*name)
        };
        self.lanes.iter().filter(is_told).map(|(name, _)| name.clone()).collect()
    }

    /// Puts a note into a lane. Where that is full, it is lost.
    pub fn put(&mut self, route: &str, note: Note, now: u64) {
        let Some(lane) = self.lanes.get_mut(route) else { return };
        if lane.notes.len() >= MOST_NOTES {
            lane.lost += 1;
            return;
        }
        if lane.notes.is_empty() {
            lane.next = lane.next.max(now + SETTLE);
        }
        lane.notes.push_back(note);
    }

    /// What is to be sent now, with the name of its route. It is under way until [`Outbox::sent`]
    /// or [`Outbox::failed`] is called.
    pub fn take(&mut self, now: u64) -> Vec<(String, Batch)> {
        let is_due =
            |lane: &Lane| lane.under_way == 0 && !lane.is_off && !lane.notes.is_empty() && lane.next <= now;
        let due = self.lanes.iter_mut().filter(|(_, lane)| is_due(lane));
        let take = |(name, lane): (&String, &mut Lane)| {
            let many = lane.notes.len() > APART || lane.lost > 0;
            lane.under_way = if many { lane.notes.len() } else { 1 };
            lane.telling = lane.lost;
            let notes = lane.notes.iter().take(lane.under_way).cloned().collect();
            (name.clone(), Batch { notes, lost: lane.lost, round: lane.round })
        };
        due.map(take).collect()
    }

    /// What was under way has arrived. Gives the rows of its notes; none where the route was set
    /// anew meanwhile.
    pub fn sent(&mut self, route: &str, round: u64) -> Vec<u64> {
        let Some(lane) = self.lane(route, round) else { return Vec::new() };
        let count = lane.under_way.min(lane.notes.len());
        lane.lost -= lane.telling;
        (lane.under_way, lane.telling, lane.tries, lane.failed, lane.next) = (0, 0, 0, None, 0);
        lane.notes.drain(..count).filter_map(|note| note.row).collect()
    }

    /// What was under way has not arrived, as far as is known. `wall` is the wall clock, `random`
    /// any number. Gives how often it was tried.
    pub fn failed(
        &mut self,
        (route, round): (&str, u64),
        why: &str,
        wall: i64,
        (now, random): (u64, u64),
    ) -> u32 {
        let Some(lane) = self.lane(route, round) else { return 0 };
        (lane.under_way, lane.telling) = (0, 0);
        lane.tries = lane.tries.saturating_add(1);
        lane.failed = Some((wall, why.to_owned()));
        lane.next = now + pause(lane.tries, random);
        lane.tries
    }

    /// The lane of a route, as long as it was not set anew.
    fn lane(&mut self, route: &str, round: u64) -> Option<&mut Lane> {
        self.lanes.get_mut(route).filter(|lane| lane.round == round)
    }

    /// How the lane of a route does.
    pub fn state(&self, route: &str) -> LaneState {
        let state = |lane: &Lane| LaneState {
            queued: lane.notes.len(),
            tries: lane.tries,
            failed: lane.failed.clone(),
        };
        self.lanes.get(route).map(state).unwrap_or_default()
    }

    /// Routes of which so many tries have failed, with how many and why.
    pub fn failing(&self, tries: u32) -> Vec<(String, u32, String)> {
        let failing = self.lanes.iter().filter(|(_, lane)| !lane.is_off && lane.tries >= tries);
        let told = |(name, lane): (&String, &Lane)| {
            let (_, why) = lane.failed.clone()?;
            Some((name.clone(), lane.tries, why))
        };
        failing.filter_map(told).collect()
    }
}

/// Seconds after try number `tries`, which failed: they double from [`SHORTEST`] to [`LONGEST`].
/// Up to half as many come to them, so that not all who failed at one moment come back at one.
pub fn pause(tries: u32, random: u64) -> u64 {
    let least = (SHORTEST << tries.saturating_sub(1).min(16)).min(LONGEST * 2 / 3);
    least + random % (least / 2 + 1)
}

#[cfg(test)]
mod tests;
