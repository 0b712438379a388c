//! Which versions stay: the newest ones, one of each of the last days that have any, and all
//! together no more bytes than fit.

use std::collections::BTreeSet;

/// The newest ones that stay, whatever day they are of.
const NEWEST: usize = 30;
/// Days of which the last version stays.
const DAYS: usize = 60;
const SECONDS_A_DAY: i64 = 24 * 60 * 60;
/// Bytes of all together, the next one included: less than the limit of the file system.
const MOST_BYTES: u64 = 896 << 20;

/// A version, as far as it counts here.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub number: u64,
    pub time: i64,
    pub size: u64,
}

/// Numbers of those that go before a version of `next` bytes comes; the newest never does. `held`
/// is in the order of numbers. Days are those that versions are of, not the last ones before today:
/// a clock that was wrong for a while takes none away.
pub fn surplus(held: &[Held], next: u64) -> BTreeSet<u64> {
    let mut stay = BTreeSet::new();
    let mut days = BTreeSet::new();
    for (age, one) in held.iter().rev().enumerate() {
        let is_last_of_day = days.len() < DAYS && days.insert(one.time.div_euclid(SECONDS_A_DAY));
        // The next one is the newest.
        if age < NEWEST - 1 || is_last_of_day {
            stay.insert(one.number);
        }
    }
    let staying: Vec<&Held> = held.iter().rev().filter(|one| stay.contains(&one.number)).collect();
    let mut bytes = next;
    for (age, one) in staying.into_iter().enumerate() {
        bytes = bytes.saturating_add(one.size);
        if age > 0 && bytes > MOST_BYTES {
            stay.remove(&one.number);
        }
    }
    held.iter().map(|one| one.number).filter(|number| !stay.contains(number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(seconds: i64, count: u64, size: u64) -> Vec<Held> {
        (1..=count)
            .map(|number| Held { number, time: 1_800_000_000 + seconds * number.cast_signed(), size })
            .collect()
    }

    fn left(held: &[Held], next: u64) -> Vec<u64> {
        let gone = surplus(held, next);
        held.iter().map(|one| one.number).filter(|number| !gone.contains(number)).collect()
    }

    #[test]
    fn the_newest_stay_and_one_of_each_day() {
        assert_eq!(left(&every(60, 29, 1), 1).len(), 29);
        // All of one day, or of two.
        let within = left(&every(60, 500, 1), 1);
        assert_eq!(within.last(), Some(&500));
        assert!((29..=31).contains(&within.len()), "{within:?}");
        // Four a day: the last of each of 60 days.
        let days = left(&every(6 * 60 * 60, 1_000, 1), 1);
        assert_eq!(days.len(), 29 + (60 - 8), "{days:?}");
        assert!(days.windows(2).all(|pair| pair[1] - pair[0] <= 4), "{days:?}");
        // A clock that was years ahead for one version takes none of the others away.
        let mut held = every(SECONDS_A_DAY, 50, 1);
        held[20].time = i64::MAX;
        held[21].time = i64::MIN;
        assert_eq!(left(&held, 1).len(), 50);
    }

    #[test]
    fn what_does_not_fit_goes_and_the_newest_never() {
        let (large, small) = (every(60, 10, 290 << 20), every(60, 10, 10 << 20));
        assert_eq!(left(&large, 290 << 20), [9, 10]);
        assert_eq!(left(&large, 448 << 20), [10]);
        assert_eq!(left(&every(60, 3, u64::MAX), u64::MAX), [3]);
        assert_eq!(left(&small, 10 << 20).len(), 10);
        assert_eq!(left(&[], 1), [0; 0]);
    }
}
