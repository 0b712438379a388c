//! Who tries passwords too often waits.
//!
//! A try counts as failed from its beginning, until it is known to be right, so tries at the same
//! time gain nothing. After five failures in a row the next try waits 1 s, then 2 s, up to 15
//! minutes; a try during the wait is not looked at, a right one neither. Failures are counted by
//! account and by place (an IPv4 address, or 64 bits of an IPv6 address). An hour without a failure
//! forgets them.
//!
//! A stranger must not lock somebody out: once an account was logged in from a place, tries of that
//! account from that place are counted by themselves, and what fails elsewhere does not delay them.
//! A success ends the wait of the account, or of account and place where these are counted. It does
//! not end the wait of the place: else an attacker who has an account would try those of others
//! with a login of his own in between.
//!
//! Invariants: each table has 4,096 entries at most. The one that was touched longest ago goes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

const ENTRIES: usize = 4_096;
const FREE_FAILURES: u32 = 5;
/// Seconds.
const LONGEST_WAIT: i64 = 15 * 60;
const FORGOTTEN_AFTER: i64 = 60 * 60;

/// Failures in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    count: u32,
    /// No try is looked at before.
    until: i64,
    touched: i64,
}

impl Failures {
    /// Seconds to wait; 0 is none.
    pub(crate) fn wait(&mut self, now: i64) -> u64 {
        if now < self.touched {
            // The clock was set back. What was left of the wait is still left.
            self.until -= self.touched - now;
            self.touched = now;
        }
        u64::try_from(self.until - now).unwrap_or(0) // Negative: it is over.
    }

    /// One more, after which the longest wait is `longest` seconds.
    pub(crate) fn add(&mut self, now: i64, longest: i64) {
        if now - self.touched > FORGOTTEN_AFTER {
            self.count = 0;
        }
        self.count = self.count.saturating_add(1);
        self.touched = now;
        self.until = match self.count.checked_sub(FREE_FAILURES) {
            Some(over) => now + (1_i64 << over.min(32)).min(longest),
            None => now,
        };
    }

    /// The last one was none. It was begun when no wait was left.
    fn take_back(&mut self) {
        self.count = self.count.saturating_sub(1);
        self.until = self.touched;
    }
}

/// Where a try comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    V4([u8; 4]),
    V6([u8; 8]),
}

impl Place {
    fn of(address: IpAddr) -> Place {
        match address.to_canonical() {
            IpAddr::V4(address) => Place::V4(address.octets()),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                Place::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

#[derive(Debug)]
struct Table<K> {
    entries: BTreeMap<K, Failures>,
}

impl<K> Default for Table<K> {
    fn default() -> Table<K> {
        Table { entries: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Table<K> {
    fn wait(&mut self, key: &K, now: i64) -> u64 {
        self.entries.get_mut(key).map_or(0, |failures| failures.wait(now))
    }

    fn entry(&mut self, key: &K) -> &mut Failures {
        if self.entries.len() >= ENTRIES && !self.entries.contains_key(key) {
            let oldest = self.entries.iter().min_by_key(|(_, failures)| failures.touched);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                self.entries.remove(&oldest);
            }
        }
        self.entries.entry(key.clone()).or_default()
    }

    fn take_back(&mut self, key: &K) {
        if let Some(failures) = self.entries.get_mut(key) {
            failures.take_back();
        }
    }
}

#[derive(Debug, Default)]
struct Tables {
    accounts: Table<String>,
    places: Table<Place>,
    /// Of accounts that were logged in from there since the program started.
    trusted: Table<(String, Place)>,
}

/// What has failed, in memory.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    tables: Mutex<Tables>,
}

/// A try that is under way, counted as a failure.
#[derive(Debug)]
pub(crate) struct Try {
    who: (String, Place),
    trusted: bool,
}

impl Throttle {
    /// Begins a try; the seconds to wait where it is not to be looked at. `account` is empty for
    /// names that no account can have.
    pub(crate) fn begin(&self, account: &str, address: IpAddr, now: i64) -> Result<Try, u64> {
        let mut tables = self.tables();
        let who = (account.to_owned(), Place::of(address));
        let trusted = tables.trusted.entries.contains_key(&who);
        let wait = if trusted {
            tables.trusted.wait(&who, now)
        } else {
            tables.accounts.wait(&who.0, now).max(tables.places.wait(&who.1, now))
        };
        if wait > 0 {
            return Err(wait);
        }
        if trusted {
            tables.trusted.entry(&who).add(now, LONGEST_WAIT);
        } else {
            tables.accounts.entry(&who.0).add(now, LONGEST_WAIT);
            tables.places.entry(&who.1).add(now, LONGEST_WAIT);
        }
        Ok(Try { who, trusted })
    }

    /// The try was right.
    pub(crate) fn succeeded(&self, attempt: &Try, now: i64) {
        let mut tables = self.tables();
        if !attempt.trusted {
            tables.accounts.entries.remove(&attempt.who.0);
            tables.places.take_back(&attempt.who.1);
        }
        *tables.trusted.entry(&attempt.who) = Failures { touched: now, ..Failures::default() };
    }

    /// Nobody found out whether the try was right, or it was right as far as it went.
    pub(crate) fn take_back(&self, attempt: &Try) {
        let mut tables = self.tables();
        if attempt.trusted {
            tables.trusted.take_back(&attempt.who);
        } else {
            tables.accounts.take_back(&attempt.who.0);
            tables.places.take_back(&attempt.who.1);
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
