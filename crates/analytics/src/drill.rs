//! A drill-down: what requests that somebody wants to know of come to, by second and by who or what
//! they are of.
//!
//! ```text
//!   lane 1   requests of a second by key  ─┐ merged when the second is over, when they have many
//!   lane 2   requests of a second by key  ─┤ keys, and when somebody reads
//!     …                                    ▼
//!   second   total  operations, bytes, time, latencies        exact, of all requests that it takes
//!            cells  key 7: …   key 9: …   key 12: …           exact, of keys that have a place then
//!            other  what the total has and the cells do not   exact, for it is the difference
//! ```
//! A request is noted in the lane of its thread ([`crate::lane`]), so requests of other threads are
//! not waited for. There are places for so many keys ([`crate::places`]). One that comes when all
//! are taken gets the place of the lightest, and inherits its weight, as in the algorithm
//! *space-saving*: so a key that is heavy for long has a place, however many light ones come. What
//! the key that went had come to is part of `other` from then on. What a key may have come to
//! before it got its place is at most the weight that it inherited, and that is shown with it.
//!
//! Seconds are kept for an hour and then as minutes ([`Row`]), within a bound in bytes: where
//! there is less room, seconds become minutes earlier, and the oldest minutes go.
//!
//! Invariants: a total is exactly what was seen in its time, whatever came and went. Who reads has
//! all of what was over before. Memory has a bound. After its end it takes nothing more, and nobody
//! has to end it for that.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use api_types::Dimension;

use crate::filter::Filter;
use crate::key::key_of;
use crate::lane::LANES;
use crate::observer::{Look, Looks};
use crate::pending::Pending;
use crate::places::{Place, Places};
use crate::seen::Seen;
use crate::sums::{Row, Sum, bucket};

/// One request in so many of a lane is timed, to tell what looking costs.
const TIMED: u64 = 64;

/// See the module.
pub struct DrillDown {
    merged: Arc<Merged>,
    lanes: Vec<Arc<Lane>>,
    /// Who reads waits for others who do: what one takes of the lanes the other is to have, too.
    reading: Mutex<()>,
}

struct Merged {
    by: Vec<Dimension>,
    filter: Filter,
    began: Instant,
    /// Nanoseconds after it began.
    end: AtomicU64,
    ended: AtomicBool,
    /// The latest second that a request has ended in.
    latest: AtomicU64,
    places: Mutex<Places>,
}

/// What threads of one lane have seen. No other lane's is in the same lines of a cache.
#[repr(align(128))]
struct Lane {
    merged: Arc<Merged>,
    own: Mutex<Own>,
}

#[derive(Default)]
struct Own {
    pending: Pending,
    looked: u64,
    /// Nanoseconds of those that were timed.
    cost: u64,
}

/// What a drill-down has found.
pub struct Found {
    /// The heaviest first.
    pub places: Vec<Place>,
    /// Datasets of files, where files are told apart: the heaviest first.
    pub datasets: Vec<Place>,
    pub total: Sum,
    /// Oldest first. Their cells are of keys that have a place.
    pub rows: Vec<Row>,
}

/// What a drill-down costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Requests that it has looked at.
    pub requests: u64,
    /// Nanoseconds of processors for that, estimated.
    pub time: u64,
    pub bytes: usize,
}

