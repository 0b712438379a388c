//! Writing a block: all columns at once. It is there if no more columns failed than there are
//! parities.
//!
//! A child that missed its column is behind from then on (see [`crate::flight`]), so that later
//! reads do without it.

use super::{Raidz, Trust};
use crate::IoError;
use crate::vdev::{ChildIo, Cursor, Done, Io, Op, Step, Verify};

pub struct Write {
    raidz: Raidz,
    io: Io,
    /// By child: whether it can take anything.
    usable: Vec<bool>,
    /// Columns that were not even tried; set when the others are on their way.
    untried: Option<usize>,
}

impl Write {
    pub(super) fn new(raidz: Raidz, io: Io, trust: &[Trust]) -> Write {
        let usable = trust.iter().map(|trust| *trust != Trust::None).collect();
        Write { raidz, io, usable, untried: None }
    }

    fn issue(&mut self) -> Step {
        let (payload, birth) = match &self.io.op {
            Op::Write(payload) => (payload, None),
            Op::Repair { payload, birth } => (payload, Some(*birth)),
            Op::Read(_) | Op::Heal { .. } => unreachable!("a read has another cursor"),
            Op::Supply { .. } => unreachable!("that is for what is below a raidz"),
        };
        let columns = self.raidz.split(self.io.offset, payload);
        let count = columns.len();
        let usable = columns.into_iter().filter(|(place, _)| self.usable[place.child]);
        let ios: Vec<ChildIo> = usable
            .map(|(place, payload)| {
                let op = match birth {
                    Some(birth) => Op::Repair { payload, birth },
                    None => Op::Write(payload),
                };
                let io = Io { op, offset: place.offset, ..self.io.clone() };
                ChildIo { child: place.child, side: None, io, whole: false }
            })
            .collect();
        let untried = count - ios.len();
        if untried > self.raidz.parity {
            return Step::Finish(Err(IoError::Unavailable));
        }
        self.untried = Some(untried);
        Step::Issue(ios)
    }
}

impl Cursor for Write {
    fn step(&mut self, done: Vec<Done>, _verify: Verify<'_>) -> Step {
        let Some(untried) = self.untried else { return self.issue() };
        let failed = done.iter().filter(|column| column.is_err()).count();
        let error = done.into_iter().find_map(Result::err).unwrap_or(IoError::Unavailable);
        Step::Finish(if untried + failed <= self.raidz.parity { Ok(None) } else { Err(error) })
    }
}
