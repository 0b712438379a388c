//! Turns: of each dataset one request at a time changes the mount, and nobody waits for those of
//! others, which may take their time: a mount point may lie in a file system whose pool waits for
//! its disks.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use env::lock;

#[derive(Default)]
pub struct Turns {
    /// Datasets whose mount is being changed.
    taken: Mutex<BTreeSet<String>>,
    over: Condvar,
}

/// Somebody's turn, as long as it lasts.
pub struct Turn {
    turns: Arc<Turns>,
    dataset: String,
}

impl Drop for Turn {
    fn drop(&mut self) {
        lock(&self.turns.taken).remove(&self.dataset);
        self.turns.over.notify_all();
    }
}

impl Turns {
    /// `None` where somebody else has it for longer than `bound`.
    pub fn take(self: &Arc<Turns>, dataset: &str, bound: Duration) -> Option<Turn> {
        let mut taken = self.without(bound, |other| other == dataset)?;
        taken.insert(dataset.to_owned());
        Some(Turn { turns: self.clone(), dataset: dataset.to_owned() })
    }

    /// Waits until nobody has a turn at such a dataset. Whether that was within `bound`.
    pub fn wait(&self, bound: Duration, of: impl Fn(&str) -> bool) -> bool {
        self.without(bound, of).is_some()
    }

    fn without(
        &self,
        bound: Duration,
        of: impl Fn(&str) -> bool,
    ) -> Option<MutexGuard<'_, BTreeSet<String>>> {
        let is_taken = |taken: &mut BTreeSet<String>| taken.iter().any(|dataset| of(dataset));
        let waited = self.over.wait_timeout_while(lock(&self.taken), bound, is_taken);
        let (taken, late) = waited.expect("nothing panics under this lock");
        (!late.timed_out()).then_some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(10);

    #[test]
    fn one_at_a_time_has_a_dataset_and_others_are_not_waited_for() {
        let turns = Arc::new(Turns::default());
        let first = turns.take("tank/a", LONG).expect("free");
        let other = turns.take("tank/b", LONG).expect("free");
        assert!(turns.take("tank/a", SHORT).is_none());
        assert!(!turns.wait(SHORT, |dataset| dataset.starts_with("tank")));
        assert!(turns.wait(LONG, |dataset| dataset == "tank"));
        drop(other);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| turns.take("tank/a", LONG).is_some());
            drop(first);
            assert!(waits.join().expect("no panic"));
        });
        assert!(turns.wait(LONG, |_| true));
    }
}
