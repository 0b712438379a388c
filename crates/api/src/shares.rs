//! Places for work of which nobody has more than a share, so that no account, and no place that
//! strangers come from, keeps the others waiting.
//!
//! Invariants: there are so many together, and so many of one. Who waits for his own share takes
//! nothing of the others'. Nothing is kept of who neither has a place nor waits for one.

use sockets::lock;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places, by whose they are.
pub struct Shares<K> {
    all: Arc<Semaphore>,
    of_one: usize,
    own: Mutex<HashMap<K, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _of_all: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

/// Of places that have no shares.
impl From<OwnedSemaphorePermit> for Turn {
    fn from(permit: OwnedSemaphorePermit) -> Turn {
        Turn { _of_all: permit, _own: None }
    }
}

impl<K: Eq + Hash> Shares<K> {
    pub fn new(of_all: usize, of_one: usize) -> Shares<K> {
        Shares { all: Arc::new(Semaphore::new(of_all)), of_one, own: Mutex::default() }
    }

    /// Waits for a place.
    pub async fn wait(&self, whose: K) -> Option<Turn> {
        // None is ever closed.
        let own = self.own(whose).acquire_owned().await.ok()?;
        let of_all = self.all.clone().acquire_owned().await.ok()?;
        Some(Turn { _of_all: of_all, _own: Some(own) })
    }

    /// A place that is free now.
    pub fn take(&self, whose: K) -> Option<Turn> {
        // Either there is none, or it is closed, which it never is.
        let own = self.own(whose).try_acquire_owned().ok()?;
        let of_all = self.all.clone().try_acquire_owned().ok()?;
        Some(Turn { _of_all: of_all, _own: Some(own) })
    }

    fn own(&self, whose: K) -> Arc<Semaphore> {
        let mut own = lock(&self.own);
        if let Some(share) = own.get(&whose).and_then(Weak::upgrade) {
            return share;
        }
        own.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.of_one));
        own.insert(whose, Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_more_than_a_share_and_all_have_a_bound() {
        let shares = Shares::new(5, 2);
        let mut ann: Vec<Turn> = (0..2).map(|_| shares.take(1).expect("a place")).collect();
        assert!(shares.take(1).is_none(), "her share");
        let bob: Vec<Turn> = (0..2).map(|_| shares.take(2).expect("a place")).collect();
        let cid = shares.take(3).expect("the last");
        assert!(shares.take(4).is_none(), "all are taken");
        drop(ann.pop());
        assert!(shares.take(4).is_some());
        drop((ann, bob, cid));
        drop(shares.take(9));
        assert_eq!(lock(&shares.own).len(), 1, "who has left is forgotten");
    }

    #[test]
    fn who_waits_for_his_share_holds_up_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let shares = Arc::new(Shares::new(4, 2));
            let first = shares.wait(1).await.expect("a place");
            let _second = shares.wait(1).await.expect("a place");
            let waiting: Vec<_> = (0..10)
                .map(|_| {
                    let shares = shares.clone();
                    tokio::spawn(async move { shares.wait(1).await.is_some() })
                })
                .collect();
            tokio::task::yield_now().await;
            assert!(shares.wait(2).await.is_some() && shares.wait(3).await.is_some());
            drop(first);
            for task in waiting {
                assert!(task.await.expect("no panic"));
            }
        });
    }
}
