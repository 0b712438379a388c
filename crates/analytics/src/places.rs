//! The keys that have a place, and rows by second and by minute; and the datasets of files that do.
//!
//! Where files are told apart, what each of their datasets comes to is kept too, in places of their
//! own, when lanes are merged: so the sum of a dataset is exact however many files it has, and what
//! its files with a place do not have is of its other files.
//!
//! Invariants: a row has no more cells than there are places. Rows have a bound in bytes
//! ([`ROOM`]), follow each other in time, and none overlaps another.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use api_types::Dimension;

use crate::key::{Key, dataset_of};
use crate::pending::Pending;
use crate::sums::{Row, Sum};

/// Keys that have a place.
pub const PLACES: usize = 64;
/// Bytes of rows.
pub const ROOM: usize = 4 << 20;
/// Seconds that are kept one by one, and what they become.
pub const FINE: usize = 3_600;
pub const COARSE: u64 = 60;

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

/// Keys that have a place.
#[derive(Default)]
pub struct Table {
    pub places: Vec<Place>,
    by_key: HashMap<Key, usize>,
    /// Of the key that came last.
    last: u64,
}

/// See the module.
#[derive(Default)]
pub struct Places {
    pub keys: Table,
    /// By the dataset alone; nothing where files are not told apart.
    pub datasets: Table,
    /// Where a key has its file, if files are told apart.
    file_at: Option<usize>,
    pub total: Sum,
    /// Oldest first. Who reads them shares them, so that nobody waits for a copy.
    pub rows: VecDeque<Arc<Row>>,
    /// Bytes of all rows.
    bytes: usize,
    /// How many of them are minutes.
    coarse: usize,
}

impl Table {
    fn numbers(&self) -> Vec<u64> {
        self.places.iter().map(|place| place.number).collect()
    }

    /// Where a key has its place, which it has afterwards; and the number of that which went for
    /// it.
    fn place(&mut self, key: &Key) -> (usize, Option<u64>) {
        if let Some(place) = self.by_key.get(key) {
            return (*place, None);
        }
        self.last += 1;
        let number = self.last;
        let new = |missing| Place { number, key: key.clone(), sum: Sum::default(), missing };
        let (at, gone) = if self.places.len() < PLACES {
            self.places.push(new(0));
            (self.places.len() - 1, None)
        } else {
            let weight = |place: &Place| place.sum.operations + place.missing;
            let lightest = (0..PLACES).min_by_key(|at| weight(&self.places[*at])).unwrap_or(0);
            let missing = weight(&self.places[lightest]);
            let gone = std::mem::replace(&mut self.places[lightest], new(missing));
            self.by_key.remove(&gone.key);
            (lightest, Some(gone.number))
        };
        self.by_key.insert(key.clone(), at);
        (at, gone)
    }

    /// Adds to a key, which has a place afterwards: its number, and the number of that which went.
    fn add(&mut self, key: &Key, sum: &Sum) -> (u64, Option<u64>) {
        let (at, gone) = self.place(key);
        self.places[at].sum.add(sum);
        (self.places[at].number, gone)
    }
}

impl Places {
    /// Of keys by these dimensions.
    pub fn by(by: &[Dimension]) -> Places {
        let file_at = by.iter().position(|dimension| *dimension == Dimension::File);
        Places { file_at, ..Places::default() }
    }

    pub fn bytes(&self) -> usize {
        self.bytes + 2 * PLACES * (size_of::<Place>() + size_of::<(Key, usize)>())
    }

    pub fn numbers(&self) -> Vec<u64> {
        self.keys.numbers()
    }

    /// The row of a second, which may have passed when others were merged already.
    fn row(&mut self, second: u64) -> usize {
        let behind = self.rows.partition_point(|row| row.second <= second);
        let before = behind.checked_sub(1);
        if let Some(at) = before.filter(|at| second < self.rows[*at].second + self.rows[*at].seconds) {
            return at;
        }
        let is_minute = behind < self.coarse;
        let (second, seconds) = if is_minute { (second / COARSE * COARSE, COARSE) } else { (second, 1) };
        let row = Row { second, seconds, ..Row::default() };
        self.bytes += row.bytes();
        self.rows.insert(behind, Arc::new(row));
        self.coarse += usize::from(is_minute);
        behind
    }

    /// Takes in what a lane has seen, which has nothing afterwards.
    pub fn merge(&mut self, pending: &mut Pending) {
        if pending.is_empty() {
            return;
        }
        let at = self.row(pending.second());
        let before = self.rows[at].bytes();
        // Of those that went since it was written there is no cell: so there is room for all.
        let numbers = self.numbers();
        Arc::make_mut(&mut self.rows[at]).cells.retain(|(key, _)| numbers.contains(key));
        let (cells, latencies) = pending.take();
        for (key, sum) in cells {
            let (number, gone) = self.keys.add(&key, &sum);
            self.total.add(&sum);
            if let Some(dataset) = self.file_at.and_then(|at| dataset_of(&key, at)) {
                self.datasets.add(&dataset, &sum);
            }
            let row = Arc::make_mut(&mut self.rows[at]);
            if gone.is_some() {
                row.cells.retain(|(key, _)| Some(*key) != gone);
            }
            row.total.add(&sum);
            row.add(number, &sum);
        }
        let row = Arc::make_mut(&mut self.rows[at]);
        for (bucket, count) in latencies.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            row.add_latencies(bucket as u8, count);
        }
        self.bytes = self.bytes + self.rows[at].bytes() - before;
        self.shrink();
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
        let numbers = self.numbers();
        let mut many = 0;
        while self.coarse + many < newest && self.rows[self.coarse + many].second / COARSE == minute {
            row.absorb(&self.rows[self.coarse + many], |key| numbers.contains(&key));
            many += 1;
        }
        let seconds = self.rows.drain(self.coarse..self.coarse + many);
        self.bytes -= seconds.map(|row| row.bytes()).sum::<usize>();
        // Where a minute was cut in two for lack of room, it is one again.
        let before = self.coarse.checked_sub(1).map(|at| &mut self.rows[at]);
        match before.filter(|before| before.second == row.second) {
            Some(before) => {
                let old = before.bytes();
                let before = Arc::make_mut(before);
                before.cells.retain(|(key, _)| numbers.contains(key));
                before.absorb(&row, |_| true);
                self.bytes = self.bytes + before.bytes() - old;
            }
            None => {
                self.bytes += row.bytes();
                self.rows.insert(self.coarse, Arc::new(row));
                self.coarse += 1;
            }
        }
    }
}
