//! Reading a block: the data columns, and as much parity as it takes.
//!
//! ```text
//!   Start ─▶ Reading(some) ──right──▶ (blame) ─▶ Repairing ─▶ finish with the bytes
//!               │   ▲ wrong, or too few                (nothing wrong: at once)
//!               └───┘ Reading(all that is left); then every combination of columns that may be wrong
//! ```
//! A healthy read asks for the data alone. Columns of children that are away, or behind, are
//! computed from as many parities. If that gives wrong bytes, everything else is read, and then the
//! checksum is the judge: of each set of data columns that the parities can stand in for it is
//! asked whether computing these gives the right bytes, the smallest sets first. Once the bytes are
//! right, whoever gave others is known, parities included: those children are blamed and their
//! columns rewritten. A child that is behind is not blamed for what it missed. The combinations are
//! as many as OpenZFS would try, but for very wide vdevs: a block that nothing can save must not
//! keep a processor for minutes.
//!
//! A child may be several disks, one being replaced or stood in for by the others. One of them
//! answers; where that is not enough, each is asked, for all of them may have missed something, and
//! not the same. Nothing is rewritten below the child by that answer, for nobody can tell there if
//! it is right. Who heals sees to it here that all of them have what is right then ([`Due`]).
//!
//! Facts: module/zfs/vdev_raidz.c (`vdev_raidz_io_done`, `vdev_raidz_combrec`).

use std::ops::Range;

use codec::raidz::{Column, MAX_PARITY};
use env::{AlignedBuf, IoClass};
use stdx::mark::mark;

use super::map::{Place, places};
use super::{Due, Raidz, Trust};
use crate::vdev::{ChildIo, Cursor, Done, Io, Op, Step, Verify};
use crate::{IoError, Payload};

/// Combinations that are tried of one block: all, for three parities of 46 disks and for two of
/// 180.
const ATTEMPTS_MAX: usize = 1 << 14;
/// Combinations of disks that are asked where several share a place: all, of four such places with
/// two each.
const TURNS_MAX: usize = 16;

pub struct Read {
    raidz: Raidz,
    io: Io,
    cells: Vec<Cell>,
    /// Combinations of sides that have been asked.
    turns: usize,
    state: State,
}

/// A column and what has come of it.
struct Cell {
    place: Place,
    trust: Trust,
    /// The child's own that can be read, where it is several disks.
    sides: Vec<usize>,
    due: Due,
    got: Got,
}

enum Got {
    /// Not asked for yet.
    Nothing,
    Failed(IoError),
    Bytes(AlignedBuf),
}

enum State {
    Start,
    /// These columns.
    Reading(Vec<usize>),
    /// Somebody was blamed; then the outcome, with columns to rewrite.
    Blamed(Result<AlignedBuf, IoError>, Vec<usize>),
    Repairing(AlignedBuf),
}

/// Which data columns are computed, and from which parities.
struct Attempt {
    lost: Vec<usize>,
    using: Vec<usize>,
}

impl Read {
    /// Of `len` bytes, to read or to heal.
    pub(super) fn new(
        raidz: Raidz,
        io: Io,
        len: usize,
        trust: &[Trust],
        sides: &dyn Fn(usize) -> Vec<usize>,
        due: &dyn Fn(&Place) -> Due,
    ) -> Read {
        let cell = |place: Place| {
            let trust = trust[place.child];
            let got = if trust == Trust::None { Got::Failed(IoError::Unavailable) } else { Got::Nothing };
            Cell { place, trust, sides: sides(place.child), due: due(&place), got }
        };
        let cells = places(raidz, io.offset, len).into_iter().map(cell).collect();
        Read { raidz, io, cells, turns: 0, state: State::Start }
    }

    fn data(&self) -> Range<usize> {
        self.raidz.parity..self.cells.len()
    }

    fn parities(&self) -> Range<usize> {
        0..self.raidz.parity
    }