/// A panic under it leaves every sum as it was.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DrillDown {
    /// By so many dimensions, of which [`api_types::DIMENSIONS`] count.
    pub fn new(by: &[Dimension], filter: Filter, end: Instant) -> DrillDown {
        let (ended, latest, began) = (AtomicBool::new(false), AtomicU64::new(0), Instant::now());
        let end = AtomicU64::new(end.saturating_duration_since(began).as_nanos() as u64);
        let merged = Arc::new(Merged {
            by: by.to_vec(),
            filter,
            began,
            end,
            ended,
            latest,
            places: Mutex::new(Places::by(by)),
        });
        let lane = |_| Arc::new(Lane { merged: merged.clone(), own: Mutex::default() });
        DrillDown { lanes: (0..LANES).map(lane).collect(), merged, reading: Mutex::default() }
    }

    /// Takes nothing more; what it has found stays.
    pub fn stop(&self) {
        self.merged.ended.store(true, Relaxed);
    }

    pub fn is_over(&self, now: Instant) -> bool {
        self.merged.is_over(now)
    }

    pub fn end(&self) -> Instant {
        self.merged.began + Duration::from_nanos(self.merged.end.load(Relaxed))
    }

    /// It ends no earlier than that, unless it is over already.
    pub fn extend(&self, end: Instant) {
        let end = end.saturating_duration_since(self.merged.began).as_nanos() as u64;
        self.merged.end.fetch_max(end, Relaxed);
    }

    pub fn cost(&self) -> Cost {
        let mut cost = Cost { requests: 0, time: 0, bytes: lock(&self.merged.places).bytes() };
        for lane in &self.lanes {
            let own = lock(&lane.own);
            cost.requests += own.looked;
            cost.time = cost.time.saturating_add(own.cost.saturating_mul(TIMED));
            cost.bytes += size_of::<Lane>() + own.pending.bytes();
        }
        cost
    }

    /// Rows from a second on.
    pub fn found(&self, from: u64) -> Found {
        let _reading = lock(&self.reading);
        for lane in &self.lanes {
            // Requests of this lane go on while these are merged.
            let mut pending = std::mem::take(&mut lock(&lane.own).pending);
            lock(&self.merged.places).merge(&mut pending);
        }
        let state = lock(&self.merged.places);
        let (numbers, total) = (state.numbers(), state.total);
        let (mut places, mut datasets) = (state.keys.places.clone(), state.datasets.places.clone());
        let wanted = state.rows.iter().filter(|row| row.second + row.seconds > from);
        let shared: Vec<Arc<Row>> = wanted.cloned().collect();
        drop(state);
        let mut rows: Vec<Row> = shared.into_iter().map(Arc::unwrap_or_clone).collect();
        rows.iter_mut().for_each(|row| row.cells.retain(|(key, _)| numbers.contains(key)));
        for places in [&mut places, &mut datasets] {
            places.sort_by_key(|place| std::cmp::Reverse((place.sum.operations, place.sum.bytes)));
        }
        Found { places, datasets, total, rows }
    }
}

impl Merged {
    fn is_over(&self, now: Instant) -> bool {
        let lasts = now.saturating_duration_since(self.began).as_nanos() as u64;
        self.ended.load(Relaxed) || lasts >= self.end.load(Relaxed)
    }

    /// In which second a request counts: when it ends. A clock that is set back does not make
    /// seconds anew: what comes then counts as now.
    fn second(&self, seen: &Seen, took: u64) -> u64 {
        let second = seen.time.saturating_add(took / 1_000) / 1_000_000;
        let latest = self.latest.load(Relaxed);
        if second > latest {
            self.latest.fetch_max(second, Relaxed);
        }
        second.max(latest)
    }

    fn count(&self, pending: &mut Pending, seen: &Seen) {
        if !self.filter.takes(seen) {
            return;
        }
        let (key, took) = (key_of(&self.by, seen), seen.took());
        let sum = Sum { operations: 1, bytes: seen.trail.bytes, time: took };
        let second = self.second(seen, took);
        let bucket = bucket(took);
        if !pending.note(second, &key, &sum, bucket) {
            lock(&self.places).merge(pending);
            let has_room = pending.note(second, &key, &sum, bucket);
            assert!(has_room, "nothing is pending after a merge");
        }
    }
}

impl Looks for DrillDown {
    fn of_lane(&self, lane: usize) -> Weak<dyn Look> {
        Arc::downgrade(&self.lanes[lane % LANES]) as Weak<dyn Look>
    }
}

impl Look for Lane {
    fn see(&self, seen: &Seen, now: Instant) -> bool {
        if self.merged.is_over(now) {
            return false;
        }
        let own = &mut *lock(&self.own);
        own.looked += 1;
        if own.looked % TIMED == 1 {
            let begun = Instant::now();
            self.merged.count(&mut own.pending, seen);
            own.cost += begun.elapsed().as_nanos() as u64;
        } else {
            self.merged.count(&mut own.pending, seen);
        }
        true
    }

    fn wants_stages(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
