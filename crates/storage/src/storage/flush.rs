//! Making what was written durable, and giving up the disks that cannot.
//!
//! A vdev answers for what was written there if enough disks have it: those that are whole, and
//! could flush. A disk may pass for whole and yet have refused a write: where another, which took
//! that one, had refused one before, both cannot be called behind. So where a disk is lost with
//! what it took, be it that it cannot flush or has vanished before, those that others stood in for
//! since the last flush that counted do not answer for the vdev.
//!
//! Then the pool is suspended, although a disk is left that works: of some block no copy is left
//! but the one in memory, as when no disk had taken it, and there OpenZFS suspends, too
//! (`vdev_mirror_io_done` asks for one good copy, `zio_done` suspends without). To write it again
//! at once would be to ask the disk that has just refused it, with nothing left behind it; an
//! operator hears of both failures first. His `zpool clear` has all of the group written again
//! ([`Storage::resume`](crate::Storage::resume)), and if the disk takes it now, it answers for the
//! vdev, be the other there or not. But a disk that was called behind for what it refused waits for
//! the other: what else it lacks since then is in nobody's memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use env::Env;
use stdx::trail;

use crate::vdev::open::{Top, Tree};
use crate::vdev::report::{DiskReport, What};
use crate::vdev::status::VdevState;

/// A disk as it is before a flush: what it took and refused later is not looked at.
struct Side {
    index: usize,
    is_usable: bool,
    taken: u64,
    refused: u64,
    failed: AtomicBool,
}

impl Side {
    fn of(tree: &Tree, index: usize) -> Side {
        let leaf = &tree.leaves[index];
        let (taken, refused) = (leaf.counters.taken.count(), leaf.counters.refused.count());
        Side { index, is_usable: leaf.is_usable(), taken, refused, failed: AtomicBool::new(false) }
    }

    fn has_flushed(&self) -> bool {
        self.is_usable && !self.failed.load(Relaxed)
    }

    fn flush(&self, tree: &Tree) {
        let leaf = &tree.leaves[self.index];
        if let Err(error) = leaf.flush() {
            self.failed.store(true, Relaxed);
            tree.reports.add(DiskReport { guid: leaf.guid, what: What::Flush(error), offset: 0, size: 0 });
            give_up(tree, self.index, error);
        }
    }
}

/// A top-level vdev and its disks.
struct Part<'t> {
    top: &'t Top,
    is_whole: bool,
    sides: Vec<Side>,
}

impl<'t> Part<'t> {
    fn of(tree: &Tree, top: &'t Top) -> Part<'t> {
        let sides = top.vdev.leaves().into_iter().map(|index| Side::of(tree, index)).collect();
        Part { top, is_whole: top.vdev.is_whole(&tree.leaves, None), sides }
    }

    /// After the flush: whether what was written here before it is durable now.
    fn judge(&self, tree: &Tree) -> bool {
        let leaf = |side: &Side| &tree.leaves[side.index];
        let is_lost = |side: &Side| !side.has_flushed() && leaf(side).counters.taken.has_any_of(side.taken);
        let any_lost = self.sides.iter().any(is_lost);
        let lacks = |side: &Side| any_lost && leaf(side).counters.refused.has_any_of(side.refused);
        let answers =
            |side: &Side| side.has_flushed() && !lacks(side) && (leaf(side).is_whole() || !self.is_whole);
        let has = |index: usize| self.sides.iter().any(|side| side.index == index && answers(side));
        let durable = self.sides.is_empty() || self.top.vdev.is_held(&has);
        if durable {
            self.sides.iter().for_each(|side| leaf(side).settle(side.taken, side.refused));
        }
        durable
    }
}

/// Flushes all usable disks of these top-level vdevs, at once. Says of each vdev whether what was
/// written there is durable now. A disk that cannot flush is faulted if the pool can do without it.
pub(crate) fn flush(env: &Env, tree: &Tree, tops: &[u32]) -> Vec<(u32, bool)> {
    let part = |top| Part::of(tree, top);
    let parts: Vec<Part<'_>> = tops.iter().filter_map(|&id| tree.top(id)).map(part).collect();
    let usable: Vec<&Side> =
        parts.iter().flat_map(|part| &part.sides).filter(|side| side.is_usable).collect();
    if trail::is_followed() {
        let took: Vec<AtomicU64> = usable.iter().map(|_| AtomicU64::new(0)).collect();
        at_once(env, usable.len(), &|n| {
            let begun = env.clock.now();
            usable[n].flush(tree);
            took[n].store(env.clock.now().since(begun).0, Relaxed);
        });
        let waited = |(side, took): (&&Side, &AtomicU64)| {
            trail::waited_for(tree.leaves[side.index].guid, took.load(Relaxed));
        };
        usable.iter().zip(&took).for_each(waited);
    } else {
        at_once(env, usable.len(), &|n| usable[n].flush(tree));
    }
    parts.iter().map(|part| (part.top.id, part.judge(tree))).collect()
}

fn at_once(env: &Env, count: usize, flush: &(dyn Fn(usize) + Sync)) {
    match count {
        1 => flush(0), // Nobody need be woken to help.
        count => env.driver.par_map(count, flush),
    }
}

/// Faults a disk that failed where no second try makes sense, if the pool can do without it.
fn give_up(tree: &Tree, leaf: usize, error: env::DiskError) {
    if tree.lose(leaf, VdevState::Faulted) {
        tracing::error!(path = tree.leaves[leaf].path, %error, "disk faulted: a flush failed");
    }
}
