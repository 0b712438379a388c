//! What a dataset's `used` is made of: parts that name who holds the space, and whose sum is `used`
//! to the byte.
//!
//! Four numbers of a directory add up to `used`: its own dataset, snapshots, children, and what a
//! refreservation holds back. Here each is taken apart:
//! - the dataset by a walk of its blocks, for a clone of those that are not its origin's;
//! - snapshots by who shares: a block that only snapshots have is in a *run* of them, from the
//!   first to the last that has it. It lies in the dead list of whoever came after the last, under
//!   the key of the snapshot before the first, so dead lists have the sizes of all runs without any
//!   block being read;
//! - children by name, each with what its reservation holds back beside.
//!
//! The dataset may change while its blocks are walked. Then all is looked at again; on a dataset
//! that never rests the difference is told as a part of its own.
//!
//! Sources: `dsl_dir_stats` and `dd_used_t` in include/sys/dsl_dir.h, module/zfs/dsl_deadlist.c.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{SpaceExplained, SpaceHolder, SpacePart};
use dmu::DmuError;
use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use ondisk::BlkPtr;
use ondisk::dsl_dir::{FLAG_USED_BREAKDOWN, FREE_DIR, MOS_DIR};
use ondisk::object_type::ObjectType;
use refusal::{Action, Reason, Refused};

use super::Dsl;
use super::deadlist::Deadlist;
use super::dir::Dir;
use super::names::Found;
use crate::namecheck::is_hidden;
use crate::{PoolError, Result};

/// How often a dataset that changes is looked at.
const TRIES: u32 = 3;

fn part(holder: SpaceHolder, bytes: i64) -> SpacePart {
    SpacePart { holder, names: Vec::new(), clones: Vec::new(), count: 0, bytes }
}

/// Blocks of one kind.
#[derive(Default)]
struct Tally<'a> {
    dsl: Option<&'a Dsl>,
    deleted_objects: BTreeSet<u64>,
    contents: i64,
    deleted: i64,
    metadata: i64,
    used: i64,
    raw: u64,
    failed: Option<DmuError>,
}

impl Visitor for Tally<'_> {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        let (Some(dsl), false) = (self.dsl, visit.bp.is_embedded()) else { return Go::On };
        let bytes = visit.bp.psize() as i64;
        self.used += dsl.dsize(visit.bp) as i64;
        self.raw += visit.bp.asize();
        let is_data = matches!(visit.part, Part::Tree { level: 0, .. })
            && visit.dnode.is_some_and(|dnode| {
                matches!(dnode.object_type, ObjectType::PLAIN_FILE_CONTENTS | ObjectType::ZVOL)
            });
        let sum = match (self.deleted_objects.contains(&visit.object), is_data) {
            (true, _) => &mut self.deleted,
            (false, true) => &mut self.contents,
            (false, false) => &mut self.metadata,
        };
        *sum += bytes;
        Go::On
    }

    fn unreadable(&mut self, _visit: &Visit<'_>, error: DmuError) -> Go {
        self.failed = Some(error);
        Go::Stop
    }
}

impl Dsl {
    /// See the module. Of a file system or volume.
    pub fn explain(&self, name: &str) -> Result<SpaceExplained> {
        for _ in 1..TRIES {
            let explanation = self.explain_once(name)?;
            if !explanation.parts.iter().any(|part| part.holder == SpaceHolder::Other) {
                return Ok(explanation);
            }
        }
        self.explain_once(name)
    }

    /// Objects of a dataset that have no name any more, and wait to be freed.
    pub fn deleted_objects(&self, name: &str) -> Result<Vec<u64>> {
        let open = self.open_dataset(name)?;
        Ok(self.parts.fs_format.deleted(open.objset())?)
    }

