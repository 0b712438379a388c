//! A mirror that is being healed: every side is read and judged, and rewritten if it is bad or
//! lacks the block.
//!
//! ```text
//!   Start ─▶ Reading(sides that should have it) ──one is good──▶ Writing(bad and lacking sides) ─▶ finish with the bytes
//!                 │none is good                                        (none of them: at once)
//!                 └─▶ Reading(sides that lack it): they may have it all the same; none does: finish with the last error
//! ```
//! Source: module/zfs/vdev_mirror.c (`vdev_mirror_child_select`, `vdev_mirror_io_done`).

use std::sync::Arc;

use env::AlignedBuf;

use super::leaf::Leaf;
use super::{ChildIo, Cursor, Done, Io, Op, Step, Vdev, Verify};
use crate::{IoError, Payload};

pub struct Healing {
    io: Io,
    len: usize,
    birth: u64,
    /// Sides not read yet: those that should have the block, and those that lack it.
    fresh: Vec<usize>,
    lacking: Vec<usize>,
    /// Sides to be rewritten once there is something good.
    bad: Vec<usize>,
    /// Why there is nothing good. Wrong bytes say less than a side that could not be read: that may
    /// have the block.
    error: Option<IoError>,
    state: State,
}

enum State {
    Start,
    Reading(Vec<usize>),
    Writing(AlignedBuf),
}

pub fn cursor(vdev: &Vdev, io: Io, len: usize, birth: u64, leaves: &[Arc<Leaf>]) -> Healing {
    let usable = (0..vdev.children.len()).filter(|&side| vdev.children[side].is_readable(leaves, None));
    let (lacking, fresh): (Vec<usize>, Vec<usize>) =
        usable.partition(|&side| vdev.children[side].needs_resilver(leaves, io.offset, len, birth));
    let all_here = lacking.len() + fresh.len() == vdev.children.len();
    let mut healing = Healing::new(io, len, birth, fresh, lacking);
    healing.error = (!all_here).then_some(IoError::Unavailable);
    healing
}

impl Healing {
    /// `fresh` and `lacking` are the usable sides.
    pub fn new(io: Io, len: usize, birth: u64, fresh: Vec<usize>, lacking: Vec<usize>) -> Healing {
        Healing { io, len, birth, fresh, lacking, bad: Vec::new(), error: None, state: State::Start }
    }

    /// Reads the sides that are next, if there are any left.
    fn read(&mut self) -> Step {
        let mut sides = std::mem::take(&mut self.fresh);
        if sides.is_empty() {
            sides = std::mem::take(&mut self.lacking);
        }
        if sides.is_empty() {
            return Step::Finish(Err(self.error.unwrap_or(IoError::Unavailable)));
        }
        let op = Op::Heal { len: self.len, birth: self.birth };
        let ios = self.ask(&sides, &op);
        self.state = State::Reading(sides);
        Step::Issue(ios)
    }

    fn ask(&self, sides: &[usize], op: &Op) -> Vec<ChildIo> {
        let io = Io { op: op.clone(), ..self.io.clone() };
        sides.iter().map(|&child| ChildIo { child, side: None, io: io.clone(), whole: true }).collect()
    }

    fn judge(&mut self, sides: &[usize], done: Vec<Done>) -> Step {
        let mut good = None;
        for (&side, done) in sides.iter().zip(done) {
            match done {
                Ok(bytes) => good = good.or(bytes),
                Err(error) => {
                    self.error = self.error.filter(|known| *known != IoError::Checksum).or(Some(error));
                    self.bad.push(side);
                }
            }
        }
        let Some(good) = good else { return self.read() };
        self.bad.append(&mut self.lacking);
        if self.bad.is_empty() || !self.io.repair {
            return Step::Finish(Ok(Some(good)));
        }
        let op = Op::Repair { payload: Payload::padded(&good, 1), birth: self.birth };
        let ios = self.ask(&self.bad, &op);
        self.state = State::Writing(good);
        Step::Issue(ios)
    }
}

impl Cursor for Healing {
    fn step(&mut self, done: Vec<Done>, _verify: Verify<'_>) -> Step {
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start => self.read(),
            State::Reading(sides) => self.judge(&sides, done),
            // What could not be rewritten is noted on its leaf.
            State::Writing(good) => Step::Finish(Ok(Some(good))),
        }
    }
}

#[cfg(test)]
mod tests;
