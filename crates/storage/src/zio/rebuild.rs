//! Copying what is allocated on a mirror to the sides that lack it, in the order of places,
//! whatever it is: sequential rebuild. Nothing is verified, for what a stretch is made of is not
//! known; a scrub comes after.
//!
//! A stretch is read from one side that has everything, and written to all that have not: a side
//! that passes for whole, for the others have not everything either, would spoil what they have. A
//! disk that is to replace another is given what that one has, and so is as good; were it given
//! what another side has, which may be stale or damaged without anybody's knowing, the last good
//! copy might go with the old disk. Nobody else writes there meanwhile: the caller holds an epoch
//! and knows the space to be in use as of a durable group, and log blocks take turns with the copy
//! ([`crate::turns`]). Some runs of stretches are on their way at once, so that disks that are read
//! and disks that are written all have something to do.
//!
//! Source: module/zfs/vdev_rebuild.c (`vdev_rebuild_range`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::IoClass;

use super::sides::sides_below;
use crate::flight::Flight;
use crate::range_tree::Segment;
use crate::turns::Turn;
use crate::vdev::leaf::Leaf;
use crate::vdev::open::Tree;
use crate::vdev::{Done, Io, Kind, Op, Vdev};
use crate::{Payload, Storage};

const CLASS: IoClass = IoClass::Scrub;
/// log2 of the bytes that are read from one side before it is another's turn.
const TURN_SHIFT: u32 = 24;
/// Runs on their way at once: being read, and being written.
const READING: usize = 2;
const WRITING: usize = 2;

/// What came of some runs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Everything before is done; 0: nothing is.
    pub upto: u64,
    pub scanned: u64,
    pub read: u64,
    pub written: u64,
    /// Stretches that could not be read anywhere, or written everywhere.
    pub errors: u64,
}

impl Storage {
    /// Copies one run of stretches of a top-level vdev after the other, in the order of places, as
    /// far as it gets: it stops before a run that is others' turn, and does nothing while no side
    /// has everything, or all have.
    pub fn rebuild(&self, top: u32, runs: &mut dyn Iterator<Item = Vec<Segment>>) -> Rebuilt {
        let tree = self.tree();
        let has_all = |leaf: &Leaf| leaf.is_whole() && leaf.dtl.is_empty();
        let is_source = |vdev: &Vdev| matches!(vdev.kind, Kind::Leaf(leaf) if has_all(&tree.leaves[leaf]));
        let copy = Copy { storage: self, tree: &tree, top, lanes: lanes(&tree, top, &is_source) };
        let mut rebuilt = Rebuilt::default();
        if copy.lanes.is_empty() || !self.is_writable() {
            return rebuilt;
        }
        let (mut reading, mut writing) = (VecDeque::new(), VecDeque::new());
        let mut more = true;
        loop {
            while more && reading.len() < READING {
                let next = runs.next().and_then(|run| copy.read(run));
                more = next.is_some();
                reading.extend(next);
            }
            let Some(read) = reading.pop_front() else { break };
            writing.push_back(copy.write(read, &mut rebuilt));
            if writing.len() >= WRITING {
                writing.pop_front().into_iter().for_each(|written| copy.finish(written, &mut rebuilt));
            }
        }
        writing.into_iter().for_each(|written| copy.finish(written, &mut rebuilt));
        rebuilt
    }
}

/// Sides that are given the same.
struct Lane<'t> {
    /// Sides that have everything. The first of them, so many, take turns; the others are asked for
    /// what these cannot give.
    sources: Vec<&'t Arc<Vdev>>,
    near: usize,
    targets: Vec<&'t Arc<Vdev>>,
}

impl<'t> Lane<'t> {
    fn source(&self, stretch: &Segment, attempt: usize) -> &'t Arc<Vdev> {
        let turn = (stretch.start >> TURN_SHIFT) as usize + attempt;
        let far = self.sources.len() - self.near;
        self.sources[if attempt < self.near { turn % self.near } else { self.near + turn % far }]
    }
}

/// Those who lack something of a mirror, by whom they are copied from; none if there is nobody.
fn lanes<'t>(tree: &'t Tree, top: u32, is_source: &dyn Fn(&Vdev) -> bool) -> Vec<Lane<'t>> {
    let Some(top) = tree.top(top).filter(|top| top.vdev.kind == Kind::Mirror) else { return Vec::new() };
    let places = top.vdev.children.iter().map(|place| sides_below(tree, place));
    let places: Vec<(Vec<_>, Vec<_>)> =
        places.map(|sides| sides.into_iter().partition(|side| is_source(side))).collect();
    let all: Vec<&Arc<Vdev>> = places.iter().flat_map(|(sources, _)| sources.clone()).collect();
    let (mut lanes, mut others) = (Vec::new(), Vec::new());
    for (own, targets) in places.into_iter().filter(|(_, targets)| !targets.is_empty()) {
        if own.is_empty() {
            others.extend(targets);
            continue;
        }
        let far = all.iter().filter(|side| !own.iter().any(|near| Arc::ptr_eq(near, side)));
        lanes.push(Lane { near: own.len(), sources: own.iter().chain(far).copied().collect(), targets });
    }
    if !others.is_empty() && !all.is_empty() {
        lanes.push(Lane { near: all.len(), sources: all, targets: others });
    }
    lanes
}

