//! What was listed of a host's datasets: believed for [`FRESH`] seconds, one that was changed
//! meanwhile for none.

use std::collections::{BTreeMap, BTreeSet};

/// Seconds that a listing is believed.
const FRESH: u64 = 60;

/// See the module. A `T` is what is known of a dataset.
pub struct Fresh<T> {
    /// When all was listed; `None`: it was not yet.
    at: Option<u64>,
    datasets: BTreeMap<String, T>,
    /// They were changed since.
    changed: BTreeSet<String>,
}

/// What is to be listed before a dataset is known.
#[derive(Debug, PartialEq, Eq)]
pub enum Wanted {
    All,
    One,
    Nothing,
}

impl<T> Default for Fresh<T> {
    fn default() -> Fresh<T> {
        Fresh { at: None, datasets: BTreeMap::new(), changed: BTreeSet::new() }
    }
}

impl<T> Fresh<T> {
    pub fn of(datasets: BTreeMap<String, T>, now: u64) -> Fresh<T> {
        Fresh { at: Some(now), datasets, changed: BTreeSet::new() }
    }

    /// `is_whole`: all are of interest. However long a session takes, all are listed once in
    /// [`FRESH`] seconds at most: one by one they would take a command each.
    pub fn wanted(&self, is_whole: bool, now: u64, dataset: &str) -> Wanted {
        let is_fresh = self.at.is_some_and(|at| now.saturating_sub(at) <= FRESH);
        match (is_whole, is_fresh) {
            (false, _) => Wanted::One,
            (true, false) => Wanted::All,
            (true, true) if self.changed.contains(dataset) => Wanted::One,
            (true, true) => Wanted::Nothing,
        }
    }

    pub fn get(&self, dataset: &str) -> Option<&T> {
        self.datasets.get(dataset)
    }

    /// It is not as it was listed any more.
    pub fn change(&mut self, dataset: &str) {
        self.changed.insert(dataset.to_owned());
    }

    /// What was listed of one by itself; `None`: it is not there.
    pub fn set(&mut self, dataset: &str, read: Option<T>) {
        self.changed.remove(dataset);
        match read {
            Some(read) => drop(self.datasets.insert(dataset.to_owned(), read)),
            None => drop(self.datasets.remove(dataset)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_session_lists_all_again_and_not_one_by_one() {
        let mut known: Fresh<u8> = Fresh::default();
        assert_eq!(known.wanted(true, 10, "d/a"), Wanted::All);
        known = Fresh::of(BTreeMap::from([("d/a".to_owned(), 1)]), 10);
        known.change("d/a");
        assert_eq!(known.wanted(true, 10 + FRESH, "d/a"), Wanted::One);
        assert_eq!(known.wanted(true, 10 + FRESH, "d/b"), Wanted::Nothing);
        for dataset in ["d/a", "d/b"] {
            assert_eq!(known.wanted(true, 11 + FRESH, dataset), Wanted::All);
        }
        // One alone is asked for each time.
        assert_eq!(known.wanted(false, 10, "d/b"), Wanted::One);
        known.set("d/a", Some(2));
        assert_eq!((known.wanted(true, 10, "d/a"), known.get("d/a")), (Wanted::Nothing, Some(&2)));
        known.set("d/a", None);
        assert_eq!(known.get("d/a"), None);
    }
}
