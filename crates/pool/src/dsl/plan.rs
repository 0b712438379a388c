//! What destroying takes along, in the order in which it can be done: clones before what they come
//! from, children before parents, snapshots before their head.
//!
//! Sources: cmd/zfs/zfs_main.c (`zfs_do_destroy`), lib/libzfs/libzfs_iter.c (`iter_dependents_cb`,
//! `zfs_iter_snapspec`).

use std::collections::HashSet;
use std::sync::Arc;

use api_types::{DestroyPlan, DestroyQuery};
use refusal::{Action, Reason, Refused};

use super::Dsl;
use super::deadlist::Deadlist;
use super::dir::Dir;
use super::names::Found;
use super::snapshot::Snapshot;
use crate::{PoolError, Result};

/// Collects names, none twice.
#[derive(Default)]
struct Dependents {
    names: Vec<String>,
    seen: HashSet<String>,
    /// Directories being gone through: a child can be the origin of its parent.
    within: Vec<u64>,
    /// What goes round in a circle cannot be put in order: where it was met.
    circle: Option<String>,
}

impl Dependents {
    fn check_order(&self) -> Result<()> {
        let Some(at) = &self.circle else { return Ok(()) };
        Err(Refused::new(Action::FindDependents, Reason::DependInCircle { at: at.clone() }).into())
    }

    fn push(&mut self, name: String) {
        if self.seen.insert(name.clone()) {
            self.names.push(name);
        }
    }
}

impl Dsl {
    /// What goes, or why it may not.
    pub fn plan_destroy(&self, query: &DestroyQuery) -> Result<DestroyPlan> {
        let _config = self.reading();
        match query.name.split_once('@') {
            Some((head, spec)) => {
                let mut plan = DestroyPlan::default();
                self.plan_snapshots(&self.find_dir(head)?, spec, query, &mut plan)?;
                if plan.names.is_empty() {
                    return Err(Refused::because(Reason::NoSnapshotsFound).into());
                }
                Ok(plan)
            }
            None => self.plan_head(&self.find(&query.name)?, query),
        }
    }

    fn plan_head(&self, found: &Found, query: &DestroyQuery) -> Result<DestroyPlan> {
        let name = &query.name;
        let mut all = Dependents::default();
        self.dependents(&found.dir, &mut all)?;
        let is_below =
            |one: &&String| one.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(['/', '@']));
        let refuse = |are_clones: bool, which: Vec<&String>| {
            let kind = self.kind_of(found).map_or("filesystem", |kind| kind.name());
            Err(depend(name, kind, are_clones, which.into_iter().cloned().collect()))
        };
        let (below, outside): (Vec<&String>, Vec<&String>) = all.names.iter().partition(is_below);
        if !query.recursive && !below.is_empty() {
            return refuse(false, below);
        }
        if !query.clones && !outside.is_empty() {
            return refuse(true, outside);
        }
        all.check_order()?;
        all.push(name.clone());
        Ok(DestroyPlan { names: all.names, bytes: found.dir.phys().used_bytes })
    }

    /// Everything that has to go before a head, and its clones.
    fn dependents(&self, dir: &Arc<Dir>, all: &mut Dependents) -> Result<()> {
        if all.within.contains(&dir.object) {
            all.circle.get_or_insert_with(|| dir.name());
            return Ok(());
        }
        all.within.push(dir.object);
        for (name, object) in self.children(dir)? {
            let child = self.child_dir(dir, &name, object)?;
            self.dependents(&child, all)?;
            all.push(child.name());
        }
        let snapshots = match self.head_of(dir)? {
            Some(head) => self.snapshots(&head.phys)?,
            None => Vec::new(),
        };
        for snapshot in snapshots {
            self.clones_of_snapshot(&snapshot, all)?;
            all.push(format!("{}@{}", dir.name(), snapshot.name));
        }
        all.within.pop();
        Ok(())
    }

    fn clones_of_snapshot(&self, snapshot: &Snapshot, all: &mut Dependents) -> Result<()> {
        for head in self.clone_heads(&snapshot.phys)? {
            let clone = self.dir(self.mos.dataset(head)?.dir_obj)?;
            self.dependents(&clone, all)?;
            all.push(clone.name());
        }
        Ok(())
    }

    fn plan_snapshots(
        &self,
        dir: &Arc<Dir>,
        spec: &str,
        query: &DestroyQuery,
        plan: &mut DestroyPlan,
    ) -> Result<()> {
        if let Some(head) = self.head_of(dir)? {
            let snapshots = self.snapshots(&head.phys)?;
            let wanted = selected(&snapshots, spec);
            for snapshot in snapshots.iter().zip(&wanted).filter(|(_, wanted)| **wanted).map(|(one, _)| one) {
                let name = format!("{}@{}", dir.name(), snapshot.name);
                let mut clones = Dependents::default();
                self.clones_of_snapshot(snapshot, &mut clones)?;
                if !clones.names.is_empty() && !query.clones && !query.defer {
                    return Err(depend(&name, "snapshot", true, clones.names));
                }
                if query.clones {
                    clones.check_order()?;
                    clones.names.retain(|name| !plan.names.contains(name));
                    plan.names.append(&mut clones.names);
                }
                plan.names.push(name);
            }
            plan.bytes += self.freed_by(&snapshots, &wanted, head.phys.deadlist_obj)?;
        }
        if query.recursive {
            for (name, object) in self.children(dir)? {
                self.plan_snapshots(&self.child_dir(dir, &name, object)?, spec, query, plan)?;
            }
        }
        Ok(())
    }

    /// Bytes that only the wanted ones of a chain have (`dsl_dataset_space_wouldfree`, for each
    /// range of them).
    fn freed_by(&self, snapshots: &[Snapshot], wanted: &[bool], head_deadlist: u64) -> Result<u64> {
        let mut freed = 0;
        let mut at = 0;
        while let Some(first) = (at..snapshots.len()).find(|at| wanted[*at]) {
            let end = (first..snapshots.len()).find(|at| !wanted[*at]).unwrap_or(snapshots.len());
            let after = snapshots[first].phys.prev_snap_txg;
            for next in first + 1..=end {
                let deadlist = snapshots.get(next).map_or(head_deadlist, |next| next.phys.deadlist_obj);
                freed += Deadlist::open(self, deadlist)?.space_between(self, after, u64::MAX)?.used as u64;
            }
            at = end;
        }
        Ok(freed)
    }
}

fn depend(name: &str, of: &str, are_clones: bool, names: Vec<String>) -> PoolError {
    let dependents = refusal::Dependents { of: of.to_owned(), are_clones, names };
    Refused::new(Action::Destroy { name: name.to_owned() }, Reason::Depend(dependents)).into()
}

/// Which snapshots, oldest first, a list like `a,c%e,%b` means. Names that are not there mean
/// nothing.
fn selected(snapshots: &[Snapshot], spec: &str) -> Vec<bool> {
    let mut wanted = vec![false; snapshots.len()];
    let place = |name: &str| snapshots.iter().position(|snapshot| snapshot.name == name);
    for part in spec.split(',') {
        let Some((first, last)) = part.split_once('%') else {
            place(part).inspect(|&at| wanted[at] = true);
            continue;
        };
        let first = if first.is_empty() { Some(0) } else { place(first) };
        let last = if last.is_empty() { snapshots.len().checked_sub(1) } else { place(last) };
        if let (Some(first), Some(last)) = (first, last) {
            wanted.iter_mut().take(last + 1).skip(first).for_each(|wanted| *wanted = true);
        }
    }
    wanted
}
