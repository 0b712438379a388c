//! A tree of vdevs while it is changed: a copy, edited and then put in the place of the pool's.
//!
//! Meanwhile the pool goes on, and disks are judged: a verdict is put into the pool's own tree at
//! once. So what was said of a disk since the copy was made is taken over when the copy is put
//! back, and no verdict is lost.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use ondisk::label::config::key;
use storage::VdevConfig;

/// See the module.
pub(super) struct Draft {
    tree: VdevConfig,
    /// What was said of each disk when the copy was made.
    before: BTreeMap<u64, Verdict>,
}

impl Draft {
    pub fn of(tree: &VdevConfig) -> Draft {
        Draft { tree: tree.clone(), before: verdicts(tree) }
    }

    /// Into `new`, which was made of this, goes what has been said of disks in `now`, the pool's
    /// own, since.
    pub fn keep_verdicts(&self, now: &VdevConfig, new: &mut VdevConfig) {
        let mut since = verdicts(now);
        since.retain(|guid, verdict| self.before.get(guid).is_some_and(|before| before != verdict));
        if !since.is_empty() {
            new.visit_mut(&mut |vdev| {
                if let Some(verdict) = since.get(&vdev.guid) {
                    verdict.put(vdev);
                }
            });
        }
    }
}

impl Deref for Draft {
    type Target = VdevConfig;

    fn deref(&self) -> &VdevConfig {
        &self.tree
    }
}

impl DerefMut for Draft {
    fn deref_mut(&mut self) -> &mut VdevConfig {
        &mut self.tree
    }
}

/// What a configuration says of how a disk has behaved.
#[derive(PartialEq, Eq)]
struct Verdict {
    faulted: bool,
    degraded: Option<u64>,
    why: Option<String>,
}

impl Verdict {
    fn put(&self, vdev: &mut VdevConfig) {
        vdev.faulted = self.faulted;
        match self.degraded {
            Some(degraded) => drop(vdev.pairs.set(key::DEGRADED, degraded)),
            None => drop(vdev.pairs.remove(key::DEGRADED)),
        }
        match &self.why {
            Some(why) => drop(vdev.pairs.set(key::AUX_STATE, why.as_str())),
            None => drop(vdev.pairs.remove(key::AUX_STATE)),
        }
    }
}

fn verdicts(tree: &VdevConfig) -> BTreeMap<u64, Verdict> {
    let mut all = BTreeMap::new();
    tree.visit(&mut |vdev| {
        if vdev.kind.is_leaf() {
            let (degraded, why) = (vdev.pairs.u64(key::DEGRADED), vdev.pairs.string(key::AUX_STATE));
            let verdict = Verdict { faulted: vdev.faulted, degraded, why: why.map(str::to_owned) };
            all.insert(vdev.guid, verdict);
        }
    });
    all
}

#[cfg(test)]
mod tests;
