//! A drill-down: what requests that somebody wants to know of come to, by second and by who or what
//! they are of.
//!
//! ```text
//!   second   total  operations, bytes, time, latencies        exact, of all requests that it takes
//!            cells  key 7: …   key 9: …   key 12: …           exact, of keys that have a place then
//!            other  what the total has and the cells do not   exact, for it is the difference
//! ```
//! There are places for [`PLACES`] keys. One that comes when all are taken gets the place of the
//! lightest, and inherits its weight, as in the algorithm *space-saving*: so a key that is heavy
//! for long has a place, however many light ones come. What the key that went had come to is part
//! of `other` from then on. What a key may have come to before it got its place is at most the
//! weight that it inherited, and that is shown with it.
//!
//! Seconds are kept for an hour and then as minutes ([`Row`]), all within [`ROOM`] bytes: where
//! there is less room, seconds become minutes earlier, and the oldest minutes go.
//!
//! Invariants: a total is exactly what was seen in its time, whatever came and went. Memory has a
//! bound. After its end it takes nothing more, and nobody has to end it for that.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use api_types::{Dimension, Protocol, ServedBy};

use crate::filter::Filter;
use crate::observer::Look;
use crate::seen::Seen;

/// Keys that have a place.
const PLACES: usize = 64;
/// Dimensions of a key at the most.
const DIMENSIONS: usize = api_types::DIMENSIONS;
/// Bytes of rows.
const ROOM: usize = 4 << 20;
/// Seconds that are kept one by one, and what they become.
const FINE: usize = 3_600;
const COARSE: u64 = 60;
/// Buckets of latencies: two for each doubling, from a microsecond to about a minute.
const BUCKETS: usize = 52;
/// Bytes of a range of offsets.
pub const RANGE: u64 = 16 << 20;
/// One in so many requests is timed, to tell what looking costs.
const TIMED: u64 = 64;

/// What a request is in one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Value {
    /// It is nothing there.
    #[default]
    Nothing,
    Protocol(Protocol),
    Text(Arc<str>),
    Operation(&'static str),
    /// A user by his number.
    User(u32),
    /// The guids of pool and dataset.
    Dataset((u64, u64)),
    File((u64, u64), u64),
    /// From this byte of it on, [`RANGE`] bytes.
    Offset(u64),
    /// Bytes or microseconds from this on, and less than twice as many.
    AtLeast(u64),
    Served(ServedBy),
}

/// By what requests are told apart; what is not used is nothing.
pub type Key = [Value; DIMENSIONS];

/// What requests come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub operations: u64,
    pub bytes: u64,
    /// Nanoseconds, all together.
    pub time: u64,
}

impl Sum {
    fn add(&mut self, more: &Sum) {
        self.operations += more.operations;
        self.bytes += more.bytes;
        // A request that lasted for centuries is none.
        self.time = self.time.saturating_add(more.time);
    }

    /// What this has and the other has not.
    #[must_use]
    pub fn less(&self, other: &Sum) -> Sum {
        Sum {
            operations: self.operations - other.operations,
            bytes: self.bytes - other.bytes,
            time: self.time.saturating_sub(other.time),
        }
    }
}

/// What was seen in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Since 1970, and how long it is.
    pub second: u64,
    pub seconds: u64,
    pub total: Sum,
    /// By the number of a key; those that have no place any more are of `other`.
    pub cells: Vec<(u64, Sum)>,
    /// Requests by bucket of latency.
    pub latencies: Vec<(u8, u32)>,
}

impl Row {
    fn bytes(&self) -> usize {
        size_of::<Row>()
            + self.cells.capacity() * size_of::<(u64, Sum)>()
            + self.latencies.capacity() * size_of::<(u8, u32)>()
    }

    fn note(&mut self, key: u64, sum: &Sum, bucket: u8) {
        self.total.add(sum);
        self.add(key, sum);
        self.add_latencies(bucket, 1);
    }

    fn add(&mut self, key: u64, sum: &Sum) {
        match self.cells.iter_mut().find(|(known, _)| *known == key) {
            Some((_, cell)) => cell.add(sum),
            None => self.cells.push((key, *sum)),
        }
    }

    fn add_latencies(&mut self, bucket: u8, count: u32) {
        match self.latencies.iter_mut().find(|(known, _)| *known == bucket) {
            Some((_, known)) => *known = known.saturating_add(count),
            None => self.latencies.push((bucket, count)),
        }
    }

    /// Takes in a row of the same time, but for keys that have no place any more.
    fn absorb(&mut self, row: &Row, has_place: impl Fn(u64) -> bool) {
        self.total.add(&row.total);
        row.cells.iter().filter(|(key, _)| has_place(*key)).for_each(|(key, sum)| self.add(*key, sum));
        row.latencies.iter().for_each(|(bucket, count)| self.add_latencies(*bucket, *count));
    }
}