    fn bytes(&self, cell: usize) -> Option<&[u8]> {
        match &self.cells[cell].got {
            Got::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn is_whole(&self, cell: usize) -> bool {
        self.cells[cell].trust == Trust::Whole
    }

    fn untried(&self) -> Vec<usize> {
        (0..self.cells.len()).filter(|&n| matches!(self.cells[n].got, Got::Nothing)).collect()
    }

    /// The columns that should be enough.
    fn first(&self) -> Vec<usize> {
        let mut first: Vec<usize> = self.data().filter(|&n| self.is_whole(n)).collect();
        let lost = self.data().len() - first.len();
        let before = first.len();
        first.extend(self.parities().filter(|&n| self.is_whole(n)).take(lost));
        // Who heals looks at everything.
        let thorough = matches!(self.io.op, Op::Heal { .. });
        if thorough || first.len() - before < lost { self.untried() } else { first }
    }

    fn ask(&mut self, cells: Vec<usize>) -> Step {
        let ios = cells.iter().map(|&n| self.read_of(n, None)).collect();
        self.state = State::Reading(cells);
        Step::Issue(ios)
    }

    fn read_of(&self, cell: usize, side: Option<usize>) -> ChildIo {
        let Place { child, offset, len } = self.cells[cell].place;
        let io = Io { op: Op::Read(len), offset, class: self.io.class, repair: false };
        ChildIo { child, side, io, whole: false }
    }

    /// Asks every disk of the places that several share, in one combination after the other.
    fn ask_sides(&mut self) -> Option<Step> {
        let shared: Vec<usize> = (0..self.cells.len()).filter(|&n| self.is_shared(n)).collect();
        let count = shared.iter().fold(1, |all: usize, &n| all.saturating_mul(self.cells[n].sides.len()));
        if shared.is_empty() || self.turns == count.min(TURNS_MAX) {
            return None;
        }
        let mut rest = self.turns;
        self.turns += 1;
        let io = |&n: &usize| {
            let sides = &self.cells[n].sides;
            let side = sides[rest % sides.len()];
            rest /= sides.len();
            self.read_of(n, Some(side))
        };
        let ios = shared.iter().map(io).collect();
        self.state = State::Reading(shared);
        Some(Step::Issue(ios))
    }

    fn is_shared(&self, cell: usize) -> bool {
        self.cells[cell].sides.len() > 1
    }

    /// Whether it is known which disk gave the bytes of a column, and that it has missed nothing.
    fn can_be_blamed(&self, cell: usize) -> bool {
        self.is_whole(cell) && !(self.turns > 0 && self.is_shared(cell))
    }

    /// Tries with what has come so far.
    fn judge(&mut self, verify: Verify<'_>) -> Step {
        let right = |bytes: AlignedBuf| verify(&bytes).then_some(bytes);
        let any_behind = (0..self.cells.len()).any(|n| self.bytes(n).is_some() && !self.is_whole(n));
        // First without those that are behind, then with them.
        for only_whole in [true, false] {
            if !only_whole && !any_behind {
                break;
            }
            let usable = |n: &usize| self.bytes(*n).is_some() && (self.is_whole(*n) || !only_whole);
            let lost: Vec<usize> = self.data().filter(|n| !usable(n)).collect();
            let using: Vec<usize> = self.parities().filter(usable).take(lost.len()).collect();
            let attempt = Attempt { lost, using };
            if attempt.using.len() == attempt.lost.len()
                && let Some(good) = right(self.assemble(&attempt))
            {
                return self.settle(good, &attempt);
            }
        }
        let untried = self.untried();
        if !untried.is_empty() {
            return self.ask(untried);
        }
        match self.combine(verify) {
            Some((good, attempt)) => {
                mark("columns of a raidz found wrong by trying");
                self.settle(good, &attempt)
            }
            None => self.ask_sides().unwrap_or_else(|| self.give_up()),
        }
    }

    /// Every set of data columns that may be wrong with every choice of parities to compute them
    /// from.
    fn combine(&self, verify: Verify<'_>) -> Option<(AlignedBuf, Attempt)> {
        let (here, missing): (Vec<usize>, Vec<usize>) = self.data().partition(|&n| self.bytes(n).is_some());
        let parities: Vec<usize> = self.parities().filter(|&n| self.bytes(n).is_some()).collect();
        let spare = parities.len().checked_sub(missing.len())?;
        let (mut found, mut left) = (None, ATTEMPTS_MAX);
        for suspects in 0..=spare.min(here.len()) {
            let over = choose(&here, suspects, &mut Vec::new(), &mut |suspected| {
                let lost: Vec<usize> =
                    self.data().filter(|n| missing.contains(n) || suspected.contains(n)).collect();
                choose(&parities, lost.len(), &mut Vec::new(), &mut |using| {
                    let attempt = Attempt { lost: lost.clone(), using: using.to_vec() };
                    let bytes = self.assemble(&attempt);
                    left -= 1;
                    if verify(&bytes) {
                        found = Some((bytes, attempt));
                    }
                    found.is_some() || left == 0
                })
            });
            if over {
                break;
            }
        }
        found
    }

    /// The block, with what is lost computed.
    fn assemble(&self, attempt: &Attempt) -> AlignedBuf {
        let known = |n: usize| self.bytes(n).expect("what is not lost has come");
        if attempt.lost.is_empty() {
            return AlignedBuf::concat(&self.data().map(known).collect::<Vec<_>>());
        }
        let len = self.data().map(|n| self.cells[n].place.len).sum();
        let mut block = AlignedBuf::scratch(len);
        let mut columns: Vec<Column<'_>> = Vec::with_capacity(self.data().len());
        let mut rest = &mut block[..];
        for n in self.data() {
            let (here, after) = rest.split_at_mut(self.cells[n].place.len);
            rest = after;
            columns.push(if attempt.lost.contains(&n) {
                Column::Lost(here)
            } else {
                here.copy_from_slice(known(n));
                Column::Known(here)
            });
        }
        let mut parities = [None; MAX_PARITY];
        attempt.using.iter().for_each(|&n| parities[n] = self.bytes(n));
        let done = self.raidz.method.reconstruct(&parities[..self.raidz.parity], &mut columns);
        done.expect("an attempt has as many parities as it has lost columns");
        drop(columns);
        block
    }

    /// The bytes are right: who gave others, and who gave none?
    fn settle(&mut self, good: AlignedBuf, attempt: &Attempt) -> Step {
        let ends: Vec<usize> = self
            .data()
            .scan(0, |end, n| {
                *end += self.cells[n].place.len;
                Some(*end)
            })
            .collect();
        let column = |n: usize| {
            let end = ends[n - self.raidz.parity];
            &good[end - self.cells[n].place.len..end]
        };
        let is_bad =
            |n: usize| matches!(self.cells[n].got, Got::Failed(IoError::Disk(_) | IoError::Checksum));
        let mut bad: Vec<usize> = (0..self.cells.len()).filter(|&n| is_bad(n)).collect();
        let mut wrong = attempt.lost.clone();
        wrong.retain(|&n| self.bytes(n).is_some_and(|bytes| bytes != column(n)));
        // A parity that was used is right, or the bytes would not be: only others are computed
        // again.
        let unused = |n: &usize| self.bytes(*n).is_some() && !attempt.using.contains(n);
        if self.parities().any(|n| unused(&n)) {
            let data: Vec<&[u8]> = self.data().map(column).collect();
            let right = self.raidz.parities(&data);
            wrong.extend(self.parities().filter(unused).filter(|&n| self.bytes(n) != Some(&right[n][..])));
        }
        let blamed: Vec<usize> =
            wrong.iter().filter(|&&n| self.can_be_blamed(n)).map(|&n| self.cells[n].place.child).collect();
        bad.extend(wrong);
        if blamed.is_empty() {
            return self.repair(good, &bad);
        }
        self.state = State::Blamed(Ok(good), bad);
        Step::Blame(blamed)
    }

    fn repair(&mut self, good: AlignedBuf, bad: &[usize]) -> Step {
        let due = |n: usize| if bad.contains(&n) { Due::Repair } else { self.cells[n].due };
        let wanting: Vec<usize> = (0..self.cells.len()).filter(|&n| due(n) != Due::Nothing).collect();
        if wanting.is_empty() || !self.io.repair {
            return Step::Finish(Ok(Some(good)));
        }
        let columns = self.raidz.split(self.io.offset, &Payload::padded(&good, 1));
        let write = |&n: &usize| {
            let (place, payload) = &columns[n];
            let (payload, class) = (payload.clone(), self.io.class);
            let (op, class) = match self.io.op {
                Op::Heal { birth, .. } if due(n) == Due::Supply => (Op::Supply { payload, birth }, class),
                Op::Heal { birth, .. } => (Op::Repair { payload, birth }, class),
                _ => (Op::Write(payload), IoClass::AsyncWrite),
            };
            let io = Io { op, offset: place.offset, class, ..self.io.clone() };
            ChildIo { child: place.child, side: None, io, whole: false }
        };
        let ios = wanting.iter().map(write).collect();
        self.state = State::Repairing(good);
        Step::Issue(ios)
    }

    /// Too much is wrong, or not there. What came is wrong somewhere, nobody knows where: all are
    /// suspects.
    fn give_up(&mut self) -> Step {
        let came: Vec<usize> = (0..self.cells.len()).filter(|&n| self.bytes(n).is_some()).collect();
        let failed = |cell: &Cell| match cell.got {
            Got::Failed(error) if error != IoError::Unavailable => Some(error),
            _ => None,
        };
        let failed = self.cells.iter().find_map(failed);
        if came.len() < self.data().len() {
            return Step::Finish(Err(failed.unwrap_or(IoError::Unavailable)));
        }
        // Who may not repair may be looking where there was never anything.
        if !self.io.repair {
            return Step::Finish(Err(IoError::Checksum));
        }
        let suspects = came.iter().filter(|&&n| self.can_be_blamed(n)).map(|&n| self.cells[n].place.child);
        let suspects = suspects.collect();
        // Who heals has to know that with the columns that could not be read it might be right.
        let is_unread = matches!(self.io.op, Op::Heal { .. }) && came.len() < self.cells.len();
        let error = if is_unread { failed.unwrap_or(IoError::Unavailable) } else { IoError::Checksum };
        self.state = State::Blamed(Err(error), Vec::new());
        Step::Blame(suspects)
    }
}

impl Cursor for Read {
    fn step(&mut self, done: Vec<Done>, verify: Verify<'_>) -> Step {
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start => {
                let first = self.first();
                self.ask(first)
            }
            State::Reading(asked) => {
                for (n, done) in asked.into_iter().zip(done) {
                    self.cells[n].got = match done {
                        Ok(Some(bytes)) => Got::Bytes(bytes),
                        Ok(None) => unreachable!("a read that succeeds brings bytes"),
                        Err(error) => Got::Failed(error),
                    };
                }
                self.judge(verify)
            }
            State::Blamed(Ok(good), bad) => self.repair(good, &bad),
            State::Blamed(Err(error), _) => Step::Finish(Err(error)),
            // Whether a repair worked shows in that disk's counters; the reader has what it wants.
            State::Repairing(good) => Step::Finish(Ok(Some(good))),
        }
    }
}

/// Calls `found` with every choice of `count` of the items behind those chosen already, until it
/// says that is enough; whether it did.
fn choose(
    items: &[usize],
    count: usize,
    chosen: &mut Vec<usize>,
    found: &mut dyn FnMut(&[usize]) -> bool,
) -> bool {
    if count == 0 {
        return found(chosen);
    }
    (0..items.len().saturating_sub(count - 1)).any(|n| {
        chosen.push(items[n]);
        let liked = choose(&items[n + 1..], count - 1, chosen, found);
        chosen.pop();
        liked
    })
}