struct Copy<'t> {
    storage: &'t Storage,
    tree: &'t Tree,
    top: u32,
    lanes: Vec<Lane<'t>>,
}

/// A stretch for a lane.
type Errand<'c, 't> = (&'c Lane<'t>, Segment);

/// A run that is being read.
struct Reading<'c, 't> {
    run: Vec<Segment>,
    errands: Vec<Errand<'c, 't>>,
    flight: Flight<'t>,
    turn: Turn<'t>,
}

/// And one that is being written.
struct Writing<'c, 't> {
    run: Vec<Segment>,
    /// Stretches that could be read.
    found: Vec<Errand<'c, 't>>,
    flight: Flight<'t>,
    _turn: Turn<'t>,
}

impl<'t> Copy<'t> {
    fn read<'c>(&'c self, run: Vec<Segment>) -> Option<Reading<'c, 't>> {
        let turn = self.storage.turns.copy(self.top, &run)?;
        let errands = |lane| run.iter().map(move |stretch| (lane, *stretch));
        let errands: Vec<Errand<'c, 't>> = self.lanes.iter().flat_map(errands).collect();
        Some(Reading { flight: self.ask(&errands, 0), run, errands, turn })
    }

    /// Of the `attempt`th side each, counted from the one whose turn it is.
    fn ask(&self, errands: &[Errand<'_, 't>], attempt: usize) -> Flight<'t> {
        let io = |(lane, stretch): &Errand<'_, 't>| {
            (lane.source(stretch, attempt), at(stretch, Op::Read(stretch.len as usize)))
        };
        Flight::take_off_at(self.storage.env(), self.tree, CLASS, errands.iter().map(io).collect())
    }

    /// What one side could not give, the others are asked for.
    fn write<'c>(&'c self, reading: Reading<'c, 't>, rebuilt: &mut Rebuilt) -> Writing<'c, 't> {
        let Reading { run, errands, flight, turn } = reading;
        let (mut found, mut ios) = (Vec::new(), Vec::new());
        let mut take = |asked: &[Errand<'c, 't>], done: Vec<Done>| {
            let mut missed = Vec::new();
            for ((lane, stretch), read) in asked.iter().zip(done) {
                let Ok(Some(bytes)) = read else {
                    missed.push((*lane, *stretch));
                    continue;
                };
                let payload = Payload::from_buf(bytes);
                found.push((*lane, *stretch));
                ios.extend(lane.targets.iter().map(|&to| (to, at(stretch, Op::Write(payload.clone())))));
            }
            missed
        };
        let mut missed = take(&errands, flight.land(&|_, _| true));
        // Each lane has them all.
        for attempt in 1..self.lanes[0].sources.len() {
            if !missed.is_empty() {
                let done = self.ask(&missed, attempt).land(&|_, _| true);
                missed = take(&missed, done);
            }
        }
        rebuilt.errors += missed.len() as u64;
        rebuilt.read += found.iter().map(|(_, stretch)| stretch.len).sum::<u64>();
        let flight = Flight::take_off_at(self.storage.env(), self.tree, CLASS, ios);
        Writing { run, found, flight, _turn: turn }
    }

    fn finish(&self, writing: Writing<'_, 't>, rebuilt: &mut Rebuilt) {
        let mut done = writing.flight.land(&|_, _| true).into_iter();
        for (lane, stretch) in &writing.found {
            let mut failed = false;
            for (target, done) in lane.targets.iter().zip(done.by_ref()) {
                failed |= done.is_err();
                if done.is_ok() {
                    rebuilt.written += stretch.len;
                    if let Kind::Leaf(leaf) = target.kind {
                        self.tree.leaves[leaf].counters.scan_processed.fetch_add(stretch.len, Relaxed);
                    }
                }
            }
            rebuilt.errors += u64::from(failed);
        }
        rebuilt.scanned += writing.run.iter().map(|stretch| stretch.len).sum::<u64>();
        rebuilt.upto = writing.run.last().map_or(rebuilt.upto, Segment::end);
    }
}

fn at(stretch: &Segment, op: Op) -> Io {
    Io { op, offset: stretch.start, class: CLASS, repair: false }
}

#[cfg(test)]
mod tests;