/// How many buckets there are.
pub fn buckets() -> usize {
    BUCKETS
}

/// The bucket of a latency, and where a bucket begins: in nanoseconds.
fn bucket(nanos: u64) -> u8 {
    let micros = (nanos / 1_000).max(1);
    let doubling = micros.ilog2();
    // Whether it is above the middle of the two powers.
    let half = u32::from(micros >= (1 << doubling) + (1 << doubling) / 2 && doubling > 0);
    ((2 * doubling + half) as usize).min(BUCKETS - 1) as u8
}

pub fn begin_of(bucket: usize) -> u64 {
    let micros = 1_u64 << (bucket / 2);
    1_000 * if bucket.is_multiple_of(2) { micros } else { micros + micros / 2 }
}

/// A key that has a place.
#[derive(Clone, Debug)]
pub struct Place {
    pub number: u64,
    pub key: Key,
    /// Since it has its place.
    pub sum: Sum,
    /// Operations that it may have come to before, at the most.
    pub missing: u64,
}

#[derive(Default)]
struct State {
    places: Vec<Place>,
    by_key: HashMap<Key, usize>,
    /// Of the key that came last.
    last: u64,
    total: Sum,
    /// Oldest first.
    rows: VecDeque<Row>,
    /// Bytes of all rows but the newest.
    bytes: usize,
    /// How many of them are minutes.
    coarse: usize,
}

/// See the module.
pub struct DrillDown {
    by: Vec<Dimension>,
    filter: Filter,
    end: Instant,
    ended: AtomicBool,
    state: Mutex<State>,
    looked: AtomicU64,
    /// Nanoseconds of those that were timed.
    cost: AtomicU64,
}

/// What a drill-down has found.
pub struct Found {
    /// The heaviest first.
    pub places: Vec<Place>,
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

impl State {
    /// The number of a key, which has a place afterwards.
    fn place(&mut self, key: &Key) -> usize {
        if let Some(place) = self.by_key.get(key) {
            return *place;
        }
        self.last += 1;
        let number = self.last;
        let new = |missing| Place { number, key: key.clone(), sum: Sum::default(), missing };
        let at = if self.places.len() < PLACES {
            self.places.push(new(0));
            self.places.len() - 1
        } else {
            let weight = |place: &Place| place.sum.operations + place.missing;
            let lightest = (0..PLACES).min_by_key(|at| weight(&self.places[*at])).unwrap_or(0);
            let gone = &self.places[lightest];
            let missing = weight(gone);
            self.by_key.remove(&gone.key);
            // So a row has no more cells than there are places, however many come in a second.
            if let Some(row) = self.rows.back_mut() {
                row.cells.retain(|(key, _)| *key != gone.number);
            }
            self.places[lightest] = new(missing);
            lightest
        };
        self.by_key.insert(key.clone(), at);
        at
    }

    fn note(&mut self, second: u64, key: &Key, sum: &Sum, bucket: u8) {
        let at = self.place(key);
        self.places[at].sum.add(sum);
        self.total.add(sum);
        let number = self.places[at].number;
        // A clock that is set back does not make rows anew: what comes then counts as now.
        if self.rows.back().is_none_or(|row| second >= row.second + row.seconds) {
            self.bytes += self.rows.back().map_or(0, Row::bytes);
            self.rows.push_back(Row { second, seconds: 1, ..Row::default() });
            self.shrink();
        }
        if let Some(row) = self.rows.back_mut() {
            row.note(number, sum, bucket);
        }
    }

    /// Makes minutes of seconds, and forgets, until there is room.
    fn shrink(&mut self) {
        while self.rows.len() - self.coarse > FINE || self.bytes > ROOM {
            // The newest is being written.
            if self.rows.len() - self.coarse > 1 {
                self.coarsen();
            } else if self.coarse > 0 {
                self.coarse -= 1;
                self.bytes -= self.rows.pop_front().map_or(0, |row| row.bytes());
            } else {
                return;
            }
        }
    }

