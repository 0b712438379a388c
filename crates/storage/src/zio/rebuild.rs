//! Copying what is allocated on a mirror to the sides that lack it, in the order of places, whatever it is: sequential
//! rebuild. Nothing is verified, for what a stretch is made of is not known; a scrub comes after.
//!
//! A stretch is read from one side that has taken every write, and written to all that have not. Nobody else writes there
//! meanwhile: the caller holds an epoch and knows the space to be in use as of a durable group, and log blocks take turns
//! with the copy ([`crate::turns`]). Some runs of stretches are on their way at once, so that disks that are read and disks
//! that are written all have something to do.
//!
//! Source: module/zfs/vdev_rebuild.c (`vdev_rebuild_range`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use env::IoClass;

use super::Flight;
use super::survey::sides;
use crate::metaslab::Segment;
use crate::turns::Turn;
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
    /// Copies one run of stretches of a top-level vdev after the other, in the order of places, as far as it gets: it stops
    /// before a run that is others' turn, and does nothing while no side has everything, or all have.
    pub fn rebuild(&self, top: u32, runs: &mut dyn Iterator<Item = Vec<Segment>>) -> Rebuilt {
        let tree = self.tree();
        let is_whole = |vdev: &Vdev| matches!(vdev.kind, Kind::Leaf(leaf) if tree.leaves[leaf].is_whole());
        let (sources, targets) = sides(&tree, top).into_iter().partition(|side| is_whole(side));
        let copy = Copy { storage: self, tree: &tree, top, sources, targets };
        let mut rebuilt = Rebuilt::default();
        if copy.sources.is_empty() || copy.targets.is_empty() || !self.is_writable() {
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

struct Copy<'t> {
    storage: &'t Storage,
    tree: &'t Tree,
    top: u32,
    /// Sides that have everything, and those that do not.
    sources: Vec<&'t Arc<Vdev>>,
    targets: Vec<&'t Arc<Vdev>>,
}

/// A run that is being read.
struct Reading<'t> {
    run: Vec<Segment>,
    flight: Flight<'t>,
    turn: Turn<'t>,
}

/// And one that is being written.
struct Writing<'t> {
    run: Vec<Segment>,
    /// Stretches that could be read.
    found: Vec<Segment>,
    flight: Flight<'t>,
    _turn: Turn<'t>,
}

impl<'t> Copy<'t> {
    fn read(&self, run: Vec<Segment>) -> Option<Reading<'t>> {
        let turn = self.storage.turns.copy(self.top, &run)?;
        Some(Reading { flight: self.ask(&run, 0), run, turn })
    }

    /// Of the `attempt`th side each, counted from the one whose turn it is.
    fn ask(&self, stretches: &[Segment], attempt: usize) -> Flight<'t> {
        let io = |stretch: &Segment| {
            let side = ((stretch.start >> TURN_SHIFT) as usize + attempt) % self.sources.len();
            (self.sources[side], at(stretch, Op::Read(stretch.len as usize)))
        };
        Flight::take_off_at(self.storage.env(), self.tree, CLASS, stretches.iter().map(io).collect())
    }

    /// What one side could not give, the others are asked for.
    fn write(&self, reading: Reading<'t>, rebuilt: &mut Rebuilt) -> Writing<'t> {
        let Reading { run, flight, turn } = reading;
        let (mut found, mut ios) = (Vec::new(), Vec::new());
        let mut take = |asked: &[Segment], done: Vec<Done>| {
            let mut missed = Vec::new();
            for (stretch, read) in asked.iter().zip(done) {
                let Ok(Some(bytes)) = read else {
                    missed.push(*stretch);
                    continue;
                };
                let payload = Payload::from_buf(bytes);
                found.push(*stretch);
                ios.extend(self.targets.iter().map(|&to| (to, at(stretch, Op::Write(payload.clone())))));
            }
            missed
        };
        let mut missed = take(&run, flight.land(&|_, _| true));
        for attempt in 1..self.sources.len() {
            if !missed.is_empty() {
                let done = self.ask(&missed, attempt).land(&|_, _| true);
                missed = take(&missed, done);
            }
        }
        rebuilt.errors += missed.len() as u64;
        rebuilt.read += found.iter().map(|stretch| stretch.len).sum::<u64>();
        let flight = Flight::take_off_at(self.storage.env(), self.tree, CLASS, ios);
        Writing { run, found, flight, _turn: turn }
    }

    fn finish(&self, writing: Writing<'t>, rebuilt: &mut Rebuilt) {
        let done = writing.flight.land(&|_, _| true);
        for (stretch, done) in writing.found.iter().zip(done.chunks(self.targets.len())) {
            for (target, _) in self.targets.iter().zip(done).filter(|(_, done)| done.is_ok()) {
                rebuilt.written += stretch.len;
                if let Kind::Leaf(leaf) = target.kind {
                    self.tree.leaves[leaf].counters.scan_processed.fetch_add(stretch.len, Relaxed);
                }
            }
            rebuilt.errors += u64::from(done.iter().any(Result::is_err));
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
