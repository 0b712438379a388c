//! Who is told of changes (`engine_api::Watcher`): the list outlives the open file system, which is
//! opened anew after a rollback.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, Weak};

use engine_api::{Changed, Cred, NodeId, Origin, Result, Watcher};

use super::Zpl;

/// See the module.
#[derive(Default)]
pub struct Watchers {
    /// How many there have been.
    last: AtomicU64,
    all: RwLock<Vec<(Origin, Weak<dyn Watcher>)>>,
}

impl Watchers {
    pub fn add(&self, watcher: Weak<dyn Watcher>) -> Origin {
        let origin = Origin::of_watcher(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, watcher)| watcher.strong_count() > 0);
        all.push((origin, watcher));
        origin
    }

    fn each(&self, but: Origin, tell: impl Fn(&dyn Watcher)) {
        if self.last.load(Ordering::Relaxed) == 0 {
            return;
        }
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        let others = all.iter().filter(|(origin, _)| *origin != but);
        others.filter_map(|(_, watcher)| watcher.upgrade()).for_each(|watcher| tell(&*watcher));
    }

    pub fn written(&self, objects: &[u64]) {
        self.each(Origin::OTHERS, |watcher| watcher.written(objects));
    }

    pub fn all_changed(&self) {
        self.each(Origin::OTHERS, |watcher| watcher.all_changed());
    }
}

impl Zpl {
    /// `cred` has changed something of a node, and everybody can see it now.
    pub(super) fn tell(&self, cred: &Cred, node: NodeId, what: Changed) {
        let Some(watchers) = self.watchers.get() else { return };
        // Where several names are one, whoever took one away has kept the others.
        let but = if what.names && self.names.normflags != 0 { Origin::OTHERS } else { cred.origin };
        watchers.each(but, |watcher| watcher.changed(node, what));
    }

    /// What came of it is the answer. Also where it failed: something may have been changed, and
    /// not be durable.
    pub(super) fn told<T>(&self, cred: &Cred, node: NodeId, what: Changed, answer: Result<T>) -> Result<T> {
        self.tell(cred, node, what);
        answer
    }
}
