//! Making what was written durable, and giving up the disks that cannot.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use env::Env;

use crate::vdev::leaf::Leaf;
use crate::vdev::open::{Top, Tree};
use crate::vdev::report::{DiskReport, What};
use crate::vdev::status::VdevState;

/// Flushes all usable disks of these top-level vdevs, at once. Says of each vdev whether what was written there is durable
/// now: on disks that are whole, if there were enough. A disk that cannot flush is faulted if the pool can do without it;
/// what it took, one that refused a write and passed for whole all the same may lack.
pub(crate) fn flush(env: &Env, tree: &Tree, tops: &[u32]) -> Vec<(u32, bool)> {
    let sides: Vec<(&Top, Vec<usize>)> =
        tops.iter().filter_map(|&id| tree.top(id)).map(|top| (top, sides(tree, top))).collect();
    let leaves: Vec<usize> = sides.iter().flat_map(|(_, sides)| sides.iter().copied()).collect();
    let whole = sides.iter().map(|(top, _)| top.vdev.is_whole(&tree.leaves, None)).collect::<Vec<_>>();
    let failed: Vec<AtomicBool> = leaves.iter().map(|_| AtomicBool::new(false)).collect();
    let one = |n: usize| {
        if let Err(error) = tree.leaves[leaves[n]].flush() {
            failed[n].store(true, Relaxed);
            let guid = tree.leaves[leaves[n]].guid;
            tree.reports.add(DiskReport { guid, what: What::Flush(error), offset: 0, size: 0 });
            give_up(tree, leaves[n], error);
        }
    };
    if leaves.len() == 1 {
        one(0); // Nobody need be woken to help.
    } else {
        env.driver.par_map(leaves.len(), &one);
    }
    let mut failed = failed.iter().map(|failed| failed.load(Relaxed));
    let judge = |((top, sides), whole): (&(&Top, Vec<usize>), bool)| {
        let good: Vec<usize> =
            sides.iter().zip(failed.by_ref()).filter(|(_, failed)| !failed).map(|(&leaf, _)| leaf).collect();
        let is_lost = good.len() < sides.len();
        let lacks = |leaf: &Leaf| is_lost && leaf.counters.missed_write.load(Relaxed);
        let has = |leaf: &Leaf| (leaf.is_whole() || !whole) && !lacks(leaf);
        let counts = |leaf: usize| good.contains(&leaf) && has(&tree.leaves[leaf]);
        (top.id, top.vdev.leaves().is_empty() || top.vdev.is_held(&counts))
    };
    sides.iter().zip(whole).map(judge).collect()
}

fn sides(tree: &Tree, top: &Top) -> Vec<usize> {
    top.vdev.leaves().into_iter().filter(|&leaf| tree.leaves[leaf].is_usable()).collect()
}

/// Faults a disk that failed where no second try makes sense, if the pool can do without it.
fn give_up(tree: &Tree, leaf: usize, error: env::DiskError) {
    if tree.lose(leaf, VdevState::Faulted) {
        tracing::error!(path = tree.leaves[leaf].path, %error, "disk faulted: a flush failed");
    }
}
