//! Who tries passwords too often waits.
//!
//! A try counts as failed from its beginning, until it is known to be right, so tries at the same
//! time gain nothing. After five failures in a row the next try waits 1 s, then 2 s, and so on; a
//! try during the wait is not looked at, a right one neither. An hour without a failure forgets
//! them. What is counted, and the longest wait after it:
//! - tries from a place (an IPv4 address, or 64 bits of an IPv6 address): 15 minutes;
//! - tries of an account, from wherever: 30 seconds. More would let a stranger keep its owner out,
//!   and against ten characters 2,880 tries a day are nothing;
//! - wrong second factors of an account whose password was right: 15 minutes, for against six
//!   digits so many tries are something. Only who knows the password can make the owner wait.
//!
//! A stranger must not lock somebody out: tries of an account from a place where it has logged in
//! before ([`places`]) are counted by themselves, up to 15 minutes, and what fails elsewhere does
//! not delay them. A success ends the wait of the account, or of account and place where these are
//! counted. It does not end the wait of the place: else an attacker who has an account would try
//! those of others with a login of his own in between.
//!
//! Invariants: accounts are counted in 4,096 buckets, by a hash that nobody can foretell, so no
//! flood of invented names has the failures of one forgotten. Each other table has 4,096 entries at
//! most; the one that was touched longest ago goes.
//!
//! [`places`]: crate::places

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::places::Place;
use crate::{Outside, secret};

const ENTRIES: usize = 4_096;
const BUCKETS: u16 = 4_096;
const FREE_FAILURES: u32 = 5;
/// Seconds; the second is that of accounts.
const LONGEST_WAIT: i64 = 15 * 60;
const LONGEST_OF_ACCOUNT: i64 = 30;
const FORGOTTEN_AFTER: i64 = 60 * 60;

/// Failures in a row.
#[derive(Clone, Debug, Default)]
struct Failures {
    count: u32,
    /// No try is looked at before.
    until: i64,
    touched: i64,
}

impl Failures {
    /// Seconds to wait; 0 is none.
    fn wait(&mut self, now: i64) -> u64 {
        if now < self.touched {
            // The clock was set back. What was left of the wait is still left.
            self.until -= self.touched - now;
            self.touched = now;
        }
        u64::try_from(self.until - now).unwrap_or(0) // Negative: it is over.
    }

    /// One more, after which the longest wait is `longest` seconds.
    fn add(&mut self, now: i64, longest: i64) {
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
    /// By bucket.
    accounts: Table<u16>,
    places: Table<Place>,
    /// Of accounts that have logged in from there.
    known: Table<(String, Place)>,
    second_factors: Table<String>,
}

/// What has failed, in memory.
#[derive(Debug)]
pub(crate) struct Throttle {
    tables: Mutex<Tables>,
    /// Of the hash that buckets are chosen by.
    key: String,
}

/// A try that is under way, counted as a failure.
#[derive(Debug)]
pub(crate) struct Try {
    who: (String, Place),
    bucket: u16,
    is_known: bool,
    /// The second factor is counted, too.
    has_second: bool,
}

impl Throttle {
    pub(crate) fn new(outside: &dyn Outside) -> Throttle {
        Throttle { tables: Mutex::default(), key: secret::random(outside) }
    }

    /// Begins a try; the seconds to wait where it is not to be looked at. `account` is empty for
    /// names that no account can have; `is_known` says whether it has logged in from there.
    pub(crate) fn begin(&self, account: &str, place: Place, is_known: bool, now: i64) -> Result<Try, u64> {
        let [first, second, ..] = secret::hash(&format!("{}{account}", self.key));
        let bucket = (u16::from(first) << 8 | u16::from(second)) % BUCKETS;
        let attempt = Try { who: (account.to_owned(), place), bucket, is_known, has_second: false };
        let mut tables = self.tables();
        let wait = match is_known {
            true => tables.known.wait(&attempt.who, now),
            false => tables.accounts.wait(&bucket, now).max(tables.places.wait(&place, now)),
        };
        if wait > 0 {
            return Err(wait);
        }
        if is_known {
            tables.known.entry(&attempt.who).add(now, LONGEST_WAIT);
        } else {
            tables.accounts.entry(&bucket).add(now, LONGEST_OF_ACCOUNT);
            tables.places.entry(&place).add(now, LONGEST_WAIT);
        }
        Ok(attempt)
    }

    /// The password was right, and a second factor is looked at next; the seconds to wait where it
    /// is not to be. From a known place its failures are counted already.
    pub(crate) fn begin_second(&self, attempt: &mut Try, now: i64) -> Result<(), u64> {
        if attempt.is_known {
            return Ok(());
        }
        let mut tables = self.tables();
        match tables.second_factors.wait(&attempt.who.0, now) {
            0 => {
                tables.second_factors.entry(&attempt.who.0).add(now, LONGEST_WAIT);
                attempt.has_second = true;
                Ok(())
            }
            wait => Err(wait),
        }
    }

    /// The try was right.
    pub(crate) fn succeeded(&self, attempt: &Try) {
        let mut tables = self.tables();
        if attempt.is_known {
            tables.known.entries.remove(&attempt.who);
        } else {
            tables.accounts.entries.remove(&attempt.bucket);
            tables.places.take_back(&attempt.who.1);
            tables.second_factors.entries.remove(&attempt.who.0);
        }
    }

    /// Nobody found out whether the try was right, or it was right as far as it went.
    pub(crate) fn take_back(&self, attempt: &Try) {
        let mut tables = self.tables();
        if attempt.is_known {
            tables.known.take_back(&attempt.who);
        } else {
            tables.accounts.take_back(&attempt.bucket);
            tables.places.take_back(&attempt.who.1);
        }
        if attempt.has_second {
            tables.second_factors.take_back(&attempt.who.0);
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