    /// The seconds of the oldest minute become one row.
    fn coarsen(&mut self) {
        let newest = self.rows.len() - 1;
        let Some(first) = self.rows.get(self.coarse) else { return };
        let minute = first.second / COARSE;
        let mut row = Row { second: minute * COARSE, seconds: COARSE, ..Row::default() };
        let numbers: Vec<u64> = self.places.iter().map(|place| place.number).collect();
        let mut many = 0;
        while self.coarse + many < newest && self.rows[self.coarse + many].second / COARSE == minute {
            row.absorb(&self.rows[self.coarse + many], |key| numbers.contains(&key));
            many += 1;
        }
        let seconds: Vec<Row> = self.rows.drain(self.coarse..self.coarse + many).collect();
        self.bytes -= seconds.iter().map(Row::bytes).sum::<usize>();
        // Where a minute was cut in two for lack of room, it is one again.
        let before = self.coarse.checked_sub(1).map(|at| &mut self.rows[at]);
        match before.filter(|before| before.second == row.second) {
            Some(before) => {
                let old = before.bytes();
                before.cells.retain(|(key, _)| numbers.contains(key));
                before.absorb(&row, |_| true);
                self.bytes = self.bytes + before.bytes() - old;
            }
            None => {
                self.bytes += row.bytes();
                self.rows.insert(self.coarse, row);
                self.coarse += 1;
            }
        }
    }
}

fn value(dimension: Dimension, seen: &Seen) -> Value {
    let trail = &seen.trail;
    let power = |number: u64| Value::AtLeast(if number == 0 { 0 } else { 1 << number.ilog2() });
    match dimension {
        Dimension::Protocol => Value::Protocol(seen.protocol),
        Dimension::Client => Value::Text(seen.client.clone()),
        Dimension::User => match (&seen.account, trail.user) {
            (Some(account), _) => Value::Text(account.clone()),
            (None, Some(user)) => Value::User(user),
            (None, None) => Value::Nothing,
        },
        Dimension::Dataset => trail.dataset.map_or(Value::Nothing, Value::Dataset),
        Dimension::File => match (trail.dataset, trail.object) {
            (Some(dataset), Some(object)) => Value::File(dataset, object),
            // A volume is one file.
            (Some(dataset), None) => Value::Dataset(dataset),
            (None, _) => Value::Nothing,
        },
        Dimension::Operation => Value::Operation(seen.operation),
        Dimension::Offset => {
            trail.offset.map_or(Value::Nothing, |offset| Value::Offset(offset / RANGE * RANGE))
        }
        Dimension::Size => power(trail.bytes),
        Dimension::Latency => power(seen.took() / 1_000),
        Dimension::Served => seen.served_by().map_or(Value::Nothing, Value::Served),
    }
}

impl DrillDown {
    /// By so many dimensions, of which [`DIMENSIONS`] count.
    pub fn new(by: &[Dimension], filter: Filter, end: Instant) -> DrillDown {
        let by = by.iter().copied().take(DIMENSIONS).collect();
        let (looked, cost) = (AtomicU64::new(0), AtomicU64::new(0));
        DrillDown { by, filter, end, ended: AtomicBool::new(false), state: Mutex::default(), looked, cost }
    }

    /// A panic under it leaves every sum as it was.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes nothing more; what it has found stays.
    pub fn stop(&self) {
        self.ended.store(true, Relaxed);
    }

    pub fn is_over(&self, now: Instant) -> bool {
        self.ended.load(Relaxed) || now >= self.end
    }

    pub fn end(&self) -> Instant {
        self.end
    }

    pub fn cost(&self) -> Cost {
        let state = self.state();
        let fixed = PLACES * (size_of::<Place>() + size_of::<(Key, usize)>());
        let bytes = state.bytes + state.rows.back().map_or(0, Row::bytes) + fixed;
        drop(state);
        let (requests, time) = (self.looked.load(Relaxed), self.cost.load(Relaxed).saturating_mul(TIMED));
        Cost { requests, time, bytes }
    }

    /// Rows from a second on.
    pub fn found(&self, from: u64) -> Found {
        let state = self.state();
        let mut places = state.places.clone();
        let numbers: Vec<u64> = places.iter().map(|place| place.number).collect();
        let wanted = state.rows.iter().filter(|row| row.second + row.seconds > from);
        let mut rows: Vec<Row> = wanted.cloned().collect();
        let total = state.total;
        drop(state);
        rows.iter_mut().for_each(|row| row.cells.retain(|(key, _)| numbers.contains(key)));
        places.sort_by_key(|place| std::cmp::Reverse((place.sum.operations, place.sum.bytes)));
        Found { places, total, rows }
    }

    fn count(&self, seen: &Seen) {
        if !self.filter.takes(seen) {
            return;
        }
        let mut key = Key::default();
        for (part, dimension) in key.iter_mut().zip(&self.by) {
            *part = value(*dimension, seen);
        }
        let took = seen.took();
        let sum = Sum { operations: 1, bytes: seen.trail.bytes, time: took };
        // A request counts when it ends.
        let second = seen.time.saturating_add(took / 1_000) / 1_000_000;
        self.state().note(second, &key, &sum, bucket(took));
    }
}

impl Look for DrillDown {
    fn see(&self, seen: &Seen, now: Instant) -> bool {
        if self.is_over(now) {
            return false;
        }
        if self.looked.fetch_add(1, Relaxed).is_multiple_of(TIMED) {
            let begun = Instant::now();
            self.count(seen);
            self.cost.fetch_add(begun.elapsed().as_nanos() as u64, Relaxed);
        } else {
            self.count(seen);
        }
        true
    }
}

#[cfg(test)]
mod tests;