    fn explain_once(&self, name: &str) -> Result<SpaceExplained> {
        // What is walked stays readable though its dataset goes on.
        let _epoch = self.parts.store().epoch();
        let (found, root, mut parts, deleted) = {
            let _config = self.reading();
            let found = self.find(name)?;
            if found.is_snapshot() {
                let action = Action::ExplainSpace { name: name.to_owned() };
                return Err(Refused::new(action, Reason::NotOfThisType).into());
            }
            if found.dir.phys().flags & FLAG_USED_BREAKDOWN == 0 {
                return Err(PoolError::Unsupported("space of datasets of before pool version 13".into()));
            }
            let mut parts = self.children_parts(&found.dir)?;
            parts.extend(self.snapshot_parts(&found)?);
            let open = self.open_object(found.object)?;
            let deleted = self.parts.fs_format.deleted(open.objset())?;
            (found.clone(), found.phys.bp, parts, deleted)
        };
        let dir = found.dir.phys();
        parts.push(part(SpaceHolder::RefReservation, dir.used_refrsrv as i64));
        let files = deleted.len() as u64;
        let tally = self.tally(&found, &root, deleted)?;
        parts.push(part(SpaceHolder::Contents, tally.contents));
        parts.push(SpacePart { count: files, ..part(SpaceHolder::Deleted, tally.deleted) });
        parts.push(part(SpaceHolder::Metadata, tally.metadata));
        let plain = tally.contents + tally.deleted + tally.metadata;
        parts.push(part(SpaceHolder::Overhead, tally.used - plain));
        let told: i64 = parts.iter().map(|part| part.bytes).sum();
        parts.push(part(SpaceHolder::Other, dir.used_bytes as i64 - told));
        parts.retain(|part| part.bytes != 0 || part.count > 0);
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        let (used, unique) = (dir.used_bytes, found.phys.unique_bytes);
        Ok(SpaceExplained { name: name.to_owned(), used, unique, raw: tally.raw, parts })
    }

    fn tally(&self, found: &Found, root: &BlkPtr, deleted: Vec<u64>) -> Result<Tally<'_>> {
        let origin_txg = self.origin_txg(found.dir.phys().origin_obj)?;
        let mut tally =
            Tally { dsl: Some(self), deleted_objects: deleted.into_iter().collect(), ..Tally::default() };
        traverse(self.parts.store().as_ref(), root, origin_txg, &mut tally);
        match tally.failed.take() {
            Some(error) => Err(error.into()),
            None => Ok(tally),
        }
    }

    fn children_parts(&self, dir: &std::sync::Arc<Dir>) -> Result<Vec<SpacePart>> {
        let mut parts = Vec::new();
        for (name, object) in self.mos.sorted(dir.phys().child_dir_zapobj)? {
            let child = self.child_dir(dir, &name, object)?;
            let phys = child.phys();
            let (holder, names) = match name.as_str() {
                MOS_DIR => (SpaceHolder::Pool, Vec::new()),
                FREE_DIR => (SpaceHolder::Freeing, Vec::new()),
                name if name.starts_with('%') => (SpaceHolder::Receiving, Vec::new()),
                name if is_hidden(name) => (SpaceHolder::Pool, Vec::new()),
                _ => (SpaceHolder::Child, vec![child.name()]),
            };
            parts.push(SpacePart { names, ..part(holder, phys.used_bytes as i64) });
            let held_back = phys.reserved.saturating_sub(phys.used_bytes);
            let reservation = part(SpaceHolder::ChildReservation, held_back as i64);
            parts.push(SpacePart { names: vec![child.name()], ..reservation });
        }
        Ok(parts)
    }

    /// Runs of snapshots and what only they have.
    fn snapshot_parts(&self, found: &Found) -> Result<Vec<SpacePart>> {
        let snapshots = self.snapshots(&found.phys)?;
        let origin_txg = self.origin_txg(found.dir.phys().origin_obj)?;
        let own = snapshots.iter().map(|snapshot| snapshot.phys.creation_txg);
        let groups: Vec<u64> = std::iter::once(origin_txg).chain(own).collect();
        let mut runs: BTreeMap<(usize, usize), i64> = BTreeMap::new();
        for last in 0..snapshots.len() {
            let after = snapshots.get(last + 1).map_or(&found.phys, |next| &next.phys);
            for (key, used) in Deadlist::open(self, after.deadlist_obj)?.spaces(self, &groups)? {
                // What is older than a clone's origin counts where that is.
                if used == 0 || key < origin_txg {
                    continue;
                }
                let first = snapshots.partition_point(|snapshot| snapshot.phys.creation_txg <= key);
                *runs.entry((first.min(last), last)).or_default() += used;
            }
        }
        let full = |at: usize| format!("{}@{}", found.dir.name(), snapshots[at].name);
        let mut parts = Vec::new();
        for ((first, last), bytes) in runs {
            let mut clones = Vec::new();
            for snapshot in &snapshots[first..=last] {
                for head in self.clone_heads(&snapshot.phys)? {
                    clones.push(self.dir(self.mos.dataset(head)?.dir_obj)?.name());
                }
            }
            let mut names = vec![full(first), full(last)];
            names.dedup();
            parts.push(SpacePart { names, clones, ..part(SpaceHolder::Snapshots, bytes) });
        }
        Ok(parts)
    }
}
