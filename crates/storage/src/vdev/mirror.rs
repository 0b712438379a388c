//! Mirrors: write all sides; read one, try the rest, repair the bad ones from the good one.
//!
//! ```text
//!   read:   Choose ─▶ Reading(side) ──good──▶ Repairing(bad sides) ─▶ finish with the bytes
//!                        ▲     │bad                (none bad: at once)
//!                        └─────┘ next side; none left: finish with the last error
//!   write:  Writing(all) ─▶ finish: good if one side that is whole took it
//! ```
//! A side that is behind (it missed a write once) is read last, and its word on a write counts only
//! where no side is whole: what it alone has would not be found by readers who ask the others
//! first.
//!
//! The side is chosen by load: fewest I/Os waiting, then the one whose last I/O ended near. Equals
//! share the work by offset, so that a sequential reader stays on one disk for a while
//! (`vdev_mirror.c`).

use std::sync::Arc;

use env::AlignedBuf;

use super::leaf::{BEHIND, Leaf};
use super::{ChildIo, Cursor, Done, Io, Op, Step, Vdev, Verify};
use crate::{IoError, Payload};

/// log2 of the bytes that equally loaded sides read in turn.
const TURN_SHIFT: u32 = 21;

pub struct Mirror {
    io: Io,
    /// Sides still to try, the next one last.
    untried: Vec<usize>,
    /// Whether they have taken every write so far, in the same order.
    whole: Vec<bool>,
    /// Sides whose bytes were wrong or unreadable.
    bad: Vec<usize>,
    state: State,
}

enum State {
    Start,
    Reading(usize),
    Repairing(AlignedBuf),
    Writing,
}

pub fn cursor(vdev: &Vdev, io: Io, leaves: &[Arc<Leaf>]) -> Mirror {
    let takes = |side: &Vdev| match &io.op {
        Op::Supply { payload, birth } => side.needs_resilver(leaves, io.offset, payload.len(), *birth),
        _ => true,
    };
    let load = |side: &Arc<Vdev>| side.load(leaves, io.offset).filter(|_| takes(side));
    let loads = vdev.children.iter().map(load).collect();
    Mirror::new(io, loads)
}

impl Mirror {
    /// `loads` has one entry a side, `None` for sides that are not usable.
    pub fn new(io: Io, loads: Vec<Option<u64>>) -> Mirror {
        let width = loads.len();
        let turn = (io.offset >> TURN_SHIFT) as usize;
        let mut sides: Vec<(u64, usize, usize)> = loads
            .iter()
            .enumerate()
            .filter_map(|(side, load)| Some(((*load)?, (side + width - turn % width) % width, side)))
            .collect();
        sides.sort_unstable();
        let (untried, whole) = sides.into_iter().rev().map(|(load, _, side)| (side, load < BEHIND)).unzip();
        Mirror { io, untried, whole, bad: Vec::new(), state: State::Start }
    }

    fn ask(&self, child: usize) -> ChildIo {
        ChildIo { child, side: None, io: self.io.clone(), whole: true }
    }

    fn read_next(&mut self, error: IoError) -> Step {
        let Some(side) = self.untried.pop() else { return Step::Finish(Err(error)) };
        self.state = State::Reading(side);
        Step::Issue(vec![self.ask(side)])
    }

    fn repair(&mut self, good: AlignedBuf) -> Step {
        if self.bad.is_empty() || !self.io.repair {
            return Step::Finish(Ok(Some(good)));
        }
        let payload = Payload::padded(&good, 1);
        let io = Io { op: Op::Write(payload), class: env::IoClass::AsyncWrite, ..self.io.clone() };
        let ios = self
            .bad
            .iter()
            .map(|&child| ChildIo { child, side: None, io: io.clone(), whole: true })
            .collect();
        self.state = State::Repairing(good);
        Step::Issue(ios)
    }
}

impl Cursor for Mirror {
    fn step(&mut self, done: Vec<Done>, _verify: Verify<'_>) -> Step {
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start if self.untried.is_empty() => Step::Finish(Err(IoError::Unavailable)),
            State::Start => match self.io.op {
                Op::Read(_) | Op::Heal { .. } => self.read_next(IoError::Unavailable),
                Op::Write(_) | Op::Repair { .. } | Op::Supply { .. } => {
                    self.state = State::Writing;
                    Step::Issue(self.untried.iter().map(|&side| self.ask(side)).collect())
                }
            },
            State::Reading(side) => match done.into_iter().next() {
                Some(Ok(Some(good))) => self.repair(good),
                Some(Err(error)) => {
                    self.bad.push(side);
                    self.read_next(error)
                }
                Some(Ok(None)) | None => unreachable!("a read that succeeds brings bytes"),
            },
            // Whether a repair worked shows in that disk's counters; the reader has what it wants.
            State::Repairing(good) => Step::Finish(Ok(Some(good))),
            State::Writing => {
                let failed = done.iter().find_map(|side| side.as_ref().err().copied());
                let any_whole = self.whole.contains(&true);
                let good =
                    done.iter().zip(&self.whole).any(|(side, whole)| side.is_ok() && *whole == any_whole);
                Step::Finish(if good { Ok(None) } else { Err(failed.unwrap_or(IoError::Unavailable)) })
            }
        }
    }
}

#[cfg(test)]
mod tests;
